"""The local Airflow itself: what tests can do to it, and what it tells them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from airflow_landmark.testing import LocalAirflow, Run, RunEnded, wait_until


def _start_wait(airflow: LocalAirflow, *, seconds: float) -> Run:
    until = datetime.now(tz=timezone.utc) + timedelta(seconds=seconds)
    return airflow.api.start_run(dag_id="harness_wait", conf={"until": until.isoformat()})


def test_killed_triggerer_is_replaced(airflow: LocalAirflow) -> None:
    """A wait whose triggerer was killed goes on in the next one."""
    run = _start_wait(airflow, seconds=15)
    run.wait_task(task_id="wait", states=["deferred"])
    owners = airflow.database.trigger_owners
    wait_until(check=lambda: None not in owners(), what="the wait has an owner", seconds=30)
    airflow.kill(name="triggerer-1")
    assert "triggerer-1" not in airflow.components
    job = airflow.start_triggerer(name="triggerer-1")
    wait_until(check=lambda: job in owners(), what="the wait is taken over", seconds=30)
    run.wait()
    assert "Trigger fired event" in run.log(task_id="wait")


def test_wait_is_cleared_marked_and_deleted(airflow: LocalAirflow) -> None:
    """A deferred task is cleared and marked as a user does it, and its run is deleted."""
    run = _start_wait(airflow, seconds=600)
    first = run.wait_task(task_id="wait", states=["deferred"])
    run.clear(task_ids=["wait"])
    wait_until(
        check=lambda: run.task(task_id="wait")["try_number"] > first["try_number"],
        what="the next try",
        seconds=30,
    )
    run.wait_task(task_id="wait", states=["deferred"])
    run.mark_task(task_id="wait", state="success")
    run.wait()
    run.delete()
    assert airflow.database.task_states(dag_id=run.dag_id, run_id=run.run_id) == {}


def test_killed_task_fails_its_run(airflow: LocalAirflow) -> None:
    """The process of a running task is found and killed; the run tells that the task has failed."""
    run = airflow.api.start_run(dag_id="harness_work")
    run.wait_task(task_id="sleep", states=["running"])
    assert [run.xcom(task_id="count", map_index=index) for index in range(3)] == [2, 4, 6]
    assert run.task(task_id="count", map_index=2)["state"] == "success"
    assert airflow.database.task_states(dag_id=run.dag_id, run_id=run.run_id) == {"success": 3, "running": 1}
    airflow.task_process(run=run, task_id="sleep").kill()
    with pytest.raises(RunEnded, match="sleep failed") as caught:
        run.wait()
    assert caught.value.tasks["count[1]"] == "success"


def test_commands_share_the_environment(airflow: LocalAirflow, landing: Path) -> None:
    """A command runs in the components' environment."""
    assert "harness_wait" in airflow.command(arguments=["dags", "list"])
    assert airflow.environment["LANDING"] == str(landing)
