"""What compiled methods say about deferring."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from airflow.providers.standard.triggers.temporal import TimeDeltaTrigger
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import TaskDeferred

from airflow_landmark.capacity._defer_scan import class_facts

TIME = "airflow.providers.standard.triggers.temporal.TimeDeltaTrigger"


class _Plain(BaseOperator):
    def execute(self, context: Any) -> None:
        return None if context else self.log.info("defer")


class _Always(BaseOperator):
    def execute(self, context: Any) -> None:
        self._go()

    def _go(self) -> None:
        self.defer(trigger=TimeDeltaTrigger(timedelta(seconds=1)), method_name="done")


class _Raises(BaseOperator):
    def execute(self, context: Any) -> None:
        trigger = TimeDeltaTrigger(timedelta(seconds=1))
        raise TaskDeferred(trigger=trigger, method_name="done", timeout=timedelta(1))


class _Switchable(_Always):
    def __init__(self, *, deferrable: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.deferrable = deferrable


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (_Plain, (False, False, (), False)),
        (_Always, (True, False, (TIME,), False)),
        (_Raises, (True, False, (TIME,), True)),
        (_Switchable, (True, True, (TIME,), False)),
    ],
)
def test_own_operators(operator: type, expected: tuple[object, ...]) -> None:
    """Calls in helpers and ancestors count, words in texts do not."""
    assert class_facts(operator) == expected


@pytest.mark.parametrize(
    ("module", "name", "trigger", "switchable", "limits"),
    [
        ("providers.standard.sensors.filesystem", "FileSensor", "FileTrigger", True, True),
        ("providers.standard.sensors.date_time", "DateTimeSensorAsync", "DateTimeTrigger", False, False),
        ("providers.standard.sensors.external_task", "ExternalTaskSensor", "WorkflowTrigger", True, True),
        ("providers.amazon.aws.sensors.s3", "S3KeySensor", "S3KeyTrigger", True, True),
        ("providers.http.sensors.http", "HttpSensor", "HttpSensorTrigger", True, True),
    ],
)
def test_operators_of_providers(module: str, name: str, trigger: str, switchable: bool, limits: bool) -> None:
    """Common sensors: their trigger, whether deferring is a choice, whether a deferral has an end."""
    facts = class_facts(getattr(pytest.importorskip(f"airflow.{module}"), name))
    assert facts.defers
    assert facts.triggers[0].rpartition(".")[2] == trigger
    assert (facts.switchable, facts.limits) == (switchable, limits)


def test_our_own_sensor_by_its_public_path() -> None:
    """The path by which a triggerer imports it."""
    from airflow_landmark.sensors import MarkerSensor

    assert class_facts(MarkerSensor).triggers == ("airflow_landmark.triggers.MarkerTrigger",)


def test_people_are_waited_for_without_a_trigger() -> None:
    """Approvals need no triggerer since Airflow 3.3, whatever their code still holds."""
    from airflow.providers.standard.operators.hitl import ApprovalOperator

    assert not class_facts(ApprovalOperator).defers
