"""Time, as a seam: tests drive it."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timedelta, timezone

import anyio

__all__ = ["Clock", "as_seconds"]


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

    async def wait(self, event: asyncio.Event, seconds: float | None) -> bool:
        """Wait for the event, at most so many seconds; whether it came. ``None`` waits for ever."""
        # Not asyncio.wait_for: before Python 3.12 it loses a cancellation that meets the event.
        with anyio.move_on_after(None if seconds is None else max(0.0, seconds)):
            await event.wait()
        return event.is_set()


def as_seconds(value: float | timedelta) -> float:
    """A duration in seconds, given as seconds or as a ``timedelta``."""
    return value.total_seconds() if isinstance(value, timedelta) else float(value)
