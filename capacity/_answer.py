"""The answer: inputs in, frozen values out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ._bounds import waiting_limit
from ._calibrations import Calibrations, load_calibrations
from ._curves import Curve, Grid
from ._fixes import fixes_of
from ._limits import kind_rows, triggerers_for
from ._lints import lints_of
from ._model import USUAL, Group, Model, serving_groups
from ._results import (
    Answer,
    Doubling,
    LimitRow,
    PartitionAnswer,
    ScenarioAnswer,
    Series,
    Times,
    Verdict,
)
from ._scenarios import sources_by_pile
from ._schedules import Always
from ._sweep import Sweep
from ._times import statements, times
from ._values import Inputs, Scenario, Wait

__all__ = ["Tell", "check"]

Tell = Callable[[int, int], None]
"""Called with steps done and steps in all."""

_POINTS = 500
_DRAWN = 7
_STEPS = 4
_MANY = 2_000
_COARSE = 4
_DAY = 86_400.0


def check(
    inputs: Inputs,
    *,
    begin: float,
    seconds: float,
    calibrations: Calibrations | None = None,
    tell: Tell | None = None,
) -> Answer:
    """How many triggerers the waits need, by queue and team; why; and what happens when one dies.

    :param begin: where the horizon begins, seconds since 1970.
    :param seconds: how long it is: at least a week, better five, so that schedules meet at their worst.
    :param calibrations: None: the shipped figures.
    """
    known = calibrations or load_calibrations()
    inputs = replace(inputs, waits=tuple(_polled(wait, known) for wait in inputs.waits))
    coarseness = _COARSE if len(inputs.waits) > _MANY else 1
    sweep = Sweep(inputs, Grid.covering(begin=begin, seconds=seconds), coarseness=coarseness)
    groups = serving_groups(inputs)
    partitions = []
    for number, group in enumerate(groups):
        steps = _counter(tell, number * _STEPS, len(groups) * _STEPS)
        partitions.append(_group(group, inputs, known, sweep, steps))
    verdict = max((one.verdict for one in partitions), default=Verdict.HOLDS)
    lints = lints_of(inputs, known)
    return Answer(
        begin=sweep.grid.begin,
        end=sweep.grid.end,
        partitions=tuple(partitions),
        lints=lints,
        notes=(*inputs.notes, *_notes(inputs)),
        verdict=verdict,
    )


def _polled(wait: Wait, calibrations: Calibrations) -> Wait:
    """The wait with its kind's own poll interval where it has none."""
    if wait.poll_interval is not None:
        return wait
    return replace(wait, poll_interval=calibrations.kind(wait.kind).poll_interval)


def _counter(tell: Tell | None, done: int, whole: int) -> Iterator[None]:
    """Tells of one step more whenever it is asked for the next."""
    while True:
        done += 1
        if tell is not None:
            tell(done, whole)
        yield


def _group(
    group: Group, inputs: Inputs, calibrations: Calibrations, sweep: Sweep, steps: Iterator[None]
) -> PartitionAnswer:
    model = Model.of(group, inputs=inputs, calibrations=calibrations, sweep=sweep)
    next(steps)
    stated = [one for one in inputs.scenarios if _touches(one, group.waits)]
    answers = [model.answer(USUAL, counts=True)]
    answers += [model.answer(one, counts=True) for one in stated]
    answers += [model.answer(one, counts=False) for one in _informing(model, stated)]
    next(steps)
    fixes = fixes_of(model, [USUAL, *(one for one in stated if one.kind not in ("lost", "rolling"))])
    next(steps)
    counted = [one for one in answers if one.counts]
    found = PartitionAnswer(
        partitions=group.partitions,
        deployments=tuple(one.name for one in group.deployments),
        replicas=model.replicas,
        spare=model.spare,
        capacity=int(model.supply["capacity"] or 0),
        scenarios=tuple(answers),
        kinds=kind_rows(model.usual, calibrations, model.supply),
        times=_times(model, answers[0]),
        doubling=_doubling(model, max(counted, key=lambda one: one.needed)),
        fixes=fixes,
        series=_series(model, answers[0]),
        statements=statements(model.usual, replicas=model.replicas, calibrations=calibrations),
        verdict=max(one.verdict for one in counted),
    )
    next(steps)
    return found


def _touches(scenario: Scenario, waits: Sequence[Wait]) -> bool:
    if scenario.kind == "late":
        return any(wait.group in scenario.sources for wait in waits)
    if scenario.kind == "backfill":
        return any(wait.dag_name == scenario.dag for wait in waits)
    return bool(waits)


def _informing(model: Model, stated: Sequence[Scenario]) -> list[Scenario]:
    """What nobody asked for and everybody should know: the worst source, and the bound on everything."""
    if not model.waits:
        return []
    found = []
    if not any(one.kind == "late" for one in stated):
        piles = sources_by_pile(model.waits, late=_DAY, inputs=model.inputs, sweep=model.sweep)
        if piles:
            found.append(Scenario(name="worst source", kind="late", sources=(piles[0][0],), seconds=_DAY))
    if not any(one.kind == "all-late" for one in stated):
        found.append(Scenario(name="everything late", kind="all-late", seconds=math.inf))
    return found


def _times(model: Model, usual: ScenarioAnswer) -> Times:
    burst = usual.peak.sources[0].share * usual.peak.likely.value if usual.peak.sources else 0.0
    return times(
        model.usual,
        peak=usual.peak.likely.value,
        burst=burst,
        replicas=model.replicas or usual.with_spare,
        deployments=model.assumed_deployments,
        calibrations=model.calibrations,
        platform=model.inputs.platform,
    )


def _doubling(model: Model, worst: ScenarioAnswer) -> Doubling:
    """Which limit is met first when all loads grow alike, with all triggerers alive and no headroom."""
    headroom = 1 + model.inputs.platform.headroom
    factors = {
        row.limit: worst.replicas * row.has / (row.load / headroom)
        for row in worst.limits
        if row.has is not None and row.load > 0
    }
    if not factors or worst.replicas <= 0:
        return Doubling(limit=worst.binding, factor=None, holds=not worst.needed, needed=_twice(worst.limits))
    first = min(factors, key=lambda limit: factors[limit])
    factor = max(0.0, factors[first])
    return Doubling(limit=first, factor=factor, holds=factor >= 2, needed=_twice(worst.limits))


def _twice(rows: Sequence[LimitRow]) -> int:
    return max((triggerers_for(2 * row.load, row.has) or 0 for row in rows), default=0)


def _series(model: Model, usual: ScenarioAnswer) -> Series:
    """The profile, thinned to what can be drawn, with the largest Dags of the peak."""
    grid = model.sweep.grid
    width = max(1, math.ceil(grid.cells / _POINTS))
    dags = {}
    for one in usual.peak.dags[:_DRAWN]:
        waits = [wait for wait in model.waits if wait.dag_name == one.name]
        dags[one.name] = _thinned(model.sweep.profile(waits).total, width)
    return Series(
        start=grid.begin, step=width * grid.step, total=_thinned(model.usual.total, width), dags=dags
    )


def _thinned(curve: Curve, width: int) -> tuple[float, ...]:
    return tuple(max(curve.mean[first : first + width]) for first in range(0, len(curve.mean), width))


def _notes(inputs: Inputs) -> Iterator[str]:
    waits = [one for one in inputs.waits if one.mode == "deferrable" and not isinstance(one.arrivals, Always)]
    bounded = sum(wait.duration.origin == "bounded" for wait in waits)
    if bounded:
        yield f"{bounded:,} of {len(waits):,} waits have no known duration: taken to last until they time out"
    endless = sum(math.isinf(waiting_limit(wait)) and wait.duration.origin == "bounded" for wait in waits)
    if endless:
        yield f"{endless:,} of these have no time-out: taken to last for ever, up to the runs allowed"
    if inputs.waits and not inputs.deployments:
        yield "no deployment is stated: numbers are for triggerers of capacity 1,000 on one core"
