"""Schedules fire when Airflow's own timetables say so, on the days of clock changes too."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.capacity import Cron, Every, Listed
from airflow_landmark.capacity._schedules import most_within
from sizing import DAY, HOUR

ZONES = ["UTC", "Europe/Berlin", "America/New_York"]
CHANGES = [(2026, 3, 27), (2026, 10, 23), (2026, 3, 6), (2026, 10, 30)]
EXPRESSIONS = [
    "0 * * * *",
    "*/30 * * * *",
    "30 2 * * *",
    "15 1,2,3 * * *",
    "0 */2 * * *",
    "@daily",
    "5 0-6/2 * * 0",
    "0 6 1 * *",
    "0 6 L * *",
    "0 6 1,15 * mon",
    "0 6 * * 5#1",
    "0 6 */2 * *",
    "0 3 * * 5-7",
    "*/20 2-3 * mar,oct sun",
]


def _instant(*day: int) -> float:
    return datetime(*day, tzinfo=timezone.utc).timestamp()  # type: ignore[misc,arg-type]


def _airflow_fires(expression: str, zone: str, begin: float, end: float) -> list[float]:
    from airflow.timetables.base import TimeRestriction
    from airflow.timetables.trigger import CronTriggerTimetable
    from pendulum import from_timestamp

    timetable = CronTriggerTimetable(expression, timezone=zone)
    restriction = TimeRestriction(from_timestamp(begin), None, catchup=True)
    found: list[float] = []
    last = None
    while True:
        info = timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction)
        assert info is not None
        if info.run_after.timestamp() >= end:
            return found
        found.append(info.run_after.timestamp())
        last = info.data_interval


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_fires_are_those_of_airflow(expression: str, zone: str) -> None:
    """In the five days around each change of the clocks."""
    for day in CHANGES:
        begin, end = _instant(*day), _instant(*day) + 5 * DAY
        assert list(Cron(expression, zone).fires(begin=begin, end=end)) == _airflow_fires(
            expression, zone, begin, end
        )


@pytest.mark.parametrize(("day", "hours"), [((2026, 3, 29), 23), ((2026, 10, 25), 25), ((2026, 6, 1), 24)])
def test_days_have_their_hours(day: tuple[int, int, int], hours: int) -> None:
    """An hourly schedule fires 23, 25 or 24 times on a local day."""
    from zoneinfo import ZoneInfo

    zone = ZoneInfo("Europe/Berlin")
    year, month, first = day
    begin = datetime(year, month, first, tzinfo=zone).timestamp()
    end = datetime(year, month, first + 1, tzinfo=zone).timestamp()
    assert len(Cron("@hourly", "Europe/Berlin").fires(begin=begin, end=end)) == hours


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("0 0 * *", "five fields"),
        ("@never", "five fields"),
        ("60 0 * * *", "minute from 0 to 59"),
        ("0 24 * * *", "hour from 0 to 23"),
        ("0 0 0 * *", "day of month from 1 to 31"),
        ("0 0 * 13 *", "month from 1 to 12"),
        ("0 0 * * 8", "day of week from 0 to 6"),
        ("0 0 * * x", "day of week"),
        ("*/0 * * * *", "empty range"),
        ("30-10 * * * *", "empty range"),
        ("a;b * * * *", "not a minute"),
    ],
)
def test_no_expression_is_refused(expression: str, said: str) -> None:
    """The text says which field is wrong."""
    with pytest.raises(ValueError, match=said):
        Cron(expression)


def test_unknown_zone_is_refused() -> None:
    """A zone that the machine does not know."""
    with pytest.raises(ValueError, match="time zone"):
        Cron("@daily", "Mars/Base")


@given(
    step=st.integers(1, 5000),
    anchor=st.integers(-9999, 9999),
    begin=st.integers(-9999, 9999),
    length=st.integers(0, 9999),
)
def test_equal_steps(step: int, anchor: int, begin: int, length: int) -> None:
    """All multiples of the step after the anchor that lie in the span, and only these."""
    expected = [at for at in range(begin, begin + length) if (at - anchor) % step == 0]
    assert list(Every(step, anchor).fires(begin=begin, end=begin + length)) == expected


def test_listed_instants_are_cut_to_the_span() -> None:
    """From the begin, without the end."""
    assert list(Listed((1.0, 2.0, 3.0, 4.0)).fires(begin=2, end=4)) == [2, 3]


@given(fires=st.lists(st.integers(0, 500), max_size=30), seconds=st.integers(1, 200))
def test_most_within_a_span(fires: list[int], seconds: int) -> None:
    """As many as the best span that begins with a fire holds."""
    ordered = sorted(fires)
    expected = max((sum(a <= one < a + seconds for one in ordered) for a in ordered), default=0)
    assert most_within([float(one) for one in ordered], seconds) == expected


def test_half_open_spans_do_not_touch() -> None:
    """An hourly wait of exactly an hour is one at a time."""
    assert most_within([HOUR * step for step in range(10)], HOUR) == 1
