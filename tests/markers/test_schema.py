"""The JSON Schema and the reader, on one table of documents."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.markers import (
    MAX_FILES,
    MAX_PATH_BYTES,
    MAX_VERSION,
    SPEC,
    STATUSES,
    STRONG_ALGORITHMS,
    WEAK_ALGORITHMS,
    UnreadableMarker,
    marker_schema,
    read_marker,
)

SCHEMA = jsonschema.Draft202012Validator(marker_schema())
SHA256 = {"sha256": "ab" * 32}
BASE: dict[str, Any] = {
    "spec": "landmark/1",
    "dataset": "sales/orders",
    "interval": {"start": "2024-10-01T00:00:00Z", "end": "2024-10-02T00:00:00Z"},
    "version": 1,
    "files": [{"path": "a.csv", "size": 3, "digests": SHA256, "rows": 2}],
}
ABSENT: Any = type("Absent", (), {"__repr__": lambda _self: "absent"})()


def with_changes(changes: dict[str, Any]) -> dict[str, Any]:
    """The base document with values put at (or taken from) dotted places."""
    document = copy.deepcopy(BASE)
    for place, value in changes.items():
        *above, last = [int(part) if part.isdigit() else part for part in place.split(".")]
        holder: Any = document
        for part in above:
            holder = holder.setdefault(part, {}) if isinstance(holder, dict) else holder[part]
        if value is ABSENT:
            del holder[last]
        else:
            holder[last] = copy.deepcopy(value)
    return document


def reader_accepts(data: bytes) -> bool:
    """Whether the reader takes these bytes for a marker."""
    try:
        read_marker(data)
    except UnreadableMarker:
        return False
    return True


def files(*paths: str) -> list[dict[str, Any]]:
    """A list of files of these paths."""
    return [{"path": path, "size": 1, "digests": SHA256} for path in paths]


NO_FILES: tuple[Any, ...] = ({}, "a", [1], [[]], [None])
NO_DIGESTS: tuple[Any, ...] = ({}, [], "x", {"md5": "ab" * 16}, {"crc32c": "0" * 8})
NO_OBJECT: tuple[Any, ...] = ([], "x", 1)

VALID: list[dict[str, Any]] = [
    {},
    {"interval.timezone": "Europe/Berlin", "interval.label": "week 40"},
    {"interval.start": "2024-10-01T00:00:00.123456000+02:00"},
    {"version": MAX_VERSION},
    {"status": "withdrawn"},
    {"created_at": "2024-10-02T01:00:00+02:00", "producer": "Kässle \U0001f6d2"},
    {"totals.files": 1, "totals.bytes": 3, "totals.rows": 2},
    {"totals.rows": 2},
    {"totals": {}},
    {"files": [], "totals.files": 0},
    {"files": [], "totals": {"files": 0, "bytes": 0, "rows": 0}},
    {"files.0.rows": ABSENT},
    {"files.0.header_rows": 1_000_000, "files.0.media_type": "text/csv", "files.0.content_encoding": "gzip"},
    {"files.0.digests.md5": "AB" * 16, "files.0.digests.crc32c": "0" * 8},
    {"files.0.digests": {"sha512": " " + "aB" * 64 + "\n"}},
    {"files.0.path": "day 1/.a+b%20c[1]/...csv "},
    {"files.0.path": "b/http:/x"},
    {"files.0.path": "/".join(["a" * 204] * 5)},
    {"extensions": {"__type": "x", "": [None, True, 1.5, {"a": "\n"}], "spec": -(2**53) + 1}},
]

INVALID: list[dict[str, Any]] = [
    *({key: ABSENT} for key in BASE),
    *({f"interval.{key}": ABSENT} for key in BASE["interval"]),
    *({f"files.0.{key}": ABSENT} for key in ("path", "size", "digests")),
    *({f"{place}own": 1} for place in ("", "interval.", "totals.", "files.0.", "files.0.digests.")),
    *({key: None} for key in (*BASE, "status", "created_at", "producer", "totals", "extensions")),
    *({"spec": value} for value in ("landmark/2", "", 1)),
    *({"dataset": value} for value in ("", "a b", "ü", "x" * 201, "a\n", 7)),
    *({"version": value} for value in (0, -1, 2**53, 1.5, True, "1", "")),
    *({"status": value} for value in ("Complete", "", True)),
    *({"interval.start": value} for value in ("2024-10-01", "2024-10-01T00:00:00", "P1D", 1727740800, "")),
    *({"interval.start": f"2024-{day}Z"} for day in ("13-01T00:00:00", "10-32T00:00:00", "10-01T24:00:00")),
    *(
        {"interval.start": f"2024-10-01T00:00:00{end}"}
        for end in (".1234567Z", "+02", "+24:00", "+02:60", "Z\n")
    ),
    *({"interval.timezone": value} for value in ("+02:00", "", "/etc/passwd", "UTC\n", "a" * 33)),
    *({"interval.label": value} for value in ("", "x" * 201, "a\nb", "\0", "\x7f", "\u2028")),
    {"created_at": "yesterday"},
    {"producer": "a\tb"},
    *(
        {f"totals.{key}": value}
        for key in ("files", "bytes", "rows")
        for value in (-1, "1", 1.5, True, 2**53)
    ),
    *({"files": value} for value in NO_FILES),
    {"files": []},
    {"files": [], "totals": {}},
    {"files": [], "totals": {"bytes": 0}},
    *({"files": [], "totals": {"files": 0} | {key: 1}} for key in ("files", "bytes", "rows")),
    *({"files.0.size": value} for value in (-1, 1.5, "3", True, 2**53)),
    *({"files.0.rows": value} for value in (-1, 1.5, "3", True, None)),
    *({"files.0.header_rows": value} for value in (-1, 1_000_001, "1")),
    *(
        {f"files.0.{key}": value}
        for key in ("media_type", "content_encoding")
        for value in ("", "a\0", 7, None)
    ),
    *({"files.0.digests": value} for value in NO_DIGESTS),
    *(
        {"files.0.digests.sha256": value}
        for value in ("", "ab" * 31, "ag" * 32, "sha256:" + "ab" * 32, 7, None)
    ),
    {"files.0.digests.md5": "ab" * 32},
    {"files.0.digests.SHA256": "ab" * 32},
    *(
        {"files.0.path": value}
        for value in ("", "/a", "//a", "a//b", "a/", ".", "..", "./a", "a/.", "a/../b", 7)
    ),
    *(
        {"files.0.path": value}
        for value in ("..\\a", "a\\b", "C:\\x", "C:x", "s3://b/x", "a\0", "a\n", "\x9b")
    ),
    *({"files.0.path": value} for value in ("a" * 256, "b/" * 512 + "a")),
    *({"extensions": value} for value in NO_OBJECT),
    *({"extensions": {"a": [{"b": value}]}} for value in ("\0", 2**53, -(2**53), 1e300)),
    {"extensions": {"a": [{"\0": 1}]}},
]

ONLY_THE_READER: dict[str, bytes] = {
    "a repeated key": json.dumps(BASE).replace('"version": 1', '"version": 2, "version": 1').encode(),
    "a repeated key in extensions": json.dumps(BASE)[:-1].encode() + b', "extensions": {"a": 1, "a": 2}}',
    "a whole number with a point": json.dumps(BASE).replace('"version": 1', '"version": 1.0').encode(),
    "a whole number with an exponent": json.dumps(BASE).replace('"size": 3', '"size": 3e0').encode(),
    "NaN in extensions": json.dumps(BASE)[:-1].encode() + b', "extensions": {"a": NaN}}',
    "an end before the start": json.dumps(
        with_changes({"interval.end": "2024-10-01T01:00:00+02:00"})
    ).encode(),
    "a day that does not exist": json.dumps(
        with_changes({"interval.start": "2024-02-30T00:00:00Z"})
    ).encode(),
    "an instant before the calendar": json.dumps(
        with_changes({"interval.start": "0000-01-01T00:00:00Z"})
    ).encode(),
    "a repeated path": json.dumps(with_changes({"files": files("a", "a")})).encode(),
    "a repeated path in other case": json.dumps(with_changes({"files": files("a", "A")})).encode(),
    "a file that is a folder": json.dumps(with_changes({"files": files("a", "a/b")})).encode(),
    "a path too long in bytes": json.dumps(with_changes({"files": files("é/" * 400 + "a")})).encode(),
    "a name too long in bytes": json.dumps(with_changes({"files": files("é" * 200)})).encode(),
    "wrong totals": json.dumps(with_changes({"totals": {"files": 2}})).encode(),
    "sums beyond the last number": json.dumps(
        with_changes({"files": [BASE["files"][0] | {"size": 2**53 - 1}, *files("b")]})
    ).encode(),
    "half a surrogate pair": json.dumps(with_changes({"producer": "\ud800"})).encode(),
    "half a surrogate pair in extensions": json.dumps(with_changes({"extensions": {"\udfff": 1}})).encode(),
    "deep extensions": json.dumps(BASE)[:-1].encode()
    + b', "extensions": {"a": '
    + b"[" * 40
    + b"]" * 40
    + b"}}",
}


def test_schema_is_a_schema() -> None:
    """The schema is valid itself, names its version and is a new dict at each call."""
    schema = marker_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == "urn:airflow-landmark:marker:1"
    schema.clear()
    assert marker_schema()


@pytest.mark.parametrize("changes", VALID, ids=repr)
def test_both_accept(changes: dict[str, Any]) -> None:
    """What the reader takes, the schema takes."""
    document = with_changes(changes)
    assert reader_accepts(json.dumps(document).encode())
    SCHEMA.validate(document)


@pytest.mark.parametrize("changes", INVALID, ids=repr)
def test_both_refuse(changes: dict[str, Any]) -> None:
    """What a schema can express is refused by both."""
    document = with_changes(changes)
    assert not reader_accepts(json.dumps(document).encode())
    assert not SCHEMA.is_valid(document)


@pytest.mark.parametrize("data", ONLY_THE_READER.values(), ids=ONLY_THE_READER)
def test_only_the_reader_refuses(data: bytes) -> None:
    """What a schema cannot express, the reader refuses all the same."""
    assert not reader_accepts(data)
    assert SCHEMA.is_valid(json.loads(data))


def properties_of(schema: Any) -> list[dict[str, Any]]:
    """All schemas of properties, at any depth."""
    if isinstance(schema, list):
        return [found for item in schema for found in properties_of(item)]
    if not isinstance(schema, dict):
        return []
    own = (
        list(schema["properties"].values())
        if "additionalProperties" in schema and "properties" in schema
        else []
    )
    return own + [found for value in schema.values() for found in properties_of(value)]


def test_every_field_is_described() -> None:
    """Every field has a description that a partner can work by, digests aside, which have one together."""
    described = [field for field in properties_of(marker_schema()) if "hex" not in field.get("$ref", "")]
    assert len(described) == 24
    assert all(field["description"].endswith(".") for field in described)


def test_constants_agree() -> None:
    """The schema's numbers and words are the code's."""
    schema = marker_schema()
    fields, parts = schema["properties"], schema["$defs"]
    file = parts["file"]["properties"]
    assert fields["spec"]["const"] == SPEC
    assert fields["status"]["enum"] == list(STATUSES)
    assert fields["version"]["maximum"] == parts["count"]["maximum"] == MAX_VERSION
    assert fields["files"]["maxItems"] == MAX_FILES
    assert file["path"]["maxLength"] == MAX_PATH_BYTES
    lengths = {**STRONG_ALGORITHMS, **WEAK_ALGORITHMS}
    assert file["digests"]["properties"] == {
        name: {"$ref": f"#/$defs/hex{length}"} for name, length in lengths.items()
    }
    assert [one["required"][0] for one in file["digests"]["anyOf"]] == list(STRONG_ALGORITHMS)


places = st.sampled_from([place for changes in (*VALID, *INVALID) for place in changes])
found_values = [value for changes in (*VALID, *INVALID) for value in changes.values()]


@given(st.dictionaries(places, st.sampled_from(found_values), min_size=1, max_size=2))
@settings(max_examples=300, deadline=None)
def test_reader_is_never_laxer(changes: dict[str, Any]) -> None:
    """Whatever mixture of changes the reader takes, the schema takes."""
    try:
        document = with_changes(changes)
    except (KeyError, IndexError, TypeError, AttributeError):
        return
    data = json.dumps(document).encode()
    if reader_accepts(data):
        SCHEMA.validate(document)
