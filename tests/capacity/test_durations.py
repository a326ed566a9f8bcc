"""Survival functions, their areas and their means belong together."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.capacity import (
    Duration,
    Exponential,
    Fixed,
    LogNormal,
    Quantiles,
    Uniform,
    bound,
    from_samples,
)
from airflow_landmark.capacity._durations import held, limited

SECONDS = st.floats(min_value=0.5, max_value=1e5)


@st.composite
def durations(draw: st.DrawFn) -> Duration:
    """Return any duration, with or without a time-out or a late source."""
    a, b = sorted((draw(SECONDS), draw(SECONDS) + 1e5))
    samples = draw(st.lists(SECONDS, min_size=1, max_size=40))
    kinds: list[Duration] = [
        Fixed(a),
        Uniform(a, b),
        Exponential(a),
        LogNormal(a, draw(st.floats(min_value=0.05, max_value=2))),
        from_samples(samples),
    ]
    duration = draw(st.sampled_from(kinds))
    late = draw(st.sampled_from([0.0, a, b]))
    return held(duration, late=late, timeout=draw(st.sampled_from([None, a, b])))


@given(duration=durations(), seconds=SECONDS)
def test_survival_falls_from_one(duration: Duration, seconds: float) -> None:
    """It is a probability, it never rises, and it is 0 from the longest on."""
    assert 0 <= duration.survival(seconds * 2) <= duration.survival(seconds) <= duration.survival(0.0) <= 1
    if math.isfinite(duration.longest):
        assert duration.survival(duration.longest) == 0


@given(duration=durations(), seconds=SECONDS)
def test_area_is_the_integral_of_survival(duration: Duration, seconds: float) -> None:
    """Between the sums of the highest and of the lowest values of many thin steps."""
    steps = 500
    width = seconds / steps
    values = [duration.survival(width * step) for step in range(steps + 1)]
    low, high = width * math.fsum(values[1:]), width * math.fsum(values[:-1])
    assert low - 1e-6 * seconds <= duration.area(seconds) <= high + 1e-6 * seconds


@given(duration=durations())
def test_mean_is_the_whole_area(duration: Duration) -> None:
    """What is below the survival function, up to where it ends."""
    far = duration.longest if math.isfinite(duration.longest) else duration.mean * 1e6
    assert duration.area(far) == pytest.approx(duration.mean, rel=1e-6)


@given(samples=st.lists(SECONDS, min_size=1, max_size=300))
def test_samples_keep_their_ends(samples: list[float]) -> None:
    """The shortest and the longest sample stay, and the mean is near that of the samples."""
    found = from_samples(samples)
    assert found.origin == "measured"
    assert found.longest == max(samples)
    assert found.survival(math.nextafter(min(samples), 0)) == 1
    assert min(samples) <= found.mean <= max(samples) * (1 + 1e-9)


def test_log_normal_has_its_quantiles() -> None:
    """Half are longer than the median, 5 % longer than the 95th percentile."""
    found = LogNormal(600, math.log(4) / 1.6449)
    assert found.survival(600) == pytest.approx(0.5)
    assert found.survival(2400) == pytest.approx(0.05, abs=1e-4)


def test_time_out_ends_a_wait() -> None:
    """A wait is over at its time-out, not after it."""
    found = limited(Exponential(3600), 600)
    assert found.survival(math.nextafter(600, 0)) > 0.8
    assert found.survival(600) == 0


def test_bound_says_so() -> None:
    """A time-out as a duration is a bound; none at all is for ever."""
    assert (bound(60).origin, bound(60).mean) == ("bounded", 60)
    assert bound(None).survival(1e12) == 1


@pytest.mark.parametrize(
    "points",
    [(), ((0, 1),), ((0, 5), (1, 4)), ((0, -1), (1, 4)), ((0.1, 1), (1, 4)), ((0, 1), (0, 2), (1, 3))],
)
def test_wrong_quantiles_are_refused(points: tuple[tuple[float, float], ...]) -> None:
    """They begin with 0, end with 1, and grow."""
    with pytest.raises(ValueError, match="quantiles"):
        Quantiles(points)
