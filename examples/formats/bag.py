"""Wait for a BagIt bag to be whole, and open its payload.

The label ``External-Identifier`` tells the day, the folder the version: a correction comes as ``v2``.
"""

from datetime import datetime
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable, task

from airflow_landmark.sensors import Delivery, MarkerSensor

with DAG(
    "bag",
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1),
    catchup=False,
    params={"version": 1},
):
    scans = MarkerSensor(
        task_id="scans",
        uri="/data/archive/{{ ds }}/v{{ params.version }}/",  # the slash stands for bagit.txt
        dataset="archive/scans",
        min_version="{{ params.version }}",
        format="bagit",
        declare={
            "path": r"/v(?P<version>[0-9]+)/bagit\.txt$",
            "dataset": "archive/scans",
            "interval": "{/External-Identifier}",
            "timezone": "UTC",
            "version": "{version}",
        },
        on_unexpected="fail",
    )

    @task
    def load(document: Any) -> None:
        """Read the payload; tag files that the bag covers are files of the delivery too."""
        delivery = Delivery.from_xcom(document)
        for file in delivery.files():
            if file.path.startswith("data/"):
                with delivery.open(file.path) as stream:
                    print(file.path, len(stream.read()))

    load(scans.output)
