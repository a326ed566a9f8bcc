"""Waits in buckets and on web servers. Each reaches its store by a connection of the environment."""

from typing import Any

from airflow.sdk import DAG, task

from airflow_landmark.sensors import Delivery, MarkerSensor

CONF = "{{ dag_run.conf['%s'] }}"
COMMON: dict[str, Any] = {
    "uri": CONF % "uri",
    "dataset": "shop/orders",
    "interval": (CONF % "start", CONF % "end"),
    "poke_interval": 0.5,
    "timeout": 240,
    "first_event_delay": 1,
}


@task
def load(document: dict[str, Any]) -> dict[str, Any]:
    """Open every file through the connection that the document names."""
    delivery = Delivery.from_xcom(document)
    texts = {}
    for file in delivery.files():
        with delivery.open(file.path) as stream:
            texts[file.path] = stream.read().decode()
    return {"texts": texts, "pins": [dict(file.to_json()["pin"] or {}) for file in delivery.files()]}


with DAG("wait_s3", schedule=None):
    load(MarkerSensor(task_id="wait", conn_id="partner_bucket", **COMMON).output)

with DAG("wait_http", schedule=None):
    load(MarkerSensor(task_id="wait", conn_id="partner_origin", **COMMON).output)

with DAG("wait_http_rescheduled", schedule=None):
    MarkerSensor(
        task_id="wait",
        conn_id="partner_origin",
        deferrable=False,
        mode="reschedule",
        **COMMON | {"first_event_delay": 4},
    )

with DAG("wait_bag", schedule=None):
    load(
        MarkerSensor(
            task_id="wait",
            format="bagit",
            declare={
                "dataset": "shop/orders",
                "interval": "{/External-Identifier}",
                "timezone": "UTC",
                "version": "1",
            },
            verify="digests",
            **COMMON,
        ).output
    )

with DAG("wait_success_file", schedule=None):
    load(
        MarkerSensor(
            task_id="wait",
            format="sentinel",
            declare={
                "path": r"/dt=(?P<day>[0-9-]+)/_SUCCESS$",
                "dataset": "shop/orders",
                "interval": "{day}",
                "timezone": "UTC",
                "version": "1",
            },
            verify="files",
            **COMMON,
        ).output
    )
