"""Deferrals whose times are known: each task returns when it deferred and when it was resumed."""

import time
from datetime import datetime, timedelta, timezone
from typing import Any

from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk import DAG, BaseOperator


class KnownWait(BaseOperator):
    """Waits in the triggerer for so many seconds."""

    def __init__(self, *, seconds: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seconds = seconds

    def execute(self, context: Any) -> None:
        now = datetime.now(tz=timezone.utc)
        self.defer(
            trigger=DateTimeTrigger(moment=now + timedelta(seconds=self.seconds)),
            method_name="resume",
            kwargs={"deferred_at": now.timestamp()},
            timeout=timedelta(hours=1),
        )

    def resume(self, context: Any, event: Any = None, deferred_at: float = 0.0) -> list[float]:
        return [deferred_at, time.time()]


with DAG("capacity_known", schedule=None, max_active_tasks=100):
    KnownWait.partial(task_id="wait").expand(seconds=[90 + index % 10 for index in range(40)])

with DAG("capacity_daily", schedule="@daily", start_date=datetime(2026, 1, 1, tzinfo=timezone.utc)):
    KnownWait(task_id="wait", seconds=1)
