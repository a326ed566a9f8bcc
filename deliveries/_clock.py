"""Time, as a seam: tests drive it."""

from __future__ import annotations

import asyncio
import time
from contextvars import Context
from datetime import datetime, timedelta, timezone

__all__ = ["Clock", "Signal", "as_seconds"]

_NO_CONTEXT = Context()
"""For timers: a copy of the waiting task's is not needed."""


class Signal:
    """An event for one waiter. There is one for every wait: it is much smaller than asyncio's.

    At most one task waits at a time.
    """

    __slots__ = ("_set", "_waiter")

    def __init__(self) -> None:
        self._set = False
        self._waiter: asyncio.Future[None] | None = None

    def is_set(self) -> bool:
        """Whether it was set since it was last cleared."""
        return self._set

    def set(self) -> None:
        """Wake the waiter, and let the next one through."""
        self._set = True
        self.give_up()

    def clear(self) -> None:
        """Let the next waiter wait."""
        self._set = False

    def give_up(self) -> None:
        """Wake the waiter without being set."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def wait(self) -> asyncio.Future[None]:
        """What ends when it is set or given up: to be awaited at once."""
        self._waiter = asyncio.get_running_loop().create_future()
        if self._set:
            self._waiter.set_result(None)
        return self._waiter


class Clock:
    """The machine's clocks and the event loop's sleep."""

    def now(self) -> datetime:
        """The present instant in UTC; may jump."""
        return datetime.now(tz=timezone.utc)

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        await asyncio.sleep(seconds)

    async def wait(self, signal: Signal, seconds: float | None) -> bool:
        """Wait for the signal, at most so many seconds; whether it came. ``None`` waits for ever."""
        # Not asyncio.wait_for: before Python 3.12 it loses a cancellation that meets the signal. Nor a
        # scope of anyio's: there is a timer for every wait, and this one is small.
        if seconds is None:
            await signal.wait()
            return signal.is_set()
        timer = asyncio.get_running_loop().call_later(max(0.0, seconds), signal.give_up, context=_NO_CONTEXT)
        try:
            await signal.wait()
        finally:
            timer.cancel()
        return signal.is_set()


def as_seconds(value: float | timedelta) -> float:
    """A duration in seconds, given as seconds or as a ``timedelta``."""
    return value.total_seconds() if isinstance(value, timedelta) else float(value)
