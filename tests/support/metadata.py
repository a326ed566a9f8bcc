"""A metadata database to read from: Airflow's own tables, filled with what a test needs."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import sqlalchemy as sa

NOW = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
_RUN = {"clear_number": 0, "updated_at": NOW, "span_status": "not_started"}
_DAG = {
    "is_stale": False,
    "bundle_name": "tests",
    "max_active_tasks": 16,
    "max_active_runs": 16,
    "max_consecutive_failed_dag_runs": 0,
    "has_task_concurrency_limits": False,
    "timetable_type": "",
    "exceeds_max_non_backfill": False,
    "partition_mapper_info": "[]",
}


class Metadata:
    """Writes rows into a database whose tables Airflow has made.

    :param url: its SQLAlchemy URL.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
        self._text_moments = self._engine.dialect.name == "sqlite"

    def row(self, table: str, **values: Any) -> int:
        """Insert one row; moments as Airflow writes them. Returns its id where that is a number, else 0."""
        plain = {name: self._stored(value) for name, value in values.items()}
        marks = ", ".join(f":{name}" for name in plain)
        names = ", ".join(f'"{name}"' for name in plain)
        back = " RETURNING id" if table in ("trigger", "job", "log", "backfill") else ""
        with self._engine.begin() as connection:
            found = connection.execute(
                sa.text(f"INSERT INTO {table} ({names}) VALUES ({marks}){back}"),  # noqa: S608
                plain,
            )
            return int(found.scalar_one()) if back else 0

    def execute(self, sql: str) -> None:
        """Any statement."""
        with self._engine.begin() as connection:
            connection.execute(sa.text(sql))

    def _stored(self, value: Any) -> Any:
        if isinstance(value, datetime) and self._text_moments:
            return value.astimezone(timezone.utc).replace(tzinfo=None).isoformat(" ", "microseconds")
        return value

    def event(
        self,
        event: str,
        at: float,
        *,
        task: str = "wait",
        run: str = "r1",
        dag: str = "d",
        index: int = -1,
        attempt: int = 1,
    ) -> None:
        """An audit row, ``at`` seconds after NOW (before, when negative)."""
        names = {"dag_id": dag, "task_id": task, "run_id": run, "map_index": index, "try_number": attempt}
        self.row("log", dttm=NOW + timedelta(seconds=at), event=event, **names)

    def run(self, dag: str, logical: datetime, state: str, *, started: datetime | None = None) -> None:
        """A run of a Dag."""
        self.row(
            "dag_run",
            dag_id=dag,
            run_id=f"scheduled__{logical.isoformat()}__{uuid.uuid4().hex[:6]}",
            run_type="scheduled",
            state=state,
            logical_date=logical,
            run_after=logical,
            start_date=started,
            **_RUN,
        )

    def instance(
        self, *, task: str = "wait", run: str = "r1", dag: str = "d", state: str = "success", **values: Any
    ) -> None:
        """A task instance; its run is made when it is not there."""
        self._ensure_run(dag, run)
        defaults = {
            "id": uuid.uuid4().hex,
            "map_index": -1,
            "try_number": 1,
            "max_tries": 0,
            "pool": "default_pool",
            "pool_slots": 1,
            "queue": "default",
            "priority_weight": 1,
            "updated_at": NOW,
            "executor_config": b"",
            "span_status": "not_started",
        }
        self.row("task_instance", dag_id=dag, task_id=task, run_id=run, state=state, **defaults | values)

    def _ensure_run(self, dag: str, run: str) -> None:
        where = f"dag_id = '{dag}' AND run_id = '{run}'"
        with self._engine.connect() as connection:
            if connection.execute(sa.text(f"SELECT 1 FROM dag_run WHERE {where}")).first():  # noqa: S608
                return
        values = {"run_type": "manual", "state": "running", "run_after": NOW, "clear_number": 0}
        self.row("dag_run", dag_id=dag, run_id=run, **_RUN | values)

    def trigger(self, *, owner: int | None = None, age: float = 0.0, **values: Any) -> int:
        """A trigger, made ``age`` seconds before the database's present."""
        created = datetime.now(tz=timezone.utc) - timedelta(seconds=age)
        values = {"classpath": "some.Trigger", "kwargs": "{}", **values}
        return self.row("trigger", created_date=created, triggerer_id=owner, **values)

    def triggerer(self, *, heartbeat_age: float, host: str = "host", end: datetime | None = None) -> int:
        """A triggerer's job; a killed one keeps the state running."""
        beat = datetime.now(tz=timezone.utc) - timedelta(seconds=heartbeat_age)
        return self.row(
            "job",
            job_type="TriggererJob",
            state="running",
            hostname=host,
            latest_heartbeat=beat,
            end_date=end,
        )

    def dag(self, serialized: Mapping[str, Any], *, paused: bool = False) -> None:
        """A Dag in serialized form."""
        self.dags([serialized], paused=paused)

    def dags(self, documents: Iterable[Mapping[str, Any]], *, paused: bool = False) -> None:
        """Many Dags in serialized form, in one transaction."""
        self.execute("INSERT INTO dag_bundle (name, active) VALUES ('tests', true) ON CONFLICT DO NOTHING")
        stamps = {"created_at": self._stored(NOW), "last_updated": self._stored(NOW)}
        rows: dict[str, list[dict[str, Any]]] = {"dag": [], "dag_version": [], "serialized_dag": []}
        for document in documents:
            name, version = document["dag"]["dag_id"], uuid.uuid4().hex
            rows["dag"].append({"dag_id": name, "is_paused": paused, **_DAG})
            rows["dag_version"].append(
                {"id": version, "version_number": 1, "dag_id": name, "bundle_name": "tests", **stamps}
            )
            stored = {"id": uuid.uuid4().hex, "dag_id": name, "data": json.dumps(document)}
            rows["serialized_dag"].append({**stored, "dag_hash": "0", "dag_version_id": version, **stamps})
        with self._engine.begin() as connection:
            for table, values in rows.items():
                marks = ", ".join(f":{name}" for name in values[0])
                sql = f"INSERT INTO {table} ({', '.join(values[0])}) VALUES ({marks})"  # noqa: S608
                connection.execute(sa.text(sql), values)
