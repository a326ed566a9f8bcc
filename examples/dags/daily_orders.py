"""A daily Dag as one would run it: a deadline, a retry policy, and an asset that tells what was taken.

The partner delivers each day's orders into a folder of that day, below the folder that the environment
variable ``LANDING`` names. ``make demo`` runs this Dag.
"""

import os
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import DAG, Asset, CronDataIntervalTimetable, task

from airflow_landmark.sensors import Delivery, LandmarkRetryPolicy, MarkerSensor

LANDING = os.environ.get("LANDING", "/data/partner")
LOOK_EVERY = float(os.environ.get("LOOK_EVERY_SECONDS", "60"))

with DAG(
    "daily_orders",
    # A plain cron string would give each run a data interval without a length, and nothing to wait for.
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1),
    catchup=False,
    default_args={"retries": 3, "retry_policy": LandmarkRetryPolicy(first=timedelta(seconds=30))},
):
    wait_for_orders = MarkerSensor(
        task_id="wait_for_orders",
        uri=f"{LANDING}/orders/{{{{ ds }}}}/_delivery.json",
        dataset="shop/orders",
        verify="rows",
        poke_interval=LOOK_EVERY,
        # The partner has until noon of the next day, however late the run itself starts.
        deadline=timedelta(hours=36),
        outlets=[Asset("shop_orders")],
    )

    @task
    def load(document: Any) -> str:
        """Read the files that were verified, and no others."""
        delivery = Delivery.from_xcom(document)
        for file in delivery.files():
            with delivery.open(file.path) as stream:
                print(f"{file.path}: {len(stream.read().splitlines())} lines, {file.rows} rows")
        # The same for every attempt, so that a repeated load can replace rather than append.
        return delivery.operation_id(code_version="1")

    load(wait_for_orders.output)
