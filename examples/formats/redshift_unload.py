"""Wait for the manifest that Redshift's UNLOAD writes last, in a bucket of its own.

The manifest names its files by full addresses. Only those below the places that ``allow`` names are taken.
"""

from datetime import datetime
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable, task

from airflow_landmark.sensors import Delivery, MarkerSensor

with DAG(
    "redshift_unload",
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1),
    catchup=False,
):
    unload = MarkerSensor(
        task_id="unload",
        uri="s3://acme-unload/orders/{{ ds }}/manifest",
        conn_id="unload",
        dataset="shop/orders",
        format="redshift",
        declare={
            "allow": "s3://acme-unload/orders/{{ ds }}/",
            "path": r"/(?P<day>[0-9-]{10})/manifest$",
            "dataset": "shop/orders",
            "interval": "{day}",
            "timezone": "UTC",
            "version": "1",
            "header_rows": "1",
        },
        verify="files",
    )

    @task
    def load(document: Any) -> None:
        """Read the parts, each by its full address."""
        for file in Delivery.from_xcom(document).files():
            print(file.uri, file.size, file.rows)

    load(unload.output)
