"""Wait for a control file that tells count and sum of a mainframe's extract.

``orders.ctl`` lies beside ``orders.csv`` and holds lines such as ``RECCOUNT=0002`` and ``AMOUNT=3.50``. Rows
and sum are counted on the worker, header and trailer left out.
"""

from datetime import datetime
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable, task

from airflow_landmark.sensors import Delivery, MarkerSensor

with DAG(
    "control_file",
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1),
    catchup=False,
):
    extract = MarkerSensor(
        task_id="extract",
        uri="/data/mainframe/{{ ds_nodash }}/orders.ctl",
        dataset="shop/orders",
        format="control",
        declare={
            "grammar": "key=value",
            "path": r"/(?P<stem>[^/]+)\.ctl$",
            "file": "{stem}.csv",
            "field.records": "RECCOUNT",
            "field.sum": "AMOUNT",
            "sum_column": "amount",
            "field.date": "BUSINESS_DATE",
            "date_format": "%Y%m%d",
            "field.sequence": "SEQ",
            "header_rows": "1",
            "trailer_rows": "1",
            "data_delimiter": ";",
            "dataset": "shop/orders",
            "interval": "{/date}",
            "timezone": "UTC",
            "version": "{/sequence}",
        },
        verify="rows",
    )

    @task
    def load(document: Any) -> None:
        """Read the extract, whose records were counted and added up."""
        for file in Delivery.from_xcom(document).files():
            print(file.uri, file.rows)

    load(extract.output)
