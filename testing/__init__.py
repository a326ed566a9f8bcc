"""Tests against a real Airflow: all components on this machine, gone when the block ends.

Needs Airflow (``pip install 'airflow-landmark[airflow]'``)::

    with LocalAirflow(home=folder / "home", dags=folder / "dags") as airflow:
        run = airflow.api.start_run(dag_id="orders", logical_date="2026-01-01T00:00:00Z")
        run.wait()
        print(run.xcom(task_id="wait_for_orders"))
"""

from . import _needs_airflow  # noqa: F401 - before the modules that need it
from ._airflow import LocalAirflow
from ._api import AirflowApi
from ._database import MetadataDatabase
from ._errors import (
    ComponentFailed,
    DagImportFailed,
    LocalAirflowError,
    MissingSoftware,
    NotInTime,
    RequestRefused,
    RunEnded,
)
from ._postgres import LocalPostgres
from ._run import Run
from ._waiting import wait_until

__all__ = [
    "AirflowApi",
    "ComponentFailed",
    "DagImportFailed",
    "LocalAirflow",
    "LocalAirflowError",
    "LocalPostgres",
    "MetadataDatabase",
    "MissingSoftware",
    "NotInTime",
    "RequestRefused",
    "Run",
    "RunEnded",
    "wait_until",
]
