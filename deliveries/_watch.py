"""The watch: the one poll loop that serves all waits on the same store."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
from collections.abc import Coroutine, Hashable
from contextvars import Context

from airflow_landmark.stores import Store

from ._clock import Clock, Signal
from ._entry import Entry, Subscription
from ._look import look_at
from ._target import State, Target

__all__ = ["Watch"]

_Key = tuple[Hashable, str]
"""Group and folder."""

_TICK_SECONDS = 0.1
"""Looks that fall due within one tick go out together."""
_HEAP_SLACK = 256
_WAKE_AT_ONCE = 50
_GROUPS_AT_ONCE = 128
"""So many groups are looked at anew in each tick: a look in flight takes as much memory as a wait."""
_FIRST_SPREAD = 0.25
_SPREAD = 0.05


class Round:
    """The targets of one folder, looked at together.

    One listing can then serve them all, and waits that were started together keep one rhythm. Between
    folders the rhythm is spread: the second look comes up to a quarter of the interval late, later
    ones up to a twentieth.
    """

    __slots__ = ("entries", "fired", "fires_at", "in_flight")

    def __init__(self) -> None:
        self.entries: dict[Target, Entry] = {}
        self.fired = 0
        self.fires_at = float("inf")
        self.in_flight = False

    def lateness(self, interval: float) -> float:
        """Seconds to add to the interval, so that rounds do not fall into step."""
        share = _FIRST_SPREAD if self.fired <= 1 else _SPREAD
        return random.uniform(0.0, share) * interval  # noqa: S311 - spread, not secrecy


class Watch:
    """Polls one store for everybody who waits there.

    :param store: where to look.
    :param clock: time.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self.failure: BaseException | None = None
        self._rounds: dict[_Key, Round] = {}
        self._heap: list[tuple[float, int, _Key]] = []
        self._order = itertools.count()
        self._woken = 0
        self._wake = Signal()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.Task[None] | None = None

    def subscribe(self, target: Target, poll_interval: float) -> Subscription:
        """Join the round of the target's folder; the loop starts with the first subscription."""
        now = self.clock.monotonic()
        key = (self.store.group(target.address), target.address.folder)
        round_ = self._rounds.setdefault(key, Round())
        entry = round_.entries.setdefault(target, Entry(target, now))
        fresh = entry.looks > 0 and (entry.state.trouble is not None or now - entry.looked <= poll_interval)
        subscription = Subscription(entry, poll_interval, fresh=fresh)
        entry.join(subscription)
        entry.ask_by(now, poll_interval)
        self._schedule(key, round_, entry.due)
        if self._loop is None:
            self._loop = _background(self._run())
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Leave; a target that nobody waits for is not looked at any more."""
        entry = subscription.entry
        entry.leave(subscription)
        if entry.subscriptions:
            return
        entry.drop_tasks()
        key = (self.store.group(entry.target.address), entry.target.address.folder)
        round_ = self._rounds.get(key)
        if round_ is not None and round_.entries.get(entry.target) is entry:
            del round_.entries[entry.target]
            if not round_.entries:
                del self._rounds[key]

    def look_soon(self, entry: Entry) -> None:
        """Ask for a look now."""
        entry.due = min(entry.due, self.clock.monotonic())
        key = (self.store.group(entry.target.address), entry.target.address.folder)
        if key in self._rounds:
            self._schedule(key, self._rounds[key], entry.due)

    async def aclose(self) -> None:
        """End the loop and the looks in flight."""
        tasks = [task for task in (self._loop, *self._tasks) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _schedule(self, key: _Key, round_: Round, due: float) -> None:
        if not round_.in_flight and due < round_.fires_at:
            round_.fires_at = due
            heapq.heappush(self._heap, (due, next(self._order), key))
            if len(self._heap) > _HEAP_SLACK + 2 * len(self._rounds):
                self._compact()
            self._wake.set()

    def _compact(self) -> None:
        """Forget the moments of rounds that are over or were moved: they may lie far ahead."""
        moments = {key: round_.fires_at for key, round_ in self._rounds.items()}
        self._heap = [item for item in self._heap if moments.get(item[2]) == item[0]]
        heapq.heapify(self._heap)

    async def _run(self) -> None:
        try:
            while True:
                await self.clock.sleep(_TICK_SECONDS)  # waits that start together join before the look
                self._wake.clear()
                self._start_due()
                await self.clock.wait(self._wake, self._seconds_to_next())
        except Exception as error:  # noqa: BLE001 - raised by every wait
            self._fail(error)

    def _seconds_to_next(self) -> float | None:
        if not self._heap:
            return None
        return max(0.0, self._heap[0][0] - self.clock.monotonic() - _TICK_SECONDS)

    def _start_due(self) -> None:
        """Start the rounds that are due, those of one group in one task."""
        now = self.clock.monotonic()
        groups: dict[Hashable, list[tuple[_Key, Round]]] = {}
        while self._heap and self._heap[0][0] <= now and len(groups) < _GROUPS_AT_ONCE:
            fires_at, _, key = heapq.heappop(self._heap)
            round_ = self._rounds.get(key)
            if round_ is None or round_.in_flight or round_.fires_at != fires_at:
                continue  # the round is over, or was moved to another moment
            round_.in_flight = True
            address = next(iter(round_.entries)).address
            groups.setdefault(self.store.group(address), []).append((key, round_))
        for rounds in groups.values():
            task = _background(self._fire(rounds, now))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _fire(self, rounds: list[tuple[_Key, Round]], now: float) -> None:
        entries = [e for _, round_ in rounds for e in round_.entries.values() if e.wants_look(now)]
        neighbours = self._neighbours(rounds) if self.store.lists_neighbours else []
        soon = [e for _, round_ in neighbours for e in round_.entries.values() if e.welcomes_look(now)]
        try:
            states = await look_at(
                self.store,
                {entry.target: entry.state for entry in entries},
                also={entry.target: entry.state for entry in soon},
            )
            for key, round_ in rounds:
                await self._finish(key, round_, states, now)
            for key, round_ in neighbours:
                if not round_.in_flight:
                    await self._finish(key, round_, states, now)
        except Exception as error:  # noqa: BLE001 - raised by every wait
            self._fail(error)

    def _neighbours(self, rounds: list[tuple[_Key, Round]]) -> list[tuple[_Key, Round]]:
        """The other rounds of the same group, which one listing may serve together with these."""
        group = self.store.group(next(iter(rounds[0][1].entries)).address)
        return [
            (key, round_) for key, round_ in self._rounds.items() if key[0] == group and not round_.in_flight
        ]

    async def _finish(self, key: _Key, round_: Round, states: dict[Target, State], now: float) -> None:
        looked = [entry for target, entry in round_.entries.items() if target in states]
        if not (looked or round_.in_flight):
            return  # a neighbour that nothing was learnt of
        round_.in_flight = True  # no other look begins while this one is handed on
        round_.fired += 1
        late = round_.lateness(min((e.poll_interval for e in looked), default=0.0))
        at, moment = self.clock.now(), self.clock.monotonic()
        for entry in looked:
            if entry.subscriptions:
                await self._wake_up(entry.take(states[entry.target], at=at, now=moment, base=now + late))
        round_.in_flight = False
        round_.fires_at = float("inf")
        if self._rounds.get(key) is round_:
            self._schedule(key, round_, min(entry.due for entry in round_.entries.values()))

    async def _wake_up(self, subscriptions: list[Subscription]) -> None:
        """Wake these waits, some at a time: each takes a moment, and all together would hold the loop."""
        for subscription in subscriptions:
            subscription.wake.set()
            self._woken += 1
            if self._woken % _WAKE_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _fail(self, error: BaseException) -> None:
        """A defect of ours or of a store: every wait is told, rather than waiting for ever."""
        self.failure = error
        for round_ in self._rounds.values():
            for entry in round_.entries.values():
                for subscription in entry.subscriptions:
                    subscription.wake.set()


def _background(work: Coroutine[object, object, None]) -> asyncio.Task[None]:
    """A task that belongs to no wait: it must not carry the log bindings of the one that started it."""
    return Context().run(asyncio.ensure_future, work)
