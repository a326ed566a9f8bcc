"""Admission into pools against Airflow's own admission step, on a metadata database with the same tasks."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from airflow_landmark.capacity import Pool, PoolTask, admit

LONG_AGO = datetime(2026, 3, 2, tzinfo=timezone.utc)


def _task(name: str, slots: int, **fields: Any) -> PoolTask:
    return PoolTask(name=name, slots=slots, pool="p", **fields)


EXTRACTS = [_task(f"extract_{number}", 2) for number in (1, 2, 3, 4)]
CHECKS = [_task(f"check_{number}", 1) for number in (1, 2, 3)]
RUNNING = [_task(f"extract_{number}", 2, state="running") for number in (1, 2, 3)]
DEFERRED = [_task(f"extract_{number}", 2, state="deferred") for number in (1, 2, 3, 4)]
HEAVY = _task("heavy", 2, priority=100)


@pytest.fixture(scope="module")
def scheduler(airflow_db: Path) -> Any:
    """Return a scheduler that is not running: its admission step can be called."""
    from airflow.executors.local_executor import LocalExecutor
    from airflow.jobs.job import Job
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner

    return SchedulerJobRunner(job=Job(), executors=[LocalExecutor(parallelism=32)])


CASES = [
    [*EXTRACTS[:3], *CHECKS],
    [*EXTRACTS, *CHECKS],
    [_task("giant", 9)],
    [*RUNNING, EXTRACTS[3], *CHECKS],
    [*RUNNING, _task("check_1", 1, state="running"), HEAVY, CHECKS[1]],
    [*RUNNING, _task("check_3", 1, state="running"), HEAVY],
    [*RUNNING, HEAVY],
    [*DEFERRED, CHECKS[0]],
    [_task("giant", 9, priority=9), *CHECKS, *EXTRACTS],
    [_task(f"b{number}", 3, priority=number) for number in range(1, 6)],
    [_task("queued", 5, state="queued"), HEAVY, *EXTRACTS[:1], *CHECKS],
]


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_airflow_lets_in_the_same(scheduler: Any, number: int, counted: bool) -> None:
    """Its own admission step, on a metadata database with these tasks."""
    pool = Pool(name="p", slots=8, include_deferred=counted)
    # equal ones come in any order from a database: here the map index decides
    tasks = [replace(task, map_index=index) for index, task in enumerate(CASES[number])]
    ours = sorted(task.name for task in admit([pool], tasks).admitted)
    assert _airflow_admits(scheduler, pool, tasks) == ours


def _airflow_admits(scheduler: Any, pool: Pool, tasks: list[PoolTask]) -> list[str]:
    from airflow.utils.session import create_session

    with create_session() as session:
        _fill(session, pool, tasks)
        queued = scheduler._executable_task_instances_to_queued(max_tis=16, session=session)
        names = sorted(one.task_id for one in queued)
        session.rollback()
    return names


def _fill(session: Any, pool: Pool, tasks: list[PoolTask]) -> None:
    """Write pool, Dag, run and task instances, without committing."""
    from airflow.models.dag import DagModel
    from airflow.models.dagrun import DagRun
    from airflow.models.pool import Pool as AirflowPool
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.state import DagRunState, TaskInstanceState
    from airflow.utils.types import DagRunType
    from sqlalchemy import insert

    row = AirflowPool(
        pool=pool.name, slots=pool.slots, description="", include_deferred=pool.include_deferred
    )
    session.add(row)
    model = DagModel(dag_id="admission", bundle_name="dags-folder", is_paused=False, max_active_tasks=99)
    model.has_task_concurrency_limits = False
    session.add(model)
    session.flush()
    run = DagRun(
        dag_id="admission",
        run_id="run",
        run_type=DagRunType.MANUAL,
        state=DagRunState.RUNNING,
        logical_date=LONG_AGO,
        run_after=LONG_AGO,
    )
    session.add(run)
    session.flush()
    for task in tasks:
        values = {
            "task_id": task.name,
            "dag_id": run.dag_id,
            "run_id": run.run_id,
            "map_index": task.map_index,
        }
        asked = {"pool": task.pool, "pool_slots": task.slots, "priority_weight": task.priority}
        rest = {"id": uuid4(), "state": TaskInstanceState(task.state), "max_tries": 0, "queue": "default"}
        session.execute(insert(TaskInstance.__table__).values(**values, **asked, **rest))
