"""The files of the page about testing one's own Dag, pasted as they stand beside the orders example."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_landmark.testing import InjectionTests

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "testing.md").read_text()
FILES = re.compile(r"^```python (\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SEVEN = [name for name in vars(InjectionTests) if name.startswith("test_")]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project that holds the orders example, and the page's files in its folder ``tests``.

    What the page shows of a file in two places stands in it one after the other.
    """
    dags = ROOT / "examples" / "orders" / "dags"
    shutil.copytree(dags, tmp_path / "dags", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests").mkdir()
    for name, code in FILES.findall(PAGE):
        with (tmp_path / "tests" / name).open("a") as file:
            file.write(code)
    return tmp_path


def run_pytest(project: Path, *words: str, seconds: float) -> str:
    """Run ``pytest tests`` in the project, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests", "-q", "-p", "no:cacheprovider", *words],
        cwd=project,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_files_make_the_tests(project: Path) -> None:
    """The files can be pasted as they are: pytest finds the seven tests and another, and warns of none."""
    found = run_pytest(project, "--collect-only", "-W", "error", seconds=100)
    names = [line.rpartition("::")[2] for line in found.splitlines() if "::" in line]
    assert names == ["test_held_before_publishing", *SEVEN]


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(500)
def test_injections_pass(project: Path) -> None:
    """The fixtures that the page describes start an Airflow; one of the seven and the page's own one pass."""
    assert "2 passed" in run_pytest(project, "-k", "held or request_above_pool", seconds=480)
