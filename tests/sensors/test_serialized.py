"""Dags with the sensor, as Airflow's other components see them."""

from __future__ import annotations

import copy
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset, BaseOperator
from airflow.serialization.serialized_objects import DagSerialization

from airflow_landmark.deliveries import Stamp
from airflow_landmark.markers import Interval, Taken
from airflow_landmark.sensors import LandmarkRetryPolicy, MarkerSensor
from parcels import DATASET, END, START, deliver
from sensing import context_of

FIRST = datetime(2024, 5, 1, tzinfo=timezone.utc)
NEXT = FIRST + timedelta(days=1)
WAIT: dict[str, Any] = {"task_id": "wait", "uri": "/in/{{ ds }}/_delivery.json", "dataset": DATASET}


class Shelf:
    """A ledger that Airflow's serialization knows nothing of."""

    def taken(self, dataset: str, interval: Interval) -> Taken | None:
        """Nothing was."""

    def claim(self, stamp: Stamp, owner: str) -> None:
        """Keep nothing."""


class Upstream(BaseOperator):
    """A task whose result is waited with."""

    def execute(self, context: Any) -> Any:
        """Return where the delivery will lie."""


def round_trip(dag: DAG) -> Any:
    """The Dag as the scheduler sees it."""
    return DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag), allow_nan=False)))


@pytest.mark.parametrize(
    "interval",
    [
        None,
        (START, END),
        [START, END],
        f"{START}/{END}",
        (FIRST, FIRST + timedelta(days=1)),
        Interval(FIRST, FIRST + timedelta(days=1)),
        ("{{ data_interval_start }}", "{{ data_interval_end }}"),
        "{{ data_interval_start }}/{{ data_interval_end }}",
    ],
)
def test_every_form_of_interval_is_serialized(interval: Any) -> None:
    """The scheduler can store a Dag with any form of interval, and the page of a task show it."""
    with DAG("orders", schedule=None) as dag:
        MarkerSensor(**WAIT, interval=interval)
    task = round_trip(dag).get_task("wait")
    assert task.task_type == "MarkerSensor"
    assert task.uri == WAIT["uri"]
    shown = getattr(task, "interval", None)
    assert (shown is None) == (interval is None)


def test_all_arguments_are_serialized() -> None:
    """A sensor with everything set, a policy and a ledger among it, can be stored."""
    with DAG("orders", schedule=None) as dag:
        MarkerSensor(
            **WAIT,
            interval=(START, END),
            min_version="{{ params.least }}",
            verify="rows",
            poke_interval=timedelta(minutes=1),
            timeout=timedelta(hours=6),
            deadline=timedelta(hours=8),
            on_unexpected="warn",
            ledger=Shelf(),
            retries=3,
            retry_policy=LandmarkRetryPolicy(),
            execution_timeout=timedelta(hours=1),
            soft_fail=True,
            outlets=[Asset("orders")],
        )
    task = round_trip(dag).get_task("wait")
    assert task.has_retry_policy
    assert task.execution_timeout == timedelta(hours=1)
    assert not getattr(task, "start_from_trigger", False)


def test_rescheduling_is_seen_by_the_scheduler() -> None:
    """The scheduler has to know which sensors reschedule themselves."""
    with DAG("orders", schedule=None) as dag:
        MarkerSensor(**WAIT, deferrable=False, mode="reschedule")
    assert round_trip(dag).get_task("wait").reschedule


def test_mapped_sensor_is_serialized() -> None:
    """Places, intervals and versions may be expanded over, with a policy and a ledger for all."""
    with DAG("orders", schedule=None) as dag:
        upstream = Upstream(task_id="upstream")
        common = {
            "dataset": DATASET,
            "retry_policy": LandmarkRetryPolicy(),
            "poke_interval": timedelta(minutes=1),
        }
        MarkerSensor.partial(task_id="places", interval=(START, END), **common).expand(
            uri=["/in/a/", "/in/b/"]
        )
        MarkerSensor.partial(task_id="days", uri="/in/", **common).expand(
            interval=[(START, END), [START, END], f"{START}/{END}"]
        )
        MarkerSensor.partial(task_id="results", **common).expand(uri=upstream.output)
        MarkerSensor.partial(task_id="kwargs", dataset=DATASET, ledger=Shelf()).expand_kwargs(
            [{"uri": "/in/a/", "min_version": 2}, {"uri": "/in/b/", "pattern": "*.json"}]
        )
    stored = round_trip(dag)
    assert {t.task_id for t in stored.tasks if t.is_mapped} == {"places", "days", "results", "kwargs"}


def test_sensor_can_be_copied(tmp_path: Path) -> None:
    """Airflow copies tasks before it runs them, and whole Dags for parts of them."""
    deliver(tmp_path)
    with DAG("orders", schedule=None) as dag:
        MarkerSensor(**WAIT | {"uri": f"{tmp_path}/"}, interval=(START, END), ledger=Shelf())
    copied = copy.deepcopy(dag).get_task("wait")
    assert copied.prepare_for_execution().execute(context_of())["version"] == 1
    assert dag.partial_subset("wait").get_task("wait").uri == f"{tmp_path}/"


@pytest.mark.parametrize(
    "given", [Interval(FIRST, FIRST + timedelta(days=1)), (FIRST, FIRST + timedelta(days=1))]
)
def test_mapped_arguments_are_converted(given: Any) -> None:
    """Paths and intervals may be objects where they are mapped over, too."""
    with DAG("orders", schedule=None) as dag:
        MarkerSensor.partial(task_id="wait", dataset=DATASET, uri=Path("/in/a.json")).expand(interval=[given])
    assert round_trip(dag).get_task("wait").is_mapped
    element = dag.get_task("wait").unmap({"interval": given})
    assert element.uri == "/in/a.json"
    assert all(isinstance(instant, str) for instant in element.interval)


@pytest.mark.parametrize(
    "element", [{"uri": "relative"}, {"uri": ["/in/a"]}, {"uri": "/in/a", "verify": "x"}]
)
def test_mapped_arguments_are_checked_when_an_element_starts(element: dict[str, Any]) -> None:
    """Airflow makes the sensors of a mapped task when they start: what cannot work fails before any wait."""
    with DAG("orders", schedule=None) as dag:
        MarkerSensor.partial(task_id="wait", dataset=DATASET).expand_kwargs([element])
    with pytest.raises((ValueError, TypeError), match=r"absolute|one text|verify must be"):
        dag.get_task("wait").unmap(element)
