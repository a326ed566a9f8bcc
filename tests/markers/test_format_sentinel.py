"""Sentinels: the delivery is what lies beside them."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.markers import (
    FileEntry,
    InvalidDeclaration,
    Listed,
    UnreadableMarker,
    format_of,
    identity_of_listing,
)
from foreign import ABOUT, problems_of, read, try_read

URI = "/in/dt=2024-10-01/_SUCCESS"
SENTINEL: Listed = ("_SUCCESS", 0, "s1")
PARTS: list[Listed] = [("part-0.parquet", 7, "p0"), ("x=1/part-1.parquet", 0, "p1")]
NOISE: list[Listed] = [
    ("_temporary/0/part-9", 3, "n"),
    (".part-0.parquet.crc", 8, "n"),
    ("part-2._COPYING_", 1, "n"),
    ("x=1/_started_1", 0, "n"),
    ("sub/", 0, "n"),
]
PATH = r"/dt=(?P<day>[0-9-]+)/_SUCCESS$"


def sentinel(body: bytes = b"", listing: list[Listed] | None = None, **declared: str) -> Any:
    """What is made of a sentinel, by default with two files and names that do not count."""
    there = [*NOISE, SENTINEL, *PARTS] if listing is None else listing
    return read("sentinel", {"_SUCCESS": body}, uri=URI, listing=there, declared={**ABOUT, **declared})


def refused(body: bytes = b"", listing: list[Listed] | None = None, **declared: str) -> list[tuple[str, str]]:
    """(kind, place) of what is wrong with it."""
    there = [SENTINEL, *PARTS] if listing is None else listing
    return problems_of("sentinel", {"_SUCCESS": body}, uri=URI, listing=there, declared={**ABOUT, **declared})


def test_what_lies_there_is_the_delivery() -> None:
    """Every file counts with its size, but the sentinel, hidden and temporary names and folders."""
    assert sentinel().manifest.files == (FileEntry("part-0.parquet", 7), FileEntry("x=1/part-1.parquet", 0))


def test_where_the_subject_comes_from() -> None:
    """Dataset, interval and version are declared: constants, and groups of the address."""
    marker = sentinel(path=PATH, interval="{day}")
    assert (marker.dataset, marker.version) == ("shop/orders", 3)
    assert str(marker.interval) == "2024-10-01T00:00:00Z/2024-10-02T00:00:00Z"


def test_identity_is_what_was_listed() -> None:
    """The identity covers the counted files and the sentinel: another state of any is another sighting."""
    first = sentinel()
    assert first.identity == identity_of_listing([SENTINEL, *PARTS])
    assert sentinel(listing=[*reversed(PARTS), SENTINEL]).identity == first.identity
    changed = [
        [("_SUCCESS", 0, "s2"), *PARTS],
        [SENTINEL, PARTS[0], ("x=1/part-1.parquet", 0, "p2")],
        [SENTINEL, PARTS[0], ("x=1/part-1.parquet", 1, "p1")],
        [SENTINEL, *PARTS, ("part-3", 0, "p3")],
    ]
    identities = {sentinel(listing=list(listing)).identity for listing in changed}
    assert len(identities | {first.identity}) == 5


def test_a_sentinel_that_is_not_listed_counts_by_its_bytes() -> None:
    """A listing from before the sentinel lacks it; its bytes then stand for its state."""
    assert sentinel(b"a", PARTS).identity != sentinel(b"b", PARTS).identity


def test_the_refusal_changes_with_the_listing() -> None:
    """A sentinel that is refused has another identity once files came: it is not the same bad state."""

    def identity(listing: list[Listed]) -> str:
        with pytest.raises(UnreadableMarker) as caught:
            sentinel(b'{"success": false}', listing)
        return caught.value.identity

    assert identity([SENTINEL]) != identity([SENTINEL, *PARTS])


def test_declared_patterns() -> None:
    """With patterns only the files that match one count, and each has to match."""
    files = sentinel(files="*.parquet x=*/*").manifest.files
    assert [file.path for file in files] == ["part-0.parquet", "x=1/part-1.parquet"]
    assert [file.path for file in sentinel(files="_temporary/**").manifest.files] == ["_temporary/0/part-9"]
    assert refused(files="*.parquet *.csv *.json") == [("empty", "files"), ("empty", "files")]


def test_no_files() -> None:
    """A sentinel alone is no delivery unless that is declared."""
    assert refused(listing=[SENTINEL]) == [("empty", "files")]
    assert refused(listing=[SENTINEL, *NOISE]) == [("empty", "files")]
    assert refused(files="*.csv") == [("empty", "files")]
    for declared in ({}, {"files": "*.csv"}):
        marker = sentinel(listing=[SENTINEL], allow_empty="true", **declared)
        assert marker.manifest.counts() == {"files": 0, "bytes": 0, "rows": 0}


@pytest.mark.parametrize("body", [b"", b" \r\n", b"done at noon\n", b"[1", b"\xff\xfe\x00", b"true", b'"x"'])
def test_bodies_that_do_not_matter(body: bytes) -> None:
    """A body that is no JSON object is passed over."""
    assert len(sentinel(body).manifest.files) == 2


@pytest.mark.parametrize(
    "body", [b"{}", b'{"success": true}', b'\xef\xbb\xbf\r\n {"success": true, "n": 1}\n']
)
def test_bodies_that_tell_of_success(body: bytes) -> None:
    """JSON counts unless it tells of failure."""
    assert len(sentinel(body).manifest.files) == 2


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b'{"success": false}', ("no success", "success")),
        (b'{"success": "true"}', ("no success", "success")),
        (b'{"success": 1}', ("no success", "success")),
        (b'{"success": null}', ("no success", "success")),
        (b'{"success": true, "success": false}', ("repeated key", "success")),
        (b'{"a": NaN}', ("refused number", "a")),
        (b'{"success": tr', ("syntax", "line 1, column 13")),
    ],
)
def test_bodies_that_do_not_tell_of_success(body: bytes, problem: tuple[str, str]) -> None:
    """An object has to be strict JSON, and its success true."""
    assert refused(body) == [problem]


def test_declared_success() -> None:
    """A declared field has to hold the declared text."""
    declared = {"success": "/run/status=ok"}
    assert len(sentinel(b'{"run": {"status": "ok"}}', **declared).manifest.files) == 2
    for body in (b'{"run": {"status": "no"}}', b'{"run": {}}', b"", b"ok"):
        assert refused(body, **declared) == [("no success", "/run/status")]
    body = b'{"run": {"status": "ok"}, "success": false}'
    assert refused(body, **declared) == [("no success", "success")]


def test_fields_and_lines_of_the_body() -> None:
    """Fields of a JSON body and groups of a line fill placeholders."""
    assert sentinel(b'{"run": {"v": 12}}', version="{/run/v}").version == 12
    assert sentinel(b"x\nversion 5\n", line=r"^version (?P<v>\d+)", version="{v}").version == 5
    assert refused(b"{}", version="{/run/v}") == [("undeclared", "version")]
    assert refused(b"\xff", line="(?P<v>.)", version="{v}") == [("encoding", "line 1, column 1")]


def test_names_in_the_listing_are_hostile() -> None:
    """A listed name that is no path, or is another one's in other case, is refused with its place."""
    listing = [SENTINEL, ("a\\b", 1, ""), ("A.csv", 1, ""), ("a.csv", 1, ""), ("c//d", 1, "")]
    assert refused(listing=listing) == [
        ("repeated path", "a.csv"),
        ("invalid path", "a\\\\b"),
        ("invalid path", "c//d"),
    ]


def test_all_problems_at_once() -> None:
    """Body, files and listing are reported together."""
    kinds = [kind for kind, _ in refused(b'{"success": false}', [SENTINEL, ("a\tb", 1, "")])]
    assert kinds == ["no success", "invalid path"]


def test_an_address_on_http_is_decoded_once() -> None:
    """The sentinel's own name is known by the name that its folder lists."""
    form = format_of("sentinel")
    uri = "https://host/in/all%20done.ok"
    assert list(form.documents(uri, [], ABOUT)) == ["all done.ok"]
    listing = [("all done.ok", 0, ""), ("a", 1, "")]
    marker = form.read({"all done.ok": b""}, listing, {**ABOUT, "uri": uri})
    assert [file.path for file in marker.manifest.files] == ["a"]


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ({"files": "../x"}, "relative path"),
        ({"files": " "}, "at least one pattern"),
        ({"allow_empty": "yes"}, "true, false"),
        ({"success": "status=ok"}, "/status=ok"),
        ({"success": "/status"}, "/status=ok"),
        ({"pattern": "*"}, "is not known"),
        ({"version": ""}, "must be text"),
    ],
)
def test_declarations_that_cannot_be_meant(declared: dict[str, str], text: str) -> None:
    """A declaration that could never be read with is refused when the Dag is parsed."""
    with pytest.raises(InvalidDeclaration, match=text):
        format_of("sentinel").check({**ABOUT, **declared})


def test_what_is_missing_is_told_with_an_example() -> None:
    """The text of a refusal holds a declaration that would be right."""
    with pytest.raises(InvalidDeclaration) as caught:
        format_of("sentinel").check({})
    assert "dataset and interval and version" in str(caught.value)
    format_of("sentinel").check(ast.literal_eval(str(caught.value).partition("such as ")[2]))


def test_templates_are_checked_when_they_are_rendered() -> None:
    """A pattern that becomes none when it is rendered is a problem of the marker, not an error."""
    format_of("sentinel").check({**ABOUT, "files": "{{ ds }}/*.csv"})
    declared = {**ABOUT, "files": "/abs/*", "uri": URI}
    with pytest.raises(UnreadableMarker, match="shell patterns"):
        format_of("sentinel").read({"_SUCCESS": b""}, [SENTINEL, *PARTS], declared)


names = st.text(st.characters(exclude_categories=()), min_size=1, max_size=12)
listings = st.lists(st.tuples(names, st.integers(0, 2**60), st.text(max_size=3)), max_size=6)


@given(st.binary(max_size=60) | st.binary(max_size=60).map(lambda data: b"{" + data), listings)
@settings(max_examples=400, deadline=None)
def test_any_bytes_and_names(body: bytes, listing: list[Listed]) -> None:
    """Whatever lies there: a marker of what is listed, or a fit report."""
    marker = try_read("sentinel", {"_SUCCESS": body}, uri=URI, listing=[SENTINEL, *listing])
    if marker is not None:
        assert {file.path for file in marker.manifest.files} <= {name for name, _, _ in listing}
