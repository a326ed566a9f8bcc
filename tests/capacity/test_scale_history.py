"""A million audit rows and ten thousand waiting tasks: linear, and in little memory."""

from __future__ import annotations

import json
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from metadata import Metadata
from peaks import measured, measured_module

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

DAGS, TASKS = 2_500, 4
MILLION = 1_000_000
GIB = 2**30
SCHEDULES = [f"{minute} {hour} * * *" for minute in range(0, 60, 15) for hour in range(24)]
READ = """
import json, sys, time
from datetime import datetime, timezone
from airflow_landmark.capacity._read_database import open_database
from airflow_landmark.capacity._read_history import read_past_waits
with open_database(sys.argv[1]) as database:
    begun, told = time.process_time(), []
    past = read_past_waits(
        database, since=datetime(2020, 1, 1, tzinfo=timezone.utc), tell=lambda done, _: told.append(done)
    )
    cpu = time.process_time() - begun
found = {"waits": len(past.intervals), "rows": past.rows, "told": len(told)}
print(json.dumps({"cpu": cpu, **found}))
"""


def _rows(count: int) -> Iterator[tuple[object, ...]]:
    """Four audit rows a wait: each task once a day, for as many days as it takes."""
    start = datetime.now(tz=timezone.utc).replace(tzinfo=None) - timedelta(days=28)
    waits = count // 4
    a_day = DAGS * TASKS
    moments = []
    for number in range(waits):
        day, task = divmod(number, a_day)
        begun = start + timedelta(days=day, minutes=task % 1_440)
        lasting = timedelta(seconds=300 + task % 900)
        names = (f"dag_{task // TASKS:04d}", f"wait_{task % TASKS}", -1, f"run_{day}", 1)
        late = begun + lasting
        for at, event in ((begun, "running"), (begun, "deferred"), (late, "running"), (late, "success")):
            moments.append((at, event, names))
    moments.sort(key=lambda one: one[0])
    for at, event, names in moments:
        yield (at.isoformat(" ", "microseconds"), event, *names)


def _filled(template: Path, path: Path, count: int) -> str:
    with closing(sqlite3.connect(template)) as made, closing(sqlite3.connect(path)) as own:
        made.backup(own)
        names = "dttm, event, dag_id, task_id, map_index, run_id, try_number"
        own.executemany(f"INSERT INTO log ({names}) VALUES (?, ?, ?, ?, ?, ?, ?)", _rows(count))  # noqa: S608
        own.commit()
    return f"sqlite:///{path}"


def _read(url: str) -> dict[str, Any]:
    done = measured(READ, url)
    assert done.code == 0, done.errors
    return {"peak": done.peak_bytes, **json.loads(done.output)}


def test_reading_is_linear_in_the_rows(airflow_db: Path, tmp_path: Path) -> None:
    """Once, twice, four times as many rows: as much more CPU time, in chunks, far below a GiB."""
    found = [_read(_filled(airflow_db, tmp_path / f"{part}.db", MILLION // part)) for part in (4, 2, 1)]
    assert [one["rows"] for one in found] == [MILLION // 4, MILLION // 2, MILLION]
    assert [one["waits"] for one in found] == [MILLION // 16, MILLION // 8, MILLION // 4]
    assert [one["told"] for one in found] == [-(-one["rows"] // 20_000) for one in found]
    assert found[2]["cpu"] < 8 * found[0]["cpu"]  # linear is 4, quadratic would be 16
    assert found[2]["peak"] < GIB / 2


def _dags() -> Iterator[dict[str, Any]]:
    module = "airflow.providers.standard.sensors.filesystem"
    for number in range(DAGS):
        expression = SCHEDULES[number % len(SCHEDULES)]
        var = {"expression": expression, "timezone": "UTC", "interval": 0.0, "run_immediately": False}
        tasks = [
            {"__type": "operator", "__var": {"task_id": f"wait_{task}", "task_type": "FileSensor",
             "_task_module": module, "_is_sensor": True, "filepath": f"/in/{number % 40}/x"}}
            for task in range(TASKS)
        ]  # fmt: skip
        timetable = {"__type": "airflow.timetables.trigger.CronTriggerTimetable", "__var": var}
        yield {"__version": 3, "dag": {"dag_id": f"dag_{number:04d}", "timetable": timetable, "tasks": tasks}}


def test_check_at_full_size(airflow_db: Path, tmp_path: Path) -> None:
    """Ten thousand deferrable tasks, five weeks of starts, a million audit rows: an answer within a GiB."""
    url = _filled(airflow_db, tmp_path / "full.db", MILLION)
    metadata = Metadata(url)
    metadata.dags(_dags())
    options = ["--db", url, "--history", "30d", "--horizon", "5w", "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = measured_module("airflow_landmark.cli", "capacity", "check", *options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.code in (0, 1, 3, 4), done.errors
    assert '"partitions"' in done.output, done.errors
    assert done.peak_bytes < GIB
    # a minute on a quiet machine; much more would mean that something has become quadratic
    assert after.ru_utime - before.ru_utime < 240


def test_the_index_is_used(airflow_db: Path) -> None:
    """The chunks are read by primary key: no sort, no scan of what was read before."""
    from airflow_landmark.capacity._pairing import EVENTS
    from airflow_landmark.capacity._read_history import _AUDIT

    values = {"after": 5, "chunk": 10, "events": list(EVENTS)}
    statement = sa.text(f"EXPLAIN QUERY PLAN {_AUDIT}").bindparams(sa.bindparam("events", expanding=True))
    with sa.create_engine(f"sqlite:///{airflow_db}", poolclass=sa.pool.NullPool).connect() as connection:
        plan = [row[3] for row in connection.execute(statement, values)]
    assert plan[0] == "SEARCH log USING INTEGER PRIMARY KEY (rowid>?)"
    assert not [step for step in plan if "SCAN" in step or "B-TREE FOR ORDER" in step]
