"""The fixtures that all tests share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from blockbuster import BlockingError

from airflow_landmark.testing import wait_until

if TYPE_CHECKING:
    from airflow.sdk import DAG


async def test_guard_sees_a_blocked_loop() -> None:
    """Code of a room that blocks the event loop fails the test."""
    answers = iter([False, True])
    with pytest.raises(BlockingError, match=r"time\.sleep"):
        wait_until(check=lambda: next(answers), what="it", seconds=1)


async def test_guard_leaves_tests_alone(tmp_path: Path) -> None:
    """A test itself may read and write files."""
    (tmp_path / "a").write_text("a")
    assert (tmp_path / "a").read_text() == "a"


def test_dag_runs_in_process(store_dag: Callable[[DAG], None]) -> None:
    """A stored Dag runs in the test's own process, its deferral included."""
    from airflow.providers.standard.sensors.date_time import DateTimeSensorAsync
    from airflow.sdk import DAG

    target = datetime.now(tz=timezone.utc) + timedelta(seconds=1)
    with DAG("harness", schedule=None) as dag:
        DateTimeSensorAsync(task_id="wait", target_time=target)
    store_dag(dag)
    run = dag.test(logical_date=datetime(2026, 1, 1, tzinfo=timezone.utc))
    assert run.state == "success"
    assert datetime.now(tz=timezone.utc) >= target
