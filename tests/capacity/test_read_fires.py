"""When Dags start: as their own timetables say."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from airflow.sdk import (
    Asset,
    CronDataIntervalTimetable,
    CronTriggerTimetable,
    DeltaDataIntervalTimetable,
    DeltaTriggerTimetable,
    MultipleCronTriggerTimetable,
)
from airflow.serialization.encoders import encode_timetable
from airflow.timetables.events import EventsTimetable

from airflow_landmark.capacity._read_fires import Fires, decoded_timetable, restriction_between

BERLIN = "Europe/Berlin"
START = datetime(2025, 11, 3, 1, 30, tzinfo=timezone.utc).timestamp()
MONTH = 31 * 86_400.0
TIMETABLES = [
    CronTriggerTimetable("0 3 * * *", timezone=BERLIN),
    CronTriggerTimetable("30 2 * * *", timezone=BERLIN),
    CronDataIntervalTimetable("30 2 * * *", timezone=BERLIN),
    CronDataIntervalTimetable("0 */6 * * 1-5", timezone="UTC"),
    CronDataIntervalTimetable("0 0 1 * *", timezone=BERLIN),
    DeltaDataIntervalTimetable(timedelta(hours=7)),
    DeltaTriggerTimetable(timedelta(minutes=90)),
    MultipleCronTriggerTimetable("0 1 * * *", "15 4 * * 1", timezone=BERLIN),
    EventsTimetable(
        event_dates=[datetime(2026, 3, day, tzinfo=timezone.utc) for day in (27, 29, 30)], description="three"
    ),
]


def _walked(serialized: dict[str, Any], start: float, since: float, until: float) -> list[float]:
    """All starts by walking the timetable from the Dag's start on, as the scheduler does with catchup."""
    timetable, found = decoded_timetable(serialized), []
    restriction = restriction_between(start, None)
    info = None
    while True:
        info = timetable.next_dagrun_info_v2(last_dagrun_info=info, restriction=restriction)
        if info is None or info.run_after.timestamp() >= until:
            return found
        if info.run_after.timestamp() >= since:
            found.append(info.run_after.timestamp())


@pytest.mark.parametrize("number", range(len(TIMETABLES)))
@pytest.mark.parametrize("month", ["2026-03-15", "2026-10-15"])
def test_as_the_timetable_walks(number: int, month: str) -> None:
    """Without a walk from the Dag's start, the same starts; over the days on which clocks change, too."""
    since = datetime.fromisoformat(month).replace(tzinfo=timezone.utc).timestamp()
    serialized = encode_timetable(TIMETABLES[number])
    start = since - 45 * 86_400.0 + 5_400.0
    found = Fires(since=since, until=since + MONTH).of(serialized, start=start, end=None)
    assert list(found) == _walked(serialized, start, since, since + MONTH)
    assert found or TIMETABLES[number].__class__.__name__ == "EventsTimetable"


@pytest.mark.parametrize("schedule", [None, "@once", "@continuous", Asset("thing")])
def test_dags_without_starts_of_their_own(schedule: Any) -> None:
    """By hand, once, always, by assets: no times to foretell."""
    from airflow.sdk import DAG

    with DAG(
        "none", schedule=schedule, start_date=datetime(2026, 1, 1, tzinfo=timezone.utc), max_active_runs=1
    ) as dag:
        pass
    assert (
        Fires(since=START, until=START + MONTH).of(encode_timetable(dag.timetable), start=START, end=None)
        == ()
    )


def test_only_while_the_dag_lives() -> None:
    """Not before its start date and not after its end date."""
    serialized = encode_timetable(CronTriggerTimetable("0 0 * * *", timezone="UTC"))
    fires = Fires(since=0.0, until=10 * 86_400.0)
    found = fires.of(serialized, start=2 * 86_400.0, end=4 * 86_400.0)
    assert found == (2 * 86_400.0, 3 * 86_400.0, 4 * 86_400.0)


def test_each_timetable_is_asked_once() -> None:
    """Ten thousand Dags have a few dozen schedules; the same tuple is given to all of one."""
    fires = Fires(since=START, until=START + MONTH)
    one = encode_timetable(CronTriggerTimetable("0 3 * * *", timezone=BERLIN))
    two = encode_timetable(CronDataIntervalTimetable("0 3 * * *", timezone=BERLIN))
    assert fires.of(one, start=0.0, end=None) is fires.of(two, start=None, end=None)
