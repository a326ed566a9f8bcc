"""Thousands of waits without thousands of workers: the rows that the API writes when a task defers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from airflow_landmark.testing import LocalAirflow, Run, wait_until

__all__ = ["forget", "park", "resumable"]

_TRIGGER = """
INSERT INTO trigger (classpath, kwargs, created_date) VALUES (:classpath, :kwargs, now()) RETURNING id
"""
_DEFER = """
UPDATE task_instance SET state = 'deferred', trigger_id = :trigger, try_number = 1, next_method = 'resume',
    next_kwargs = '{}', start_date = now()
WHERE run_id = :run AND dag_id = :dag AND task_id = 'wait' AND map_index = :index
"""
_FORGET = (
    "UPDATE task_instance SET state = 'removed', trigger_id = NULL WHERE run_id = :run AND dag_id = :dag",
    "UPDATE dag_run SET state = 'failed', end_date = now() WHERE run_id = :run AND dag_id = :dag",
)
_SCHEDULED = """
SELECT count(*) FROM task_instance
WHERE run_id = :run AND dag_id = :dag AND task_id = 'wait' AND state = 'scheduled'
"""
_RESUMABLE = """
SELECT next_kwargs FROM task_instance
WHERE run_id = :run AND dag_id = :dag AND task_id = 'wait' AND state = 'scheduled' AND trigger_id IS NULL
"""


def park(airflow: LocalAirflow, run: Run, triggers: Mapping[int, tuple[str, dict[str, Any]]]) -> None:
    """Make tasks of a run deferred; PostgreSQL only. The tasks' pool must be shut.

    :param triggers: class path and arguments by map index, for all tasks of the run.
    """
    values = _values(run)

    def made() -> bool:
        return int(airflow.database.query(sql=_SCHEDULED, values=values)[0][0]) >= len(triggers)

    wait_until(check=made, what=f"{len(triggers)} tasks scheduled", seconds=300, every=0.5)
    with _transaction(airflow) as base:
        for index, (classpath, kwargs) in triggers.items():
            row = {"classpath": classpath, "kwargs": json.dumps(kwargs)}
            made_id = base.scalar(sa.text(_TRIGGER), row)
            base.execute(sa.text(_DEFER), values | {"trigger": made_id, "index": index})


def forget(airflow: LocalAirflow, run: Run) -> None:
    """End a run without its workers."""
    with _transaction(airflow) as base:
        for statement in _FORGET:
            base.execute(sa.text(statement), _values(run))


def resumable(airflow: LocalAirflow, run: Run) -> list[dict[str, Any]]:
    """The events that are stored for those tasks of the run which a worker may resume now."""
    rows = airflow.database.query(sql=_RESUMABLE, values=_values(run))
    return [row[0]["event"] for row in rows if row[0] and "event" in row[0]]


@contextmanager
def _transaction(airflow: LocalAirflow) -> Iterator[sa.Connection]:
    url = airflow.environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
    with sa.create_engine(url, poolclass=sa.pool.NullPool).begin() as base:
        yield base


def _values(run: Run) -> dict[str, Any]:
    return {"run": run.run_id, "dag": run.dag_id}
