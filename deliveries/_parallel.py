"""Work on many items, several at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio

__all__ = ["each"]

ItemT = TypeVar("ItemT")

_AT_ONCE = 8


async def each(
    items: Iterable[ItemT],
    work: Callable[[ItemT], Awaitable[None]],
    *,
    tick: Callable[[], None] | None = None,
) -> None:
    """Await the work on every item, at most eight at a time; the first error ends the rest.

    The error is raised as it is, not in a group: callers decide by its class.

    :param tick: is called every second meanwhile.
    """
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    try:
        async with anyio.create_task_group() as ticking:
            if tick is not None:
                ticking.start_soon(_every_second, tick)
            async with anyio.create_task_group() as group:
                for _ in range(_AT_ONCE):
                    group.start_soon(worker)
            ticking.cancel_scope.cancel()
    except Exception as error:
        while inner := getattr(error, "exceptions", None):
            error = inner[0]
        raise error from None


async def _every_second(tick: Callable[[], None]) -> None:
    while True:
        await anyio.sleep(1.0)
        tick()
