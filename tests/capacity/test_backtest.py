"""The forecast against what was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.capacity import Deferral, Every, Fixed, Inputs, Wait, back_test
from airflow_landmark.capacity._backtest import daily_peaks_of, mean_of, peak_of

DAY = 86_400.0
HOUR = 3_600.0

_PAST = st.lists(
    st.tuples(st.integers(-5, 30), st.one_of(st.none(), st.integers(0, 20))).map(
        lambda one: Deferral("w", float(one[0]), None if one[1] is None else float(one[0] + one[1]))
    ),
    max_size=20,
)


@given(_PAST, st.integers(1, 9))
def test_peaks_by_brute_force(past: list[Deferral], length: int) -> None:
    """At every moment of every span, half-open waits counted one by one."""
    peaks = daily_peaks_of(past, begin=0.0, end=24.0, length=float(length))
    expected = []
    for first in range(0, 24, length):
        moments = [(first + step / 2) for step in range(2 * length) if first + step / 2 < 24]
        counts = [
            sum(one.start <= at and (one.end is None or at < one.end) for one in past) for at in moments
        ]
        expected.append(float(max(counts)))
    assert peaks == expected


@given(_PAST)
def test_the_mean_is_never_above_the_peak(past: list[Deferral]) -> None:
    """Whatever waits."""
    assert mean_of(past, begin=0.0, end=24.0) <= peak_of(past, begin=0.0, end=24.0) + 1e-9


def _wait(seconds: float) -> Wait:
    return Wait(name="w", kind="k", arrivals=Every(HOUR), duration=Fixed(seconds, "measured"), dag="w")


def test_a_true_forecast_has_no_error() -> None:
    """Waits that go on as they did are foretold exactly, day by day and on average."""
    past = [Deferral("w", n * HOUR, n * HOUR + 5_400) for n in range(-24, 24 * 3)]
    found = back_test(Inputs(waits=(_wait(5_400),)), past, begin=0.0, end=3 * DAY)
    assert [day.day for day in found.days] == ["1970-01-01", "1970-01-02", "1970-01-03"]
    assert {day.error for day in found.days} == {0}
    assert found.predicted_mean == pytest.approx(found.observed_mean, rel=0.02)
    assert found.observed_mean == pytest.approx(1.5)


def test_a_wrong_forecast_shows() -> None:
    """Half as many as foretold, and a day without any."""
    past = [Deferral("w", n * HOUR, n * HOUR + 1_800) for n in range(24)]
    found = back_test(Inputs(waits=(_wait(7_200),)), past, begin=0.0, end=2 * DAY)
    assert [day.error for day in found.days] == [1.0, None]
    assert found.days[1].observed == 0


def test_whole_days_only() -> None:
    """Less than a day from midnight to midnight compares nothing."""
    assert back_test(Inputs(), [], begin=HOUR, end=DAY + HOUR).days == ()
