"""What could be changed, and the numbers after it: every fix is tried, none is guessed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ._bounds import waiting_limit, waiting_time
from ._curves import LoadClass
from ._limits import weights_of
from ._model import USUAL, Model
from ._origin import Estimate, rounded_up
from ._results import Fix, LimitName
from ._schedules import Always, Rate
from ._values import Pool, Scenario, Wait

__all__ = ["fixes_of"]

_SHOWN = 8
_TOP = 3
_SHIFTS = (300, 600, 900, 1200, 1800, 2700, 3600)
_PARTS = 12
_TIMEOUTS = (3600, 7200, 14_400, 28_800, 43_200, 86_400)
_POLLS = (10, 15, 30, 60, 120, 300, 600)
_RARE = 0.001
_MIB = 1024**2
_MEMORY_STEP = 256 * _MIB
_FILES = 65_536
_MARKER = "airflow_landmark.triggers.MarkerTrigger"
_CHECKED: tuple[LimitName, ...] = ("loop", "requests")
_WATCHED = ("S3KeyTrigger", "FileTrigger", "HttpSensorTrigger")


@dataclass(frozen=True)
class Outcome:
    """What the worst of several scenarios asks for."""

    peak: float
    needed: int
    with_spare: int
    binding: LimitName


def fixes_of(model: Model, scenarios: Sequence[Scenario]) -> tuple[Fix, ...]:
    """Changes that lower the peak or the number of triggerers, the best first.

    :param scenarios: those that must hold.
    """
    if not model.waits:
        return ()
    now = _outcome(model, scenarios)
    found = []
    for code, text, changed, buys in _candidates(model, scenarios, now):
        after = _outcome(changed, scenarios)
        fix = Fix(
            code=code,
            text=text,
            peak=after.peak,
            needed=after.needed,
            with_spare=after.with_spare,
            saves=now.with_spare - after.with_spare,
        )
        if buys or fix.saves > 0 or (fix.saves == 0 and after.peak < now.peak * 0.99 - 0.5):
            found.append(fix)
    found.sort(key=lambda fix: (-fix.saves, fix.peak, fix.code))
    return tuple(found[:_SHOWN])


def _outcome(model: Model, scenarios: Sequence[Scenario]) -> Outcome:
    peak, needed = 0.0, 0
    binding: LimitName = "capacity"
    for scenario in scenarios:
        load = model.load(scenario)
        need = model.need(model.demand(load))
        peak = max(peak, load.profile.total.highest_likely() + load.pile.total)
        if need.needed > needed:
            needed, binding = need.needed, need.binding
    return Outcome(peak, needed, needed + model.spare if needed else 0, binding)


_Candidate = tuple[str, str, Model, bool]
"""Code, text, the changed model, and whether it is shown even if it lowers nothing."""


def _candidates(model: Model, scenarios: Sequence[Scenario], now: Outcome) -> Iterator[_Candidate]:
    shares = model.present(model.usual.peak_index())
    yield from _staggered(model, shares)
    yield from _timed_out(model, scenarios)
    yield from _polled(model)
    yield from _pooled(model, shares)
    yield from _watched(model)
    yield from _converted(model)
    yield from _larger(model, now)
    if now.with_spare > model.replicas:
        text = f"run {now.with_spare} triggerers instead of {model.replicas}"
        yield "replicas", text, model, True


def _staggered(model: Model, shares: Sequence[tuple[Wait, float]]) -> Iterator[_Candidate]:
    """Starts moved away from the peak: the schedules of a Dag, or many tasks of one schedule apart."""
    sums: dict[str, float] = {}
    for wait, number in shares:
        if not isinstance(wait.arrivals, (Rate, Always)):
            sums[wait.dag_name] = sums.get(wait.dag_name, 0.0) + number
    for name in sorted(sums, key=lambda one: -sums[one])[:_TOP]:
        waits = [wait for wait in model.waits if wait.dag_name == name]
        if len(waits) == 1 and waits[0].dag is None and waits[0].width.value >= _PARTS:
            yield (
                "stagger",
                f"spread the starts of {name} over an hour",
                model.changed(_apart(waits[0])),
                False,
            )
            continue
        tried = [(shift, model.changed(_shifted(waits, shift))) for shift in _SHIFTS]
        shift, best = min(tried, key=lambda one: (one[1].usual.total.highest_likely(), one[0]))
        yield "stagger", f"start {name} {shift // 60} minutes later", best, False


def _shifted(waits: Sequence[Wait], seconds: float) -> list[Wait]:
    return [replace(wait, offset=wait.offset + seconds) for wait in waits]


def _apart(wait: Wait) -> list[Wait]:
    width = Estimate(wait.width.value / _PARTS, wait.width.origin)
    return [
        replace(
            wait,
            name=f"{wait.name} ({part + 1} of {_PARTS})" if part else wait.name,
            dag=None,
            source=wait.group,
            width=width,
            offset=wait.offset + part * 3600.0 / _PARTS,
        )
        for part in range(_PARTS)
    ]


def _timed_out(model: Model, scenarios: Sequence[Scenario]) -> Iterator[_Candidate]:
    """Shorter time-outs, where waits pile up: those of late sources, and those that are only bounded."""
    named = {source for scenario in scenarios for source in scenario.sources}
    everything = any(scenario.kind == "all-late" for scenario in scenarios)
    groups: dict[tuple[float, bool], list[Wait]] = {}
    for wait in model.waits:
        bounded = wait.duration.origin == "bounded"
        enough = _enough(wait)
        if (bounded or everything or wait.group in named) and enough < waiting_limit(wait):
            changed = replace(wait, timeout=enough, duration=_ended(wait, enough))
            groups.setdefault((enough, bounded), []).append(changed)
    for (seconds, bounded), waits in sorted(groups.items(), key=lambda group: -len(group[1]))[:_TOP]:
        names = waits[0].name if len(waits) == 1 else f"{len(waits):,} waits, such as {waits[0].name}"
        changed_model = model.changed(waits) if bounded else model.timed_out(waits)
        yield "timeout", f"set timeout to {seconds / 3600:g} h on {names}", changed_model, False


def _ended(wait: Wait, timeout: float) -> Any:
    """A duration that was only a bound is bounded by the new time-out."""
    if wait.duration.origin != "bounded" or not hasattr(wait.duration, "seconds"):
        return wait.duration
    return replace(wait.duration, seconds=min(timeout, wait.duration.longest))  # type: ignore[type-var]


def _enough(wait: Wait) -> float:
    """A time-out that hardly any usual wait reaches."""
    if wait.duration.origin == "bounded":
        return float(_TIMEOUTS[2])
    known = waiting_time(wait)
    return next((float(one) for one in _TIMEOUTS if known.survival(one) <= _RARE), math.inf)


def _polled(model: Model) -> Iterator[_Candidate]:
    """Fewer checks, for the class that loads loop or supervisor most."""
    for limit in _CHECKED:
        loads = {
            name: curve.highest() * weights_of(model.calibrations.kind(name[0]), name[1])[limit]
            for name, curve in model.usual.classes.items()
        }
        heaviest = max(loads, key=lambda name: loads[name])
        has = model.supply[limit]
        path, interval = heaviest[0], _poll_of(model, heaviest)
        slower = next((float(one) for one in _POLLS if one >= 2 * interval), None)
        # checks that take less than a tenth of what one triggerer has are not what binds
        if slower is None or not has or loads[heaviest] < has / 10:
            continue
        changed = model.reclassed(_changing(heaviest, (path, slower)))
        name = path.rpartition(".")[2]
        yield "poll", f"check every {slower:g} s instead of every {interval:g} s ({name})", changed, False


def _changing(old: LoadClass, new: LoadClass) -> Callable[[LoadClass], LoadClass]:
    return lambda name: new if name == old else name


def _poll_of(model: Model, name: LoadClass) -> float:
    return name[1] or model.calibrations.kind(name[0]).poll_interval


def _pooled(model: Model, shares: Sequence[tuple[Wait, float]]) -> Iterator[_Candidate]:
    """A pool of its own that counts deferred tasks, for the Dag that waits most."""
    room = _room(model)
    excess = model.usual.total.highest_likely() - room
    sums: dict[str, float] = {}
    for wait, number in shares:
        if not wait.from_trigger and model.sweep.component(wait)[0] != "pool":
            sums[wait.dag_name] = sums.get(wait.dag_name, 0.0) + number
    if not sums or excess <= 0:
        return
    name = max(sums, key=lambda one: sums[one])
    slots = math.floor(sums[name] - excess)
    if slots < 1:
        return
    pool = Pool(name=f"waits of {name}", slots=slots, include_deferred=True)
    waits = [
        replace(wait, pool=pool.name, pool_slots=1)
        for wait in model.waits
        if wait.dag_name == name and not wait.from_trigger
    ]
    text = f"a pool of {slots} slots with include_deferred for {name}: the rest waits for slots, untimed"
    yield "pool", text, model.with_pool(pool).changed(waits), False


def _room(model: Model) -> float:
    """Waits that the triggerers hold with spare lost, by capacity."""
    capacity = model.supply["capacity"] or 0.0
    return max(0, model.replicas - model.spare) * capacity / (1 + model.inputs.platform.headroom)


def _watched(model: Model) -> Iterator[_Candidate]:
    """The shared watch: all waits on one place have one client and one poll loop."""
    tasks = math.fsum(wait.width.value for wait in model.waits if _can_watch(wait.kind))
    if tasks:
        text = f"wait with MarkerSensor: {tasks:,.0f} tasks share clients and looks (partners write markers)"
        changed = model.reclassed(
            lambda name: (_MARKER, _poll_of(model, name)) if _can_watch(name[0]) else name
        )
        yield "watch", text, changed, False


def _can_watch(kind: str) -> bool:
    return kind.rpartition(".")[2] in _WATCHED


def _converted(model: Model) -> Iterator[_Candidate]:
    """Sensors that hold or take worker slots today."""
    partitions = set(model.group.partitions)
    waits = [
        replace(wait, mode="deferrable")
        for wait in model.inputs.waits
        if wait.mode != "deferrable" and wait.partition in partitions
    ]
    if waits:
        changed = model.changed(waits)
        more = changed.usual.mean - model.usual.mean
        tasks = sum(wait.width.value for wait in waits)
        text = (
            f"defer the {tasks:,.0f} tasks that poke or reschedule now: {more:,.1f} more triggers on average"
        )
        yield "convert", text, changed, True


def _larger(model: Model, now: Outcome) -> Iterator[_Candidate]:
    """More memory or more open files, where they are what binds."""
    if now.binding == "memory":
        need = model.need(model.demand(model.load(USUAL)))
        loads = {row.limit: row for row in need.rows}
        others = max(row.needed or 1 for row in need.rows if row.limit != "memory")
        known = min(one.memory_bytes for one in model.assumed_deployments if one.memory_bytes)
        base = known - (model.supply["memory"] or 0.0)
        rounded = rounded_up((base + loads["memory"].load / max(1, others)) / _MEMORY_STEP) * _MEMORY_STEP
        text = f"give a triggerer {rounded // _MIB:,} MiB of memory instead of {known // _MIB:,}"
        yield "memory", text, model.with_deployments(lambda one: replace(one, memory_bytes=rounded)), False
    if now.binding == "descriptors":
        text = f"raise the soft limit of open files to {_FILES:,}"
        yield "nofile", text, model.with_deployments(lambda one: replace(one, nofile=_FILES)), False
