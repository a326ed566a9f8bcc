"""Dags from a folder whose files are other people's programs, and from the database."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from airflow_landmark.capacity import CannotTell, Unreachable
from airflow_landmark.capacity._inventory import DescribedDag
from airflow_landmark.capacity._read_dags import FolderDags, known_class, read_folder, read_serialized
from airflow_landmark.capacity._read_database import open_database
from metadata import Metadata

GOOD = """
from datetime import datetime
from airflow.sdk import DAG, BaseOperator
from airflow.providers.standard.sensors.filesystem import FileSensor
from airflow.providers.standard.triggers.temporal import DateTimeTrigger
import helper

print("hello from a Dag file")

class Own(BaseOperator):
    def execute(self, context):
        self.defer(trigger=DateTimeTrigger(datetime.now()), method_name="done")

with DAG("good", schedule="@daily", start_date=datetime(2026, 1, 1)):
    FileSensor(task_id="file", filepath="/in/x", deferrable=True, timeout=60, poke_interval=5)
    FileSensor(task_id="holds", filepath="/in/x")
    Own(task_id="own")
    FileSensor.partial(task_id="mapped", deferrable=True).expand(filepath=["/a", "/b"])
"""
BROKEN = {
    "raises.py": "from airflow.sdk import DAG\nraise ValueError('boom')\n",
    "exits.py": "import sys\nfrom airflow.sdk import DAG\nsys.exit(3)\n",
    "syntax.py": "from airflow.sdk import DAG\ndef\n",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> FolderDags:
    """Return what one folder holds: a good file, a helper beside it, and files that cannot be loaded."""
    folder = tmp_path_factory.mktemp("dags")
    (folder / "good.py").write_text(GOOD)
    (folder / "helper.py").write_text("VALUE = 1\n")
    for name, text in BROKEN.items():
        (folder / name).write_text(text)
    return read_folder(folder)


@pytest.mark.slow
def test_a_good_file_among_broken_ones(found: FolderDags) -> None:
    """Files that raise, exit or cannot be parsed are reported; the others are read."""
    (dag,) = found.dags
    assert dag.serialized["dag"]["dag_id"] == "good"
    assert {Path(path).name for path in found.errors} == set(BROKEN)
    errors = {Path(path).name: text for path, text in found.errors.items()}
    assert errors["raises.py"] == "ValueError: boom"


@pytest.mark.slow
def test_what_a_file_tells_beyond_the_serialized_form(found: FolderDags) -> None:
    """Whether a task defers, its time-out and poll interval, and what its class shows."""
    tasks = found.dags[0].tasks
    assert {name: task["deferrable"] for name, task in tasks.items()} == {
        "file": True,
        "holds": False,
        "own": None,
        "mapped": True,
    }
    assert (tasks["file"]["timeout"], tasks["file"]["poll"]) == (60, 5)
    assert (tasks["own"]["defers"], tasks["own"]["switchable"], tasks["own"]["limits"]) == (
        True,
        False,
        False,
    )
    assert tasks["mapped"]["triggers"] == ["airflow.providers.standard.triggers.file.FileTrigger"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "seconds", "told"),
    [
        ("import os\nfrom airflow.sdk import DAG\nos._exit(7)\n", 120.0, "process that reads its Dags died"),
        ("import time\nfrom airflow.sdk import DAG\ntime.sleep(600)\n", 15.0, "within 15 s; a file may hang"),
    ],
)
def test_a_file_that_takes_the_process_down(tmp_path: Path, text: str, seconds: float, told: str) -> None:
    """It ends another process, not the command."""
    (tmp_path / "dag.py").write_text(text)
    with pytest.raises(CannotTell, match=told):
        read_folder(tmp_path, seconds=seconds)


def test_no_such_folder(tmp_path: Path) -> None:
    """Nothing is started."""
    with pytest.raises(Unreachable, match="no such folder"):
        read_folder(tmp_path / "none")


def _document(name: str) -> dict[str, object]:
    return {"__version": 3, "dag": {"dag_id": name, "tasks": [], "timetable": {}}}


def _stored(metadata: Metadata) -> dict[str, DescribedDag]:
    with open_database(metadata.url) as database:
        return {str(one.serialized["dag"]["dag_id"]): one for one in read_serialized(database)}


def test_serialized_dags(metadata: Metadata) -> None:
    """All that are not stale, with what the other tables know of them."""
    for name in ("running", "paused", "stale"):
        metadata.dag(_document(name), paused=name == "paused")
    metadata.execute("UPDATE dag SET is_stale = true WHERE dag_id = 'stale'")
    metadata.execute("INSERT INTO team (name) VALUES ('blue')")
    metadata.execute("INSERT INTO dag_bundle_team (dag_bundle_name, team_name) VALUES ('tests', 'blue')")
    found = _stored(metadata)
    assert {name: dag.paused for name, dag in found.items()} == {"running": False, "paused": True}
    assert found["running"].team == "blue"


def test_compressed_dags(metadata: Metadata) -> None:
    """``[core] compress_serialized_dags`` stores them elsewhere and otherwise."""
    metadata.dag(_document("d"))
    metadata.execute("UPDATE serialized_dag SET data = NULL")
    packed = zlib.compress(b'{"dag": {"dag_id": "packed"}}').hex()
    literal = f"X'{packed}'" if metadata.url.startswith("sqlite") else f"'\\x{packed}'"
    metadata.execute("UPDATE serialized_dag SET data_compressed = " + literal)  # noqa: S608
    with open_database(metadata.url) as database:
        (dag,) = read_serialized(database)
    assert dag.serialized["dag"]["dag_id"] == "packed"


def test_only_installed_classes_are_imported() -> None:
    """Modules of Dag folders are code that nobody asked to run."""
    facts = known_class("airflow.providers.standard.sensors.filesystem", "FileSensor")
    assert facts is not None
    assert facts.defers
    assert known_class("unusual_prefix_123_dag", "Own") is None
    assert known_class("os", "system") is None
    assert known_class("airflow.providers.no_such_thing", "X") is None
