"""From blocking code into an event loop and back."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

__all__ = ["run"]

ResultT = TypeVar("ResultT")


def run(work: Callable[[], Awaitable[ResultT]]) -> ResultT:
    """Run the work in an event loop of its own and return its result; blocks.

    Where a loop already runs in this thread (a notebook, an async test) the work gets a thread.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return anyio.run(work)
    results: list[ResultT] = []
    errors: list[BaseException] = []

    def in_thread() -> None:
        try:
            results.append(anyio.run(work))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(in_thread,))
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
