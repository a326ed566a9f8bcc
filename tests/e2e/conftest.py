"""One real Airflow for all end-to-end tests: a start takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_landmark.testing import LocalAirflow

HERE = Path(__file__).parent
TEST_SECONDS = 300
"""How long one test may take; the first one waits for the start too."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies in this folder: it runs with ``make e2e`` only."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))


@pytest.fixture(scope="session")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder where partners deliver; Dags find it in the variable ``LANDING``."""
    return tmp_path_factory.mktemp("landing")


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory, landing: Path) -> Iterator[LocalAirflow]:
    """Return a running Airflow that reads ``tests/e2e/dags``."""
    home = tmp_path_factory.mktemp("airflow")
    with LocalAirflow(home=home, dags=HERE / "dags", environment={"LANDING": str(landing)}) as running:
        yield running
