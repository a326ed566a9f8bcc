"""How long waits last: survival functions, their areas and means.

``survival(s)`` is the probability that a wait still lasts after ``s`` seconds; a wait is half-open: one of
``s`` seconds is over at ``s``. The mean is the area below the survival function.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from ._origin import Origin

__all__ = [
    "Duration",
    "Exponential",
    "Fixed",
    "Held",
    "Limited",
    "LogNormal",
    "Quantiles",
    "Uniform",
    "bound",
    "from_samples",
    "held",
    "limited",
]

_KEPT = (0.0, *(step / 20 for step in range(1, 20)), 0.975, 0.99, 1.0)


class Duration(Protocol):
    """How long a wait lasts."""

    @property
    def origin(self) -> Origin:
        """Where it is known from."""

    @property
    def mean(self) -> float:
        """The mean; infinite for waits without an end."""

    @property
    def longest(self) -> float:
        """What no wait lasts longer than; may be infinite."""

    def survival(self, seconds: float) -> float:
        """The probability that it lasts longer than this."""

    def area(self, seconds: float) -> float:
        """The area below ``survival`` from 0 to here: how long a wait has lasted by then, on average."""

    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class Fixed:
    """Always the same."""

    seconds: float
    origin: Origin = "assumed"

    @property
    def mean(self) -> float:
        """The duration."""
        return self.seconds

    @property
    def longest(self) -> float:
        """The duration."""
        return self.seconds

    def survival(self, seconds: float) -> float:
        """1 before the end, 0 from then on."""
        return 1.0 if seconds < self.seconds else 0.0

    def area(self, seconds: float) -> float:
        """Up to the duration."""
        return min(seconds, self.seconds)


def bound(seconds: float | None) -> Fixed:
    """As long as it possibly can: a time-out; None: for ever."""
    return Fixed(math.inf if seconds is None else seconds, "bounded")


@dataclass(frozen=True)
class Uniform:
    """Anything between two durations, with equal probability."""

    least: float
    most: float
    origin: Origin = "assumed"

    @property
    def mean(self) -> float:
        """Half-way."""
        return (self.least + self.most) / 2

    @property
    def longest(self) -> float:
        """The upper end."""
        return self.most

    def survival(self, seconds: float) -> float:
        """A straight line from the lower end to the upper."""
        if seconds < self.least:
            return 1.0
        return (self.most - seconds) / (self.most - self.least) if seconds < self.most else 0.0

    def area(self, seconds: float) -> float:
        """The triangle that the line leaves."""
        if seconds <= self.least:
            return seconds
        reached = min(seconds, self.most)
        width = self.most - self.least
        gone = (reached - self.least) ** 2 / (2 * width) if width else 0.0
        return reached - gone


@dataclass(frozen=True)
class Exponential:
    """Without memory: however long it has lasted, the rest has the same mean."""

    mean: float
    origin: Origin = "assumed"

    @property
    def longest(self) -> float:
        """No bound."""
        return math.inf

    def survival(self, seconds: float) -> float:
        """``exp(-s / mean)``."""
        return math.exp(-seconds / self.mean)

    def area(self, seconds: float) -> float:
        """``mean (1 - exp(-s / mean))``."""
        return -self.mean * math.expm1(-seconds / self.mean)


@dataclass(frozen=True)
class LogNormal:
    """Mostly short, now and then very long: its logarithm is normally distributed.

    :ivar median: half of the waits are shorter.
    :ivar sigma: the standard deviation of the natural logarithm.
    """

    median: float
    sigma: float
    origin: Origin = "assumed"

    @property
    def mean(self) -> float:
        """``median exp(sigma^2 / 2)``."""
        return self.median * math.exp(self.sigma**2 / 2)

    @property
    def longest(self) -> float:
        """No bound."""
        return math.inf

    def survival(self, seconds: float) -> float:
        """The upper tail of the normal distribution at the logarithm."""
        return 1.0 if seconds <= 0 else _upper_tail(math.log(seconds / self.median) / self.sigma)

    def area(self, seconds: float) -> float:
        """``s S(s)`` and the mean of what has ended: the partial expectation of the log-normal."""
        if seconds <= 0:
            return 0.0
        if math.isinf(seconds):
            return self.mean
        z = math.log(seconds / self.median) / self.sigma
        return seconds * _upper_tail(z) + self.mean * _upper_tail(self.sigma - z)


def _upper_tail(z: float) -> float:
    return math.erfc(z / math.sqrt(2)) / 2


@dataclass(frozen=True)
class Quantiles:
    """Known by some of its quantiles, with straight lines between them.

    :ivar points: (probability, seconds), both growing, the first with probability 0, the last with 1.
    :raises ValueError: when they are not so.
    """

    points: tuple[tuple[float, float], ...]
    origin: Origin = "assumed"

    def __post_init__(self) -> None:
        chances, seconds = [p for p, _ in self.points], [s for _, s in self.points]
        if not chances or chances[0] != 0 or chances[-1] != 1:
            raise ValueError("quantiles begin with probability 0 and end with 1")
        if chances != sorted(set(chances)) or seconds != sorted(seconds) or seconds[0] < 0:
            raise ValueError("quantiles grow with their probability, and none is negative")

    @cached_property
    def _seconds(self) -> list[float]:
        return [seconds for _, seconds in self.points]

    @cached_property
    def _areas(self) -> list[float]:
        areas = [self.points[0][1]]
        for (p, s), (q, t) in zip(self.points, self.points[1:], strict=False):
            areas.append(areas[-1] + (t - s) * (1 - (p + q) / 2))
        return areas

    @property
    def mean(self) -> float:
        """The whole area."""
        return self._areas[-1]

    @property
    def longest(self) -> float:
        """The last quantile."""
        return self.points[-1][1]

    def survival(self, seconds: float) -> float:
        """One less the probability at this duration."""
        index = bisect_right(self._seconds, seconds)
        if index == 0:
            return 1.0
        if index == len(self.points):
            return 0.0
        (p, s), (q, t) = self.points[index - 1 : index + 1]
        return 1 - p - (q - p) * (seconds - s) / (t - s)

    def area(self, seconds: float) -> float:
        """The areas of whole segments and of the part of one."""
        index = bisect_right(self._seconds, seconds)
        if index == 0:
            return seconds
        if index == len(self.points):
            return self.mean
        p, s = self.points[index - 1]
        return self._areas[index - 1] + (seconds - s) * (1 - p + self.survival(seconds)) / 2


def from_samples(samples: Sequence[float], *, origin: Origin = "measured") -> Duration:
    """The distribution of past waits, by at most 23 quantiles: the shortest and the longest are among them.

    :raises ValueError: without samples.
    """
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(max(0.0, one) for one in samples)
    if ordered[0] == ordered[-1]:
        return Fixed(ordered[0], origin)
    last = len(ordered) - 1
    kept = [step / last for step in range(last + 1)] if last < len(_KEPT) else _KEPT
    return Quantiles(tuple((p, _quantile(ordered, p)) for p in kept), origin)


def _quantile(ordered: Sequence[float], chance: float) -> float:
    """The quantile by linear interpolation between order statistics (Hyndman and Fan's seventh)."""
    place = chance * (len(ordered) - 1)
    low = min(int(place), len(ordered) - 2)
    part = min(1.0, place - low)
    # the weighted sum may leave its two ends by a rounding error, and quantiles must grow
    return min(ordered[low + 1], max(ordered[low], ordered[low] * (1 - part) + ordered[low + 1] * part))


@dataclass(frozen=True)
class Limited:
    """Another duration that a time-out ends."""

    inner: Duration
    timeout: float

    @property
    def origin(self) -> Origin:
        """That of the duration, unless it always reaches the time-out."""
        return self.inner.origin

    @property
    def mean(self) -> float:
        """The area up to the time-out."""
        return self.inner.area(self.timeout)

    @property
    def longest(self) -> float:
        """The time-out, or less."""
        return min(self.timeout, self.inner.longest)

    def survival(self, seconds: float) -> float:
        """0 from the time-out on."""
        return self.inner.survival(seconds) if seconds < self.timeout else 0.0

    def area(self, seconds: float) -> float:
        """Up to the time-out."""
        return self.inner.area(min(seconds, self.timeout))


def limited(duration: Duration, timeout: float | None) -> Duration:
    """The duration, ended by a time-out where it would be longer."""
    return duration if timeout is None or duration.longest <= timeout else Limited(duration, timeout)


@dataclass(frozen=True)
class Held:
    """Another duration, but never shorter than what its source is late by."""

    inner: Duration
    seconds: float

    @property
    def origin(self) -> Origin:
        """That of the duration."""
        return self.inner.origin

    @property
    def mean(self) -> float:
        """The delay, and what of the duration is longer."""
        return self.seconds + self.inner.mean - self.inner.area(self.seconds)

    @property
    def longest(self) -> float:
        """The delay, or more."""
        return max(self.seconds, self.inner.longest)

    def survival(self, seconds: float) -> float:
        """1 as long as the source is late."""
        return 1.0 if seconds < self.seconds else self.inner.survival(seconds)

    def area(self, seconds: float) -> float:
        """All of the delay, then the duration's own."""
        if seconds <= self.seconds:
            return seconds
        return self.seconds + self.inner.area(seconds) - self.inner.area(self.seconds)


def held(duration: Duration, *, late: float, timeout: float | None) -> Duration:
    """The duration of a wait whose source is late, ended by its time-out."""
    return limited(Held(duration, late) if late > 0 else duration, timeout)
