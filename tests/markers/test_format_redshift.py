"""Manifests of Redshift's COPY and UNLOAD."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.markers import (
    MAX_FILES,
    FileEntry,
    InvalidDeclaration,
    UnreadableMarker,
    format_of,
    identity_of_document,
)
from foreign import ABOUT, CORPORA, problems_of, read, try_read

URI = "s3://bucket/out/manifest"
DECLARED = {**ABOUT, "allow": "s3://bucket/out/"}
VERBOSE: dict[str, Any] = {
    "entries": [
        {"url": "s3://bucket/out/0000_part_00", "meta": {"content_length": 75, "record_count": 4}},
        {"url": "s3://bucket/out/0001_part_00", "meta": {"content_length": 20, "record_count": 0}},
    ],
    "schema": {"elements": [{"name": "id", "type": {"base": "integer"}}]},
    "meta": {"content_length": 95, "record_count": 4},
    "author": {"name": "Amazon Redshift", "version": "1.0.0"},
}
VALID = json.dumps(VERBOSE).encode()


def manifest(document: Any, **declared: str) -> Any:
    """What is made of a manifest, given as bytes or as a value."""
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return read("redshift", {"manifest": data}, uri=URI, declared={**DECLARED, **declared})


def refused(document: Any, **declared: str) -> list[tuple[str, str]]:
    """(kind, place) of what is wrong with it."""
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return problems_of("redshift", {"manifest": data}, uri=URI, declared={**DECLARED, **declared})


def urls(*given: Any) -> dict[str, Any]:
    """A manifest of these URLs."""
    return {"entries": [{"url": url} for url in given]}


@pytest.mark.parametrize(
    ("name", "allow", "counts", "reason"),
    [
        (
            "aws-doc-copy-mandatory.json",
            "s3://mybucket-alpha/ s3://mybucket-beta/",
            {"files": 4, "bytes": None, "rows": None},
            "COPY needs only URLs: sizes and rows are not known",
        ),
        (
            "hca-cell_metadata_manifest.json",
            "s3://hca-matrix-conversion-test-data/pancreas/",
            {"files": 8, "bytes": 91_021, "rows": 2_544},
            "UNLOAD VERBOSE: the entries' sums are its totals",
        ),
        (
            "hca-expression_metadata_manifest.json",
            "s3://dcp-matrix-service-query-results-dev/",
            {"files": 8, "bytes": 121_387, "rows": 19_004},
            "parts without a row are files too",
        ),
    ],
)
def test_real_manifests(name: str, allow: str, counts: dict[str, Any], reason: str) -> None:
    """The manifests that others publish are read, and refused as a whole elsewhere."""
    data = (CORPORA / "redshift" / name).read_bytes()
    marker = manifest(data, allow=allow)
    assert marker.manifest.counts() == counts, reason
    assert marker.identity == identity_of_document(data)
    problems = refused(data)
    assert {kind for kind, _ in problems} == {"not allowed"}
    assert len(problems) == counts["files"]


def test_an_entry() -> None:
    """An entry keeps its URL, has a readable path, and what is declared of all files."""
    marker = manifest(VERBOSE, header_rows="1", data_delimiter="|", media_type="text/csv")
    assert marker.manifest.files[0] == FileEntry(
        "bucket/out/0000_part_00",
        75,
        rows=4,
        header_rows=1,
        media_type="text/csv",
        delimiter="|",
        url="s3://bucket/out/0000_part_00",
    )


def test_fields_fill_placeholders() -> None:
    """Fields of the document are there for declarations."""
    assert manifest(VERBOSE, dataset="{/schema/elements/0/name}").dataset == "id"


@pytest.mark.parametrize("mandatory", [True, False])
def test_every_entry_is_promised(*, mandatory: bool) -> None:
    """An entry counts whatever its flag says: a missing file is never passed over."""
    document = {"entries": [{"url": "s3://bucket/out/a", "mandatory": mandatory}]}
    assert [file.path for file in manifest(document).manifest.files] == ["bucket/out/a"]


@pytest.mark.parametrize(
    ("url", "allow", "kind"),
    [
        ("s3://b-1/in/x", "s3://b-1/in/", None),
        ("s3://b-1/in/x", "s3://b-1/in", None),
        ("s3://b-1/in/a%20b+c d.csv", "s3://b-1/", None),
        ("s3://b-1/in/%2e%2e/x", "s3://b-1/in/", None),
        ("s3://b-2/x", "s3://b-1/ s3://b-2", None),
        ("s3://b-1/input/x", "s3://b-1/in", "not allowed"),
        ("s3://b-1/in", "s3://b-1/in", "not allowed"),
        ("s3://b-1/IN/x", "s3://b-1/in/", "not allowed"),
        ("s3://b-1x/in/x", "s3://b-1/", "not allowed"),
        ("s3://b-1/in/../x", "s3://b-1/in/", "invalid path"),
        ("s3://b-1/in/./x", "s3://b-1/in/", "invalid path"),
        ("s3://b-1/in//x", "s3://b-1/in/", "invalid path"),
        ("s3://b-1/in/x/", "s3://b-1/in/", "invalid path"),
        ("s3://b-1//in/x", "s3://b-1/", "invalid path"),
        ("s3://b-1/in\\..\\x", "s3://b-1/", "invalid path"),
        ("s3://b-1/a\nb", "s3://b-1/", "invalid path"),
        ("s3://b-1/", "s3://b-1/", "invalid path"),
        ("s3://b-1", "s3://b-1/", "invalid path"),
        ("S3://b-1/x", "s3://b-1/", "invalid path"),
        ("s3n://b-1/x", "s3://b-1/", "invalid path"),
        ("https://b-1.s3.amazonaws.com/x", "s3://b-1/", "invalid path"),
        ("s3://user:pw@b-1/x", "s3://b-1/", "invalid path"),
        ("s3://b-1/" + "x/" * 600 + "x", "s3://b-1/", "invalid path"),
        ("/etc/passwd", "s3://b-1/", "invalid path"),
    ],
)
def test_where_files_may_lie(url: str, allow: str, kind: str | None) -> None:
    """Only plain S3 URLs below a declared place are taken, and these verbatim."""
    if kind is None:
        assert manifest(urls(url), allow=allow).manifest.files[0].url == url
    else:
        assert refused(urls(url), allow=allow) == [(kind, "entries[0].url")]


def test_all_problems_at_once() -> None:
    """Every entry's problems are named with their places."""
    document = {
        "entries": [
            {"url": "s3://other/x"},
            {"url": 7, "mandatory": "yes"},
            "s3://bucket/out/x",
            {"url": "s3://bucket/out/a", "meta": {"content_length": -1, "record_count": "4"}},
            {"url": "s3://bucket/out/a", "meta": []},
            {"mandatory": True},
        ]
    }
    assert sorted(refused(document, version="{/v}")) == [
        ("missing key", "entries[5].url"),
        ("not allowed", "entries[0].url"),
        ("out of range", "entries[3].meta.content_length"),
        ("repeated path", "entries[4].url"),
        ("undeclared", "version"),
        ("wrong type", "entries[1].mandatory"),
        ("wrong type", "entries[1].url"),
        ("wrong type", "entries[2]"),
        ("wrong type", "entries[3].meta.record_count"),
        ("wrong type", "entries[4].meta"),
    ]


@pytest.mark.parametrize(
    ("meta", "problems"),
    [
        ({"content_length": 96, "record_count": 4}, [("wrong totals", "meta.content_length")]),
        ({"content_length": 95, "record_count": 5}, [("wrong totals", "meta.record_count")]),
        ({"content_length": "95"}, [("wrong type", "meta.content_length")]),
        ({"content_length": 95}, []),
        ({}, []),
        (7, [("wrong type", "meta")]),
    ],
)
def test_totals(meta: Any, problems: list[tuple[str, str]]) -> None:
    """Totals that the document gives have to be the sums of its entries."""
    assert refused({**VERBOSE, "meta": meta}) == problems


def test_totals_without_all_sizes() -> None:
    """Totals cannot be held against entries of which one does not tell its size."""
    assert refused({**urls("s3://bucket/out/a"), "meta": {"content_length": 5}}) == []


def test_no_entries() -> None:
    """A manifest without entries is no delivery unless that is declared."""
    assert refused({"entries": []}) == [("empty", "entries")]
    assert manifest({"entries": []}, allow_empty="true").manifest.counts()["files"] == 0
    assert refused({"entries": []}, allow_empty="false") == [("empty", "entries")]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", ("empty", "document")),
        (b"null", ("wrong type", "document")),
        (b"[]", ("wrong type", "document")),
        (b"{}", ("missing key", "entries")),
        (b'{"entries": {}}', ("wrong type", "entries")),
        (b'{"entries": [', ("syntax", "line 1, column 14")),
        (VALID[:-1] + b', "entries": []}', ("repeated key", "entries")),
    ],
)
def test_no_manifests(data: bytes, problem: tuple[str, str]) -> None:
    """Other documents are refused with the place."""
    assert problem in refused(data)


def test_too_many_entries() -> None:
    """A manifest has a bounded number of entries."""
    data = b'{"entries": [' + b",".join([b"0"] * (MAX_FILES + 1)) + b"]}"
    assert refused(data) == [("too large", "entries")]


def test_the_marker_has_to_be_there() -> None:
    """Without its document there is nothing to read."""
    assert problems_of("redshift", {}, uri=URI, declared=DECLARED) == [("missing", "manifest")]


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ({"allow": "bucket/out/"}, "s3://bucket/prefix/"),
        ({"allow": "s3://bucket/../x/"}, "no place"),
        ({"allow": "s3://bucket//"}, "no place"),
        ({"allow": " "}, "1 to 64 places"),
        ({"allow": "s3://b-1/ " * 65}, "1 to 64 places"),
        ({"header_rows": "-1"}, "whole number"),
        ({"data_delimiter": "||"}, "one ASCII mark"),
        ({"data_delimiter": "x"}, "one ASCII mark"),
        ({"media_type": "text\n"}, "text/csv"),
        ({"allow_empty": "True"}, "true, false"),
        ({"trailer_rows": "1"}, "is not known"),
    ],
)
def test_declarations_that_cannot_be_meant(declared: dict[str, str], text: str) -> None:
    """A declaration that could never be read with is refused when the Dag is parsed."""
    with pytest.raises(InvalidDeclaration, match=text):
        format_of("redshift").check({**DECLARED, **declared})


def test_the_places_have_to_be_declared() -> None:
    """Without an allow-list nothing is read; the refusal holds a right declaration."""
    with pytest.raises(InvalidDeclaration, match="declare allow too") as caught:
        format_of("redshift").check(ABOUT)
    format_of("redshift").check(ast.literal_eval(str(caught.value).partition("such as ")[2]))


def test_templates_are_checked_when_they_are_rendered() -> None:
    """A place that is none once rendered is a problem of the marker, not an error."""
    format_of("redshift").check({**DECLARED, "allow": "s3://{{ var.value.bucket }}/"})
    declared = {**DECLARED, "allow": "s3:///", "uri": URI}
    with pytest.raises(UnreadableMarker, match="places"):
        format_of("redshift").read({"manifest": VALID}, [], declared)


@given(st.binary(max_size=200) | st.text('{}[]",:\\ entriesurl', max_size=60).map(str.encode))
@settings(max_examples=300, deadline=None)
def test_any_bytes(data: bytes) -> None:
    """Arbitrary bytes are no manifest, and never another error."""
    assert try_read("redshift", {"manifest": data}, uri=URI, declared=DECLARED) is None


@given(st.lists(st.tuples(st.integers(0, len(VALID) - 1), st.integers(0, 255)), min_size=1, max_size=4))
@settings(max_examples=400, deadline=None)
def test_flipped_bytes(changes: list[tuple[int, int]]) -> None:
    """A damaged manifest is another one below the same place, or refused."""
    data = bytearray(VALID)
    for position, byte in changes:
        data[position] = byte
    marker = try_read("redshift", {"manifest": bytes(data)}, uri=URI, declared=DECLARED)
    assert marker is None or all(
        (file.url or "").startswith(DECLARED["allow"]) for file in marker.manifest.files
    )


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.just("s3://bucket/out/x"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["url", "meta", "content_length", "mandatory", "x"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(st.fixed_dictionaries({}, optional={"entries": st.lists(values) | values, "meta": values}))
@settings(max_examples=300, deadline=None)
def test_any_json(document: dict[str, Any]) -> None:
    """Whatever the values: a marker below the declared place, or a fit report."""
    data = json.dumps(document).encode()
    marker = try_read("redshift", {"manifest": data}, uri=URI, declared=DECLARED)
    assert marker is None or {file.url for file in marker.manifest.files} == {"s3://bucket/out/x"}
