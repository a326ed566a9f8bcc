"""Reading marker documents: the rules of every field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from airflow_landmark.markers import (
    MAX_PROBLEMS,
    FileEntry,
    Interval,
    Marker,
    UnreadableMarker,
    read_marker,
)

Read = Callable[[dict[str, Any]], Marker]
Problems = Callable[..., list[tuple[str, str]]]
SHA256 = {"sha256": "0" * 64}


def test_every_field(document: dict[str, Any], read: Read) -> None:
    """Every field of the document arrives in the marker."""
    marker = read(document)
    assert marker.dataset == "sales/orders"
    assert marker.interval == Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
    assert (marker.timezone, marker.label) == ("Europe/Berlin", "2024-10-01")
    assert (marker.version, marker.status) == (2, "complete")
    assert (marker.created_at, marker.producer) == ("2024-10-02T01:00:00+02:00", "tills 4.1")
    assert marker.extensions == {"ticket": [{"id": 7}, 1.5, None, "ü"]}
    assert marker.manifest.counts() == {"files": 2, "bytes": 300, "rows": 30}
    assert marker.manifest.files[0] == FileEntry(
        path="orders/part 1.csv",
        size=100,
        digests={"sha256": "ab" * 32, "md5": "cd" * 16},
        rows=10,
        header_rows=1,
        media_type="text/csv",
        content_encoding="gzip",
    )


def test_identity(document: dict[str, Any]) -> None:
    """A marker's identity is the sha256 of the very bytes, and so is that of what is no marker."""
    data = json.dumps(document).encode()
    assert read_marker(data).identity == hashlib.sha256(data).hexdigest()
    with pytest.raises(UnreadableMarker) as caught:
        read_marker(data[:-1])
    assert caught.value.identity == hashlib.sha256(data[:-1]).hexdigest()
    assert caught.value.size == len(data) - 1


def test_optional_fields(document: dict[str, Any], read: Read) -> None:
    """What may be left out has a default."""
    for key in ("status", "created_at", "producer", "totals", "extensions"):
        del document[key]
    del document["interval"]["timezone"], document["interval"]["label"]
    del document["files"][1]["rows"]
    marker = read(document)
    assert marker.status == "complete"
    assert marker.extensions == {}
    assert [marker.created_at, marker.producer, marker.timezone, marker.label] == [None] * 4
    second = marker.manifest.files[1]
    assert (second.rows, second.header_rows, second.media_type, second.content_encoding) == (
        None,
        0,
        None,
        None,
    )
    assert marker.manifest.rows is None


@pytest.mark.parametrize("key", ["spec", "dataset", "interval", "version", "files"])
def test_required_fields(document: dict[str, Any], problems: Problems, key: str) -> None:
    """What is required is asked for by name."""
    del document[key]
    assert problems(document) == [("missing key", key)]


@pytest.mark.parametrize("key", ["start", "end"])
def test_required_of_intervals(document: dict[str, Any], problems: Problems, key: str) -> None:
    """An interval has both ends."""
    del document["interval"][key]
    assert problems(document) == [("missing key", f"interval.{key}")]


@pytest.mark.parametrize(
    ("holder", "place"),
    [
        (lambda document: document, "{}"),
        (lambda document: document["interval"], "interval.{}"),
        (lambda document: document["totals"], "totals.{}"),
        (lambda document: document["files"][1], "files[1].{}"),
    ],
)
@pytest.mark.parametrize("key", ["sepc", "__type", "__classname__", "x-own", "Spec"])
def test_unknown_keys(
    document: dict[str, Any],
    problems: Problems,
    holder: Callable[[dict[str, Any]], dict[str, Any]],
    place: str,
    key: str,
) -> None:
    """Keys that nobody knows are refused wherever they stand."""
    holder(document)[key] = "x"
    assert problems(document) == [("unknown key", place.format(key))]


def test_extensions_are_free(document: dict[str, Any], read: Read) -> None:
    """Under extensions any JSON is kept as it is, also keys that mean something elsewhere."""
    document["extensions"] = {"__type": "x", "__classname__": {"__data__": [1]}, "": "\n\u007f", "spec": None}
    assert read(document).extensions == document["extensions"]


@pytest.mark.parametrize("value", [None, [], "x", 7, True])
@pytest.mark.parametrize("key", ["interval", "totals", "extensions"])
def test_objects(document: dict[str, Any], problems: Problems, key: str, value: Any) -> None:
    """An object is an object: null, lists and texts are refused."""
    document[key] = value
    assert problems(document) == [("wrong type", key)]


@pytest.mark.parametrize("value", ["landmark/2", "landmark/1 ", "Landmark/1", "", "landmark/1\n"])
def test_spec(document: dict[str, Any], problems: Problems, value: str) -> None:
    """The spec is exactly this version's."""
    assert problems(document | {"spec": value}) == [("invalid text", "spec")]


@pytest.mark.parametrize("value", ["", "a b", "a\n", "ü", "x" * 201, "a:b", "a\\b", "a\0"])
def test_dataset(document: dict[str, Any], problems: Problems, value: str) -> None:
    """A dataset is 1 to 200 characters of a small alphabet."""
    assert problems(document | {"dataset": value}) == [("invalid text", "dataset")]


@pytest.mark.parametrize("value", ["Complete", "partial", "", "complete\n"])
def test_status(document: dict[str, Any], problems: Problems, value: str) -> None:
    """A status is one of two words."""
    assert problems(document | {"status": value}) == [("invalid text", "status")]


def test_withdrawn(document: dict[str, Any], read: Read) -> None:
    """A recall is a marker like any other."""
    assert read(document | {"status": "withdrawn"}).status == "withdrawn"


@pytest.mark.parametrize("value", ["7", 7.0, 1.5, True, False, None, "", [7], {}])
@pytest.mark.parametrize(
    "place",
    ["version", "totals.files", "totals.rows", "files[0].size", "files[0].rows", "files[0].header_rows"],
)
def test_whole_numbers(document: dict[str, Any], problems: Problems, place: str, value: Any) -> None:
    """A whole number is a JSON number without point: texts, 7.0, true and null are refused."""
    holder = {"totals": document["totals"], "files[0]": document["files"][0], "version": document}
    holder[place.partition(".")[0]][place.rpartition(".")[2]] = value
    assert problems(document) == [("wrong type", place)]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("version", 0),
        ("version", -1),
        ("totals.files", -1),
        ("files[0].size", -1),
        ("files[0].rows", -1),
        ("files[0].header_rows", -1),
        ("files[0].header_rows", 1_000_001),
    ],
)
def test_ranges(document: dict[str, Any], problems: Problems, place: str, value: int) -> None:
    """Counts are not negative, versions start at 1, headers end somewhere."""
    holder = {"totals": document["totals"], "files[0]": document["files"][0], "version": document}
    holder[place.partition(".")[0]][place.rpartition(".")[2]] = value
    assert problems(document) == [("out of range", place)]


def test_largest_numbers(document: dict[str, Any], read: Read) -> None:
    """2**53-1 is the last number, and it is one."""
    document["files"] = [{"path": "a", "size": 2**53 - 1, "digests": SHA256, "rows": 2**53 - 1}]
    document["totals"] = {"bytes": 2**53 - 1}
    marker = read(document | {"version": 2**53 - 1})
    assert marker.version == marker.manifest.size_bytes == marker.manifest.rows == 2**53 - 1


@pytest.mark.parametrize("place", ["start", "end", "created_at"])
@pytest.mark.parametrize(
    "value", ["2024-10-01", "2024-10-01T00:00:00", "1727740800", "", "2024-10-01T00:00:00.0000001Z", "P1D"]
)
def test_instants(document: dict[str, Any], problems: Problems, place: str, value: str) -> None:
    """Dates, naive times, epochs, durations and nanoseconds are no instants."""
    (document if place == "created_at" else document["interval"])[place] = value
    where = place if place == "created_at" else f"interval.{place}"
    assert problems(document) == [("invalid instant", where)]


@pytest.mark.parametrize("value", [1727740800, 1727740800.0, None, True])
def test_instants_are_texts(document: dict[str, Any], problems: Problems, value: Any) -> None:
    """A number is no instant."""
    document["interval"]["start"] = value
    assert problems(document) == [("wrong type", "interval.start")]


@pytest.mark.parametrize("end", ["2024-10-01T00:00:00Z", "2024-09-30T00:00:00Z", "2024-10-01T01:00:00+02:00"])
def test_end_after_start(document: dict[str, Any], problems: Problems, end: str) -> None:
    """Reversed and zero-length intervals are refused."""
    document["interval"]["end"] = end
    assert problems(document) == [("invalid interval", "interval")]


@pytest.mark.parametrize("value", ["Etc/GMT+5", "UTC", "America/Argentina/Buenos_Aires", "EST5EDT"])
def test_timezone(document: dict[str, Any], read: Read, value: str) -> None:
    """A time zone has the form of an IANA name; whether it exists is not asked."""
    document["interval"]["timezone"] = value
    assert read(document).timezone == value


@pytest.mark.parametrize(
    "value", ["", "+02:00", "Europe/", "/etc/passwd", "../x", "a b", "A" * 33, "a/b/c/d/e"]
)
def test_no_timezone(document: dict[str, Any], problems: Problems, value: str) -> None:
    """Offsets and paths are no time zones."""
    document["interval"]["timezone"] = value
    assert problems(document) == [("invalid text", "interval.timezone")]


@pytest.mark.parametrize(
    "value", ["", "x" * 201, "a\0b", "a\nb", "a\x7f", "a\x9b", "\u2028", "\ud800", "\udc00x"]
)
@pytest.mark.parametrize(
    "place", ["producer", "interval.label", "files[1].media_type", "files[1].content_encoding"]
)
def test_informative_texts(document: dict[str, Any], problems: Problems, place: str, value: str) -> None:
    """Informative texts are one bounded line without control characters and lone surrogates."""
    holder = {"interval": document["interval"], "files[1]": document["files"][1], "producer": document}
    holder[place.partition(".")[0]][place.rpartition(".")[2]] = value
    assert problems(document) == [("invalid text", place)]


def test_surrogate_pairs(document: dict[str, Any], read: Read) -> None:
    """A whole surrogate pair is one character and fine."""
    assert read(document | {"producer": "\U0001f600" * 200}).producer == "\U0001f600" * 200


@pytest.mark.parametrize("poison", ["\0", "a\ud800b", "\udfff"])
def test_poison_in_extensions(document: dict[str, Any], problems: Problems, poison: str) -> None:
    """NUL and lone surrogates are refused in keys and texts of extensions, too."""
    document["extensions"] = {"a": [1, 2, {"b": poison}]}
    assert problems(document) == [("invalid text", "extensions.a[2].b")]
    document["extensions"] = {"a": [{poison: 1}]}
    assert problems(document) == [("invalid text", f"extensions.a[0][{poison!a}]")]


def test_far_places(document: dict[str, Any], problems: Problems) -> None:
    """The place of a problem far inside is cut in its middle."""
    inner: Any = "\0"
    for _ in range(25):
        inner = {"k" * 40: inner}
    document["extensions"] = {"first": inner}
    ((_, place),) = problems(document)
    assert len(place) <= 200
    assert place.startswith("extensions.first.kkk")
    assert place.endswith("kkk")


@pytest.mark.parametrize("key", ["\ud800", "\0", "x" * 1_000_000, "a\nb"])
def test_strange_keys(document: dict[str, Any], key: str) -> None:
    """A strange key is refused in a text that stays short and printable."""
    with pytest.raises(UnreadableMarker) as caught:
        read_marker(json.dumps(document | {key: 1}).encode())
    (problem,) = caught.value.problems
    assert problem.kind == "unknown key"
    assert problem.text.isascii()
    assert problem.text.isprintable()
    assert len(problem.text) < 300


def test_all_problems_together(document: dict[str, Any], problems: Problems) -> None:
    """One report names every problem."""
    del document["dataset"]
    document["version"] = 0
    document["interval"]["start"] = "today"
    document["files"][0] |= {"path": "../x", "size": True, "digests": {"md5": "x"}}
    document["extensions"]["\0"] = 1
    assert set(problems(document)) == {
        ("missing key", "dataset"),
        ("out of range", "version"),
        ("invalid instant", "interval.start"),
        ("invalid path", "files[0].path"),
        ("wrong type", "files[0].size"),
        ("invalid digest", "files[0].digests.md5"),
        ("invalid digest", "files[0].digests"),
        ("invalid text", "extensions['\\x00']"),
    }


def test_problems_are_capped(document: dict[str, Any]) -> None:
    """A report names the first problems and counts the rest."""
    document["files"] = [{"path": f"{index}/", "size": -1, "digests": {}} for index in range(1000)]
    with pytest.raises(UnreadableMarker) as caught:
        read_marker(json.dumps(document).encode())
    assert len(caught.value.problems) == MAX_PROBLEMS
    assert caught.value.total == 3000
    assert str(caught.value).endswith("(and 2999 more)")


def test_reports_are_reproducible(document: dict[str, Any], problems: Problems) -> None:
    """Problems come in the order of the document, whatever the process."""
    unknown = [f"key{index}" for index in range(30)]
    found = problems(document | dict.fromkeys(unknown, 1))
    assert found == [("unknown key", key) for key in unknown]
