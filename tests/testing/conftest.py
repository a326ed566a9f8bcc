"""The orders example as a pipeline under injections, beside functions that lack its safeguards."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_landmark.markers import Interval
from airflow_landmark.testing import (
    Contents,
    Injections,
    LocalAirflow,
    LocalPostgres,
    Metrics,
    Partner,
    Pipeline,
    StarvingAlert,
)

HERE = Path(__file__).parent
ORDERS = HERE.parents[1] / "examples" / "orders" / "dags"
HEARTBEAT = {"AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "15"}
"""A lost worker is noticed sooner: one of the injections waits for that."""

ROWS = "select order_id, amount_cents from orders where day = ?"
PUBLISHED = """
select 'published', report.amount_cents from orders_pointers pointer
join orders_reports report on report.operation = pointer.operation where pointer.day = ?
"""
POLICY = """
def task_policy(task):
    if task.task_id == "replace":
        task.pool_slots = 2
"""
"""Airflow's own hook for all tasks: the write asks for more than one slot, as a pool's small size needs."""


@dataclass(frozen=True)
class Place:
    """Where the orders example runs: a copy of it, with what lacks its safeguards beside it."""

    folder: Path

    @property
    def dags(self) -> Path:
        """The Dags folder."""
        return self.folder / "dags"

    @property
    def database(self) -> Path:
        """The destination."""
        return self.folder / "orders.db"

    @property
    def landing(self) -> Path:
        """Where the partner delivers."""
        return self.folder / "landing"

    @property
    def environment(self) -> dict[str, str]:
        """The example's settings."""
        return {
            "ORDERS_DESTINATION": f"sqlite:///{self.database}",
            "ORDERS_LANDING": str(self.landing),
            "ORDERS_LOOK_EVERY_SECONDS": "0.5",
        }

    def rows(self, interval: Interval) -> list[tuple[str, int]]:
        """The orders of a day and the published sum, read without the example's own code."""
        day = [f"{interval.start:%Y-%m-%d}"]
        with closing(sqlite3.connect(self.database, timeout=60)) as connection:
            return [row for query in (ROWS, PUBLISHED) for row in connection.execute(query, day)]


def contents(interval: Interval, *amounts: int) -> Contents:
    """A day's orders, one for each amount in cents."""
    rows = [(f"o{number}", amount) for number, amount in enumerate(amounts, 1)]
    lines = [f"{key},{interval.start:%Y-%m-%d}T10:00:00Z,{amount}" for key, amount in rows]
    text = "\n".join(["order_id,ordered_at,amount_cents", *lines, ""])
    return Contents(files={"orders.csv": text}, rows=[*rows, ("published", sum(amounts))])


def first(interval: Interval) -> Contents:
    """Three orders, 60 cents."""
    return contents(interval, 10, 20, 30)


def corrected(interval: Interval) -> Contents:
    """Two of them are left, one has another amount: 35 cents."""
    return contents(interval, 10, 25)


@pytest.fixture(scope="module")
def orders_place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Return the orders example, set up."""
    place = Place(tmp_path_factory.mktemp("orders"))
    shutil.copytree(ORDERS, place.dags, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (HERE / "unsafe").glob("*.py"):
        shutil.copy(path, place.dags)
    (place.dags / "airflow_local_settings.py").write_text(POLICY)
    setup = [sys.executable, "orders_setup.py"]
    subprocess.run(setup, cwd=place.dags, env={**os.environ, **place.environment}, check=True)
    return place


@pytest.fixture(scope="module")
def orders_metrics() -> Iterator[Metrics]:
    """Return what Airflow's components measure."""
    with Metrics() as metrics:
        yield metrics


@pytest.fixture(scope="module")
def orders_pipeline(
    orders_place: Place, orders_metrics: Metrics, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pipeline]:
    """Return the orders example on a running Airflow.

    On PostgreSQL: with SQLite a busy machine's requests meet a locked database now and then.
    """
    injections = Injections(folder=tmp_path_factory.mktemp("injections"))
    with (
        LocalPostgres() as postgres,
        LocalAirflow(
            home=tmp_path_factory.mktemp("airflow"),
            dags=orders_place.dags,
            database=postgres.url,
            environment={**orders_metrics.environment, **HEARTBEAT, **orders_place.environment},
            injections=injections,
        ) as airflow,
    ):
        yield Pipeline(
            airflow=airflow,
            injections=injections,
            partner=Partner(
                folder=f"{orders_place.landing}/{{start:%Y-%m-%d}}", dataset="shop/orders", header_rows=1
            ),
            dag_id="orders",
            wait_task="wait_for_orders",
            write_task="replace",
            write="orders_replace:replace",
            publish_task="publish",
            publish="orders_publish:publish",
            inside="orders_replace:_write",
            rows=orders_place.rows,
            first=first,
            corrected=corrected,
            seconds=300,
            alerts=StarvingAlert(metrics=orders_metrics, pools=["default_pool"]),
        )
