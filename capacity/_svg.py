"""The profile as a drawing: stacked areas over time with lines for what the triggerers hold. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from html import escape

from ._results import Series

__all__ = ["COLORS", "MOST_DAGS", "Level", "area_names", "chart", "daily_peaks", "largest_dags"]

MOST_DAGS = 7
"""How many Dags have an area of their own; the others share one."""
COLORS = MOST_DAGS + 1
_WIDTH, _HEIGHT = 960.0, 360.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 28.0, 44.0
_POINTS = 480
_SEEN = 0.05
"""An area that is nowhere higher is not drawn."""
_ROUND = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 15)
_TICKS = 5
_NEAR = 2.5
"""Lines up to so many times the highest value are drawn."""
_DAY = 86_400.0


@dataclass(frozen=True)
class Level:
    """A line across the drawing: how many triggers fit, and what that is."""

    value: float
    text: str
    style: str


def chart(series: Series, levels: Sequence[Level], *, ident: str, title: str, text: str) -> str:
    """An ``<svg>`` that needs nothing around it but the colours ``.a0`` to ``.a7``.

    :param ident: unique in its document.
    :param title: what it shows, for people who do not see it; ``text``: what it says.
    """
    layers = _layers(series)
    highest = max([*series.total, 1.0])
    near = [level for level in levels if level.value <= _NEAR * highest]
    top = _ceiling(max([highest, *(level.value for level in near)]))
    scale = _Scale(len(layers[0][1]), top)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" aria-labelledby="{ident}-t {ident}-d">',
        f'<title id="{ident}-t">{escape(title)}</title><desc id="{ident}-d">{escape(text)}</desc>',
        *_grid(scale, top),
        *_areas(layers, scale),
        *_levels(near, scale),
        *_far([level for level in levels if level not in near]),
        *_days(series, scale),
        "</svg>",
    ]
    return "".join(parts)


def largest_dags(series: Series) -> list[str]:
    """The Dags that have an area of their own, the highest first."""
    peaks = {name: max(values, default=0.0) for name, values in series.dags.items()}
    shown = [name for name in sorted(peaks, key=lambda name: (-peaks[name], name)) if peaks[name] > 0]
    return shown[:MOST_DAGS]


def area_names(series: Series) -> list[tuple[str, int]]:
    """Name and colour of each area that is drawn, the lowest first."""
    named = [(name, number) for number, name in enumerate(largest_dags(series))]
    rest = _layers(series)[-1][1]
    return [*named, ("all others", COLORS - 1)] if any(value >= _SEEN for value in rest) else named


@dataclass(frozen=True)
class _Scale:
    """From points and waits to places in the drawing."""

    points: int
    top: float

    def x(self, index: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * index / max(1, self.points)

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / self.top


def _layers(series: Series) -> list[tuple[str, list[float]]]:
    """Name and values of each area, the lowest first; what no Dag with its own area has comes on top."""
    total = _thinned(series.total)
    layers = [(name, _thinned(series.dags[name])) for name in largest_dags(series)]
    sums = [math.fsum(values) for values in zip(*(values for _, values in layers), strict=True)]
    rest = [max(0.0, whole - part) for whole, part in zip(total, sums or [0.0] * len(total), strict=True)]
    return [*layers, ("others", rest)]


def _thinned(values: Sequence[float]) -> list[float]:
    """The highest of each of so many spans."""
    if not values:
        return [0.0]
    span = max(1, math.ceil(len(values) / _POINTS))
    return [max(values[first : first + span]) for first in range(0, len(values), span)]


def _ceiling(value: float) -> float:
    """A round number not below."""
    unit = 10.0 ** math.floor(math.log10(value))
    return next((step * unit for step in _ROUND if step * unit >= value * 1.05), 20 * unit)


def _grid(scale: _Scale, top: float) -> Iterator[str]:
    for step in range(_TICKS + 1):
        value = top * step / _TICKS
        y = scale.y(value)
        yield f'<line class="grid" x1="{_LEFT:.0f}" x2="{_WIDTH - _RIGHT:.0f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        label = f"{value:,.0f}" if top >= _TICKS else f"{value:.1f}"
        yield f'<text class="tick" x="{_LEFT - 8:.0f}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'


def _areas(layers: Sequence[tuple[str, list[float]]], scale: _Scale) -> Iterator[str]:
    below = [0.0] * len(layers[0][1])
    for number, (_, values) in enumerate(layers):
        above = [low + value for low, value in zip(below, values, strict=True)]
        if any(value >= _SEEN for value in values):
            color = COLORS - 1 if number == len(layers) - 1 else number
            yield f'<path class="area a{color}" d="{_outline(above, below, scale)}"/>'
        below = above


def _outline(above: Sequence[float], below: Sequence[float], scale: _Scale) -> str:
    """Steps: each point lasts to the next one."""
    up = [f"L{scale.x(i + d):.1f} {scale.y(v):.1f}" for i, v in enumerate(above) for d in (0, 1)]
    down = [
        f"L{scale.x(i + d):.1f} {scale.y(v):.1f}" for i, v in reversed(list(enumerate(below))) for d in (1, 0)
    ]
    return "M" + "".join(up)[1:] + "".join(down) + "Z"


def _levels(levels: Sequence[Level], scale: _Scale) -> Iterator[str]:
    for level in levels:
        y = scale.y(level.value)
        yield (
            f'<line class="level {level.style}" x1="{_LEFT:.0f}" x2="{_WIDTH - _RIGHT:.0f}" '
            f'y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        yield (
            f'<text class="leveltext" x="{_WIDTH - _RIGHT:.0f}" y="{y - 5:.1f}" '
            f'text-anchor="end">{escape(level.text)}</text>'
        )


def _far(levels: Sequence[Level]) -> Iterator[str]:
    """Lines that lie so far above that drawing them would flatten all else: said, not drawn."""
    if levels:
        text = escape("; ".join(level.text for level in levels))
        yield (
            f'<text class="leveltext" x="{_WIDTH - _RIGHT:.0f}" y="{_TOP - 10:.0f}" text-anchor="end">'
            f"{text} (above this drawing)</text>"
        )


def _days(series: Series, scale: _Scale) -> Iterator[str]:
    """Marks at midnights, UTC; about ten of them."""
    seconds = series.step * len(series.total)
    if seconds <= 0:
        return
    every = next((n for n in (0.25, 0.5, 1, 2, 4, 7, 14, 28, 91) if seconds / (_DAY * n) <= 10), 182) * _DAY
    at = math.ceil(series.start / every) * every
    while at < series.start + seconds:
        x = scale.x(scale.points * (at - series.start) / seconds)
        label = _label(at, every)
        yield f'<line class="day" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP:.0f}" y2="{_HEIGHT - _BOTTOM:.0f}"/>'
        below = _HEIGHT - _BOTTOM + 18
        anchor = "end" if x > _WIDTH - 2 * _RIGHT else "middle"
        yield f'<text class="tick" x="{x:.1f}" y="{below:.0f}" text-anchor="{anchor}">{label}</text>'
        at += every


def _label(at: float, every: float) -> str:
    moment = datetime.fromtimestamp(at, tz=timezone.utc)
    return f"{moment:%d %b %H:%M}" if every < _DAY else f"{moment:%a %d %b}"


def daily_peaks(series: Series) -> Mapping[str, float]:
    """The highest of each day, UTC."""
    found: dict[str, float] = {}
    for index, value in enumerate(series.total):
        moment = datetime.fromtimestamp(series.start + index * series.step, tz=timezone.utc)
        day = f"{moment:%Y-%m-%d}"
        found[day] = max(value, found.get(day, 0.0))
    return found
