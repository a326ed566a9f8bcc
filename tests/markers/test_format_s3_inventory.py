"""S3 Inventory: a manifest and its checksum."""

from __future__ import annotations

import ast
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.markers import (
    FileEntry,
    InvalidDeclaration,
    UnreadableMarker,
    format_of,
    identity_of_documents,
)
from foreign import ABOUT, CORPORA, problems_of, read, try_read

FOLDER = "s3://lists/inv/source/daily"
URI = f"{FOLDER}/2024-10-01T01-00Z/manifest.checksum"
MD5 = "ab" * 16
MANIFEST: dict[str, Any] = {
    "sourceBucket": "source",
    "destinationBucket": "arn:aws:s3:::lists",
    "version": "2016-11-30",
    "creationTimestamp": "1727744400000",
    "fileFormat": "CSV",
    "fileSchema": "Bucket, Key",
    "files": [{"key": "inv/source/daily/data/1.csv.gz", "size": 3, "MD5checksum": MD5}],
}
VALID = json.dumps(MANIFEST).encode()


def pair(document: Any) -> dict[str, bytes]:
    """Both documents of an inventory, fitting each other."""
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    checksum = hashlib.md5(data, usedforsecurity=False).hexdigest().encode()
    return {"manifest.checksum": checksum, "manifest.json": data}


def inventory(document: Any, *, uri: str = URI, **declared: str) -> Any:
    """What is made of an inventory."""
    return read("s3-inventory", pair(document), uri=uri, declared={**ABOUT, **declared})


def refused(document: Any, *, uri: str = URI, **declared: str) -> list[tuple[str, str]]:
    """(kind, place) of what is wrong with it."""
    return problems_of("s3-inventory", pair(document), uri=uri, declared={**ABOUT, **declared})


def files(*entries: Any) -> dict[str, Any]:
    """An inventory with these entries."""
    return {**MANIFEST, "files": list(entries)}


def keys(*names: str) -> dict[str, Any]:
    """An inventory with these keys."""
    return files(*({"key": name, "size": 1, "MD5checksum": MD5} for name in names))


@pytest.mark.parametrize(
    ("name", "uri", "problems", "reason"),
    [
        (
            "aws-doc-csv",
            "s3://example-inventory-destination-bucket/Inventory/example-source-bucket/2016-11-06T21-32Z/",
            [],
            "the data lies beside the marker",
        ),
        (
            "aws-doc-orc",
            "s3://example-destination-bucket/inventory/example-source-bucket/2016-11-06T21-32Z/",
            [("invalid digest", "files[0].MD5checksum")],
            "the guide's sample digest is no hex",
        ),
        (
            "lakefs-parquet",
            "s3://yoni-test3/inventory/lakefs-example-data/my_inventory/2020-06-27T00-00Z/",
            [],
            "the data lies in a folder beside that of the marker",
        ),
        (
            "lakefs-parquet",
            "s3://yoni-test3/inventory/lakefs-example-data/other_inventory/2020-06-27T00-00Z/",
            [("not allowed", "files[0].key")],
            "the data is that of another inventory",
        ),
        (
            "lakefs-parquet",
            "s3://elsewhere/inventory/lakefs-example-data/my_inventory/2020-06-27T00-00Z/",
            [("not allowed", "files[0].key")],
            "the data lies in another bucket than the marker",
        ),
    ],
)
def test_real_manifests(name: str, uri: str, problems: list[tuple[str, str]], reason: str) -> None:
    """The manifests that others publish are read where S3 would have written them."""
    data = (CORPORA / "s3-inventory" / f"{name}.manifest.json").read_bytes()
    uri = f"{uri}manifest.checksum"
    assert refused(data, uri=uri) == problems, reason
    if not problems:
        bucket = uri.split("/")[2]
        marker = inventory(data, uri=uri, version="{/creationTimestamp}")
        assert marker.identity == identity_of_documents(pair(data))
        assert marker.version > 1_500_000_000_000
        assert all((file.url or "").startswith(f"s3://{bucket}/") for file in marker.manifest.files)


def test_both_documents_are_asked_for() -> None:
    """The marker is the checksum; the manifest lies beside it."""
    form = format_of("s3-inventory")
    assert form.default_name == "manifest.checksum"
    assert list(form.documents(URI, [], ABOUT)) == ["manifest.checksum", "manifest.json"]
    for name in pair(VALID):
        rest = {key: data for key, data in pair(VALID).items() if key != name}
        assert problems_of("s3-inventory", rest, uri=URI) == [("missing", name)]


@pytest.mark.parametrize(
    ("written", "media_type"),
    [("CSV", "text/csv"), ("ORC", None), ("Parquet", "application/vnd.apache.parquet")],
)
def test_an_entry(written: str, media_type: str | None) -> None:
    """An entry has size, MD5, the kind of file, and a URL in the destination bucket."""
    key = "inv/source/daily/data/1.csv.gz"
    assert inventory({**MANIFEST, "fileFormat": written}).manifest.files == (
        FileEntry(f"lists/{key}", 3, {"md5": MD5}, media_type=media_type, url=f"s3://lists/{key}"),
    )


@pytest.mark.parametrize("arn", ["arn:aws:s3:::lists", "arn:aws-cn:s3:::lists", "arn:aws-us-gov:s3:::lists"])
def test_partitions(arn: str) -> None:
    """The destination bucket is named by its ARN, in any partition."""
    assert (inventory({**MANIFEST, "destinationBucket": arn}).manifest.files[0].url or "").startswith(
        "s3://lists/"
    )


@pytest.mark.parametrize(
    ("key", "decoded"),
    [
        ("data/a%20b.csv", "data/a b.csv"),
        ("data/a+b.csv", "data/a b.csv"),
        ("data/a%2Bb%25.csv", "data/a+b%.csv"),
        ("data/%C3%BC.csv", "data/ü.csv"),
        ("data/ü.csv", "data/ü.csv"),
    ],
)
def test_keys_are_decoded_once(key: str, decoded: str) -> None:
    """A key is URL-encoded, unless it is declared to be verbatim."""
    prefix = "inv/source/daily/"
    entry = inventory(keys(prefix + key)).manifest.files[0]
    assert (entry.path, entry.url) == (f"lists/{prefix}{decoded}", f"s3://lists/{prefix}{decoded}")
    assert inventory(keys(prefix + key), keys="verbatim").manifest.files[0].url == f"s3://lists/{prefix}{key}"


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("inv/source/daily/%2e%2e/x", "invalid path"),
        ("inv/source/daily/../x", "invalid path"),
        ("inv/source/daily%2Fx%00", "invalid path"),
        ("inv/source/daily/%zz", "invalid path"),
        ("inv/source/daily/%ff", "invalid path"),
        ("inv/source/daily/", "invalid path"),
        ("/inv/source/daily/x", "invalid path"),
        ("", "invalid path"),
        ("inv/source/weekly/x", "not allowed"),
        ("inv/source/daily2/x", "not allowed"),
    ],
)
def test_hostile_keys(key: str, kind: str) -> None:
    """A key is judged as it is once decoded."""
    assert refused(keys(key)) == [(kind, "files[0].key")]


def test_where_files_may_lie() -> None:
    """Without an allow-list only below the folder above the marker's; with one only there."""
    document = keys("other/x")
    assert refused(document) == [("not allowed", "files[0].key")]
    assert refused(document, allow="s3://lists/other/") == []
    assert refused(MANIFEST, allow="s3://lists/other/") == [("not allowed", "files[0].key")]
    for uri in (
        "s3://lists/daily/manifest.checksum",
        "s3://lists/manifest.checksum",
        "/in/a/b/manifest.checksum",
    ):
        assert refused(document, uri=uri) == [("undeclared", "allow")]
        assert refused(document, uri=uri, allow="s3://lists/") == []


@pytest.mark.parametrize("checksum", ["{}", "{}\n", " {}\r\n", "\ufeff{}"])
def test_the_checksum(checksum: str) -> None:
    """The checksum is hex in any case, with blanks around."""
    documents = pair(VALID)
    digest = documents["manifest.checksum"].decode()
    for text in (checksum.format(digest), checksum.format(digest.upper())):
        documents["manifest.checksum"] = text.encode()
        assert problems_of("s3-inventory", documents, uri=URI) == []


@pytest.mark.parametrize(
    ("checksum", "problem"),
    [
        (b"0" * 32, ("corrupt", "manifest.json")),
        (b"", ("invalid digest", "manifest.checksum")),
        (b"0" * 64, ("invalid digest", "manifest.checksum")),
        (b"xyz", ("invalid digest", "manifest.checksum")),
        (b"\xff\xfe0", ("encoding", "manifest.checksum")),
    ],
)
def test_a_checksum_that_does_not_fit(checksum: bytes, problem: tuple[str, str]) -> None:
    """While one document is new and the other is old, or one is cut, they are no marker."""
    documents = {**pair(VALID), "manifest.checksum": checksum}
    assert problems_of("s3-inventory", documents, uri=URI) == [problem]


def test_all_problems_at_once() -> None:
    """Checksum, fields and every entry are reported together, with their places."""
    document = {
        **files(
            7,
            {"key": "inv/source/daily/a", "size": -1, "MD5checksum": MD5},
            {"key": "inv/source/daily/b", "size": 1, "MD5checksum": MD5[:-1]},
            {"size": 1},
            {"key": "inv/source/daily/a", "size": 1, "MD5checksum": MD5},
        )
    }
    documents = {**pair(document), "manifest.checksum": b"0" * 32}
    assert problems_of("s3-inventory", documents, uri=URI) == [
        ("corrupt", "manifest.json"),
        ("wrong type", "files[0]"),
        ("out of range", "files[1].size"),
        ("invalid digest", "files[2].MD5checksum"),
        ("missing key", "files[3].MD5checksum"),
        ("missing key", "files[3].key"),
        ("repeated path", "files[4].key"),
    ]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (b"null", ("wrong type", "document")),
        (b"", ("empty", "document")),
        (b"{", ("syntax", "line 1, column 2")),
        ({}, ("missing key", "files")),
        (files(), ("empty", "files")),
        ({**MANIFEST, "files": {}}, ("wrong type", "files")),
        ({**MANIFEST, "destinationBucket": "lists"}, ("invalid text", "destinationBucket")),
        ({**MANIFEST, "destinationBucket": "arn:aws:s3:::lists/x"}, ("invalid text", "destinationBucket")),
        ({**MANIFEST, "fileFormat": "JSON"}, ("invalid text", "fileFormat")),
        ({**MANIFEST, "fileFormat": 1}, ("wrong type", "fileFormat")),
        (VALID[:-1] + b', "files": []}', ("repeated key", "files")),
    ],
)
def test_no_manifests(document: Any, problem: tuple[str, str]) -> None:
    """Other documents are refused with the place."""
    assert problem in refused(document)


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ({"keys": "raw"}, "encoded, verbatim"),
        ({"allow": "lists"}, "s3://bucket/prefix/"),
        ({"x": "y"}, "not known"),
    ],
)
def test_declarations_that_cannot_be_meant(declared: dict[str, str], text: str) -> None:
    """A declaration that could never be read with is refused when the Dag is parsed."""
    with pytest.raises(InvalidDeclaration, match=text):
        format_of("s3-inventory").check({**ABOUT, **declared})


def test_what_is_missing_is_told_with_an_example() -> None:
    """The refusal holds a right declaration, with which a real inventory is read."""
    with pytest.raises(InvalidDeclaration) as caught:
        format_of("s3-inventory").check({})
    declared = ast.literal_eval(str(caught.value).partition("such as ")[2])
    marker = read("s3-inventory", pair(VALID), uri=URI, declared=declared)
    assert str(marker.interval) == "2024-10-01T00:00:00Z/2024-10-02T00:00:00Z"
    assert marker.version == 1_727_744_400_000


def test_templates_are_checked_when_they_are_rendered() -> None:
    """A place that is none once rendered is a problem of the marker, not an error."""
    format_of("s3-inventory").check({**ABOUT, "allow": "s3://{{ var.value.bucket }}/"})
    with pytest.raises(UnreadableMarker, match="places"):
        format_of("s3-inventory").read(pair(VALID), [], {**ABOUT, "allow": "s3:///", "uri": URI})


@given(st.binary(max_size=60), st.binary(max_size=60), st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_bytes(checksum: bytes, data: bytes, fitting: bool) -> None:
    """Arbitrary bytes are no inventory, and never another error."""
    documents = pair(data) if fitting else {"manifest.checksum": checksum, "manifest.json": data}
    assert try_read("s3-inventory", documents, uri=URI) is None


@given(st.lists(st.tuples(st.integers(0, len(VALID) - 1), st.integers(0, 255)), min_size=1, max_size=4))
@settings(max_examples=400, deadline=None)
def test_flipped_bytes(changes: list[tuple[int, int]]) -> None:
    """A damaged manifest with a fitting checksum is one below the same folder, or refused."""
    data = bytearray(VALID)
    for position, byte in changes:
        data[position] = byte
    marker = try_read("s3-inventory", pair(bytes(data)), uri=URI)
    assert marker is None or all((file.url or "").startswith(f"{FOLDER}/") for file in marker.manifest.files)
