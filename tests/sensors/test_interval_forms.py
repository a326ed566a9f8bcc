"""Which interval a run waits for: given in any form, or the run's own where that has a length."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pendulum
import pytest
from airflow.timetables.interval import CronDataIntervalTimetable

from airflow_landmark.markers import Interval
from airflow_landmark.sensors import WaitMisconfigured
from parcels import END, START
from sensing import context_of, deferral_of, sensor_of

FIRST = datetime(2024, 5, 1, tzinfo=timezone.utc)
NEXT = FIRST + timedelta(days=1)
BERLIN = timezone(timedelta(hours=2))


def waited_for(folder: Path, interval: Any, **context: Any) -> str:
    """The interval that the trigger waits for when templates have given this one."""
    sensor = sensor_of(folder)
    sensor.interval = interval
    waits_for = deferral_of(sensor, context_of(**context)).trigger.serialize()[1]["interval"]
    assert isinstance(waits_for, str)
    return waits_for


@pytest.mark.parametrize(
    "interval",
    [
        (START, END),
        [START, END],
        f"{START}/{END}",
        f"{START} / {END}",
        "2024-05-01 00:00:00+00:00/2024-05-02 00:00:00+00:00",
        ("2024-05-01 00:00:00+00:00", "2024-05-02 00:00:00+00:00"),
        ("2024-05-01T00:00:00+00:00", "2024-05-02T00:00:00.000000+00:00"),
        ("2024-05-01T02:00:00+02:00", "2024-05-02T02:00:00+02:00"),
        (FIRST, NEXT),
        (FIRST.astimezone(BERLIN), NEXT.astimezone(BERLIN)),
        (pendulum.datetime(2024, 5, 1), pendulum.datetime(2024, 5, 2)),
        (pendulum.datetime(2024, 5, 1, 2, tz="Europe/Berlin"), END),
        (str(pendulum.datetime(2024, 5, 1)), str(pendulum.datetime(2024, 5, 2))),
        (pendulum.datetime(2024, 5, 1).isoformat(), pendulum.datetime(2024, 5, 2).isoformat()),
    ],
)
def test_forms_of_the_same_interval(interval: Any, tmp_path: Path) -> None:
    """Two instants or one text, with T or a blank, in any zone, as datetimes or rendered: all the same."""
    assert waited_for(tmp_path, interval) == f"{START}/{END}"


def test_interval_object_may_be_given(tmp_path: Path) -> None:
    """An Interval is taken as it is."""
    sensor = sensor_of(tmp_path, interval=Interval.parse(f"{START}/{END}"))
    assert deferral_of(sensor).trigger.serialize()[1]["interval"] == f"{START}/{END}"


def test_interval_keeps_what_a_clock_change_takes(tmp_path: Path) -> None:
    """A local day of 23 hours is one of 23 hours."""
    day = (
        pendulum.datetime(2024, 3, 31, tz="Europe/Berlin"),
        pendulum.datetime(2024, 4, 1, tz="Europe/Berlin"),
    )
    assert waited_for(tmp_path, day) == "2024-03-30T23:00:00Z/2024-03-31T22:00:00Z"


def test_interval_of_the_run_is_taken_when_none_is_given(tmp_path: Path) -> None:
    """A run's data interval is what the run is about, where it has a length."""
    run = {"data_interval_start": pendulum.instance(FIRST), "data_interval_end": pendulum.instance(NEXT)}
    assert waited_for(tmp_path, None, **run) == f"{START}/{END}"


def test_interval_that_is_given_wins_over_the_run(tmp_path: Path) -> None:
    """The run's data interval is a fallback only."""
    run = {"data_interval_start": NEXT, "data_interval_end": NEXT + timedelta(days=1)}
    assert waited_for(tmp_path, (START, END), **run) == f"{START}/{END}"


@pytest.mark.parametrize(
    ("run", "text"),
    [
        ({}, "no data interval"),
        ({"data_interval_start": FIRST}, "no data interval"),
        ({"data_interval_start": None, "data_interval_end": None}, "no data interval"),
        ({"data_interval_start": FIRST, "data_interval_end": FIRST}, "has no length"),
        ({"data_interval_start": NEXT, "data_interval_end": FIRST}, "end must be after start"),
        ({"data_interval_start": "2024-05-01", "data_interval_end": END}, "data interval"),
    ],
)
def test_run_without_a_usable_interval_fails_before_the_wait(
    run: dict[str, Any], text: str, tmp_path: Path
) -> None:
    """Nothing is guessed from a run without an interval of its own."""
    with pytest.raises(WaitMisconfigured, match=text):
        sensor_of(tmp_path, interval=None).execute(context_of(**run))


def test_run_without_an_interval_is_told_which_line_to_add(tmp_path: Path) -> None:
    """The error shows the line that a Dag's author has to write."""
    with pytest.raises(WaitMisconfigured) as caught:
        sensor_of(tmp_path, interval=None).execute(context_of())
    assert "interval=('{{ data_interval_start }}', '{{ data_interval_end }}')" in str(caught.value)
    assert "CronDataIntervalTimetable" in str(caught.value)


@pytest.mark.parametrize(
    "interval",
    [
        "",
        "None/None",
        "2024-05-01/2024-05-02",
        "2024-05-01",
        ("2024-05-01", "2024-05-02"),
        ("2024-05-01T00:00:00", "2024-05-02T00:00:00"),
        ("2024-05-01 00:00:00", "2024-05-02 00:00:00"),
        (FIRST.replace(tzinfo=None), NEXT),
        (END, START),
        (START, START),
        (START, None),
        (None, None),
        (START,),
        [],
        {"start": START, "end": END},
        {START, END},
        7,
        b"ab",
        "P1D",
        f"{START}/P1D",
        ("\ud800" * 100, END),
        "x" * 10_000,
    ],
)
@pytest.mark.parametrize("mode", ["deferrable", "poke", "reschedule"])
def test_rendered_interval_that_is_none_fails_before_the_wait(
    interval: Any, mode: str, tmp_path: Path
) -> None:
    """What a template has made of the interval is checked before anything is waited for, in every mode."""
    sensor = sensor_of(tmp_path, mode)
    sensor.interval = interval
    with pytest.raises(WaitMisconfigured) as caught:
        sensor.execute(context_of())
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("uri", "relative"),
        ("uri", ""),
        ("uri", None),
        ("uri", ["/in/a"]),
        ("uri", "/in/\ud800"),
        ("dataset", "a b"),
        ("dataset", None),
        ("dataset", 7),
        ("pattern", "a/b"),
        ("pattern", 7),
        ("min_version", "0"),
        ("min_version", "latest"),
        ("min_version", None),
        ("min_version", 2.0),
        ("min_version", "1" * 20),
    ],
)
def test_rendered_arguments_are_checked_before_the_wait(name: str, value: Any, tmp_path: Path) -> None:
    """What templates have made of the arguments is refused without a retry when it cannot be waited for."""
    sensor = sensor_of(tmp_path)
    setattr(sensor, name, value)
    with pytest.raises(WaitMisconfigured, match="as rendered for this run"):
        sensor.execute(context_of())


@pytest.mark.parametrize("value", [2, "2", " 2 ", "02"])
def test_rendered_version_is_a_number(value: Any, tmp_path: Path) -> None:
    """A least version may come out of a template as its digits."""
    sensor = sensor_of(tmp_path)
    sensor.min_version = value
    assert deferral_of(sensor).trigger.serialize()[1]["min_version"] == 2


@pytest.mark.parametrize(
    ("zone", "day", "apart"),
    [
        ("Europe/Berlin", "2026-10-25", 0),
        ("Europe/Berlin", "2026-03-29", 0),
        ("Atlantic/Azores", "2026-10-25", 1),
        ("Africa/Cairo", "2026-04-24", 0),
    ],
)
def test_first_instant_of_a_day_is_that_of_the_schedule(zone: str, day: str, apart: int) -> None:
    """A day begins when Airflow's timetable says; where midnight comes twice, an hour before that."""
    noon_after = pendulum.parse(day, tz=zone).add(days=1, hours=12)  # type: ignore[union-attr]
    midnight = CronDataIntervalTimetable("0 0 * * *", timezone=zone)
    theirs = midnight.infer_manual_data_interval(run_after=noon_after)
    assert theirs.start.in_timezone(zone).to_date_string() == day
    assert theirs.start - Interval.parse(day, timezone_name=zone).start == timedelta(hours=apart)
