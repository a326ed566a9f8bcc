"""One wait, from its first look to its one outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from airflow_landmark.markers import Interval, Marker
from airflow_landmark.stores import (
    Address,
    InvalidAccess,
    LastingTrouble,
    PassingTrouble,
    StoreError,
    open_store,
)

from ._access import reached
from ._assess import LASTING_LOOKS, Action, Assessment, Terms, assess
from ._clock import Clock
from ._look import look_at
from ._presence import MAX_CHECKED_WHILE_WAITING, Presence, check_presence
from ._stamp import Stamp
from ._target import State
from ._view import View, watching

__all__ = ["Looks", "Outcome", "look_once", "wait"]

_FIRST_LOOK_SECONDS = 60.0
"""How much later than the deadline a first look may still end."""
_CLOCK_SECONDS = 300.0
_REACH_AGAIN_SECONDS = 60.0
"""The longest pause before a connection that could not be looked up is looked up again."""


@dataclass(slots=True)
class Looks:
    """What was seen while waiting.

    :param first_at: instant of the first look; ``None`` before it.
    :param last_at: instant of the last look.
    :param count: how many looks were made.
    :param seen: how many of them found what: a verdict, ``absent``, ``incomplete``, ``trouble``.
    :param last: what the last one found, for people.
    """

    first_at: datetime | None = None
    last_at: datetime | None = None
    count: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    last: str = "no look was made"
    _word: str = ""

    def take(self, view: View, assessment: Assessment) -> bool:
        """Count the looks since the last call; whether the last one found something new.

        All but the newest found what was found before: the watch tells of changes only.
        """
        new = view.looks - self.count
        self._add(self._word, new - 1)
        self._add(assessment.word, min(new, 1))
        changed = assessment.text != self.last
        self.count, self.last, self._word = view.looks, assessment.text, assessment.word
        self.first_at, self.last_at = self.first_at or view.looked_at, view.looked_at
        return changed

    def _add(self, word: str, looks: int) -> None:
        if looks > 0:
            self.seen[word or "absent"] = self.seen.get(word or "absent", 0) + looks


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a wait ended.

    :param kind: ``"arrived"``, ``"deadline"`` or ``"failed"``.
    :param looks: what was seen.
    :param stamp: of the marker that arrived.
    :param word: the verdict or the kind of trouble that ended it.
    :param text: one sentence for people.
    :param dataset: what was waited for; empty when that is not known.
    :param interval: what was waited for; ``None`` when that is not known.
    """

    kind: Literal["arrived", "deadline", "failed"]
    looks: Looks
    stamp: Stamp | None = None
    word: str = ""
    text: str = ""
    dataset: str = ""
    interval: Interval | None = None


async def wait(
    terms: Terms, *, clock: Clock | None = None, tell: Callable[[str], None] | None = None
) -> Outcome:
    """Look until the delivery is there, can never be, or the deadline has come.

    Shares its looks with all waits of this event loop on the same store. After the outcome no more
    requests are made.

    :param tell: is given a sentence when what is seen changes; never per look.
    :raises StoreError: when the store cannot be opened.
    """
    clock, tell = clock or Clock(), tell or _silent
    try:
        now = await _reached_in_time(terms, clock, tell)
    except PassingTrouble as error:
        return _unreached(terms, str(error))
    while True:
        async with watching(now.target, poll_interval=terms.poll_interval, clock=clock) as view:
            outcome = await _Wait(now, view, clock, tell).run()
        before, now = now, await _renewed(terms, now) if outcome.word == "access" else now
        if now is before:
            return outcome
        tell("the connection has changed meanwhile: looking with what it says now")


def _silent(_text: str) -> None:
    pass


async def _reached_in_time(terms: Terms, clock: Clock, tell: Callable[[str], None]) -> Terms:
    """The terms with the access to their target; trouble on the way is waited out until the deadline.

    :raises PassingTrouble: the last one, at the deadline.
    """
    pause, told = 1.0, ""
    while True:
        try:
            target = await reached(terms.target, terms.way)
            return terms if target is terms.target else replace(terms, target=target)
        except PassingTrouble as error:
            left = _seconds_to(terms.deadline, clock)
            if left is not None and left <= 0:
                raise
            if str(error) != told:
                told = str(error)
                tell(told)
        await clock.sleep(pause if left is None else min(pause, left))
        pause = min(2 * pause, _REACH_AGAIN_SECONDS)


async def _renewed(terms: Terms, now: Terms) -> Terms:
    """The terms with what the connection says now; the same as before when it says nothing new."""
    if terms.way.conn_id is None:
        return now
    try:
        target = await reached(terms.target, terms.way)
    except StoreError:
        return now
    return now if target.address.access == now.target.address.access else replace(terms, target=target)


def _unreached(terms: Terms, text: str) -> Outcome:
    """The end of a wait that never came to look."""
    wanted = terms.expectation
    looks = Looks(last=text)
    return Outcome("deadline", looks, None, "trouble", text, wanted.dataset, wanted.interval)


def _seconds_to(deadline: datetime | None, clock: Clock) -> float | None:
    return None if deadline is None else (deadline - clock.now()).total_seconds()


class _Wait:
    """The steps of one wait."""

    __slots__ = ("_clock", "_last", "_looks", "_refusals", "_tell", "_terms", "_view")

    def __init__(self, terms: Terms, view: View, clock: Clock, tell: Callable[[str], None]) -> None:
        self._terms = terms
        self._view = view
        self._clock = clock
        self._tell = tell
        self._looks = Looks()
        self._last = Assessment(Action.WAIT, "absent", self._looks.last)
        self._refusals = 0

    async def run(self) -> Outcome:
        """Judge what comes until something decides."""
        while not self._over():
            left = self._seconds_left()
            if left is not None:
                # The deadline is an instant of a clock that may be set: it is asked again now and then.
                first = not self._looks.count
                left = max(left, _FIRST_LOOK_SECONDS) if first else min(left, _CLOCK_SECONDS)
            if await self._judge(await self._news(left)) is not Action.WAIT:
                return self._decided()
            if not self._looks.count and left is not None:
                break  # the store has not answered even once
        # What came after the last poll came in time all the same.
        again = self._looks.count > 0 and self._view.look_soon()
        if again:
            came = await self._news(_FIRST_LOOK_SECONDS, every_look=True)
            if await self._judge(came) is not Action.WAIT:
                return self._decided()
        return self._late()

    def _news(self, seconds: float | None, *, every_look: bool = False) -> Awaitable[bool]:
        """Wait for a look that matters; whether it came."""
        # The files behind a marker may come although the marker itself stays the same.
        varies = self._last.word in ("incomplete", "trouble")
        return self._view.news(seconds=seconds, every_look=every_look or varies)

    async def _judge(self, came: bool) -> Action:
        """Judge what a look found; WAIT when none came in time."""
        self._view.heard()
        if came and self._view.looks:
            self._last = await self._judged()
            if self._looks.take(self._view, self._last):
                self._tell(self._last.text)
            return self._last.action
        return Action.WAIT

    async def _judged(self) -> Assessment:
        assessment = assess(self._view.state, self._terms, looks_alike=self._view.looks_alike)
        judged = await with_presence(assessment, self._terms, self._view.presence)
        refused = judged.action is Action.WAIT and assessment.action is Action.FIRE and judged.lasting
        self._refusals = self._refusals + 1 if refused else 0
        if self._refusals >= LASTING_LOOKS:
            return replace(judged, action=Action.FAIL)
        return judged

    def _over(self) -> bool:
        left = self._seconds_left()
        return left is not None and left <= 0 and self._looks.count > 0

    def _seconds_left(self) -> float | None:
        return _seconds_to(self._terms.deadline, self._clock)

    def _decided(self) -> Outcome:
        last, reading = self._last, self._last.reading
        if last.action is Action.FIRE and reading is not None and isinstance(reading.found, Marker):
            return self._ended("arrived", last.word, last.text, Stamp.of(reading.sighting, reading.found))
        return self._ended("failed", last.outcome_word, last.text)

    def _late(self) -> Outcome:
        if self._view.looks > self._looks.count:
            self._looks.take(self._view, self._last)
        return self._ended("deadline", self._last.word, self._looks.last)

    def _ended(
        self,
        kind: Literal["arrived", "deadline", "failed"],
        word: str,
        text: str,
        stamp: Stamp | None = None,
    ) -> Outcome:
        wanted = self._terms.expectation
        return Outcome(kind, self._looks, stamp, word, text, wanted.dataset, wanted.interval)


async def with_presence(
    assessment: Assessment, terms: Terms, check: Callable[[Address, Marker], Awaitable[Presence]]
) -> Assessment:
    """The assessment again: a marker that arrived goes on waiting while its files are not there.

    :param check: looks at the files of the marker at that address.
    """
    reading = assessment.reading
    if assessment.action is not Action.FIRE or reading is None or not isinstance(reading.found, Marker):
        return assessment
    files = len(reading.found.manifest.files)
    if terms.verify == "marker" or terms.on_incomplete == "fail" or files > MAX_CHECKED_WHILE_WAITING:
        return assessment
    address = reading.sighting.address
    try:
        presence = await check(address, reading.found)
    except StoreError as error:
        lasting = isinstance(error, LastingTrouble)
        return Assessment(Action.WAIT, "trouble", str(error), reading, lasting=lasting)
    if not presence.problems:
        return assessment
    return Assessment(Action.WAIT, "incomplete", f"{address}: {presence.text}", reading)


async def look_once(terms: Terms, *, count_alike: Callable[[str], int] | None = None) -> Assessment:
    """What one look finds, without a wait: the files are looked at as a wait would.

    :param count_alike: is given the identity of what was found, and returns how many looks in a row have
        found it; ``None`` when no look came before.
    :raises InvalidAccess: when the store can never be reached so.
    """
    try:
        terms = replace(terms, target=await reached(terms.target, terms.way))
        async with open_store(terms.target.address) as store:
            state = (await look_at(store, {terms.target: State()}))[terms.target]
            alike = 1 if count_alike is None else count_alike(state.identity)
            assessment = assess(state, terms, looks_alike=alike)
            judged = await with_presence(
                assessment, terms, lambda address, marker: check_presence(store, address, marker)
            )
            refused = assessment.action is Action.FIRE and judged.lasting
            return replace(judged, action=Action.FAIL) if refused and alike >= LASTING_LOOKS else judged
    except InvalidAccess:
        raise
    except StoreError as error:
        return Assessment(Action.WAIT, "trouble", str(error), lasting=isinstance(error, LastingTrouble))
