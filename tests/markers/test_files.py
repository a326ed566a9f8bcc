"""Reading marker documents: the list of files, its digests, paths and totals."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from airflow_landmark.markers import (
    MAX_FILES,
    Marker,
    read_marker,
)

Read = Callable[[dict[str, Any]], Marker]
Problems = Callable[..., list[tuple[str, str]]]
SHA256 = {"sha256": "0" * 64}


@pytest.mark.parametrize("key", ["path", "size", "digests"])
def test_required_of_files(document: dict[str, Any], problems: Problems, key: str) -> None:
    """A file has a path, a size and digests."""
    del document["files"][1][key]
    assert problems(document) == [("missing key", f"files[1].{key}")]


@pytest.mark.parametrize("value", [None, {}, "x", 7, True])
def test_files_is_a_list(document: dict[str, Any], problems: Problems, value: Any) -> None:
    """The files are a list of objects with objects of digests."""
    assert problems(document | {"files": value}) == [("wrong type", "files")]
    assert problems(document | {"files": [value]})[-1][1].startswith("files[0]")
    document["files"][0]["digests"] = value or None
    assert problems(document) == [("wrong type", "files[0].digests")]


@pytest.mark.parametrize("key", ["size", "rows"])
def test_sums_stay_in_range(document: dict[str, Any], problems: Problems, key: str) -> None:
    """Sums end where numbers end."""
    del document["totals"]
    document["files"][0][key] = 2**53 - 1
    assert problems(document) == [("out of range", "files")]


@pytest.mark.parametrize("spelling", [str.lower, str.upper, str.title, " {} ".format, "\t{}\r\n".format])
def test_digest_spelling(document: dict[str, Any], read: Read, spelling: Callable[[str], str]) -> None:
    """Hex is read without regard to case and to blanks around it."""
    document["files"][0]["digests"] = {"sha256": spelling("ab" * 32)}
    assert read(document).manifest.files[0].digests == {"sha256": "ab" * 32}


@pytest.mark.parametrize(
    ("algorithm", "value"),
    [
        ("sha256", ""),
        ("sha256", "ab" * 31),
        ("sha256", "ab" * 32 + "a"),
        ("sha256", "ab" * 31 + "ag"),
        ("sha256", "sha256:" + "ab" * 32),
        ("sha256", "0x" + "ab" * 31),
        ("sha256", "ab " * 21 + "a"),
        ("sha256", "\u0661" * 64),
        ("sha256", "\u00a0" + "ab" * 32),
        ("sha256", "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="),
        ("crc32c", "ab" * 8),
        ("sha3-256", "ab" * 32),
        ("SHA256", "ab" * 32),
        ("", ""),
    ],
)
def test_invalid_digests(document: dict[str, Any], problems: Problems, algorithm: str, value: str) -> None:
    """Wrong length, non-hex, prefixes, base64 and unknown algorithms are invalid, not mismatches."""
    document["files"][0]["digests"] = {"sha512": "ab" * 64, algorithm: value}
    place = f"files[0].digests.{algorithm}" if algorithm.isalnum() else f"files[0].digests[{algorithm!a}]"
    if algorithm == "sha3-256":
        place = "files[0].digests.sha3-256"
    assert problems(document) == [("invalid digest", place)]


@pytest.mark.parametrize("value", [None, 7, True, ["ab" * 32]])
def test_digests_are_texts(document: dict[str, Any], problems: Problems, value: Any) -> None:
    """A digest is text."""
    document["files"][0]["digests"] = {"sha256": value}
    assert problems(document) == [("wrong type", "files[0].digests.sha256")]


@pytest.mark.parametrize("digests", [{}, {"md5": "ab" * 16}, {"sha1": "ab" * 20, "crc64nvme": "ab" * 8}])
def test_a_strong_digest(document: dict[str, Any], problems: Problems, digests: dict[str, str]) -> None:
    """Digests that only show damage are not enough."""
    document["files"][0]["digests"] = digests
    assert problems(document) == [("invalid digest", "files[0].digests")]


@pytest.mark.parametrize(
    ("algorithm", "length"), [("sha256", 64), ("sha384", 96), ("sha512", 128), ("blake2b", 128)]
)
def test_strong_digests(document: dict[str, Any], read: Read, algorithm: str, length: int) -> None:
    """Each of the strong digests is enough."""
    document["files"][0]["digests"] = {algorithm: "A" * length}
    assert read(document).manifest.files[0].digests == {algorithm: "a" * length}


@pytest.mark.parametrize(
    "path", ["../x", "/x", "a//b", "a\\b", "C:x", "a\0b", "", "a/", "\ud800", "x" * 2000]
)
def test_paths(document: dict[str, Any], problems: Problems, path: str) -> None:
    """Unsafe paths are refused, never repaired."""
    document["files"][1]["path"] = path
    assert problems(document) == [("invalid path", "files[1].path")]


@pytest.mark.parametrize("path", ["orders/part 1.csv", "Orders/PART 1.csv"])
def test_repeated_paths(document: dict[str, Any], problems: Problems, path: str) -> None:
    """Two paths that are one file on some file system are refused."""
    document["files"][1]["path"] = path
    assert problems(document) == [("repeated path", "files[1].path")]


def test_composed_paths(document: dict[str, Any], problems: Problems) -> None:
    """Composition of characters does not tell paths apart."""
    document["files"][0]["path"], document["files"][1]["path"] = "caf\u00e9", "CAFE\u0301"
    assert problems(document) == [("repeated path", "files[1].path")]


@pytest.mark.parametrize(
    "paths",
    [
        ["a", "a/b"],
        ["a/b", "a"],
        ["a", "A/b"],
        ["a", "a!", "a.b", "a/b"],
        ["x/a", "x/a-b", "x/a/c/d"],
        ["a b/c", "a", "a b"],
        ["caf\u00e9", "cafe\u0301/x"],
    ],
)
def test_file_and_folder(document: dict[str, Any], problems: Problems, paths: list[str]) -> None:
    """A path that is another file's folder is refused, in any order and spelling."""
    document["files"] = [{"path": path, "size": 1, "digests": SHA256} for path in paths]
    del document["totals"]
    assert problems(document) == [("repeated path", f"files[{len(paths) - 1}].path")]


def test_neighbours_are_no_folders(document: dict[str, Any], read: Read) -> None:
    """Paths that only begin alike are different files, equal digests or not."""
    paths = ["a", "a.b", "ab/a", "b/a", "b/ab", "a b", "a!/x", "a-"]
    document["files"] = [{"path": path, "size": 1, "digests": SHA256} for path in paths]
    del document["totals"]
    assert [entry.path for entry in read(document).manifest.files] == paths


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("_delivery.json", "_delivery.json"),
        ("_delivery.json", "_Delivery.JSON"),
        ("_delivery.json", "_delivery.json/x"),
        ("m/done.json", "m/done.json"),
    ],
)
def test_marker_itself(document: dict[str, Any], problems: Problems, name: str, path: str) -> None:
    """The marker is no file of its own delivery, when its name is known."""
    document["files"][1]["path"] = path
    data = json.dumps(document).encode()
    assert problems(data, name=name) == [("repeated path", "files[1].path")]
    assert read_marker(data).manifest.files[1].path == path
    assert read_marker(data, name="other.json").manifest.files[1].path == path


@pytest.mark.parametrize("key", ["files", "bytes", "rows"])
@pytest.mark.parametrize("error", [1, -1])
def test_totals(document: dict[str, Any], problems: Problems, key: str, error: int) -> None:
    """Totals that differ from the sums, up or down, are refused."""
    document["totals"][key] += error
    assert problems(document) == [("wrong totals", f"totals.{key}")]


def test_partial_totals(document: dict[str, Any], read: Read) -> None:
    """Totals may be given in part; rows are compared only when every file tells them."""
    document["totals"] = {}
    assert read(document).manifest.size_bytes == 300
    del document["files"][0]["rows"]
    document["totals"] = {"rows": 12345}
    assert read(document).manifest.rows is None


@pytest.mark.parametrize("totals", [None, {}, {"bytes": 0, "rows": 0}])
def test_empty_by_accident(
    document: dict[str, Any], problems: Problems, totals: dict[str, int] | None
) -> None:
    """An empty list of files must be meant: the totals say so."""
    document["files"] = []
    del document["totals"]
    if totals is not None:
        document["totals"] = totals
    assert problems(document) == [("missing key", "totals")]


def test_empty_and_meant(document: dict[str, Any], read: Read, problems: Problems) -> None:
    """An empty delivery with totals of zero is a delivery."""
    document["files"] = []
    document["totals"] = {"files": 0}
    assert read(document).manifest.counts() == {"files": 0, "bytes": 0, "rows": 0}
    document["totals"] = {"files": 0, "bytes": 1}
    assert problems(document) == [("wrong totals", "totals.bytes")]


def test_totals_of_wrong_files(document: dict[str, Any], problems: Problems) -> None:
    """Sums over files with problems are not compared: one fault, one problem."""
    document["files"][0]["size"] = "100"
    assert problems(document) == [("wrong type", "files[0].size")]


def test_too_many_files(document: dict[str, Any], problems: Problems) -> None:
    """More files than the limit are refused without a look at them."""
    document["files"] = [0] * (MAX_FILES + 1)
    assert problems(document) == [("too large", "files")]
