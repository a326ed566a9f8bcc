"""Waits that need a connection. Where they wait, and by which connection, comes with the run's conf."""

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, task

from airflow_landmark.sensors import Delivery, MarkerSensor

CONF = "{{ dag_run.conf['%s'] }}"

with DAG("wait_by_connection", schedule=None):
    wait = MarkerSensor(
        task_id="wait",
        uri=CONF % "uri",
        conn_id=CONF % "conn_id",
        dataset="shop/orders",
        interval=(CONF % "start", CONF % "end"),
        poke_interval=0.5,
        timeout=240,
        first_event_delay=1,
        retries=1,
        retry_delay=timedelta(seconds=0.1),
    )

    @task
    def load(document: dict[str, Any]) -> str:
        with Delivery.from_xcom(document).open("orders.csv") as stream:
            return stream.read().decode()

    load(wait.output)
