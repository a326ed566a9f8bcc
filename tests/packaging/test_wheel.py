"""The wheel, and what works where it is installed."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

INSTALL = "pip install 'airflow-landmark[airflow]'"


@pytest.fixture(scope="module")
def without_airflow(make_environment: Callable[[str], Path]) -> Path:
    """Return an environment with the wheel and what it always needs."""
    return make_environment("")


@pytest.fixture(scope="module")
def with_airflow(make_environment: Callable[[str], Path]) -> Path:
    """Return an environment with the wheel and Airflow."""
    return make_environment("[airflow]")


def _run(
    environment: Path, program: str, *arguments: str, home: Path | None = None
) -> subprocess.CompletedProcess[str]:
    ours = ("AIRFLOW", "PYTHON")
    variables = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
    if home is not None:
        variables["AIRFLOW_HOME"] = str(home)
    command = [str(environment / "bin" / program), *arguments]
    return subprocess.run(
        command, env=variables, cwd=environment, capture_output=True, text=True, check=False
    )


def test_wheel_holds_every_file(wheel: Path, packages: dict[str, Path]) -> None:
    """Every module and data file of every room is in the wheel, and no test is."""
    expected = {
        f"{name.replace('.', '/')}/{path.name}"
        for name, folder in packages.items()
        for path in folder.iterdir()
        if path.is_file()
    }
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in inside if ".dist-info/" not in name} == expected


def test_wheel_holds_the_licence(wheel: Path) -> None:
    """The wheel carries the licence and the entry points."""
    inside = zipfile.ZipFile(wheel).namelist()
    assert [name for name in inside if name.endswith("/licenses/LICENSE")]
    assert [name for name in inside if name.endswith("/entry_points.txt")]


@pytest.mark.parametrize("room", ["markers", "stores", "deliveries", "cli"])
def test_room_without_airflow(without_airflow: Path, room: str) -> None:
    """What partners need is imported where Airflow is not installed."""
    code = f"import airflow_landmark.{room}, importlib.util; print(importlib.util.find_spec('airflow'))"
    done = _run(without_airflow, "python", "-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", "")


def test_schema_without_airflow(without_airflow: Path) -> None:
    """The command line prints the marker's JSON Schema where Airflow is not installed."""
    done = _run(without_airflow, "landmark", "schema")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["type"] == "object"


@pytest.mark.parametrize("room", ["triggers", "sensors", "testing"])
def test_airflow_is_missing(without_airflow: Path, room: str) -> None:
    """A room that needs Airflow says in its last line what to install."""
    done = _run(without_airflow, "python", "-c", f"import airflow_landmark.{room}")
    assert done.returncode != 0
    assert INSTALL in done.stderr.splitlines()[-1]


def test_provider_is_listed(with_airflow: Path, tmp_path: Path) -> None:
    """Airflow lists the package among its providers."""
    done = _run(with_airflow, "airflow", "providers", "list", "--output", "json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"airflow-landmark"' in done.stdout


def test_trigger_is_found_by_its_path(with_airflow: Path, tmp_path: Path) -> None:
    """A triggerer that knows only the stored path finds the trigger."""
    code = (
        "from airflow._shared.module_loading import import_string; "
        "import_string('airflow_landmark.triggers.MarkerTrigger')"
    )
    done = _run(with_airflow, "python", "-c", code, home=tmp_path)
    assert done.returncode == 0, done.stderr
