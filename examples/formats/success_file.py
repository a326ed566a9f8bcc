"""Wait for the ``_SUCCESS`` file of a Spark job; the partition's folder tells the day.

The file is empty and lists nothing: what lies beside it when it is seen is the delivery. It proves presence
and size, so more is not asked for.
"""

from datetime import datetime
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable, task

from airflow_landmark.sensors import Delivery, MarkerSensor

with DAG(
    "success_file",
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1),
    catchup=False,
):
    orders = MarkerSensor(
        task_id="orders",
        uri="/data/lake/orders/dt={{ ds }}/_SUCCESS",
        dataset="shop/orders",
        format="sentinel",
        declare={
            "path": r"/dt=(?P<day>[0-9-]{10})/_SUCCESS$",
            "dataset": "shop/orders",
            "interval": "{day}",
            "timezone": "UTC",
            "version": "1",
            "files": "*.parquet",
        },
        verify="files",
    )

    @task
    def load(document: Any) -> None:
        """Read what lay there when the job said that it was done."""
        for file in Delivery.from_xcom(document).files():
            print(file.uri, file.size)

    load(orders.output)
