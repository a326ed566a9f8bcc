"""A delivery to look at, and the command line in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from blockbuster import BlockBuster
from click.testing import CliRunner, Result

from airflow_landmark.cli import main

INTERVAL = "2024-10-01T00:00:00Z/2024-10-02T00:00:00Z"


@pytest.fixture(autouse=True)
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print for 80 columns, whatever terminal the tests run in."""
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def landmark() -> Callable[..., Result]:
    """Return what runs ``landmark`` with these arguments."""

    def invoke(*arguments: object) -> Result:
        return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)

    return invoke


@pytest.fixture
def landmark_program() -> Sequence[str]:
    """Return the words that start ``landmark`` in a process of its own."""
    return [sys.executable, "-m", "airflow_landmark.cli"]


@pytest.fixture
def wanted() -> list[str]:
    """Return the options of dataset and interval of the delivery."""
    return ["--dataset", "orders", "--interval", INTERVAL]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with three data files and no marker."""
    folder = tmp_path / "orders"
    (folder / "more").mkdir(parents=True)
    (folder / "part-1.csv").write_text("id,amount\n1,10\n2,20\n")
    (folder / "more" / "part-2.csv").write_text("id,amount\n3,30\n")
    (folder / "notes.txt").write_text("hello\n")
    return folder


@pytest.fixture
def delivery(folder: Path, landmark: Callable[..., Result], wanted: list[str]) -> Path:
    """Return the folder, announced with version 2 and its rows."""
    done = landmark("deliver", folder, *wanted, "--version", 2, "--rows", "auto", "--header-rows", 1)
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def meddle(
    monkeypatch: pytest.MonkeyPatch, loop_guard: BlockBuster
) -> Callable[[ModuleType, Callable[[], object]], None]:
    """Return what lets another process, so to speak, meddle while a command reads files."""
    loop_guard.deactivate()

    def arrange(command: ModuleType, action: Callable[[], object]) -> None:
        @contextmanager
        def showing(_doing: str) -> Iterator[Callable[[object], object]]:
            yield lambda _progress: action()

        monkeypatch.setattr(command, "showing", showing)

    return arrange


@pytest.fixture
def write_marker() -> Callable[..., None]:
    """Return what writes a marker with some fields replaced."""

    def write(folder: Path, **fields: Any) -> None:
        start, end = INTERVAL.split("/")
        document = {
            "spec": "landmark/1",
            "dataset": "orders",
            "interval": {"start": start, "end": end},
            "version": 1,
            "files": [],
            **fields,
        }
        folder.mkdir(exist_ok=True)
        (folder / "_delivery.json").write_text(json.dumps(document), encoding="utf-8")

    return write
