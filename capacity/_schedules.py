"""When waits start: at the fires of a schedule, at a rate, or once and for ever."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from zoneinfo import ZoneInfo

from ._cron import CronFields, cron_fires

__all__ = ["Always", "Arrivals", "Cron", "Every", "Listed", "Rate", "most_within"]


@dataclass(frozen=True)
class Cron:
    """The fires of a cron expression in a time zone.

    :raises ValueError: when the expression is none, or the zone is not known here.
    """

    expression: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        CronFields.parse(self.expression)
        try:
            ZoneInfo(self.zone)
        except (OSError, KeyError, ValueError):
            raise ValueError(f"{self.zone!r} is not a time zone that this machine knows") from None

    @cached_property
    def _fields(self) -> CronFields:
        return CronFields.parse(self.expression)

    def fires(self, *, begin: float, end: float) -> Sequence[float]:
        """The instants in [begin, end), in order."""
        return cron_fires(self._fields, ZoneInfo(self.zone), begin=begin, end=end)


@dataclass(frozen=True)
class Every:
    """Every so many seconds, counted from ``anchor``."""

    seconds: float
    anchor: float = 0.0

    def fires(self, *, begin: float, end: float) -> Sequence[float]:
        """The instants in [begin, end), in order."""
        first = -int(-(begin - self.anchor) // self.seconds)
        last = -int(-(end - self.anchor) // self.seconds)
        return [self.anchor + self.seconds * step for step in range(first, last)]


@dataclass(frozen=True)
class Listed:
    """Known instants, in order: what a timetable says of itself."""

    instants: tuple[float, ...]

    def fires(self, *, begin: float, end: float) -> Sequence[float]:
        """Those in [begin, end)."""
        return self.instants[bisect_left(self.instants, begin) : bisect_left(self.instants, end)]


@dataclass(frozen=True)
class Rate:
    """At no particular time, so many a second, independently of each other."""

    per_second: float


@dataclass(frozen=True)
class Always:
    """Started once and never over, such as the triggers of asset watchers."""


Arrivals = Cron | Every | Listed | Rate | Always


def most_within(fires: Sequence[float], seconds: float) -> int:
    """The most fires in any half-open span of so many seconds: how many runs can wait at once."""
    most = first = 0
    for index, at in enumerate(fires):
        while at - fires[first] >= seconds:
            first += 1
        most = max(most, index - first + 1)
    return most
