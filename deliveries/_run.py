"""From blocking code into an event loop and back."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

__all__ = ["run"]

ResultT = TypeVar("ResultT")


def run(work: Callable[[], Awaitable[ResultT]]) -> ResultT:
    """Run the work in an event loop of its own and return its result; blocks.

    Where a loop already runs in this thread (a notebook, an async test) the work gets a thread.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run_here(work)
    results: list[ResultT] = []
    errors: list[BaseException] = []

    def in_thread() -> None:
        try:
            results.append(asyncio.run(_awaited(work)))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(in_thread,))
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


async def _awaited(work: Callable[[], Awaitable[ResultT]]) -> ResultT:
    # Not anyio.run: it refuses a thread whose context was copied from one in which a loop runs.
    return await work()


def _run_here(work: Callable[[], Awaitable[ResultT]]) -> ResultT:
    try:
        return asyncio.run(_awaited(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None  # before Python 3.11, Ctrl-C ends a loop by cancelling it
