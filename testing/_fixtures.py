"""Fixtures for pytest, offered by ``pytest_plugins = ["airflow_landmark.testing"]`` in a conftest."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._airflow import LocalAirflow
from ._injections import Injections
from ._metrics import Metrics

if TYPE_CHECKING:
    import pytest

__all__ = ["FIXTURES", "fixture"]


def landmark_dags() -> Path:
    """Return the folder of Dag files; a project defines this fixture itself."""
    raise LookupError(
        "define a fixture landmark_dags, of session scope, that returns the folder of Dag files"
    )


def landmark_environment() -> dict[str, str]:
    """Return variables for all of Airflow's components; a project that needs any defines it itself."""
    return {}


def landmark_injections(tmp_path_factory: pytest.TempPathFactory) -> Injections:
    """Return what is injected into the tasks of ``landmark_airflow``."""
    return Injections(folder=tmp_path_factory.mktemp("injections"))


def landmark_metrics() -> Iterator[Metrics]:
    """Return the metrics that the components of ``landmark_airflow`` send."""
    with Metrics() as metrics:
        yield metrics


def landmark_airflow(
    tmp_path_factory: pytest.TempPathFactory,
    landmark_dags: Path,
    landmark_environment: dict[str, str],
    landmark_injections: Injections,
    landmark_metrics: Metrics,
) -> Iterator[LocalAirflow]:
    """Return a running Airflow, on SQLite, one for the whole session."""
    with LocalAirflow(
        home=tmp_path_factory.mktemp("airflow"),
        dags=landmark_dags,
        environment={**landmark_metrics.environment, **landmark_environment},
        injections=landmark_injections,
    ) as airflow:
        yield airflow


FIXTURES = {
    function.__name__: function
    for function in (
        landmark_airflow,
        landmark_dags,
        landmark_environment,
        landmark_injections,
        landmark_metrics,
    )
}
"""The fixtures' functions by name."""


@functools.cache
def fixture(name: str) -> Any:
    """Return a fixture of session scope. Pytest is imported here: only it asks for fixtures.

    :raises KeyError: when there is none of this name.
    """
    import pytest  # noqa: PLC0415 - as said above

    return pytest.fixture(scope="session")(FIXTURES[name])
