"""What one start of a task works with: built anew from arguments and context each time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_landmark.deliveries import DeliveryError, Form, Target, Terms, Way
from airflow_landmark.markers import Expectation, MarkerError
from airflow_landmark.stores import InvalidAddress, StoreError

from ._budget import Budget, Memory, budget_of
from ._checks import least_version
from ._errors import WaitMisconfigured, for_airflow
from ._interval import interval_of

if TYPE_CHECKING:
    from ._marker import MarkerSensor

__all__ = ["LONGEST", "Plan", "plan_of"]

LONGEST = timedelta(days=3650)
"""No wait is planned for longer."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is waited for, how long, and what earlier starts of this task have left behind."""

    terms: Terms
    budget: Budget
    memory: Memory


def plan_of(sensor: MarkerSensor, context: Any) -> Plan:
    """The plan of a sensor whose templates were rendered for this run.

    :raises WaitMisconfigured: when the arguments, as rendered, cannot be waited for.
    """
    interval = interval_of(sensor.interval, context)
    timeout = min(sensor.timeout, LONGEST.total_seconds())
    memory = Memory(context, keep=timedelta(seconds=timeout))
    budget = budget_of(
        context,
        memory,
        interval=interval,
        timeout=timeout,
        deadline=sensor.deadline,
        execution_timeout=sensor.execution_timeout,
        rescheduled=sensor.reschedule,
    )
    try:
        expectation = Expectation(sensor.dataset, interval, least_version(sensor.min_version))
        terms = Terms(
            target=Target.of(sensor.uri, sensor.pattern, form=Form.of(sensor.format, sensor.declare)),
            expectation=expectation,
            verify=sensor.verify,
            poll_interval=sensor.poke_interval,
            deadline=budget.deadline,
            on_mismatch=sensor.on_mismatch,
            on_incomplete=sensor.on_incomplete,
            on_taken=sensor.on_taken,
            unreadable_looks=sensor.unreadable_looks,
            way=Way(sensor.conn_id, sensor.options or {}),
        )
        terms.check()
    except (MarkerError, InvalidAddress, ValueError) as error:
        raise WaitMisconfigured(f"the sensor's arguments, as rendered for this run: {error}") from None
    if sensor.ledger is not None:
        try:
            terms = replace(terms, taken=sensor.ledger.taken(expectation.dataset, interval))
        except (DeliveryError, StoreError) as error:
            raise for_airflow(error) from None
    return Plan(terms, budget, memory)
