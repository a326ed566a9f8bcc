"""The waits that faults are injected into: each claims its delivery, writes its own day, and commits."""

import os
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, task
from faults_destination import write
from faults_trigger import ToldTrigger

from airflow_landmark.deliveries import SqlLedger
from airflow_landmark.sensors import Delivery, MarkerSensor, commit_delivery

CONF = "{{ dag_run.conf['%s'] }}"
LEDGER = SqlLedger(os.environ["FAULTS_LEDGER"])
COMMON: dict[str, Any] = {
    "task_id": "wait",
    "dataset": "shop/orders",
    "min_version": 2,
    "ledger": LEDGER,
    "poke_interval": float(os.environ.get("FAULTS_POKE", "1")),
    "timeout": 3 * 3600,
    "unreadable_looks": 4,
    "first_event_delay": 1,
    # Above what the faults need: a worker that can reach no API server fails its task within seconds.
    "retries": 30,
    "retry_delay": timedelta(seconds=2),
}


def take(document: dict[str, Any], *, wait: str, context: Any) -> None:
    """Write the day of a delivery, and tell the ledger."""
    ti = context["ti"]
    attempt = f"{ti.run_id} {ti.map_index} {ti.try_number}"
    write(Delivery.from_xcom(document), wait=wait, attempt=attempt)
    commit_delivery(document, ledger=LEDGER)


class ToldSensor(MarkerSensor):
    """Waits by the trigger that tells what is done to it."""

    def defer(self, *, trigger: Any, **rest: Any) -> Any:
        """Defer by the telling trigger."""
        arguments = trigger.serialize()[1]
        super().defer(trigger=ToldTrigger(label=arguments["interval"][:10], **arguments), **rest)


class WritingSensor(ToldSensor):
    """Takes what was delivered in the same task, without a wait or after it."""

    def execute(self, context: Any) -> Any:
        """Look, wait, take."""
        return self._taken(super().execute(context), context)

    def resume(self, context: Any, event: Any = None) -> Any:
        """Go on after the wait, and take."""
        return self._taken(super().resume(context, event), context)

    def _taken(self, document: dict[str, Any], context: Any) -> dict[str, Any]:
        take(document, wait=self.interval[:10], context=context)
        return document


@task(retries=30, retry_delay=timedelta(seconds=2))
def places(**context: Any) -> list[dict[str, str]]:
    """Name the marker and the interval of each wait."""
    conf = context["dag_run"].conf
    return list(conf["waits"]) * conf.get("copies", 1)


with DAG("faults_one", schedule=None):
    one = ToldSensor(uri=CONF % "uri", interval=CONF % "interval", **COMMON)

    @task(retries=30, retry_delay=timedelta(seconds=2))
    def load(document: dict[str, Any], **context: Any) -> None:
        """Take the day in a task of its own."""
        take(document, wait=context["dag_run"].conf["interval"][:10], context=context)

    load(one.output)

with DAG("faults_mapped", schedule=None):
    WritingSensor.partial(**COMMON).expand_kwargs(places())

with DAG("faults_parked", schedule=None):
    WritingSensor.partial(**COMMON, pool="parked").expand_kwargs(places())
