"""The orders Dag on a real Airflow: a day, its correction, what is refused, and the pool of a backfill."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from airflow_landmark.deliveries import SqlLedger
from airflow_landmark.testing import LocalAirflow, LocalPostgres, Run, wait_until
from ordering import CORRECTED, DAGS, GOOD, ORDERS, Destination, announced, csv_of, state_of

YESTERDAY = str(datetime.now(tz=timezone.utc).date() - timedelta(days=1))
STEPS = ("wait_for_orders", "stage", "validate", "replace", "publish", "notify", "commit", "clean_up")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the pipeline's settings; its tables were made by the documented command."""
    folder = tmp_path_factory.mktemp("orders")
    return {
        "ORDERS_LANDING": str(folder / "landing"),
        "ORDERS_DESTINATION": f"sqlite:///{folder}/orders.db",
        "ORDERS_LOOK_EVERY_SECONDS": "1",
        "ORDERS_RETRY_SECONDS": "1",
        "PYTHONPATH": os.pathsep.join([str(DAGS), str(ORDERS / "config")]),
    }


@pytest.fixture(scope="module")
def orders_airflow(
    settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalAirflow]:
    """Return a running Airflow that reads the example's Dags folder, with its cluster policy."""
    from airflow_landmark.testing._processes import run_command

    run_command(
        command=[sys.executable, str(DAGS / "orders_setup.py")],
        environment={**os.environ, **settings},
        folder=tmp_path_factory.mktemp("setup"),
        seconds=120,
    )
    home = tmp_path_factory.mktemp("orders_airflow")
    settings = {
        **settings,
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",  # a test says when the scheduled run comes
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "180",  # no worker is lost here, only slow
    }
    with (
        # a backfill is made by a command beside the scheduler: two writers, and SQLite takes one at a time
        LocalPostgres() as postgres,
        LocalAirflow(home=home, dags=DAGS, environment=settings, database=postgres.url) as running,
    ):
        running.api.set_pool(name="orders_backfill", slots=2)
        yield running


@pytest.fixture
def destination(settings: dict[str, str]) -> Destination:
    """Return the pipeline's destination."""
    return Destination(settings["ORDERS_DESTINATION"])


def deliver(settings: dict[str, str], orders: dict[str, int], *, day: str, version: int = 1) -> str:
    """Deliver a day as the partner does, over what lies there."""
    folder = Path(settings["ORDERS_LANDING"]) / day
    return announced(folder, {"orders.csv": csv_of(orders, day=day)}, version=version, day=day)


def start(airflow: LocalAirflow, day: str, *, run_id: str) -> Run:
    """Start a run about a day."""
    after = datetime.fromisoformat(day) + timedelta(days=1)
    interval = (f"{day}T00:00:00Z", f"{after:%Y-%m-%d}T00:00:00Z")
    # one second later than the timetable's own, which another run about that day may have
    date = f"{day}T00:00:01Z"
    return airflow.api.start_run(dag_id="orders", logical_date=date, interval=interval, run_id=run_id)


def runs_of(airflow: LocalAirflow, kind: str, *, count: int) -> list[Run]:
    """The runs of a kind, once there are so many."""

    def look() -> list[Run]:
        query = {"run_type": kind}
        try:
            found = airflow.api.call(method="GET", path="dags/orders/dagRuns", query=query)["dag_runs"]
        except TimeoutError:  # on a busy machine the API server's first answer may take longer than a request
            return []
        runs = [airflow.api.run(dag_id="orders", run_id=run["dag_run_id"]) for run in found]
        return runs if len(runs) == count else []

    return wait_until(check=look, what=f"{count} runs ({kind})", seconds=400)


@pytest.mark.timeout(1500)
def test_a_day_its_correction_and_a_stale_delivery(
    orders_airflow: LocalAirflow, settings: dict[str, str], destination: Destination
) -> None:
    """A run waits, loads and commits; a later version replaces the day; a lower one after it is refused."""
    day = YESTERDAY
    orders_airflow.api.wait_dag(dag_id="orders")
    orders_airflow.api.pause(dag_id="orders", paused=False)
    (waiting,) = runs_of(orders_airflow, "scheduled", count=1)
    waiting.wait_task(task_id="wait_for_orders", states=["deferred"], seconds=400)
    assert state_of(destination, day=day)["version"] == 0
    deliver(settings, GOOD, day=day)
    waiting.wait(seconds=400)
    assert {task["task_id"]: task["state"] for task in waiting.tasks()} == dict.fromkeys(STEPS, "success")
    assert state_of(destination, day=day) == {
        "version": 1, "orders": GOOD, "published": (1, 3, 60), "notices": 1
    }  # fmt: skip

    deliver(settings, CORRECTED, day=day, version=2)
    start(orders_airflow, day, run_id="correction").wait(seconds=400)
    corrected = state_of(destination, day=day)
    assert (corrected["version"], corrected["orders"]) == (2, CORRECTED)

    waiting.clear(task_ids=["replace"])  # the first run's delivery is version 1
    refused = waiting.wait_task(task_id="replace", states=["failed"], seconds=400)
    assert refused["try_number"] == 2  # cleared once, and never retried
    assert "the destination holds version 2" in waiting.log(task_id="replace")
    assert state_of(destination, day=day) == corrected
    (entry,) = SqlLedger(settings["ORDERS_DESTINATION"]).entries("shop/orders")
    assert entry.taken is not None
    assert entry.taken.version == 2


@pytest.mark.timeout(1500)
def test_a_backfill_takes_its_own_pool(
    orders_airflow: LocalAirflow, settings: dict[str, str], destination: Destination
) -> None:
    """Runs of a backfill are admitted by the backfill pool, other runs by the Dag's own."""
    days = ["2026-03-01", "2026-03-02"]
    for day in days:
        deliver(settings, GOOD, day=day)
    orders_airflow.api.wait_dag(dag_id="orders")
    orders_airflow.api.pause(dag_id="orders", paused=False)
    dates = ["--from-date", "2026-03-01", "--to-date", "2026-03-02"]
    orders_airflow.command(
        arguments=["backfill", "create", "--dag-id", "orders", *dates, "--max-active-runs", "2"]
    )
    for run in runs_of(orders_airflow, "backfill", count=2):
        run.wait(seconds=400)
        assert {task["pool"] for task in run.tasks()} == {"orders_backfill"}
    assert [state_of(destination, day=day)["orders"] for day in days] == [GOOD, GOOD]
    live = start(orders_airflow, "2026-03-01", run_id="live")
    live.wait(seconds=400)
    assert {task["pool"] for task in live.tasks()} == {"default_pool"}
