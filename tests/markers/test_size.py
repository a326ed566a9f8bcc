"""Large documents: memory and records."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from airflow_landmark.markers import FileEntry, read_marker


@pytest.mark.parametrize("producer", ["tills", "K\u00e4ssle", "\U0001f6d2"])
def test_memory(document: dict[str, Any], producer: str) -> None:
    """Reading takes at most 12 times the document's size, also when one wide character widens the text."""
    files = [
        {
            "path": f"part-{index:05d}.csv",
            "size": index,
            "digests": {"sha256": f"{index:064x}"},
            "rows": index,
        }
        for index in range(10_000)
    ]
    del document["totals"]
    data = json.dumps(document | {"files": files, "producer": producer}, ensure_ascii=False).encode()
    tracemalloc.start()
    marker = read_marker(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(marker.manifest.files) == 10_000
    assert peak < 12 * len(data)


def test_slotted_records() -> None:
    """A file's record has no dict of its own."""
    assert not hasattr(FileEntry("a"), "__dict__")
