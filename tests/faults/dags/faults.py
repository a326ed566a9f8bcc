"""The waits that faults are injected into. Each is followed by a real write of its own day."""

import os
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, task
from faults_destination import write
from faults_trigger import ToldTrigger

from airflow_landmark.sensors import Delivery, MarkerSensor

CONF = "{{ dag_run.conf['%s'] }}"
COMMON: dict[str, Any] = {
    "task_id": "wait",
    "dataset": "shop/orders",
    "min_version": 2,
    "poke_interval": float(os.environ.get("FAULTS_POKE", "1")),
    "timeout": 3 * 3600,
    "unreadable_looks": 4,
    "first_event_delay": 1,
    # Above what the faults need: a worker that can reach no API server fails its task within seconds.
    "retries": 30,
    "retry_delay": timedelta(seconds=2),
}


def attempt_of(context: Any) -> str:
    """Name the attempt: run, map index, try."""
    ti = context["ti"]
    return f"{ti.run_id} {ti.map_index} {ti.try_number}"


class ToldSensor(MarkerSensor):
    """Waits by the trigger that tells what is done to it."""

    def defer(self, *, trigger: Any, **rest: Any) -> Any:
        """Defer by the telling trigger."""
        arguments = trigger.serialize()[1]
        super().defer(trigger=ToldTrigger(label=arguments["interval"][:10], **arguments), **rest)


class WritingSensor(ToldSensor):
    """Writes what was delivered, in the resumed task itself."""

    def validate(self, delivery: Delivery, context: Any) -> None:
        """Write the day."""
        write(delivery, wait=self.interval[:10], attempt=attempt_of(context))


@task(retries=30, retry_delay=timedelta(seconds=2))
def places(**context: Any) -> list[dict[str, str]]:
    """Name the marker and the interval of each wait."""
    conf = context["dag_run"].conf
    return list(conf["waits"]) * conf.get("copies", 1)


with DAG("faults_one", schedule=None):
    one = ToldSensor(uri=CONF % "uri", interval=CONF % "interval", **COMMON)

    @task(retries=30, retry_delay=timedelta(seconds=2))
    def load(document: dict[str, Any], **context: Any) -> None:
        """Write the day in a task of its own."""
        wait = context["dag_run"].conf["interval"][:10]
        write(Delivery.from_xcom(document), wait=wait, attempt=attempt_of(context))

    load(one.output)

with DAG("faults_mapped", schedule=None):
    WritingSensor.partial(**COMMON).expand_kwargs(places())

with DAG("faults_parked", schedule=None):
    WritingSensor.partial(**COMMON, pool="parked").expand_kwargs(places())
