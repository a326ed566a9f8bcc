"""The preview of a backfill against Airflow's own dry run and its own refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, get_args

import pytest
import sqlalchemy as sa

from airflow_landmark.capacity import CannotTell
from airflow_landmark.capacity._backfill_runs import Asked, Reprocess
from airflow_landmark.capacity._read_backfill import BackfillPreview, preview
from airflow_landmark.capacity._read_database import open_database
from metadata import Metadata

if TYPE_CHECKING:
    from pathlib import Path

    from airflow.sdk import DAG
    from sqlalchemy.orm import Session

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
STATES = ["success", "failed", "running", "queued"]


@pytest.fixture
def session(airflow_db: Path) -> Iterator[Session]:
    """Return a session of Airflow's own, emptied of runs and backfills afterwards."""
    from airflow.models import DagRun
    from airflow.models.backfill import Backfill
    from airflow.utils.session import create_session

    with create_session() as found:
        yield found
        found.execute(sa.delete(DagRun))
        found.execute(sa.delete(Backfill))


@pytest.fixture
def stored(store_dag: Callable[[DAG], None]) -> Callable[..., str]:
    """Return a function that stores a Dag with a schedule, and returns its id."""
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG

    def store(schedule: Any, **task: Any) -> str:
        name = f"backfill_{abs(hash(str(schedule) + str(task))) % 10**8}"
        with DAG(name, schedule=schedule, start_date=START) as dag:
            EmptyOperator(task_id="work", **task)
        store_dag(dag)
        return name

    return store


def _previewed(airflow_db: Path, asked: Asked) -> BackfillPreview:
    with open_database(f"sqlite:///{airflow_db}") as database:
        return preview(database, asked)


def _add_runs(session: Session, dag_id: str, states: list[str]) -> None:
    from airflow.models import DagRun
    from airflow.utils.types import DagRunType

    for day, state in enumerate(states):
        logical = START + timedelta(days=day)
        run = DagRun(dag_id=dag_id, run_id=f"r{day}", logical_date=logical, run_after=logical)
        run.run_type, run.start_date, run.state = DagRunType.SCHEDULED, logical, state
        session.add(run)
    session.commit()


def _schedules() -> list[Any]:
    from airflow.sdk import CronDataIntervalTimetable, CronTriggerTimetable

    berlin = "Europe/Berlin"
    return [
        "@daily",
        CronDataIntervalTimetable("0 3 * * *", timezone=berlin),
        CronTriggerTimetable("30 2 * * 1-5", timezone=berlin),
        timedelta(hours=7),
        CronDataIntervalTimetable("0 0 1 * *", timezone="UTC"),
    ]


@pytest.mark.parametrize("number", range(5))
def test_same_runs_as_the_dry_run(
    airflow_db: Path, session: Session, stored: Callable[..., str], number: int
) -> None:
    """Date by date, over runs of all states, a clock change, all ways to reprocess and both directions."""
    from airflow.models.backfill import ReprocessBehavior, _do_dry_run

    dag_id = stored(_schedules()[number])
    _add_runs(session, dag_id, STATES)
    begin, to = START - timedelta(days=2), START + timedelta(days=100)
    for reprocess, backwards in [(how, back) for how in get_args(Reprocess) for back in (False, True)]:
        asked = Asked(
            dag_id=dag_id,
            begin=begin.timestamp(),
            to=to.timestamp(),
            reprocess=reprocess,
            backwards=backwards,
        )
        found = [run.date for run in _previewed(airflow_db, asked).runs if run.made]
        dry = _do_dry_run(
            dag_id=dag_id,
            from_date=begin,
            to_date=to,
            reverse=backwards,
            reprocess_behavior=ReprocessBehavior(reprocess),
            session=session,
        )
        expected = [info.logical_date.timestamp() for info in dry if info.logical_date]
        assert expected
        assert found == expected


def _refusal_cases() -> dict[str, tuple[Any, dict[str, Any], dict[str, Any]]]:
    past, future = START + timedelta(days=3), datetime.now(tz=timezone.utc) + timedelta(days=30)
    return {
        "sound": ("@daily", {}, {}),
        "reversed range": ("@daily", {}, {"begin": past, "to": START}),
        "future": ("@daily", {}, {"begin": future, "to": future + timedelta(days=3)}),
        "no dates": ("@yearly", {}, {"begin": START + timedelta(days=3), "to": START + timedelta(days=5)}),
        "not periodic": (None, {}, {}),
        "once": ("@once", {}, {}),
        "past": ("@daily", {"depends_on_past": True}, {}),
        "past, backwards": ("@daily", {"depends_on_past": True}, {"backwards": True, "reprocess": "failed"}),
        "past, reprocessed": ("@daily", {"depends_on_past": True}, {"reprocess": "completed"}),
    }


@pytest.mark.parametrize("case", list(_refusal_cases()))
def test_refused_where_airflow_refuses(
    airflow_db: Path, session: Session, stored: Callable[..., str], case: str
) -> None:
    """Airflow is asked to make the same backfill: it refuses exactly what was said beforehand."""
    from airflow.exceptions import AirflowException
    from airflow.models.backfill import NoBackfillRunsToCreate, ReprocessBehavior, _create_backfill

    schedule, task, changed = _refusal_cases()[case]
    asked: dict[str, Any] = {
        "begin": START,
        "to": START + timedelta(days=3),
        "reprocess": "none",
        "backwards": False,
    }
    asked |= changed
    dag_id = stored(schedule, **task)
    begin, to = asked["begin"].timestamp(), asked["to"].timestamp()
    wanted = Asked(
        dag_id=dag_id, begin=begin, to=to, reprocess=asked["reprocess"], backwards=asked["backwards"]
    )
    said = _previewed(airflow_db, wanted).refused
    try:
        _create_backfill(
            dag_id=dag_id,
            from_date=asked["begin"],
            to_date=asked["to"],
            max_active_runs=3,
            reverse=asked["backwards"],
            dag_run_conf=None,
            triggering_user_name=None,
            reprocess_behavior=ReprocessBehavior(asked["reprocess"]),
        )
    except (AirflowException, NoBackfillRunsToCreate):
        assert said
    else:
        assert said == ()
        again = _previewed(airflow_db, wanted).refused
        assert again == (f"another backfill of {dag_id} is active; a Dag has one at a time",)


def test_an_unknown_dag(airflow_db: Path) -> None:
    """It is told with where it was looked for."""
    with pytest.raises(CannotTell, match=r"airflow\.db: no Dag nobody is stored there"):
        _previewed(airflow_db, Asked(dag_id="nobody", begin=0.0, to=1.0))


def test_a_huge_range_is_refused(
    airflow_db: Path, stored: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A minute's schedule over years is a mistake, and is not walked to its end."""
    monkeypatch.setattr("airflow_landmark.capacity._read_backfill.MOST_RUNS", 500)
    asked = Asked(dag_id=stored("* * * * *"), begin=0.0, to=START.timestamp())
    with pytest.raises(CannotTell, match="more than 500 dates"):
        _previewed(airflow_db, asked)


def test_on_each_database(metadata: Metadata) -> None:
    """Dates, states and the newest of several runs are read alike from SQLite and PostgreSQL."""
    timetable = {
        "__type": "airflow.timetables.trigger.CronTriggerTimetable",
        "__var": {"expression": "0 0 * * *", "timezone": "UTC", "interval": 0.0, "run_immediately": False},
    }
    metadata.dag({"__version": 3, "dag": {"dag_id": "d", "timetable": timetable, "tasks": []}})
    metadata.run("d", START, "success", started=START)
    metadata.run("d", START + timedelta(days=1), "failed", started=START)
    asked = Asked(
        dag_id="d",
        begin=START.timestamp(),
        to=(START + timedelta(days=2)).timestamp(),
        reprocess="failed",
    )
    with open_database(metadata.url) as database:
        found = preview(database, asked)
    assert [run.fate for run in found.runs] == ["already exists", "again", "new"]
    assert (found.made, found.refused) == (2, ())
