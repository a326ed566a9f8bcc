"""The smallest useful Dag: wait for the day's orders, then load exactly those."""

from datetime import datetime
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable, task

from airflow_landmark.sensors import Delivery, MarkerSensor

with DAG(
    "smallest",
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1),
):
    orders = MarkerSensor(task_id="orders", uri="/data/orders/{{ ds }}/_delivery.json", dataset="shop/orders")

    @task
    def load(document: Any) -> None:
        for file in Delivery.from_xcom(document).files():
            print(file.uri, file.rows)

    load(orders.output)
