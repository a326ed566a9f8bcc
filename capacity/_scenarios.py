"""What may happen, and how many wait then.

Waits on one source end together, so when it is late they pile up together; independence, on which the usual
profile rests, is the optimistic case.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ._bounds import concurrency_cap, heaviest_antichain, waiting_limit
from ._curves import LoadClass, Profile
from ._origin import Origin
from ._schedules import Always, Rate
from ._sweep import Sweep, class_of
from ._values import Inputs, Scenario, Wait

__all__ = ["Crowd", "Load", "Pile", "load_of", "piled_up", "sources_by_pile", "text_of"]

_ENDLESS = 7 * 86_400.0
"""For how long waits without a Dag and without a time-out are taken to pile up: the default time-out."""


@dataclass(frozen=True)
class Pile:
    """Waits at one moment.

    :ivar classes: by class.
    :ivar total: all; less than the sum of the classes where these share a cap.
    """

    classes: Mapping[LoadClass, float]
    total: float

    @classmethod
    def none(cls) -> Pile:
        """Nobody."""
        return cls({}, 0.0)


@dataclass(frozen=True)
class Crowd:
    """The waits of one Dag that pile up together: their numbers by wait, and the cap on all of them."""

    numbers: Sequence[tuple[Wait, float]]
    cap: float

    @property
    def total(self) -> float:
        """All of them, under the cap."""
        return min(math.fsum(number for _, number in self.numbers), self.cap)


@dataclass(frozen=True)
class Load:
    """A scenario's waits: a profile, waits on top of it at the worst moment, triggerers that are gone.

    :ivar origin: None: that of the waits; otherwise how the scenario makes it weaker.
    """

    profile: Profile
    pile: Pile
    lost: int = 0
    origin: Origin | None = None


def piled_up(waits: Iterable[Wait], *, late: float, inputs: Inputs, sweep: Sweep) -> Pile:
    """How many of these waits are there at once when their sources are late by ``late`` seconds.

    By wait ``m min(R, ceil(min(D, A T) / P))``: width, runs alive at once, delay, time-outs of all tries,
    period; the runs are counted in the schedule itself, at its densest. Then the caps: concurrency limits,
    the heaviest antichain of a run times the runs, pools that count deferred tasks.

    :param late: infinite: until every wait has timed out.
    """
    crowds = [_crowd(members, late, inputs, sweep) for members in _by_dag(waits).values()]
    pools: dict[str, list[Crowd]] = {}
    for crowd in crowds:
        kind, name = sweep.component(crowd.numbers[0][0])
        pools.setdefault(name if kind == "pool" else "", []).append(crowd)
    classes: dict[LoadClass, float] = {}
    total = 0.0
    for pool, members in pools.items():
        cap = inputs.pools[pool].slots / _least_slots(members) if pool else math.inf
        found = _classes(members)
        total += min(math.fsum(crowd.total for crowd in members), cap)
        for class_, number in found.items():
            classes[class_] = classes.get(class_, 0.0) + min(number, cap)
    return Pile(classes, total)


def sources_by_pile(
    waits: Sequence[Wait], *, late: float, inputs: Inputs, sweep: Sweep
) -> list[tuple[str, float]]:
    """All sources with what piles up when one of them is late, the largest pile first."""
    groups: dict[str, list[Wait]] = {}
    for wait in waits:
        if not isinstance(wait.arrivals, Always):
            groups.setdefault(wait.group, []).append(wait)
    piles = [
        (name, piled_up(members, late=late, inputs=inputs, sweep=sweep).total)
        for name, members in groups.items()
    ]
    return sorted(piles, key=lambda pile: (-pile[1], pile[0]))


def load_of(
    scenario: Scenario, waits: Sequence[Wait], *, usual: Profile, inputs: Inputs, sweep: Sweep
) -> Load:
    """The waits of a scenario.

    :param waits: all that the same triggerers run.
    :param usual: their profile.
    """
    if scenario.kind in ("lost", "rolling"):
        lost = scenario.count if scenario.kind == "lost" else 1
        return Load(usual, Pile.none(), lost=lost)
    if scenario.kind == "backfill":
        return Load(usual, _backfilled(scenario, waits), origin="bounded")
    late = [wait for wait in waits if scenario.kind == "all-late" or wait.group in scenario.sources]
    pile = piled_up(late, late=scenario.seconds, inputs=inputs, sweep=sweep)
    # pools are shared with waits that are not late: the others are what is left of whole components
    touched = {sweep.component(wait) for wait in late}
    around = [wait for wait in waits if sweep.component(wait) in touched]
    names = {wait.name for wait in late}
    beside = sweep.profile(wait for wait in around if wait.name not in names)
    others = usual.minus(sweep.profile(around)).plus(beside) if len(around) < len(waits) else beside
    return Load(others, pile, origin="bounded")


def text_of(scenario: Scenario) -> str:
    """The scenario in words."""
    if scenario.kind == "late":
        named = ", ".join(scenario.sources[:3]) + (", ..." if len(scenario.sources) > 3 else "")
        return f"{named} late by {_hours(scenario.seconds)}"
    if scenario.kind == "all-late":
        return "every source late " + (
            "until its waits time out" if math.isinf(scenario.seconds) else f"by {_hours(scenario.seconds)}"
        )
    if scenario.kind == "backfill":
        runs = f"{scenario.runs:,} runs, {min(scenario.runs, scenario.at_once):,} at once"
        return f"backfill of {scenario.dag}: {runs}"
    if scenario.kind == "lost":
        return f"{scenario.count} triggerer{'s' if scenario.count > 1 else ''} lost"
    return "rolling restart: one triggerer at a time is gone"


def _hours(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds / 3600:g} h"
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"


def _backfilled(scenario: Scenario, waits: Sequence[Wait]) -> Pile:
    """The waits of the backfill's runs, on top of all others: backfills have a limit of runs of their own."""
    ours = (wait for wait in waits if wait.dag_name == scenario.dag)
    members = [wait for wait in ours if not isinstance(wait.arrivals, Always)]
    if not members:
        return Pile.none()
    runs = min(scenario.runs, scenario.at_once)
    numbers = [
        (wait, min(wait.width.value * runs, _limit(wait.max_active_tis_per_dag, wait))) for wait in members
    ]
    crowd = Crowd(numbers, runs * heaviest_antichain(members))
    return Pile(_classes([crowd]), crowd.total)


def _limit(cap: int | None, wait: Wait) -> float:
    return math.inf if cap is None or wait.from_trigger else cap


def _crowd(waits: Sequence[Wait], late: float, inputs: Inputs, sweep: Sweep) -> Crowd:
    dag = inputs.dag_of(waits[0])
    runs = {wait.name: _runs_alive(wait, late, dag.runs, sweep) for wait in waits}
    numbers = [(wait, min(wait.width.value * runs[wait.name], concurrency_cap(wait, dag))) for wait in waits]
    return Crowd(numbers, max(runs.values()) * heaviest_antichain(waits))


def _runs_alive(wait: Wait, late: float, most: int, sweep: Sweep) -> float:
    seconds = min(late, waiting_limit(wait))
    if isinstance(wait.arrivals, Always):
        return 1.0
    if isinstance(wait.arrivals, Rate) and wait.dag is None:
        return wait.arrivals.per_second * min(seconds, _ENDLESS)
    alive = sweep.most_at_once(wait.arrivals, seconds)
    return min(most, math.ceil(alive)) if math.isfinite(alive) else most


def _by_dag(waits: Iterable[Wait]) -> dict[tuple[str, str], list[Wait]]:
    """By Dag and pool: runs limit the one, slots the other."""
    found: dict[tuple[str, str], list[Wait]] = {}
    for wait in waits:
        found.setdefault((wait.dag_name, "" if wait.from_trigger else wait.pool), []).append(wait)
    return found


def _least_slots(crowds: Iterable[Crowd]) -> int:
    return min(wait.pool_slots for crowd in crowds for wait, _ in crowd.numbers)


def _classes(crowds: Iterable[Crowd]) -> dict[LoadClass, float]:
    """By class; of one Dag no class has more than the Dag."""
    found: dict[LoadClass, float] = {}
    for crowd in crowds:
        own: dict[LoadClass, float] = {}
        for wait, number in crowd.numbers:
            own[class_of(wait)] = own.get(class_of(wait), 0.0) + number
        for name, number in own.items():
            found[name] = found.get(name, 0.0) + min(number, crowd.cap)
    return found
