"""Numbers of waits over time, on a grid of equal steps."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import add, mul, sub

__all__ = ["SURE", "Curve", "Grid", "LoadClass", "Profile", "highest_load"]

LoadClass = tuple[str, float | None]
"""Kind of trigger and poll interval: waits of one class weigh the same."""

SURE = 2.326
"""Standard deviations that 99 % of normally distributed values stay below."""
_STEPS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400)
_MOST_CELLS = 60_480
_BLOCK = 64


@dataclass(frozen=True)
class Grid:
    """Equal steps from ``begin``, which is a whole number of them after 1970."""

    begin: float
    step: float
    cells: int

    @classmethod
    def covering(cls, *, begin: float, seconds: float) -> Grid:
        """The finest grid that is not too long: steps of 1 s for 16 hours, of a minute for 5 weeks."""
        step = next((one for one in _STEPS if seconds / one <= _MOST_CELLS), _STEPS[-1])
        first = int(begin // step)
        return cls(float(first * step), float(step), math.ceil((begin + seconds) / step) - first)

    @property
    def end(self) -> float:
        """Where the last step ends."""
        return self.begin + self.seconds

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.cells * self.step


@dataclass(frozen=True)
class Curve:
    """An expected number, its variance, and what it cannot exceed, step by step."""

    mean: array[float]
    variance: array[float]
    most: array[float]

    @classmethod
    def zero(cls, cells: int) -> Curve:
        """Nobody, ever."""
        nothing = array("d", [0.0]) * cells
        return cls(nothing, nothing, nothing)

    def combined(self, other: Curve, combine: Callable[[float, float], float]) -> Curve:
        """Both, added or subtracted."""
        return Curve(
            array("d", map(combine, self.mean, other.mean)),
            array("d", map(combine, self.variance, other.variance)),
            array("d", map(combine, self.most, other.most)),
        )

    def clipped(self, cap: float) -> Curve:
        """Never above ``cap``, not even with what the variance adds."""
        mean = array("d", (min(cap, one) for one in self.mean))
        rooms = (((cap - one) / SURE) ** 2 for one in mean)
        variance = array("d", map(min, self.variance, rooms))
        return Curve(mean, variance, array("d", (min(cap, one) for one in self.most)))

    def likely(self, index: int) -> float:
        """What 99 of 100 stay below: a sum of independent waits is nearly normally distributed."""
        return min(self.most[index], self.mean[index] + _spread([1.0], [self.variance[index]]))

    def highest_likely(self) -> float:
        """The highest of these."""
        return self._highest_likely

    @cached_property
    def _highest_likely(self) -> float:
        return highest_load([(self, 1.0)])

    def highest(self) -> float:
        """The highest expected number."""
        return max(self.mean, default=0.0)

    @cached_property
    def blocks(self) -> list[tuple[float, float]]:
        """The highest mean and the highest variance of every so many steps."""
        firsts = range(0, len(self.mean), _BLOCK)
        return [
            (max(self.mean[first : first + _BLOCK]), max(self.variance[first : first + _BLOCK]))
            for first in firsts
        ]


def highest_load(weighted: Sequence[tuple[Curve, float]]) -> float:
    """The highest likely value of a weighted sum of independent curves.

    Exact, yet few steps are looked at: blocks of them whose bound is highest come first, and the search ends
    at the first block whose bound is not above what was found.
    """
    curves = [curve for curve, weight in weighted if weight > 0]
    weights = [weight for _, weight in weighted if weight > 0]
    squares = [weight * weight for weight in weights]
    bounds = []
    for number, block in enumerate(zip(*(curve.blocks for curve in curves), strict=True)):
        mean = sum(map(mul, weights, (mean for mean, _ in block)))
        bounds.append((mean, _spread(squares, [variance for _, variance in block]), number * _BLOCK))
    best = 0.0
    for high, spread, first in sorted(bounds, key=lambda bound: -bound[0] - bound[1]):
        if high + spread <= best:
            break
        rows = zip(*(curve.mean[first : first + _BLOCK] for curve in curves), strict=True)
        for index, values in enumerate(rows, first):
            mean = sum(map(mul, weights, values))
            if mean + spread > best:
                likely = mean + _spread(squares, [curve.variance[index] for curve in curves])
                most = sum(map(mul, weights, [curve.most[index] for curve in curves]))
                best = max(best, min(likely, most))
    return best


def _spread(squares: Sequence[float], variances: Sequence[float]) -> float:
    return SURE * math.sqrt(max(0.0, sum(map(mul, squares, variances))))


@dataclass(frozen=True)
class Profile:
    """The waits of one set of triggerers over time.

    :ivar total: all of them.
    :ivar classes: by class; under a cap that several classes share, each may reach it.
    :ivar starts: how many start in each step.
    :ivar mean: the average number over the horizon.
    """

    grid: Grid
    total: Curve
    classes: Mapping[LoadClass, Curve]
    starts: array[float]
    mean: float

    @classmethod
    def empty(cls, grid: Grid) -> Profile:
        """Of no waits."""
        return cls(grid, Curve.zero(grid.cells), {}, array("d", [0.0]) * grid.cells, 0.0)

    def plus(self, other: Profile) -> Profile:
        """With the waits of another one."""
        return self._combined(other, add) if self.classes else other

    def minus(self, other: Profile) -> Profile:
        """Without the waits of another one, which are among its own."""
        return self._combined(other, sub)

    def clipped(self, cap: float) -> Profile:
        """Never above ``cap``."""
        if math.isinf(cap) or self.total.highest_likely() <= cap:
            return self
        total = self.total.clipped(cap)
        classes = {name: curve.clipped(cap) for name, curve in self.classes.items()}
        return Profile(self.grid, total, classes, self.starts, math.fsum(total.mean) / self.grid.cells)

    def reclassed(self, change: Callable[[LoadClass], LoadClass]) -> Profile:
        """The same waits, weighing like those of another class."""
        classes: dict[LoadClass, Curve] = {}
        for name, curve in self.classes.items():
            new = change(name)
            classes[new] = classes[new].combined(curve, add) if new in classes else curve
        return replace(self, classes=classes)

    def peak_index(self) -> int:
        """The step in which most are expected, the first one if several."""
        highest = self.total.highest()
        # sums of the same waits in another order differ in their last digits
        least = highest - 1e-9 * max(1.0, highest)
        return next(index for index, mean in enumerate(self.total.mean) if mean >= least)

    def _combined(self, other: Profile, combine: Callable[[float, float], float]) -> Profile:
        if not other.classes:
            return self
        nothing = Curve.zero(self.grid.cells)
        classes = dict(self.classes)
        for name, curve in other.classes.items():
            classes[name] = classes.get(name, nothing).combined(curve, combine)
        return Profile(
            self.grid,
            self.total.combined(other.total, combine),
            classes,
            array("d", map(combine, self.starts, other.starts)),
            combine(self.mean, other.mean),
        )
