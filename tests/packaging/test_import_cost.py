"""What an import brings along: a Dag file is imported all the time, a command should start at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ["httpx", "aiohttp", "aiobotocore", "botocore", "pyarrow", "pandas", "sqlalchemy", "jsonschema"]
ABSENT = [*HEAVY, "airflow", "pydantic", "psutil"]
PRINT_NEW = """
import importlib, sys
for name in {before!r}:
    importlib.import_module(name)
before = set(sys.modules)
importlib.import_module({module!r})
print(*sorted(name for name in set(sys.modules) - before if name in {watched!r}))
"""


def _brought_along(*, module: str, before: list[str], watched: list[str]) -> list[str]:
    code = PRINT_NEW.format(module=module, before=before, watched=watched)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[-2].split()


@pytest.mark.parametrize("room", ["markers", "stores", "deliveries", "cli"])
def test_partners_need_little(room: str) -> None:
    """What partners run imports neither Airflow nor anything heavy."""
    assert _brought_along(module=f"airflow_landmark.{room}", before=[], watched=ABSENT) == []


@pytest.mark.parametrize("room", ["triggers", "sensors"])
def test_airflow_is_enough(room: str) -> None:
    """What a Dag file imports brings along nothing heavy that Airflow has not imported itself."""
    before = ["airflow.sdk", "airflow.triggers.base"]
    assert _brought_along(module=f"airflow_landmark.{room}", before=before, watched=HEAVY) == []


@pytest.mark.parametrize("module", ["airflow_landmark.testing"])
def test_testing_is_light(module: str) -> None:
    """The room for tests imports Airflow in other processes only."""
    assert _brought_along(module=module, before=[], watched=[*HEAVY, "airflow", "pydantic"]) == []
