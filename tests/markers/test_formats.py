"""Formats of markers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_landmark.markers import (
    LANDMARK,
    Format,
    Interval,
    Manifest,
    Marker,
    UnreadableMarker,
    read_marker,
)


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("s3://bucket/in/2024-10-01/_delivery.json", "_delivery.json"),
        ("/data/in/done 1+%20?.json", "done 1+%20?.json"),
        ("_delivery.json", "_delivery.json"),
    ],
)
def test_landmark_needs_the_marker_only(uri: str, name: str) -> None:
    """Our own format needs one document, the marker itself, whatever lies beside it."""
    assert list(LANDMARK.documents(uri, ["a.csv", "b.csv"], {})) == [name]
    assert LANDMARK.name == "landmark"


def test_landmark_reads(document: dict[str, Any]) -> None:
    """Our own format is read from its one document; listing and declarations add nothing."""
    data = json.dumps(document).encode()
    marker = LANDMARK.read({"_delivery.json": data}, [("x.csv", 1, "etag")], {"dataset": "other"})
    assert marker == read_marker(data)


def test_landmark_knows_its_name(document: dict[str, Any]) -> None:
    """A delivery that lists its own marker is refused."""
    document["files"][0]["path"] = "_delivery.json"
    with pytest.raises(UnreadableMarker, match="the marker itself"):
        LANDMARK.read({"_delivery.json": json.dumps(document).encode()}, [], {})


@pytest.mark.parametrize("documents", [{}, {"a": b"{}", "b": b"{}"}])
def test_landmark_is_one_document(documents: dict[str, bytes]) -> None:
    """None or several documents are no marker."""
    with pytest.raises(UnreadableMarker, match=f"found {len(documents)} documents"):
        LANDMARK.read(documents, [], {})


def test_a_format_of_ones_own() -> None:
    """A format is a name and two functions."""
    interval = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
    done = Format(
        name="sentinel",
        documents=lambda _uri, _listing: (),
        read=lambda _documents, _listing, declared: Marker(declared["dataset"], interval, 1, Manifest.of(())),
    )
    assert done.read({}, [], {"dataset": "orders"}).dataset == "orders"
