"""How many wait at every moment: a sweep over the fires of all schedules.

``c(t)`` is the sum over all fires ``f`` before ``t`` of ``m S(t - f - o)``: width, survival function of the
wait, offset of the deferral from the run's start. The horizon is cut into equal steps; a step holds the
highest that the waits in it come to, so the profile is never below the truth, and above it by what ends
within a step.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ._bounds import concurrency_cap, heaviest_antichain, waiting_time
from ._curves import SURE, Grid, LoadClass, Profile
from ._durations import Duration
from ._schedules import Always, Arrivals, Rate, most_within
from ._sums import Level, Shape, Sums, levels_of
from ._values import Inputs, Wait

__all__ = ["Sweep", "class_of", "reach_of"]

_FINE = 256
_FAR = 400 * 86_400.0
"""No wait is looked for further back than this."""
_GONE = 1e-5


def class_of(wait: Wait) -> LoadClass:
    """What it weighs like."""
    return wait.kind, wait.poll_interval


def reach_of(duration: Duration) -> float:
    """Seconds after which a wait is all but surely over; infinite when it has no end."""
    if math.isfinite(duration.longest) or math.isinf(duration.mean):
        return duration.longest
    reach = max(duration.mean, 1.0)
    while duration.survival(reach) > _GONE:
        reach *= 1.25
    return reach


class Sweep:
    """Builds profiles of sets of waits.

    :param inputs: for Dags and pools; which waits is said later.
    :param grid: the steps.
    :param coarseness: 1: exact but for the steps; larger: faster, and further above the truth.
    """

    def __init__(self, inputs: Inputs, grid: Grid, *, coarseness: int = 1) -> None:
        self._inputs = inputs
        self._fine = max(8, _FINE // coarseness)
        self._fires: dict[tuple[int, float], Sequence[float]] = {}
        self._most: dict[tuple[int, float], float] = {}
        self._kept: list[Arrivals] = []
        self.grid = grid

    def profile(self, waits: Iterable[Wait]) -> Profile:
        """The profile of these waits, capped by runs, concurrency limits, dependencies and pools."""
        total = Profile.empty(self.grid)
        for members, cap in self._pools(waits):
            total = total.plus(self._members(members).clipped(cap))
        return total

    def with_inputs(self, inputs: Inputs) -> Sweep:
        """The same for other Dags and pools; what is known of schedules is shared."""
        other = Sweep(inputs, self.grid)
        other._fine, other._fires, other._most, other._kept = self._fine, self._fires, self._most, self._kept
        return other

    def component(self, wait: Wait) -> tuple[str, str]:
        """Equal for waits that share a cap: their numbers do not simply add up."""
        pool = self._inputs.pools.get(wait.pool)
        if pool is not None and pool.include_deferred and pool.slots >= 0 and not wait.from_trigger:
            return "pool", pool.name
        return "dag", wait.dag_name

    def fires(self, arrivals: Arrivals, *, reach: float) -> Sequence[float]:
        """The fires whose waits may touch the horizon, in order."""
        if isinstance(arrivals, (Rate, Always)):
            return ()
        reach = min(reach, _FAR)
        far = 0.0 if reach <= 0 else 2.0 ** math.ceil(math.log2(reach))
        key = (id(arrivals), far)
        if key not in self._fires:
            self._kept.append(arrivals)  # as long as it lives, its id is its own
            self._fires[key] = arrivals.fires(begin=self.grid.begin - far, end=self.grid.end)
        found = self._fires[key]
        return found[bisect_left(found, self.grid.begin - reach) :]

    def most_at_once(self, arrivals: Arrivals, seconds: float) -> float:
        """The most fires within so many seconds, wherever they lie; infinite for ever."""
        if isinstance(arrivals, Always):
            return 1.0
        if isinstance(arrivals, Rate):
            return arrivals.per_second * seconds
        if math.isinf(seconds):
            return math.inf
        key = (id(arrivals), seconds)
        if key not in self._most:
            self._most[key] = most_within(self.fires(arrivals, reach=seconds), seconds)
        return self._most[key]

    def starts_of(self, wait: Wait, *, begin: float, end: float) -> Sequence[float]:
        """The moments at which those of its instances deferred that may be there between two moments."""
        reach = reach_of(waiting_time(wait))
        fires = self.fires(wait.arrivals, reach=reach + wait.offset)
        first = bisect_left(fires, begin - wait.offset - reach)
        return [at + wait.offset for at in fires[first : bisect_left(fires, end - wait.offset)]]

    def _pools(self, waits: Iterable[Wait]) -> Iterator[tuple[list[Wait], float]]:
        """Sets of waits with the cap on their sum: a pool that counts deferred tasks, or none."""
        pools: dict[str | None, list[Wait]] = {}
        for wait in waits:
            kind, name = self.component(wait)
            pools.setdefault(name if kind == "pool" else None, []).append(wait)
        for pool, members in pools.items():
            slots = math.inf if pool is None else self._inputs.pools[pool].slots
            yield members, slots / min(wait.pool_slots for wait in members)

    def _members(self, waits: Sequence[Wait]) -> Profile:
        sums, capped = Sums(self.grid), []
        simple: dict[int, list[Wait]] = {}
        for members in _by_dag(waits).values():
            if all(self._simple(wait) for wait in members) and not _ordered(members):
                for wait in members:
                    simple.setdefault(id(wait.arrivals), []).append(wait)
            else:
                capped.append(self._dag(members))
        for group in simple.values():
            self._add(sums, group, math.inf)
        profile = sums.profile()
        for one in capped:
            profile = profile.plus(one)
        return profile

    def _simple(self, wait: Wait) -> bool:
        """Whether no cap can ever bind."""
        most = self.most_at_once(wait.arrivals, reach_of(waiting_time(wait)))
        return wait.width.value * most <= concurrency_cap(wait, self._inputs.dag_of(wait))

    def _dag(self, waits: Sequence[Wait]) -> Profile:
        """The waits of one Dag, each capped, those of one run together, and all runs together."""
        dag = self._inputs.dag_of(waits[0])
        together = heaviest_antichain(waits)
        profile = Profile.empty(self.grid)
        if _ordered(waits) and all(self._simple(wait) for wait in waits):
            for _, group in groupby(sorted(waits, key=_schedule), key=_schedule):
                profile = profile.plus(self._built(list(group), together))
        else:
            for wait in waits:
                cap = concurrency_cap(wait, dag)
                profile = profile.plus(self._built([wait], math.inf).clipped(cap))
        limitless = any(isinstance(wait.arrivals, (Rate, Always)) for wait in waits)
        return profile.clipped(math.inf if limitless else dag.runs * together)

    def _built(self, waits: Sequence[Wait], cap: float) -> Profile:
        sums = Sums(self.grid)
        self._add(sums, waits, cap)
        return sums.profile()

    def _add(self, sums: Sums, waits: Sequence[Wait], cap: float) -> None:
        """Add waits of one schedule.

        :param cap: on the waits of one run.
        """
        arrivals = waits[0].arrivals
        if isinstance(arrivals, (Rate, Always)):
            for wait in waits:
                self._add_constant(sums, wait)
            return
        reach = max(reach_of(waiting_time(wait)) + wait.offset for wait in waits)
        fires = self.fires(arrivals, reach=reach)
        aligned = all(at % self.grid.step == 0 for at in fires)
        shape = self._shape(waits, slack=0.0 if aligned else self.grid.step)
        sums.add(_under(shape, cap), fires)
        sums.mean += math.fsum(self._mean(wait, fires) for wait in waits)

    def _shape(self, waits: Sequence[Wait], *, slack: float) -> Shape:
        shape = Shape()
        for wait in waits:
            levels = levels_of(
                waiting_time(wait),
                width=wait.width.value,
                offset=wait.offset,
                grid=self.grid,
                slack=slack,
                fine=self._fine,
            )
            shape.add(class_of(wait), levels)
            cell = int(wait.offset // self.grid.step)
            shape.starts[cell] = shape.starts.get(cell, 0.0) + wait.width.value
        return shape

    def _mean(self, wait: Wait, fires: Sequence[float]) -> float:
        """Its share of the average over the horizon: rate times mean duration, exact at both ends."""
        duration = waiting_time(wait)
        reach = reach_of(duration)
        begin, end = self.grid.begin - wait.offset, self.grid.end - wait.offset
        whole = bisect_left(fires, begin), bisect_left(fires, end - reach)
        inside = max(0, whole[1] - whole[0])
        area = inside * duration.mean if inside else 0.0
        for at in (*fires[: whole[0]], *fires[max(whole) :]):
            area += duration.area(max(0.0, end - at)) - duration.area(max(0.0, begin - at))
        return wait.width.value * area / self.grid.seconds

    def _add_constant(self, sums: Sums, wait: Wait) -> None:
        width = wait.width.value
        if isinstance(wait.arrivals, Always):
            sums.add_constant(class_of(wait), width, 0.0, width)
            return
        # of waits without an end, those that start within the horizon are all there at its end
        lasting = min(waiting_time(wait).mean, max(self.grid.seconds, _FAR))
        alive = self.most_at_once(wait.arrivals, lasting)
        # a Poisson number of batches; all of a batch may end together
        mean, variance = width * alive, width * width * alive
        sums.add_constant(class_of(wait), mean, variance, mean + width + 3 * SURE * math.sqrt(variance))


def _by_dag(waits: Sequence[Wait]) -> dict[str, list[Wait]]:
    found: dict[str, list[Wait]] = {}
    for wait in waits:
        found.setdefault(wait.dag_name, []).append(wait)
    return found


def _ordered(waits: Sequence[Wait]) -> bool:
    """Whether some of them follow others."""
    names = {wait.name for wait in waits}
    return any(name in names for wait in waits for name in wait.after)


def _schedule(wait: Wait) -> int:
    return id(wait.arrivals)


def _under(shape: Shape, cap: float) -> Shape:
    """The shape with no more than ``cap`` waits at once, whatever their class."""
    if math.isinf(cap):
        return shape
    found = Shape(starts=shape.starts)
    cells = sorted({cell for steps in shape.classes.values() for cell in steps})
    sums, parts = ([(0.0, 0.0, 0.0)] * len(cells) for _ in range(2))
    for name, steps in shape.classes.items():
        whole = (0.0, 0.0, 0.0)
        levels: list[Level] = []
        for index, cell in enumerate(cells):
            whole = _plus(whole, steps.get(cell, (0.0, 0.0, 0.0)))
            low = _low(whole, cap)
            levels.append((cell, *low))
            sums[index], parts[index] = _plus(sums[index], whole), _plus(parts[index], low)
        found.add(name, levels)
    excess = [_plus(_low(whole, cap), part, -1.0) for whole, part in zip(sums, parts, strict=True)]
    found.add(None, [(cell, *one) for cell, one in zip(cells, excess, strict=True)])
    return found


_Sum = tuple[float, float, float]


def _plus(a: Sequence[float], b: Sequence[float], factor: float = 1.0) -> _Sum:
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


def _low(level: _Sum, cap: float) -> _Sum:
    mean = min(level[0], cap)
    return mean, min(level[1], ((cap - mean) / SURE) ** 2), min(level[2], cap)
