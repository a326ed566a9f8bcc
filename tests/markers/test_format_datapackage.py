"""Data Packages."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from airflow_landmark.markers import (
    FileEntry,
    InvalidDeclaration,
    format_of,
    identity_of_document,
    identity_of_documents,
)
from foreign import ABOUT, CORPORA, hold, problems_of, read, read_folder

FOLDER = CORPORA / "datapackage"
RENAME = {**ABOUT, "complete": "rename"}
DIGEST = {**ABOUT, "complete": "digest"}
URI = "s3://b/in/datapackage.json"
A = "ab" * 32


def package(*resources: dict[str, Any], **more: Any) -> dict[str, bytes]:
    """The document of a package."""
    return {"datapackage.json": json.dumps({"resources": list(resources), **more}).encode()}


def entries(*resources: dict[str, Any]) -> list[FileEntry]:
    """The files of a good package."""
    return list(read("datapackage", package(*resources), uri=URI, declared=RENAME).manifest.files)


def problems(*resources: Any, **more: Any) -> list[tuple[str, str]]:
    """What is wrong with a package."""
    return problems_of("datapackage", package(*resources, **more), uri=URI, declared=RENAME)


@pytest.mark.parametrize(
    ("folder", "complete", "wrong"),
    [
        ("wacz-valid_example_2", "digest", []),
        ("wacz-valid_signed_example_1", "digest", []),
        ("wacz-invalid_example_1", "rename", ["missing data/indexes/index.cdx.gz"]),
        ("natural-gas", "rename", []),
    ],
)
def test_published_packages(folder: str, complete: str, wrong: list[str]) -> None:
    """Each published package has its verdict; the stale sums of natural-gas itself are informative."""
    declared = {**ABOUT, "complete": complete}
    marker = read_folder("datapackage", FOLDER / folder / "datapackage.json", declared=declared)
    assert marker.manifest.files
    assert hold(FOLDER / folder, marker) == wrong


@pytest.mark.parametrize("folder", ["wacz-invalid_example_1", "natural-gas"])
def test_published_packages_without_a_digest(folder: str) -> None:
    """Where the digest document is waited for, a package without it is not complete."""
    documents = {"datapackage.json": (FOLDER / folder / "datapackage.json").read_bytes()}
    found = problems_of("datapackage", documents, uri=URI, declared=DIGEST)
    assert found == [("incomplete", "datapackage-digest.json")]


def test_a_published_bare_hash_is_md5() -> None:
    """A hash without an algorithm is an MD5, as the specification says."""
    file = FOLDER / "frictionless-package-dialect-no-header.json"
    marker = read("datapackage", {file.name: file.read_bytes()}, uri=str(file), declared=RENAME)
    assert list(marker.manifest.files) == [
        FileEntry(
            "package-dialect-no-header.csv", size=839871, digests={"md5": "5295033f2348ac33dec57d46d2510505"}
        )
    ]
    assert marker.identity == identity_of_document(file.read_bytes())


@pytest.mark.parametrize(
    ("resource", "found"),
    [
        ({"path": "a.csv"}, [FileEntry("a.csv")]),
        ({"path": "a.csv", "hash": ""}, [FileEntry("a.csv")]),
        ({"path": "a", "mediatype": "text/csv", "bytes": 0}, [FileEntry("a", 0, media_type="text/csv")]),
        ({"path": "a.csv", "mediatype": "no type"}, [FileEntry("a.csv")]),
        ({"path": "a.csv", "hash": f"SHA256:{A.upper()}"}, [FileEntry("a.csv", digests={"sha256": A})]),
        ({"path": "a.csv", "hash": f"sha-256:{A}"}, [FileEntry("a.csv", digests={"sha256": A})]),
        ({"path": ["a", "d/b"], "hash": f"sha256:{A}", "bytes": 3}, [FileEntry("a"), FileEntry("d/b")]),
        ({"path": ["a.csv"], "bytes": 3}, [FileEntry("a.csv", 3)]),
        ({"data": [[1]], "name": "inline", "bytes": 7}, []),
    ],
)
def test_resources(resource: dict[str, Any], found: list[FileEntry]) -> None:
    """Sizes and hashes are of single files; inline data is no file; an unusual media type is left out."""
    assert entries(resource) == found


def test_two_resources_of_one_file() -> None:
    """Two sheets of one workbook are one file, as long as they agree."""
    first = {"name": "jan", "path": "book.xlsx", "hash": f"sha256:{A}", "bytes": 5}
    assert entries(first, {"name": "feb", "path": "book.xlsx"}) == [
        FileEntry("book.xlsx", 5, digests={"sha256": A})
    ]
    assert problems(first, {**first, "bytes": 6, "hash": f"sha256:{'00' * 32}"}) == [
        ("contradiction", "resources[1].path"),
        ("contradiction", "resources[1].path"),
    ]


@pytest.mark.parametrize(
    ("resource", "kind", "place"),
    [
        ("a.csv", "wrong type", "resources[0]"),
        ({}, "missing key", "resources[0].path"),
        ({"path": "a", "data": []}, "missing key", "resources[0].path"),
        ({"path": 7}, "wrong type", "resources[0].path"),
        ({"path": []}, "wrong type", "resources[0].path"),
        ({"path": ["a", None]}, "wrong type", "resources[0].path"),
        ({"path": ["a", "../b"]}, "invalid path", "resources[0].path[1]"),
        ({"path": "https://example.org/a.csv"}, "invalid path", "resources[0].path"),
        ({"path": "/etc/passwd"}, "invalid path", "resources[0].path"),
        ({"path": "./a.csv"}, "invalid path", "resources[0].path"),
        ({"path": "datapackage.json"}, "invalid path", "resources[0].path"),
        ({"path": "a", "bytes": "7"}, "wrong type", "resources[0].bytes"),
        ({"path": "a", "bytes": -1}, "out of range", "resources[0].bytes"),
        ({"path": "a", "bytes": 1.0}, "wrong type", "resources[0].bytes"),
        ({"path": "a", "hash": 7}, "wrong type", "resources[0].hash"),
        ({"path": "a", "hash": A}, "invalid digest", "resources[0].hash"),
        ({"path": "a", "hash": f"sha224:{'ab' * 28}"}, "invalid digest", "resources[0].hash"),
        ({"path": "a", "hash": f"sha256:{A}0"}, "invalid digest", "resources[0].hash"),
        ({"path": "a", "hash": f"md5:sha256:{A}"}, "invalid digest", "resources[0].hash"),
        ({"path": ["a", "A"]}, "repeated path", "resources[0].path[1]"),
        ({"path": ["a", "a/b"]}, "repeated path", "resources[0].path[1]"),
    ],
)
def test_resources_that_are_refused(resource: Any, kind: str, place: str) -> None:
    """A wrong resource is named by its number; the others are read on."""
    found = problems(resource, {"path": "z", "bytes": True})
    assert set(found) == {(kind, place), ("wrong type", "resources[1].bytes")}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "empty"),
        (b"[]", "wrong type"),
        (b"{}", "empty"),
        (b'{"resources": []}', "empty"),
        (b'{"resources": {}}', "wrong type"),
        (b'{"resources": [{"path": "a", "path": "b"}]}', "repeated key"),
        (b'{"resources": [{"path": "a", "bytes": NaN}]}', "refused number"),
        (b'{"resources": [{"path": "a"}', "syntax"),
        (b"\xff", "encoding"),
    ],
)
def test_documents_that_are_refused(data: bytes, kind: str) -> None:
    """The document is strict JSON with at least one resource."""
    found = problems_of("datapackage", {"datapackage.json": data}, uri=URI, declared=RENAME)
    assert [kind for kind, _ in found] == [kind]


def covered(documents: dict[str, bytes], **changes: Any) -> dict[str, bytes]:
    """The package with its digest document."""
    digest = hashlib.sha256(documents["datapackage.json"]).hexdigest()
    told = {"path": "datapackage.json", "hash": f"sha256:{digest}", **changes}
    return {**documents, "datapackage-digest.json": json.dumps(told).encode()}


def test_the_digest_document_covers_the_package() -> None:
    """The identity is that of both documents; a signature and other fields are left alone."""
    assert format_of("datapackage").documents(URI, (), DIGEST) == (
        "datapackage.json",
        "datapackage-digest.json",
    )
    assert format_of("datapackage").documents(URI, (), RENAME) == ("datapackage.json",)
    documents = covered(package({"path": "a"}), signedData={"signature": "x"})
    marker = read("datapackage", documents, uri=URI, declared=DIGEST)
    assert marker.identity == identity_of_documents(documents)
    bare = covered(package({"path": "a"}), hash=hashlib.md5(documents["datapackage.json"]).hexdigest())  # noqa: S324
    assert problems_of("datapackage", bare, uri=URI, declared=DIGEST) == []


@pytest.mark.parametrize(
    ("changes", "kind", "place"),
    [
        ({"hash": f"sha256:{A}"}, "incomplete", "datapackage-digest.json"),
        ({"hash": "sha256:12"}, "invalid digest", "datapackage-digest.json hash"),
        ({"hash": None}, "wrong type", "datapackage-digest.json hash"),
        ({"hash": "crc32c:00000000"}, "missing key", "datapackage-digest.json"),
        ({"path": "other.json"}, "missing key", "datapackage-digest.json"),
        ({"path": 7}, "wrong type", "datapackage-digest.json path"),
    ],
)
def test_digest_documents_that_do_not_cover(changes: dict[str, Any], kind: str, place: str) -> None:
    """Another package's digest, one that cannot be computed, or none: the package does not count."""
    found = problems_of("datapackage", covered(package({"path": "a"}), **changes), uri=URI, declared=DIGEST)
    assert found == [(kind, place)]


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"path": "x", "path": "y"}'])
def test_digest_documents_that_are_none(data: bytes) -> None:
    """What is no JSON object is reported with its name."""
    documents = {**package({"path": "a"}), "datapackage-digest.json": data}
    found = problems_of("datapackage", documents, uri=URI, declared=DIGEST)
    assert all(place.startswith("datapackage-digest.json ") for _, place in found)
    assert len(found) == 1


def test_fields_fill_declarations() -> None:
    """Fields of the package tell dataset and version."""
    documents = package({"path": "a", "name": "x"}, name="shop/orders", version=7)
    declared = {**RENAME, "dataset": "{/name}/{/resources/0/name}", "version": "{/version}"}
    marker = read("datapackage", documents, uri=URI, declared=declared)
    assert (marker.dataset, marker.version) == ("shop/orders/x", 7)


def test_declarations() -> None:
    """Completeness is not guessed; the example is a right declaration."""
    form = format_of("datapackage")
    with pytest.raises(InvalidDeclaration, match="declare complete too: nothing is guessed") as caught:
        form.check(ABOUT)
    form.check(eval(str(caught.value).partition("such as ")[2], {"__builtins__": {}}))  # noqa: S307 - our text
    with pytest.raises(InvalidDeclaration, match="complete must be one of rename, digest"):
        form.check({**ABOUT, "complete": "sidecar"})
