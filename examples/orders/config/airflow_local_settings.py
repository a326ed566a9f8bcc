"""A cluster policy: runs of a backfill take their slots from a pool of their own.

Airflow imports a module of this name from ``$AIRFLOW_HOME/config`` or the Python path. It must be there on
every machine that makes or clears runs: scheduler, API server, and where ``airflow backfill create`` is
called. A task's ``pool`` is fixed when the Dag is parsed, the same for every run, and that command has no
option for it; this hook is where Airflow 3.3 lets a task instance's pool depend on its run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun
    from airflow.models.taskinstance import TaskInstance

BACKFILL_POOLS = {"orders": "orders_backfill"}
"""Dag to pool. The pool must exist: ``airflow pools set orders_backfill 2 "days of orders at once"``."""


def task_instance_mutation_hook(task_instance: TaskInstance, dag_run: DagRun | None = None) -> None:
    """Move a task instance of a backfill run to its Dag's backfill pool."""
    pool = BACKFILL_POOLS.get(task_instance.dag_id)
    if pool is not None and _is_backfill(task_instance, dag_run):
        task_instance.pool = pool


def _is_backfill(task_instance: TaskInstance, dag_run: DagRun | None) -> bool:
    """By the run's type; where Airflow hands over no run, by the run's id, which tells the type too."""
    if dag_run is not None:
        return str(dag_run.run_type) == "backfill"
    return (task_instance.run_id or "").startswith("backfill__")
