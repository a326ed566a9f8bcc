"""From a state to a decision: fire, fail, or go on waiting. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Literal, get_args

from airflow_landmark.markers import (
    Expectation,
    Marker,
    Taken,
    UnreadableMarker,
    Verdict,
    VerdictKind,
    judge,
    show,
)
from airflow_landmark.stores import LastingTrouble

from ._access import Way
from ._target import Reading, State, Target

__all__ = [
    "LASTING_LOOKS",
    "UNREADABLE_LOOKS",
    "Action",
    "Assessment",
    "Level",
    "OnIncomplete",
    "OnMismatch",
    "OnTaken",
    "Terms",
    "assess",
    "best_reading",
]

Level = Literal["marker", "files", "digests", "rows"]
OnMismatch = Literal["wait", "fail"]
OnIncomplete = Literal["wait", "fail"]
OnTaken = Literal["accept", "skip", "fail"]

UNREADABLE_LOOKS = 10
"""After so many looks at the same unreadable bytes nobody is still writing them."""
LASTING_LOOKS = 5
"""After so many looks in a row a refusal of the store is taken for lasting."""

_MAX_POLL_SECONDS = 86_400
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "verify": get_args(Level),
    "on_mismatch": get_args(OnMismatch),
    "on_incomplete": get_args(OnIncomplete),
    "on_taken": get_args(OnTaken),
}


@dataclass(frozen=True, slots=True)
class Terms:
    """What is waited for, and what happens to everything else.

    :param target: where.
    :param expectation: for which delivery.
    :param verify: how much is asked before the delivery counts: ``"marker"``, ``"files"`` (presence and
        size), ``"digests"``, ``"rows"``.
    :param poll_interval: seconds between looks.
    :param deadline: instant at which the wait ends; ``None`` waits for ever. The first look comes
        before any deadline.
    :param on_mismatch: ``"wait"`` or ``"fail"`` when another dataset or interval lies there; a pattern's
        other matches never fail the wait.
    :param on_incomplete: ``"wait"`` or ``"fail"`` when files of the manifest are missing or short.
    :param on_taken: ``"accept"``, ``"skip"`` or ``"fail"`` when this very delivery was taken before.
    :param taken: what the ledger holds.
    :param unreadable_looks: looks at the same unreadable bytes until the wait fails.
    :param way: how the store is reached, where the target does not say it.
    """

    target: Target
    expectation: Expectation
    verify: Level = "digests"
    poll_interval: float = 30.0
    deadline: datetime | None = None
    on_mismatch: OnMismatch = "wait"
    on_incomplete: OnIncomplete = "wait"
    on_taken: OnTaken = "accept"
    taken: Taken | None = None
    unreadable_looks: int = UNREADABLE_LOOKS
    way: Way = field(default_factory=Way)

    def check(self) -> None:
        """Refuse values that no wait can mean.

        :raises ValueError: naming the argument, what was expected and what was found.
        """
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} must be one of {', '.join(allowed)}, not {show(getattr(self, name))}"
                )
        if not 0.1 <= self.poll_interval <= _MAX_POLL_SECONDS:  # NaN fails this too
            raise ValueError(
                f"poll_interval must be 0.1 to {_MAX_POLL_SECONDS} seconds, not {self.poll_interval}"
            )
        if type(self.unreadable_looks) is not int or self.unreadable_looks < 1:
            raise ValueError(f"unreadable_looks must be at least 1, not {show(self.unreadable_looks)}")
        self.way.check(self.target.address.scheme)


class Action(Enum):
    """What a wait does next."""

    FIRE = "fire"
    FAIL = "fail"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Assessment:
    """A decision with its reason.

    :param action: what to do.
    :param word: a verdict, ``"absent"``, ``"incomplete"`` or ``"trouble"``: what looks are counted by.
    :param text: one sentence for people.
    :param reading: the marker that the decision is about.
    :param lasting: whether trouble is of the kind that waiting does not mend.
    """

    action: Action
    word: str
    text: str
    reading: Reading | None = None
    lasting: bool = False

    @property
    def outcome_word(self) -> str:
        """The word for the end of a wait: trouble that lasts is a matter of access."""
        return "access" if self.lasting else self.word


def assess(state: State, terms: Terms, *, looks_alike: int) -> Assessment:
    """Decide.

    :param looks_alike: how many looks in a row have found this same state.
    """
    if state.trouble is not None:
        lasting = isinstance(state.trouble, LastingTrouble)
        action = Action.FAIL if lasting and looks_alike >= LASTING_LOOKS else Action.WAIT
        return Assessment(action, "trouble", str(state.trouble), lasting=lasting)
    if not state.readings:
        return Assessment(Action.WAIT, "absent", f"{terms.target.text}: {state.reason}")
    reading, verdict = best_reading(state, terms)
    text = f"{reading.sighting.address}: {verdict.text}"
    if isinstance(reading.found, UnreadableMarker) and reading.found.incomplete:
        return Assessment(Action.WAIT, "incomplete", text, reading)
    return Assessment(_action(verdict, terms, looks_alike), str(verdict.kind), text, reading)


def best_reading(state: State, terms: Terms) -> tuple[Reading, Verdict]:
    """The reading that decides: the highest version of what is waited for, or else the most telling one.

    A recall is a higher version: it decides over the version that it recalls.
    """
    judged = [(r, judge(r.found, terms.expectation, terms.taken)) for r in state.readings]
    ours = [pair for pair in judged if pair[1].kind in _OURS]
    if not ours:
        return min(judged, key=lambda pair: _TELLING.index(pair[1].kind))
    best, verdict = max(ours, key=lambda pair: _version(pair[0]))
    rivals = {r.found.identity for r, _ in ours if _version(r) == _version(best)}
    if len(rivals) > 1:
        return best, Verdict(
            VerdictKind.REUSED_VERSION,
            f"one document of version {_version(best)}",
            f"{len(rivals)} different ones under that version",
        )
    return best, verdict


def _version(reading: Reading) -> int:
    return reading.found.version if isinstance(reading.found, Marker) else 0


_OURS = frozenset(
    {VerdictKind.ARRIVED, VerdictKind.WITHDRAWN, VerdictKind.ALREADY_TAKEN, VerdictKind.REUSED_VERSION}
)
_TELLING = (
    VerdictKind.OLDER_VERSION,
    VerdictKind.UNREADABLE,
    VerdictKind.OTHER_INTERVAL,
    VerdictKind.OTHER_DATASET,
)


def _action(verdict: Verdict, terms: Terms, looks_alike: int) -> Action:
    kind = verdict.kind
    # Other markers that match a pattern are ordinary neighbours: they never end the wait.
    literal = terms.target.pattern is None
    if kind is VerdictKind.ARRIVED:
        return Action.FIRE
    if kind is VerdictKind.ALREADY_TAKEN:
        return Action.FAIL if terms.on_taken == "fail" else Action.FIRE
    if kind is VerdictKind.REUSED_VERSION:
        return Action.FAIL
    if kind in (VerdictKind.OTHER_DATASET, VerdictKind.OTHER_INTERVAL):
        return Action.FAIL if terms.on_mismatch == "fail" and literal else Action.WAIT
    if kind is VerdictKind.UNREADABLE and literal:
        return Action.FAIL if looks_alike >= terms.unreadable_looks else Action.WAIT
    return Action.WAIT
