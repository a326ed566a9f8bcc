"""Markers in CloudEvents."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from airflow_landmark.markers import Marker, format_of, identity_of_document, read_marker
from foreign import problems_of, read

URI = "https://partner.example/in/event%201.json"
NAME = "event 1.json"


def event(document: Any, **changes: Any) -> dict[str, Any]:
    """An event around a marker; ``None`` removes an attribute."""
    made = {
        "specversion": "1.0",
        "id": "7c1f",
        "source": "/partner/tills",
        "type": "org.example.delivery",
        "time": "2024-10-02T01:00:00Z",
        "datacontenttype": "application/json",
        "data": document,
        **changes,
    }
    return {key: value for key, value in made.items() if value is not None}


def take(document: Any, **changes: Any) -> Marker:
    """The marker of a good event."""
    data = json.dumps(event(document, **changes)).encode()
    return read("cloudevents", {NAME: data}, uri=URI, declared={})


def refused(document: Any, **changes: Any) -> list[tuple[str, str]]:
    """What is wrong with an event."""
    data = json.dumps(event(document, **changes)).encode()
    return problems_of("cloudevents", {NAME: data}, uri=URI, declared={})


def encoded(document: Any) -> str:
    """The document in base64."""
    return base64.b64encode(json.dumps(document).encode()).decode()


def test_the_marker_is_the_data(document: dict[str, Any]) -> None:
    """The marker is the one that the data alone would be; the identity is the event's."""
    alone = read_marker(json.dumps(document).encode())
    marker = take(document)
    data = json.dumps(event(document)).encode()
    assert marker.identity == identity_of_document(data) != alone.identity
    for field in ("dataset", "interval", "version", "manifest", "status", "label", "extensions"):
        assert getattr(marker, field) == getattr(alone, field)
    assert format_of("cloudevents").documents(URI, (), {}) == (NAME,)


def test_the_data_may_be_base64(document: dict[str, Any]) -> None:
    """data_base64 holds the bytes of the marker."""
    marker = take(None, data_base64=encoded(document))
    assert marker.manifest == take(document).manifest


@pytest.mark.parametrize(
    "changes",
    [
        {"datacontenttype": None},
        {"datacontenttype": "application/json; charset=utf-8"},
        {"datacontenttype": "application/vnd.example+json"},
        {"time": None},
        {"subject": "orders", "dataschema": "https://example.org/landmark-1.json"},
        {"traceparent": "00-1", "sequence": 7, "sampled": True},
    ],
)
def test_attributes_that_are_taken(document: dict[str, Any], changes: dict[str, Any]) -> None:
    """Optional attributes and extensions of simple values."""
    assert take(document, **changes).version == 2


@pytest.mark.parametrize(
    ("changes", "kind", "place"),
    [
        ({"specversion": None}, "missing key", "specversion"),
        ({"specversion": "0.3"}, "invalid text", "specversion"),
        ({"specversion": 1.0}, "wrong type", "specversion"),
        ({"id": None}, "missing key", "id"),
        ({"id": ""}, "invalid text", "id"),
        ({"source": 7}, "wrong type", "source"),
        ({"type": None}, "missing key", "type"),
        ({"subject": ""}, "invalid text", "subject"),
        ({"time": "yesterday"}, "invalid instant", "time"),
        ({"datacontenttype": "text/csv"}, "invalid text", "datacontenttype"),
        ({"traceParent": "x"}, "unknown key", "traceParent"),
        ({"trace-id": "x"}, "unknown key", "trace-id"),
        ({"trace": {"id": 1}}, "wrong type", "trace"),
        ({"ratio": 0.5}, "wrong type", "ratio"),
        ({"data_base64": "e30="}, "missing key", "data"),
        ({"data": None}, "missing key", "data"),
        ({"data": "{}"}, "wrong type", "data"),
        ({"data": []}, "wrong type", "data"),
        ({"data": None, "data_base64": "e3"}, "syntax", "data_base64"),
        ({"data": None, "data_base64": 7}, "wrong type", "data_base64"),
        ({"data": None, "data_base64": ""}, "empty", "data_base64"),
        ({"data": None, "data_base64": "ew=="}, "syntax", "data_base64.line 1, column 2"),
    ],
)
def test_events_that_are_refused(
    document: dict[str, Any], changes: dict[str, Any], kind: str, place: str
) -> None:
    """An attribute that is missing or wrong is named."""
    assert refused(document, **changes) == [(kind, place)]


def test_the_marker_is_read_strictly(document: dict[str, Any]) -> None:
    """All problems of the marker are placed below the data, beside those of the event."""
    document["version"] = "7"
    document["files"][1]["path"] = "../x"
    document["colour"] = "red"
    found = [
        ("unknown key", "data.colour"),
        ("wrong type", "data.version"),
        ("invalid path", "data.files[1].path"),
    ]
    assert refused(document, id="") == [("invalid text", "id"), *found]
    inner = [(kind, place.replace("data", "data_base64")) for kind, place in found]
    assert refused(None, data_base64=encoded(document)) == inner


def test_the_event_is_no_file_of_the_delivery(document: dict[str, Any]) -> None:
    """A delivery that lists its own event is refused."""
    document["files"][0]["path"] = NAME
    assert refused(document) == [("repeated path", "data.files[0].path")]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "empty"),
        (b"[]", "wrong type"),
        (b'{"id": "a", "id": "b"}', "repeated key"),
        (b'{"data": {"spec": "landmark/1", "spec": "landmark/1"}}', "repeated key"),
        (b'{"data": {"version": 1e999}}', "refused number"),
        (b'{"data": ' + b"[" * 100, "too deep"),
    ],
)
def test_documents_that_are_refused(data: bytes, kind: str) -> None:
    """Repeated keys, refused numbers and depth count in the whole event; several events are no event."""
    found = problems_of("cloudevents", {NAME: data}, uri=URI, declared={})
    assert found[0][0] == kind


def test_many_problems_are_counted(document: dict[str, Any]) -> None:
    """What the report has no room for is counted."""
    document["files"] = [{"path": f"{n}", "size": -1, "digests": {}} for n in range(100)]
    assert len(refused(document)) == 50
