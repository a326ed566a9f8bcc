"""Deliveries as their partner writes them, field by field, so that any field can be wrong."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

DATASET = "sales/orders"
START, END = "2024-05-01T00:00:00Z", "2024-05-02T00:00:00Z"
DAY_BEFORE = {"start": "2024-04-30T00:00:00Z", "end": START}
FILES = {"a.csv": b"id\n1\n", "b.csv": b"id\n2\n3\n"}


def put(path: Path, data: bytes | str) -> Path:
    """Put bytes in place of a file at once, as a careful partner does."""
    half = path.with_name(f".{path.name}.half")
    half.write_bytes(data.encode() if isinstance(data, str) else data)
    return half.rename(path)


def marker_of(files: dict[str, bytes] = FILES, **changes: Any) -> dict[str, Any]:
    """A marker's document that announces these files."""
    listed = [
        {"path": p, "size": len(d), "digests": {"sha256": hashlib.sha256(d).hexdigest()}}
        for p, d in files.items()
    ]
    return {
        "spec": "landmark/1",
        "dataset": DATASET,
        "interval": {"start": START, "end": END},
        "version": 1,
        "files": listed,
        "totals": {"files": len(listed)},
    } | changes


def deliver(
    folder: Path,
    *,
    files: dict[str, bytes] = FILES,
    written: dict[str, bytes] | None = None,
    name: str = "_delivery.json",
    **changes: Any,
) -> Path:
    """Write files and then the marker that announces them.

    :param files: what the marker announces.
    :param written: what lies there instead.
    :param changes: other fields of the marker.
    """
    for path, data in (files if written is None else written).items():
        put(folder / path, data)
    return put(folder / name, json.dumps(marker_of(files, **changes)))
