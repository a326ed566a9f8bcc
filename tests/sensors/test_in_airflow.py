"""The sensor in a Dag that Airflow runs, in this process: rendering, mapping, deferring, resuming."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.models import Connection
from airflow.models.asset import AssetEvent, AssetModel
from airflow.sdk import DAG, Asset, CronDataIntervalTimetable
from airflow.sdk import task as task_of
from airflow.sdk.bases.operator import ExecutorSafeguard
from airflow.utils.session import create_session
from sqlalchemy import select

from airflow_landmark.sensors import LandmarkRetryPolicy, MarkerSensor
from airflow_landmark.triggers import MarkerTrigger
from guarded import guarded
from parcels import DATASET, FILES, START, deliver

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
DAILY: dict[str, Any] = {
    "schedule": CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    "start_date": datetime(2024, 4, 1, tzinfo=timezone.utc),
}
RUN_AT = datetime(2024, 5, 2, tzinfo=timezone.utc)  # a run by hand is about the day that ended then
StoreDag = Callable[[DAG], None]


@pytest.fixture(autouse=True)
def called_by_airflow(called_directly: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here tasks are called by a task runner, as everywhere else."""
    monkeypatch.setattr(ExecutorSafeguard, "test_mode", False)


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments of every trigger that was handed over."""
    seen: list[dict[str, Any]] = []
    serialize = MarkerTrigger.serialize

    def noted(self: MarkerTrigger) -> tuple[str, dict[str, Any]]:
        classpath, kwargs = serialize(self)
        if kwargs not in seen:
            seen.append(kwargs)
        return classpath, kwargs

    monkeypatch.setattr(MarkerTrigger, "serialize", noted)
    return seen


def states(run: Any) -> dict[Any, str]:
    """State by task and map index."""
    found = {(ti.task_id, ti.map_index): str(ti.state) for ti in run.get_task_instances()}
    return {task_id if index < 0 else (task_id, index): state for (task_id, index), state in found.items()}


def common(folder: Path) -> dict[str, Any]:
    """Arguments of the waits, with the folder of the run's day as a template."""
    return {
        "dataset": DATASET,
        "interval": ("{{ data_interval_start }}", "{{ data_interval_end }}"),
        "poke_interval": 0.1,
        "timeout": 30,
        "first_event_delay": 0.2,
    }


def test_dag_with_waits(
    tmp_path: Path, store_dag: StoreDag, handed_over: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivery that comes while it is waited for is handed on, bad data fails, what is late is skipped."""
    for name in ("comes", "bad"):
        (tmp_path / "2024-05-01" / name).mkdir(parents=True)
    deliver(tmp_path / "2024-05-01" / "bad", written=FILES | {"a.csv": b"id\n7\n"})

    with DAG("landmark_waits", **DAILY) as dag:
        place = f"{tmp_path}/{{{{ data_interval_start | ds }}}}"
        wait = MarkerSensor(
            task_id="wait", uri=f"{place}/comes/", outlets=[Asset("landmark_orders")], retries=2,
            retry_policy=LandmarkRetryPolicy(), **common(tmp_path),
        )  # fmt: skip
        MarkerSensor(task_id="bad", uri=f"{place}/bad/", soft_fail=True, **common(tmp_path))
        MarkerSensor(
            task_id="late", uri=f"{place}/late/", soft_fail=True, **common(tmp_path) | {"timeout": 0.3}
        )

        @task_of
        def load(document: dict[str, Any]) -> int:
            return int(document["version"])

        load(wait.output)

    store_dag(dag)
    checked = MarkerTrigger._checked

    async def delivered_meanwhile(self: MarkerTrigger) -> Any:
        if "comes" in str(self.serialize()):
            await asyncio.to_thread(deliver, tmp_path / "2024-05-01" / "comes", version=4)
        return await checked(self)

    monkeypatch.setattr(MarkerTrigger, "_checked", delivered_meanwhile)
    run = dag.test(logical_date=RUN_AT)
    assert states(run) == {
        "wait": "success", "load": "success", "bad": "failed", "late": "skipped"
    }  # fmt: skip
    with create_session() as session:
        asset = session.scalars(select(AssetModel).where(AssetModel.name == "landmark_orders")).one()
        extra = session.scalars(select(AssetEvent.extra).where(AssetEvent.asset_id == asset.id)).one()
    assert (extra["dataset"], extra["version"], extra["interval"]["start"]) == (DATASET, 4, START)
    waits = [kwargs["uri"] for kwargs in handed_over]
    assert f"{tmp_path}/2024-05-01/comes/" in waits
    assert {kwargs["interval"] for kwargs in handed_over} == {"2024-05-01T00:00:00Z/2024-05-02T00:00:00Z"}


def test_mapped_waits(tmp_path: Path, store_dag: StoreDag, handed_over: list[dict[str, Any]]) -> None:
    """Each element of a mapped wait has templates of its own rendered before anything is handed over."""
    for name in "abc":
        (tmp_path / "2024-05-01" / name).mkdir(parents=True)

    with DAG("landmark_mapped", **DAILY) as dag:
        MarkerSensor.partial(task_id="wait", **common(tmp_path) | {"timeout": 0.4}, soft_fail=True).expand(
            uri=[f"{tmp_path}/{{{{ data_interval_start | ds }}}}/{name}/" for name in "abc"]
        )
    deliver(tmp_path / "2024-05-01" / "b")
    store_dag(dag)
    run = dag.test(logical_date=RUN_AT)
    assert states(run) == {("wait", 0): "skipped", ("wait", 1): "success", ("wait", 2): "skipped"}
    assert {kwargs["uri"] for kwargs in handed_over} == {f"{tmp_path}/2024-05-01/{name}/" for name in "ac"}
    assert "{{" not in str(handed_over)


def test_native_rendering(tmp_path: Path, store_dag: StoreDag) -> None:
    """With templates rendered to objects, instants come as datetimes and versions as numbers."""
    (tmp_path / "2024").mkdir()
    deliver(tmp_path / "2024", version=3)
    with DAG(
        "landmark_native", **DAILY,
        render_template_as_native_obj=True, params={"least": 3},
    ) as dag:  # fmt: skip
        MarkerSensor(
            task_id="wait",
            uri=f"{tmp_path}/{{{{ data_interval_start.year }}}}/",
            min_version="{{ params.least }}",
            **common(tmp_path),
        )
    store_dag(dag)
    assert states(dag.test(logical_date=RUN_AT)) == {"wait": "success"}


def test_run_without_an_interval(
    tmp_path: Path, store_dag: StoreDag, handed_over: list[dict[str, Any]]
) -> None:
    """A cron schedule gives runs an interval without a length: the task fails before it waits."""
    with DAG("landmark_cron", schedule="0 0 * * *", start_date=DAILY["start_date"]) as dag:
        MarkerSensor(task_id="wait", uri=f"{tmp_path}/", **common(tmp_path) | {"interval": None})
    store_dag(dag)
    assert states(dag.test(logical_date=RUN_AT)) == {"wait": "failed"}
    assert not handed_over


def test_connection_of_the_database(
    tmp_path: Path, store_dag: StoreDag, handed_over: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection in Airflow's database reaches the store from worker and trigger, in a test run too."""
    (tmp_path / "in").mkdir()
    with guarded(tmp_path, user="user", password="pw-EXAMPLE-1") as server, create_session() as session:  # noqa: S106
        session.add(
            Connection(
                conn_id="partner", conn_type="http", host="127.0.0.1", port=server.port, login="user",
                password="pw-EXAMPLE-1",  # noqa: S106 - what must not be seen anywhere
            )
        )  # fmt: skip
        session.commit()
        with DAG("landmark_connection", **DAILY) as dag:
            MarkerSensor(task_id="wait", uri=f"{server.uri}in/", conn_id="partner", **common(tmp_path))
            MarkerSensor(task_id="lost", uri=f"{server.uri}in/", conn_id="nobody", **common(tmp_path))
        store_dag(dag)
        checked = MarkerTrigger._checked

        async def delivered_meanwhile(self: MarkerTrigger) -> Any:
            await asyncio.to_thread(deliver, tmp_path / "in")
            return await checked(self)

        monkeypatch.setattr(MarkerTrigger, "_checked", delivered_meanwhile)
        run = dag.test(logical_date=RUN_AT)
    assert states(run) == {"wait": "success", "lost": "failed"}
    assert set(server.seen) == {server.expected}
    assert [kwargs["conn_id"] for kwargs in handed_over] == ["partner"]
