"""What the watch knows of one target, and what one wait sees of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any

from airflow_landmark.markers import UnreadableMarker
from airflow_landmark.stores import Changed, PassingTrouble

from ._clock import Signal
from ._presence import Presence
from ._target import State, Target

__all__ = ["Entry", "Subscription"]

_MAX_BACKOFF_SECONDS = 300.0
_MAX_RETRY_AFTER_SECONDS = 3600.0


class Entry:
    """The shared state of one target.

    One is made for every target, one subscription for every wait: both are kept small.

    :ivar looks: how many looks have been made.
    :ivar looks_alike: how many of them in a row found the present state.
    :ivar due: when the next look is asked for, on the monotonic clock.
    """

    __slots__ = (
        "_poll_interval", "_presence", "_troubles", "due", "looked", "looked_at", "looks", "looks_alike",
        "state", "subscriptions", "target",
    )  # fmt: skip

    def __init__(self, target: Target, due: float) -> None:
        self.target = target
        self.state = State()
        self.looks = self.looks_alike = 0
        self.looked_at: datetime | None = None
        self.looked = float("-inf")
        self.due = due
        self.subscriptions: list[Subscription] = []  # mostly one: a set would be larger
        self._poll_interval: float | None = None
        self._troubles = 0
        self._presence: dict[tuple[str, int], asyncio.Task[Presence]] | None = None

    def join(self, subscription: Subscription) -> None:
        """Serve one more wait."""
        self.subscriptions.append(subscription)
        self._poll_interval = None

    def leave(self, subscription: Subscription) -> None:
        """Serve one wait less."""
        self.subscriptions.remove(subscription)
        self._poll_interval = None

    @property
    def poll_interval(self) -> float:
        """Seconds: the shortest that a wait asked for."""
        if self._poll_interval is None:  # computed for a look, not for each of many that join or leave
            self._poll_interval = min((s.poll_interval for s in self.subscriptions), default=float("inf"))
        return self._poll_interval

    def ask_by(self, now: float, poll_interval: float) -> None:
        """Look for one more wait: now if that has not been done within its interval, or else after it.

        A store in trouble is still left alone for as long as it was.
        """
        if not self._troubles:
            self.due = min(self.due, max(now, self.looked + poll_interval))

    def wants_look(self, now: float) -> bool:
        """Whether a look that happens anyway may serve this target too: a little early at most."""
        if now >= self.due:
            return True
        return self._troubles == 0 and now >= self.looked + 0.75 * self.poll_interval

    def welcomes_look(self, now: float) -> bool:
        """Whether a look that costs nothing may serve this target in place of its next one.

        From half the interval on, so that waits that were started one after another soon share their
        looks.
        """
        return self._troubles == 0 and now >= self.looked + 0.5 * self.poll_interval

    def take(self, state: State, *, at: datetime, now: float, base: float) -> list[Subscription]:
        """Keep what a look found, and decide when to look again; returns the waits that it concerns.

        :param at: the instant of the look.
        :param now: the same on the monotonic clock.
        :param base: when this look was due, on the monotonic clock.
        """
        same = self.looks > 0 and state.same_as(self.state)
        self.state = state
        self.looks += 1
        self.looks_alike = self.looks_alike + 1 if same else 1
        self.looked_at, self.looked = at, now
        self.due = max(base + self.poll_interval, self.looked + self._pause(state))
        unstable = state.trouble is not None or any(
            isinstance(r.found, UnreadableMarker) for r in state.readings
        )
        return [s for s in self.subscriptions if not same or unstable or s.every_look or s.unserved]

    def _pause(self, state: State) -> float:
        """Seconds to leave the store alone: doubled with each trouble in a row, or what it asked for."""
        if state.trouble is None:
            self._troubles = 0
            return 0.0
        if isinstance(state.trouble, Changed):
            self._troubles = 0
            return 0.0  # it is being written: no reason to look less often
        self._troubles += 1
        asked = state.trouble.retry_after if isinstance(state.trouble, PassingTrouble) else None
        if asked is not None:
            return min(max(asked, self.poll_interval), _MAX_RETRY_AFTER_SECONDS)
        doubled = self.poll_interval * 2.0 ** min(self._troubles - 1, 10)
        return max(self.poll_interval, min(doubled, _MAX_BACKOFF_SECONDS))

    async def presence(self, sha256: str, check: Callable[[], Coroutine[Any, Any, Presence]]) -> Presence:
        """The files of a marker, checked once for all waits that ask after the same look."""
        key = (sha256, self.looks)
        checks = self._presence or {}
        task = checks.get(key)
        if task is None:
            self._presence = {k: t for k, t in checks.items() if k[1] == self.looks}
            task = self._presence[key] = asyncio.ensure_future(check())
            task.add_done_callback(_retrieve)
        return await asyncio.shield(task)

    def drop_tasks(self) -> None:
        """End checks that nobody waits for any more."""
        for task in (self._presence or {}).values():
            task.cancel()
        self._presence = None


def _retrieve(task: asyncio.Task[Presence]) -> None:
    """Mark an error as seen: those who asked may all have left."""
    if not task.cancelled():
        task.exception()


class Subscription:
    """One wait's view of an entry.

    :ivar every_look: wake after every look, not only after those that found a change.
    """

    __slots__ = ("_before", "entry", "every_look", "poll_interval", "wake")

    def __init__(self, entry: Entry, poll_interval: float, *, fresh: bool) -> None:
        self.entry = entry
        self.poll_interval = poll_interval
        self.every_look = False
        self.wake = Signal()
        self._before = entry.looks - 1 if fresh else entry.looks
        if fresh:
            self.wake.set()

    @property
    def looks(self) -> int:
        """How many looks have served this wait."""
        return self.entry.looks - self._before

    @property
    def unserved(self) -> bool:
        """Whether no look was made for this wait before the present one."""
        return self.looks <= 1
