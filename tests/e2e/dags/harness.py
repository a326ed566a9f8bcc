"""Dags for the tests of the test tools themselves."""

from __future__ import annotations

import time

from airflow.providers.standard.sensors.date_time import DateTimeSensorAsync
from airflow.sdk import DAG, task

with DAG("harness_wait", schedule=None):
    DateTimeSensorAsync(task_id="wait", target_time="{{ dag_run.conf['until'] }}")

with DAG("harness_work", schedule=None):

    @task
    def count(*, step: int) -> int:
        """Return the double."""
        return step * 2

    @task
    def sleep() -> None:
        """Run until somebody ends it."""
        time.sleep(300)

    count.expand(step=[1, 2, 3]) >> sleep()
