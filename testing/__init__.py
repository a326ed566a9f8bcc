"""Tests against a real Airflow, and what goes wrong in production, on purpose.

Needs Airflow (``pip install 'airflow-landmark[airflow]'``)::

    with LocalAirflow(home=folder / "home", dags=folder / "dags") as airflow:
        run = airflow.api.start_run(dag_id="orders", logical_date="2026-01-01T00:00:00Z")
        run.wait()
        print(run.xcom(task_id="wait_for_orders"))

As a pytest plugin, ``pytest_plugins = ["airflow_landmark.testing"]`` in a conftest, it offers the fixtures
``landmark_airflow``, ``landmark_injections`` and ``landmark_metrics``; pytest is imported only then.
"""

from __future__ import annotations

from typing import Any

from . import _needs_airflow  # noqa: F401 - before the modules that need it
from ._airflow import LocalAirflow
from ._api import AirflowApi
from ._checks import check_rows
from ._database import MetadataDatabase
from ._errors import (
    AttemptsWrong,
    ComponentFailed,
    DagImportFailed,
    DestinationWrong,
    LocalAirflowError,
    MissingSoftware,
    NoAlert,
    NotExercised,
    NotInTime,
    RequestRefused,
    RuleBroken,
    RunEnded,
)
from ._fixtures import FIXTURES as _FIXTURES
from ._fixtures import fixture as _fixture
from ._hostile import HOSTILE
from ._injection import Hold, Injection, Instead, Kill, Raise
from ._injections import Injections, Planned
from ._metrics import Metrics, StarvingAlert
from ._partner import Drop, Partner
from ._pipeline import Contents, Pipeline
from ._postgres import LocalPostgres
from ._run import Run
from ._seven_attempts import backfill_over_correction, killed_after_commit, late_attempt, source_changed
from ._seven_errors import permanent_and_transient_error
from ._seven_refusals import request_above_pool, wrong_interval
from ._suite import InjectionTests
from ._waiting import wait_until

__all__ = [
    "HOSTILE",
    "AirflowApi",
    "AttemptsWrong",
    "ComponentFailed",
    "Contents",
    "DagImportFailed",
    "DestinationWrong",
    "Drop",
    "Hold",
    "Injection",
    "InjectionTests",
    "Injections",
    "Instead",
    "Kill",
    "LocalAirflow",
    "LocalAirflowError",
    "LocalPostgres",
    "MetadataDatabase",
    "Metrics",
    "MissingSoftware",
    "NoAlert",
    "NotExercised",
    "NotInTime",
    "Partner",
    "Pipeline",
    "Planned",
    "Raise",
    "RequestRefused",
    "RuleBroken",
    "Run",
    "RunEnded",
    "StarvingAlert",
    "backfill_over_correction",
    "check_rows",
    "killed_after_commit",
    "late_attempt",
    "permanent_and_transient_error",
    "request_above_pool",
    "source_changed",
    "wait_until",
    "wrong_interval",
]


def __getattr__(name: str) -> Any:
    """Return a fixture; only pytest asks for them, so that nothing else imports pytest."""
    if name in _FIXTURES:
        return _fixture(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return what pytest looks through for fixtures."""
    return [*__all__, *_FIXTURES]
