"""Backfills of the end-to-end tests: local days, their deliveries, and what Airflow made of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from airflow_landmark.deliveries import Announcement, announce, run
from airflow_landmark.markers import Expectation, Interval
from airflow_landmark.testing import LocalAirflow, Run, wait_until

ZONE = ZoneInfo("Europe/Berlin")
SECONDS = 600.0
"""How long one step may take on a machine that is busy with other things."""


def midnight(day: date) -> datetime:
    """The first instant of a local day."""
    return datetime(day.year, day.month, day.day, tzinfo=ZONE)


def interval_of(day: date) -> Interval:
    """A local day, of 23 or 25 hours when the clocks change."""
    ends = midnight(day + timedelta(days=1))
    return Interval(midnight(day).astimezone(timezone.utc), ends.astimezone(timezone.utc))


class Stored(NamedTuple):
    """One day of the destination."""

    starts: str
    ends: str
    version: int
    run_id: str


class DagRun(NamedTuple):
    """One run, as the metadata database has it."""

    run_id: str
    state: str
    kind: str
    day: date
    starts: datetime
    ends: datetime | None


@dataclass(frozen=True)
class Past:
    """One daily Dag of ``tests/e2e/dags/backfill.py`` and what is done with it."""

    airflow: LocalAirflow
    landing: Path
    dag_id: str

    @property
    def dataset(self) -> str:
        """The Dag's own dataset."""
        return f"shop/{self.dag_id}"

    def folder(self, day: date) -> Path:
        """Where the day is delivered."""
        return self.landing / self.dag_id / str(day)

    def deliver(self, *days: date, version: int = 1) -> None:
        """Deliver days in one version, whatever lay there."""
        for day in days:
            self._deliver(day, version)

    def _deliver(self, day: date, version: int) -> None:
        folder = self.folder(day)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "_delivery.json").unlink(missing_ok=True)
        (folder / "orders.csv").write_text(f"id\n{version}\n")
        announcement = Announcement(Expectation(self.dataset, interval_of(day), version))
        run(lambda: announce(str(folder), announcement))

    def open(self) -> None:
        """Let the Dag's runs start: those of a backfill wait too while their Dag is paused."""
        self.airflow.api.wait_dag(dag_id=self.dag_id, seconds=SECONDS)
        self.airflow.api.pause(dag_id=self.dag_id, paused=False)

    def range(self, first: date, last: date) -> dict[str, str]:
        """From and to in local time: a date alone would be midnight in UTC."""
        return {"from_date": midnight(first).isoformat(), "to_date": midnight(last).isoformat()}

    def would_make(self, first: date, last: date, **more: Any) -> list[date]:
        """The days of a dry run."""
        body = {"dag_id": self.dag_id, **self.range(first, last), **more}
        found = self.airflow.api.call(method="POST", path="backfills/dry_run", body=body)["backfills"]
        return [_local_day(datetime.fromisoformat(one["logical_date"])) for one in found]

    def create(self, first: date, last: date, **more: Any) -> int:
        """Create a backfill by the API; return its id."""
        body = {"dag_id": self.dag_id, **self.range(first, last), **more}
        return int(self.airflow.api.call(method="POST", path="backfills", body=body)["id"])

    def newest(self) -> int:
        """The id of the Dag's newest backfill."""
        query = {"dag_id": self.dag_id, "order_by": "-id", "limit": "1"}
        found = self.airflow.api.call(method="GET", path="backfills", query=query)["backfills"]
        return int(found[0]["id"])

    def backfill(self, number: int) -> Mapping[str, Any]:
        """A backfill, as the API shows it."""
        found: dict[str, Any] = self.airflow.api.call(method="GET", path=f"backfills/{number}")
        return found

    def finish(self, number: int) -> dict[date, str]:
        """Wait until the backfill is complete; return the state of each day of the Dag."""
        wait_until(
            check=lambda: self.backfill(number)["completed_at"],
            what=f"backfill {number} of {self.dag_id} complete",
            seconds=2 * SECONDS,
            every=0.5,
        )
        return {one.day: one.state for one in self.runs()}

    def runs(self) -> list[DagRun]:
        """All runs of the Dag, the oldest day first."""
        rows = self.airflow.database.query(
            sql="select run_id, state, run_type, data_interval_start, start_date, end_date from dag_run "
            "where dag_id = :dag_id order by data_interval_start",
            values={"dag_id": self.dag_id},
        )
        return [
            DagRun(run_id, state, kind, _local_day(day), starts, ends)
            for run_id, state, kind, day, starts, ends in rows
        ]

    def run(self, day: date) -> Run:
        """The run of a day."""
        run_id = next(one.run_id for one in self.runs() if one.day == day)
        return self.airflow.api.run(dag_id=self.dag_id, run_id=run_id)

    def days_in(self, *states: str) -> list[date]:
        """The days whose wait is in one of these states."""
        rows = self.airflow.database.query(
            sql="select r.data_interval_start, t.state from task_instance t "
            "join dag_run r on r.dag_id = t.dag_id and r.run_id = t.run_id "
            "where t.dag_id = :dag_id and t.task_id = 'wait' order by 1",
            values={"dag_id": self.dag_id},
        )
        return [_local_day(start) for start, state in rows if state in states]

    def reasons(self, number: int) -> dict[date, str]:
        """The days for which a backfill made no run, and why."""
        rows = self.airflow.database.query(
            sql="select logical_date, exception_reason from backfill_dag_run "
            "where backfill_id = :number and exception_reason is not null",
            values={"number": number},
        )
        return {_local_day(start): reason for start, reason in rows}

    def deferrals(self) -> list[date]:
        """The days that deferred, by the audit log."""
        rows = self.airflow.database.query(
            sql="select r.data_interval_start from log l "
            "join dag_run r on r.dag_id = l.dag_id and r.run_id = l.run_id "
            "where l.dag_id = :dag_id and l.event = 'deferred'",
            values={"dag_id": self.dag_id},
        )
        return sorted(_local_day(row[0]) for row in rows)

    def stored(self) -> dict[date, Stored]:
        """The destination's rows by day; fails when a day is there twice."""
        with closing(sqlite3.connect(self.landing / "backfill.db", timeout=60)) as destination:
            rows = destination.execute(
                "select starts, ends, version, run from day where dataset = ?", (self.dataset,)
            ).fetchall()
        found = [Stored(*row) for row in rows]
        by_day = {_local_day(datetime.fromisoformat(one.starts)): one for one in found}
        assert len(by_day) == len(found)
        return by_day


def make_destination(landing: Path) -> None:
    """Make the destination's table, which all Dags share."""
    with closing(sqlite3.connect(landing / "backfill.db")) as destination, destination:
        destination.execute(
            "create table day (dataset text, starts text, ends text, version integer, sha256 text, "
            "run text, primary key (dataset, starts))"
        )


def most_at_once(runs: Iterable[DagRun]) -> int:
    """How many of these runs were running at the same time."""
    now = datetime.now(tz=timezone.utc)
    spans = [(one.starts, one.ends or now) for one in runs]
    edges = sorted([(ends, -1) for _, ends in spans] + [(starts, 1) for starts, _ in spans])
    count = highest = 0
    for _, change in edges:
        count += change
        highest = max(highest, count)
    return highest


def _local_day(instant: datetime) -> date:
    return instant.astimezone(ZONE).date()
