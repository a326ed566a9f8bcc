"""Sensor, load and commit in Dags that Airflow runs, in this process, by asset and by connection."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.models import Connection
from airflow.models.asset import AssetModel
from airflow.models.asset_state_store import AssetStateStoreModel
from airflow.sdk import DAG, Asset, CronDataIntervalTimetable
from airflow.sdk import task as task_of
from airflow.sdk.bases.operator import ExecutorSafeguard
from airflow.utils.session import create_session
from sqlalchemy import select

from airflow_landmark.sensors import (
    AssetLedger,
    CommitDelivery,
    ConnectionLedger,
    MarkerSensor,
    commit_delivery,
)
from parcels import DATASET, deliver
from sensing import SPAN, held, sql_ledger

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
RUN_AT = datetime(2024, 5, 2, tzinfo=timezone.utc)  # a run by hand is about the day that ended then
DAILY: dict[str, Any] = {
    "schedule": CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    "start_date": datetime(2024, 4, 1, tzinfo=timezone.utc),
}
StoreDag = Callable[[DAG], None]


@pytest.fixture(autouse=True)
def called_by_airflow(called_directly: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here tasks are called by a task runner, as everywhere else."""
    monkeypatch.setattr(ExecutorSafeguard, "test_mode", False)


def states(run: Any) -> dict[str, str]:
    """State by task, of mapped ones the last."""
    return {ti.task_id: str(ti.state) for ti in run.get_task_instances()}


def wait(folder: Path, **changes: Any) -> MarkerSensor:
    """A wait for the run's own day."""
    arguments = {"task_id": "wait", "uri": f"{folder}/", "dataset": DATASET, "timeout": 30}
    return MarkerSensor(**arguments | changes)


def test_ledger_in_the_state_of_an_asset(tmp_path: Path, store_dag: StoreDag) -> None:
    """What one run has taken another skips; a repeated commit changes nothing; the owner is the sensor."""
    asset = Asset("landmark_ledger_orders")
    ledger = AssetLedger(asset, settle=0.01)
    deliver(tmp_path, version=3)
    with DAG("landmark_asset_ledger", **DAILY) as dag:
        waited = wait(tmp_path, ledger=ledger, on_taken="skip", inlets=[asset])

        @task_of(inlets=[asset])
        def again(document: dict[str, Any]) -> dict[str, Any]:
            return commit_delivery(document, ledger=ledger)

        commit = CommitDelivery(task_id="commit", delivery=waited.output, ledger=ledger, outlets=[asset])
        commit >> again(waited.output)  # type: ignore[operator]
    store_dag(dag)
    assert states(dag.test(logical_date=RUN_AT)) == dict.fromkeys(("wait", "commit", "again"), "success")
    with create_session() as session:
        number = session.scalars(select(AssetModel.id).where(AssetModel.name == asset.name)).one()
        kept = session.scalars(
            select(AssetStateStoreModel.value).where(AssetStateStoreModel.asset_id == number)
        ).all()
    (value,) = kept
    assert '"version": 3' in value
    assert "landmark_asset_ledger/" in value
    second = dag.test(logical_date=RUN_AT)
    assert states(second) == dict.fromkeys(("wait", "commit", "again"), "skipped")


def test_ledger_by_a_connection_of_the_database(tmp_path: Path, store_dag: StoreDag) -> None:
    """Operator with a template, and mapped operators, commit by a connection that Airflow holds."""
    file = sql_ledger(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        deliver(tmp_path / name, version=4, dataset=f"{DATASET}/{name}")
    deliver(tmp_path, version=2)
    with create_session() as session:
        session.add(Connection(conn_id="landmark_ledger", conn_type="sqlite", host=f"{tmp_path}/ledger.db"))
        session.commit()
    ledger = ConnectionLedger("landmark_ledger")
    with DAG("landmark_connection_ledger", **DAILY) as dag:
        wait(tmp_path, ledger=ledger) >> CommitDelivery(
            task_id="commit", delivery="{{ ti.xcom_pull(task_ids='wait') | tojson }}", ledger=ledger
        )
        mapped = MarkerSensor.partial(task_id="waits", ledger=ledger, timeout=30).expand_kwargs(
            [{"uri": f"{tmp_path}/{name}/", "dataset": f"{DATASET}/{name}"} for name in ("one", "two")]
        )
        CommitDelivery.partial(task_id="commits", ledger=ledger).expand(delivery=mapped.output)
    store_dag(dag)
    run = dag.test(logical_date=RUN_AT)
    assert states(run) == dict.fromkeys(("wait", "commit", "waits", "commits"), "success")
    assert held(file.entry(DATASET, SPAN)) == (2, None)
    for index, name in enumerate(("one", "two")):
        entry = file.entry(f"{DATASET}/{name}", SPAN)
        assert held(entry) == (4, None)
        assert entry is not None
        assert entry.taken is not None
        assert entry.taken.owner == f"landmark_connection_ledger/{run.run_id}/waits/{index}"
