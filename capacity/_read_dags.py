"""Dags from a folder, read by a process of its own, or in the serialized form that Airflow stores."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ._defer_scan import ClassFacts, class_facts
from ._errors import CannotTell, MissingSoftware, Unreachable
from ._inventory import DescribedDag
from ._read_database import Database

__all__ = [
    "NEEDED_DAGS",
    "FolderDags",
    "known_class",
    "read_folder",
    "read_one_serialized",
    "read_serialized",
]

FOLDER_SECONDS = 1_800.0
CHUNK = 200
_SHOWN = 300
_LARGEST_BYTES = 256 * 2**20

NEEDED_DAGS: dict[str, Sequence[str]] = {
    "serialized_dag": ("dag_id", "data", "data_compressed", "created_at"),
    "dag": ("dag_id", "is_paused", "is_stale", "bundle_name"),
    "dag_bundle_team": ("dag_bundle_name", "team_name"),
    "backfill": ("dag_id", "max_active_runs", "completed_at"),
}
_DAG_IDS = """
    SELECT d.dag_id, d.is_paused, t.team_name FROM dag d
    LEFT JOIN dag_bundle_team t ON t.dag_bundle_name = d.bundle_name
    WHERE d.is_stale = :stale ORDER BY d.dag_id
"""
_SERIALIZED = """
    SELECT s.dag_id, s.data, s.data_compressed FROM serialized_dag s
    JOIN (SELECT dag_id, MAX(created_at) AS newest FROM serialized_dag
          WHERE dag_id IN :names GROUP BY dag_id) n
      ON n.dag_id = s.dag_id AND n.newest = s.created_at
"""
# What is imported here is what stands installed beside Airflow, never code of a Dag folder.
_INSTALLED = ("airflow.", "airflow_landmark.")


@dataclass(frozen=True, kw_only=True)
class FolderDags:
    """What a folder of Dags holds.

    :ivar errors: file to why it could not be loaded.
    """

    dags: tuple[DescribedDag, ...]
    errors: dict[str, str]


def read_folder(folder: Path, *, seconds: float = FOLDER_SECONDS) -> FolderDags:
    """The Dags of a folder or file, as a Dag processor finds them. Their code runs, in another process.

    :param seconds: how long it may take.
    :raises CannotTell: when there is no such folder, no Airflow, or the process dies.
    """
    if not folder.exists():
        raise Unreachable(str(folder), "there is no such folder or file")
    command = [sys.executable, "-m", "airflow_landmark.capacity._dags_child", str(folder.absolute())]
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        text = f"its Dags could not be read within {seconds:.0f} s; a file may hang when it is imported"
        raise CannotTell(str(folder), text) from None
    if done.returncode or not done.stdout:
        raise _died(folder, done.stderr.decode("utf-8", "replace"))
    document = json.loads(done.stdout)
    return FolderDags(
        dags=tuple(
            DescribedDag(serialized=one["serialized"], tasks=one["tasks"]) for one in document["dags"]
        ),
        errors=document["errors"],
    )


def read_serialized(
    database: Database, *, tell: Callable[[int, int], None] | None = None
) -> Iterator[DescribedDag]:
    """The newest serialized form of every Dag that is not stale, in chunks.

    :param tell: called with Dags done and all.
    :raises CannotTell: when the database refuses.
    """
    database.require(NEEDED_DAGS)
    found = database.rows(_DAG_IDS, stale=False)
    names = [row[0] for row in found]
    paused = {row[0] for row in found if row[1]}
    teams = {row[0]: row[2] or "" for row in found}
    backfills = _backfills(database)
    for first in range(0, len(names), CHUNK):
        chunk = tuple(names[first : first + CHUNK])
        for dag_id, data, compressed in database.rows(_SERIALIZED, names=chunk):
            yield DescribedDag(
                serialized=_document(data, compressed),
                team=teams[dag_id],
                paused=dag_id in paused,
                backfill_runs=backfills.get(dag_id, 0),
            )
        if tell is not None:
            tell(first + len(chunk), len(names))


def read_one_serialized(database: Database, dag_id: str) -> DescribedDag | None:
    """The newest serialized form of one Dag; None when there is none.

    :raises CannotTell: when the database refuses.
    """
    rows = database.rows(_SERIALIZED, names=(dag_id,))
    if not rows:
        return None
    paused = database.rows("SELECT is_paused FROM dag WHERE dag_id = :dag_id", dag_id=dag_id)
    return DescribedDag(
        serialized=_document(rows[0][1], rows[0][2]), paused=any(bool(row[0]) for row in paused)
    )


def _backfills(database: Database) -> dict[str, int]:
    """Runs that active backfills allow, by Dag: they come on top of the Dag's own."""
    sql = "SELECT dag_id, SUM(max_active_runs) FROM backfill WHERE completed_at IS NULL GROUP BY dag_id"
    return {row[0]: int(row[1]) for row in database.rows(sql)}


@lru_cache(maxsize=4_096)
def known_class(module: str, name: str) -> ClassFacts | None:
    """What an installed operator class shows; None when it is not installed, or belongs to a Dag folder."""
    if not module.startswith(_INSTALLED):
        return None
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception:  # noqa: BLE001 - a provider that cannot be imported here tells nothing
        return None
    return class_facts(found) if isinstance(found, type) else None


def _document(data: Any, compressed: Any) -> dict[str, Any]:
    """The stored document: JSON, as text or already parsed, or compressed."""
    if data is None:
        data = zlib.decompressobj().decompress(bytes(compressed), _LARGEST_BYTES)
    document = json.loads(data) if isinstance(data, (str, bytes)) else data
    # JSON columns of some databases hold the document once more as text
    found: dict[str, Any] = json.loads(document) if isinstance(document, str) else document
    return found


def _died(folder: Path, told: str) -> CannotTell:
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    last = (lines or ["it said nothing"])[-1][:_SHOWN]
    if "No module named 'airflow'" in last:
        text = "reading Dags needs Airflow: pip install 'airflow-landmark[airflow]'"
        return MissingSoftware(str(folder), text)
    return CannotTell(str(folder), f"the process that reads its Dags died: {last}")
