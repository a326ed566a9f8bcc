"""The room as a pytest plugin, in a project of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import airflow_landmark.testing

CONFTEST = 'pytest_plugins = ["airflow_landmark.testing"]\n'
TESTS = """
import pytest
from airflow_landmark.testing import InjectionTests

class TestNothing(InjectionTests):
    @pytest.fixture
    def landmark_pipeline(self):
        pytest.skip("only collected")

def test_fixtures(landmark_injections, landmark_metrics, landmark_environment):
    assert landmark_injections.folder.is_dir()
    assert landmark_metrics.latest("pool.starving_tasks") is None
    assert landmark_environment == {}

def test_folder_of_dags_is_asked_for(landmark_dags):
    pass
"""


def test_project_uses_the_plugin(tmp_path: Path) -> None:
    """A project that names the plugin has the fixtures, and the seven tests where it inherits them."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_project.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed, 7 skipped, 1 error" in done.stdout, done.stdout
    assert "define a fixture landmark_dags, of session scope" in done.stdout


def test_import_needs_no_pytest() -> None:
    """Importing the room imports neither pytest nor Airflow, and works where pytest is not installed."""
    code = (
        "import sys; sys.modules['pytest'] = None\n"
        "from airflow_landmark.testing import *\n"
        "print(InjectionTests.__name__, 'airflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["InjectionTests", "False"]


def test_fixtures_are_no_names_of_the_room() -> None:
    """Fixtures are found by pytest, and are not among the names that ``import *`` brings."""
    fixtures = set(dir(airflow_landmark.testing)) - set(airflow_landmark.testing.__all__)
    assert {"landmark_airflow", "landmark_injections"} <= fixtures
