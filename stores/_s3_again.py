"""Requests that are sent again: for work that must come to an end now, not at the next poll."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio

from ._errors import Changed, PassingTrouble

__all__ = ["Again"]

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Again:
    """How often, and after what pauses.

    :param attempts: in all.
    :param pause_seconds: before the second attempt; each further one waits twice as long as the last.
    :param max_pause_seconds: whatever the server asks for.
    """

    attempts: int = 4
    pause_seconds: float = 1.0
    max_pause_seconds: float = 30.0

    async def each(self, work: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Await the work, again after passing trouble.

        :raises StoreError: the last one; :class:`Changed` at once.
        """
        for attempt in range(self.attempts - 1):
            try:
                return await work()
            except Changed:
                raise
            except PassingTrouble as trouble:
                pause = max(trouble.retry_after or 0.0, self.pause_seconds * 2**attempt)
            await anyio.sleep(min(self.max_pause_seconds, pause))
        return await work()
