"""Wait for a list of checksums that is complete once a second file covers it.

The partner writes the data, then ``SHA256SUMS``, then ``SHA256SUMS.sha256`` with the digest of the list.
"""

from datetime import datetime
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable, task

from airflow_landmark.sensors import Delivery, MarkerSensor

with DAG(
    "checksum_list",
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1),
    catchup=False,
):
    prices = MarkerSensor(
        task_id="prices",
        uri="/data/prices/{{ ds }}/SHA256SUMS",
        dataset="market/prices",
        format="sums",
        declare={
            "algorithm": "sha256",
            "complete": "sidecar",
            "sidecar": "{name}.sha256",
            "path": r"/(?P<day>[0-9-]{10})/SHA256SUMS$",
            "dataset": "market/prices",
            "interval": "{day}",
            "timezone": "UTC",
            "version": "1",
        },
    )

    @task
    def load(document: Any) -> None:
        """Read exactly the files whose digests were right."""
        delivery = Delivery.from_xcom(document)
        for file in delivery.files():
            with delivery.open(file.path) as stream:
                print(file.path, len(stream.read()))

    load(prices.output)
