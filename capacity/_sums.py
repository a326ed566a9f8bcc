"""Adding the waits of many fires up: as steps up and down, of which a running sum makes the profile."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import add

from ._curves import Curve, Grid, LoadClass, Profile
from ._durations import Duration

__all__ = ["Level", "Shape", "Sums", "levels_of"]

Level = tuple[int, float, float, float]
"""From a cell on: mean, variance, and what cannot be exceeded."""
_Steps = dict[int, list[float]]
"""Cell to changes of these three there."""

_TAIL = 1e-5
"""A wait that is over with so much certainty is over."""


@dataclass
class Shape:
    """What one fire brings: changes by cell after it.

    :ivar classes: by class. None: what to add to their sum to get the total, under a cap that they share.
    :ivar starts: cell to deferrals that start there.
    """

    classes: dict[LoadClass | None, _Steps] = field(default_factory=dict)
    starts: dict[int, float] = field(default_factory=dict)

    def add(self, name: LoadClass | None, levels: Sequence[Level]) -> None:
        """Add levels, each of which lasts to the next one."""
        steps = self.classes.setdefault(name, {})
        mean = variance = most = 0.0
        for cell, *level in levels:
            step = steps.setdefault(cell, [0.0, 0.0, 0.0])
            step[0] += level[0] - mean
            step[1] += level[1] - variance
            step[2] += level[2] - most
            mean, variance, most = level

    @property
    def length(self) -> int:
        """The last cell that changes."""
        return max((cell for steps in self.classes.values() for cell in steps), default=0)


def levels_of(
    duration: Duration, *, width: float, offset: float, grid: Grid, slack: float, fine: int
) -> list[Level]:
    """The levels of ``width`` equal waits after one fire.

    A cell has the survival at its begin, which is the highest in it.

    :param slack: how much younger than the cell's distance says a wait may be: for fires within a cell.
    :param fine: so many cells are looked at one by one, then every other one, and so on.
    """
    first = int(offset // grid.step)
    phase = offset - first * grid.step + slack
    found: list[Level] = []
    for cell in _cells(duration, grid, phase, fine):
        alive = duration.survival(max(0.0, cell * grid.step - phase))
        alive = 0.0 if alive < _TAIL else alive
        most = width if alive else 0.0
        found.append((first + cell, width * alive, width * alive * (1 - alive), most))
        if alive == 0.0:
            break
    return found


def _cells(duration: Duration, grid: Grid, phase: float, fine: int) -> Iterator[int]:
    """The cells whose level is asked for, ever sparser, and the one in which the longest wait has ended."""
    longest = duration.longest
    last = math.ceil((longest + phase) / grid.step) if math.isfinite(longest) else None
    if duration.survival(0.0) == 1.0 and duration.survival(math.nextafter(longest, 0.0)) == 1.0:
        yield 0  # all waits end together: nothing changes before
    else:
        cell = 0
        while last is None or cell < last:
            yield cell
            cell += 1 + cell // fine
    if last is not None:
        yield last


class Sums:
    """Collects shapes at fires, and constant numbers."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._steps: dict[LoadClass | None, tuple[list[float], ...]] = {}
        self._starts = [0.0] * grid.cells
        self.mean = 0.0

    def add(self, shape: Shape, fires: Sequence[float]) -> None:
        """Add what every fire brings."""
        cells = [int((at - self._grid.begin) // self._grid.step) for at in fires]
        first = bisect_left(cells, 0)
        last = max(first, bisect_left(cells, self._grid.cells - shape.length))
        inner, outer = cells[first:last], cells[:first] + cells[last:]
        for name, steps in shape.classes.items():
            sums = self._of(name)
            for offset, amounts in steps.items():
                for values, amount in zip(sums, amounts, strict=True):
                    if amount:
                        _scatter(values, inner, offset, amount)
                        _scatter_edges(values, outer, offset, amount)
        for offset, count in shape.starts.items():
            for cell in cells:
                if 0 <= cell + offset < self._grid.cells:
                    self._starts[cell + offset] += count

    def add_constant(self, name: LoadClass, mean: float, variance: float, most: float) -> None:
        """Add the same number everywhere."""
        for values, amount in zip(self._of(name), (mean, variance, most), strict=True):
            values[0] += amount
        self.mean += mean

    def profile(self) -> Profile:
        """The profile of all that was added."""
        curves = {
            name: Curve(*(array("d", accumulate(values)) for values in sums))
            for name, sums in self._steps.items()
        }
        total = Curve.zero(self._grid.cells)
        for curve in curves.values():
            total = total.combined(curve, add)
        classes = {name: curve for name, curve in curves.items() if name is not None}
        return Profile(self._grid, total, classes, array("d", self._starts), self.mean)

    def _of(self, name: LoadClass | None) -> tuple[list[float], ...]:
        if name not in self._steps:
            self._steps[name] = tuple([0.0] * self._grid.cells for _ in range(3))
        return self._steps[name]


def _scatter(values: list[float], cells: Sequence[int], offset: int, amount: float) -> None:
    for cell in cells:
        values[cell + offset] += amount


def _scatter_edges(values: list[float], cells: Sequence[int], offset: int, amount: float) -> None:
    """What lies before the first cell was there when it began; what lies behind the last does not count."""
    for cell in cells:
        place = max(0, cell + offset)
        if place < len(values):
            values[place] += amount
