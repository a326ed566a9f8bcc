"""One laboratory for all faults: a start takes longer than most of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultlab import Lab, Record, open_lab

HERE = Path(__file__).parent
TEST_SECONDS = float(os.environ.get("FAULTS_TEST_SECONDS", "900"))
"""How long one test may take; the first one waits for the start too."""
SEED = int(os.environ.get("FAULTS_SEED", "20261130"))

_shown: list[Record] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the laboratory: it runs with ``make trials`` and ``make faults`` only."""
    for item in items:
        if HERE in item.path.parents and "lab" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Return the running laboratory."""
    results = os.environ.get("FAULTS_RESULTS")
    home = tmp_path_factory.mktemp("faults")
    with open_lab(home, dags=HERE / "dags", seed=SEED, results=Path(results) if results else None) as made:
        yield made
        _shown.extend(made.records)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what each trial has shown."""
    if _shown:
        terminalreporter.section(f"faults, seed {SEED}")
    for record in _shown:
        terminalreporter.write_line(str(record))
