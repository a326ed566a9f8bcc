"""The project's files, and what is made of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the repository's folder."""
    return ROOT


@pytest.fixture(scope="session")
def project() -> dict[str, Any]:
    """Return what ``pyproject.toml`` says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def packages(project: dict[str, Any]) -> dict[str, Path]:
    """Return the folder of each import package, as ``pyproject.toml`` maps them."""
    mapping = project["tool"]["setuptools"]["package-dir"]
    return {name: ROOT / folder for name, folder in mapping.items()}


@pytest.fixture(scope="session")
def uv(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., None]:
    """Return a function that runs uv with some arguments, in an empty folder."""
    folder = tmp_path_factory.mktemp("uv")

    def run(*arguments: str | Path) -> None:
        command = [find_uv_bin(), *map(str, arguments)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    return run


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory, uv: Callable[..., None]) -> Path:
    """Return a wheel built from a copy of the repository: a build leaves files in its source."""
    source = tmp_path_factory.mktemp("source") / "project"
    shutil.copytree(ROOT, source, ignore=LEFT_OUT, symlinks=True)
    out = tmp_path_factory.mktemp("dist")
    uv("build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", out, source)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def make_environment(
    tmp_path_factory: pytest.TempPathFactory, uv: Callable[..., None], wheel: Path
) -> Callable[[str], Path]:
    """Return a function that installs the wheel with an extra (or ``""``) and returns the environment."""

    def make(extra: str) -> Path:
        environment = tmp_path_factory.mktemp("environment")
        uv("venv", "--clear", "--python", sys.executable, environment)
        wanted = f"airflow-landmark{extra} @ {wheel.as_uri()}"
        lock = ROOT / "requirements.lock"
        uv("pip", "install", "--python", environment / "bin" / "python", "--constraint", lock, wanted)
        return environment

    return make
