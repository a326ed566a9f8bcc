"""The waits of the end-to-end tests. Where and for what each waits comes with the run's conf."""

import time
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Asset, task

from airflow_landmark.sensors import Delivery, LandmarkRetryPolicy, MarkerSensor

CONF = "{{ dag_run.conf['%s'] }}"
COMMON: dict[str, Any] = {
    "dataset": "shop/orders",
    "interval": (CONF % "start", CONF % "end"),
    "poke_interval": 0.5,
    "timeout": 240,
    "unreadable_looks": 4,
    "first_event_delay": 1,
}
WAIT = COMMON | {"uri": CONF % "uri"}


class SlowCheck(MarkerSensor):
    """Takes its time over the first try's own check, so that a test can kill it meanwhile."""

    def validate(self, delivery: Delivery, context: Any) -> None:
        if context["ti"].try_number == 1:
            time.sleep(120)


with DAG("wait_one", schedule=None):
    wait = MarkerSensor(
        task_id="wait",
        retries=3,
        retry_policy=LandmarkRetryPolicy(first=1),
        outlets=[Asset("e2e_orders")],
        **WAIT,
    )

    @task
    def load(document: dict[str, Any]) -> dict[str, Any]:
        delivery = Delivery.from_xcom(document)
        texts = {}
        for file in delivery.files():
            with delivery.open(file.path) as stream:
                texts[file.path] = stream.read().decode()
        return {"operation": delivery.operation_id("1"), "texts": texts}

    load(wait.output)

with DAG("wait_late", schedule=None):
    MarkerSensor(task_id="fails", retries=2, **WAIT | {"timeout": 3})
    MarkerSensor(task_id="skips", soft_fail=True, **WAIT | {"timeout": timedelta(seconds=3)})

with DAG("wait_tries", schedule=None):
    MarkerSensor(
        task_id="wait",
        retries=9,
        retry_delay=timedelta(seconds=0.1),
        execution_timeout=timedelta(seconds=5),
        **WAIT | {"timeout": 14},
    )

with DAG("wait_dying", schedule=None):
    SlowCheck(task_id="wait", retries=1, retry_delay=timedelta(seconds=0.1), **WAIT)

with DAG("wait_soft", schedule=None):
    MarkerSensor(task_id="wait", soft_fail=True, **WAIT)

with DAG("wait_rescheduled", schedule=None):
    MarkerSensor(task_id="wait", deferrable=False, mode="reschedule", **WAIT | {"first_event_delay": 4})

with DAG("wait_mapped", schedule=None):

    @task
    def uris(**context: Any) -> list[str]:
        return list(context["dag_run"].conf["uris"])

    MarkerSensor.partial(task_id="wait", **COMMON).expand(uri=uris())

with DAG("wait_at_once", schedule=None):

    @task
    def copies(**context: Any) -> list[str]:
        return [context["dag_run"].conf["uri"]] * 100

    # The default delay before the first event is what keeps these from being killed.
    MarkerSensor.partial(
        task_id="wait", **{k: v for k, v in COMMON.items() if k != "first_event_delay"}
    ).expand(uri=copies())
