"""A valid document to change, and short ways to read it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from airflow_landmark.markers import Marker, UnreadableMarker, read_marker


@pytest.fixture
def document() -> dict[str, Any]:
    """A valid document that uses every field."""
    return {
        "spec": "landmark/1",
        "dataset": "sales/orders",
        "interval": {
            "start": "2024-10-01T00:00:00Z",
            "end": "2024-10-02T00:00:00Z",
            "timezone": "Europe/Berlin",
            "label": "2024-10-01",
        },
        "version": 2,
        "status": "complete",
        "created_at": "2024-10-02T01:00:00+02:00",
        "producer": "tills 4.1",
        "totals": {"files": 2, "bytes": 300, "rows": 30},
        "files": [
            {
                "path": "orders/part 1.csv",
                "size": 100,
                "digests": {"sha256": "ab" * 32, "md5": "cd" * 16},
                "rows": 10,
                "header_rows": 1,
                "media_type": "text/csv",
                "content_encoding": "gzip",
            },
            {"path": "orders/part-2.csv", "size": 200, "digests": {"blake2b": "ef" * 64}, "rows": 20},
        ],
        "extensions": {"ticket": [{"id": 7}, 1.5, None, "ü"]},
    }


@pytest.fixture
def read() -> Callable[[dict[str, Any]], Marker]:
    """Read a document given as a dict."""
    return lambda document: read_marker(json.dumps(document).encode())


@pytest.fixture
def problems() -> Callable[[Any], list[tuple[str, str]]]:
    """The (kind, place) pairs that reading bytes, or a document given as a value, reports."""

    def of(document: Any, *, name: str | None = None) -> list[tuple[str, str]]:
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        with pytest.raises(UnreadableMarker) as caught:
            read_marker(data, name=name)
        return [(problem.kind, problem.place) for problem in caught.value.problems]

    return of
