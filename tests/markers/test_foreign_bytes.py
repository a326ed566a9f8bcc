"""Whatever the bytes: a marker of a foreign format, or one kind of error with a fit report."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Mapping
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.markers import MAX_DOCUMENT_BYTES, Listed, Marker
from foreign import ABOUT, CORPORA, try_read

A = "ab" * 32
MARKER = {
    "spec": "landmark/1",
    "dataset": "shop/orders",
    "interval": {"start": "2024-10-01T00:00:00Z", "end": "2024-10-02T00:00:00Z"},
    "version": 3,
    "files": [{"path": "a", "size": 1, "digests": {"sha256": A}}],
}
EVENT = {"specversion": "1.0", "id": "1", "source": "/x", "type": "y", "time": "2024-10-02T00:00:00Z"}
ENCODED = base64.b64encode(json.dumps(MARKER).encode()).decode()


class Sample(NamedTuple):
    """A good marker of a format."""

    format: str
    documents: Mapping[str, bytes]
    declared: Mapping[str, str]
    listing: tuple[Listed, ...] = ()


def bag() -> Sample:
    """A bag with every kind of document, from published ones."""
    folder = CORPORA / "bagit" / "loc-conformance" / "v0.97" / "valid" / "holey-bag"
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    listing = tuple((path.relative_to(folder).as_posix(), path.stat().st_size, "x") for path in files)
    documents = {path.name: path.read_bytes() for path in files if path.parent == folder}
    return Sample("bagit", documents, {**ABOUT, "dataset": "{/External-Identifier}"}, listing)


def wacz() -> Sample:
    """A published package with its digest document."""
    folder = CORPORA / "datapackage" / "wacz-valid_example_2"
    names = ("datapackage.json", "datapackage-digest.json")
    return Sample(
        "datapackage", {name: (folder / name).read_bytes() for name in names}, {**ABOUT, "complete": "digest"}
    )


WHOLE = {**ABOUT, "algorithm": "sha256", "complete": "rename"}
SUMS = f"""# day 2024-10-01
{A}  a b.csv
\\{A} *c.csv\r
SHA256 (d) = {A}
SIZE (d) = 7
SHA2-256(e)= {A}
""".encode()
SAMPLES = {
    "sums": Sample(
        "sums",
        {"SUMS": SUMS},
        {**WHOLE, "line": "day (?P<day>.*)", "interval": "{day}"},
    ),
    "bagit": bag(),
    "datapackage": wacz(),
    "cloudevents": Sample("cloudevents", {"e.json": json.dumps({**EVENT, "data": MARKER}).encode()}, {}),
    "cloudevents-base64": Sample(
        "cloudevents",
        {"e.json": json.dumps({**EVENT, "data_base64": ENCODED}).encode()},
        {},
    ),
}  # fmt: skip

PIECES = (b"", b"\0", b"\r", b"\n", b"\xff", b"../", b"\\", b"%0a", b"{", b'"', b" ")

samples = pytest.mark.parametrize("name", SAMPLES)


def attempt(sample: Sample, documents: Mapping[str, bytes]) -> Marker | None:
    """Read the documents as those of the sample are."""
    first = next(iter(sample.documents))
    uri = f"/in/{'bagit.txt' if sample.format == 'bagit' else first}"
    return try_read(sample.format, documents, uri=uri, listing=sample.listing, declared=sample.declared)


@samples
def test_the_samples_are_good(name: str) -> None:
    """The samples that are damaged below are markers."""
    marker = attempt(SAMPLES[name], SAMPLES[name].documents)
    assert marker is not None
    assert marker.manifest.files


@samples
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_any_bytes(name: str, data: st.DataObject) -> None:
    """Arbitrary bytes in place of any document are refused by the one error."""
    sample = SAMPLES[name]
    chosen = data.draw(st.sampled_from(sorted(sample.documents)))
    attempt(sample, {**sample.documents, chosen: data.draw(st.binary(max_size=80))})


@samples
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_documents(name: str, data: st.DataObject) -> None:
    """Bytes flipped, cut out or doubled give another marker or the one error."""
    sample = SAMPLES[name]
    chosen = data.draw(st.sampled_from(sorted(sample.documents)))
    whole = bytearray(sample.documents[chosen])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(0, len(whole) - 1)))
        piece = data.draw(st.sampled_from(PIECES))
        whole[at : at + data.draw(st.integers(0, 3))] = piece
    attempt(sample, {**sample.documents, chosen: bytes(whole)})


@samples
def test_cut_documents(name: str) -> None:
    """Each document cut at any length, or left out, gives another marker or the one error."""
    sample = SAMPLES[name]
    source = random.Random(7)
    for chosen, whole in sample.documents.items():
        attempt(sample, {other: data for other, data in sample.documents.items() if other != chosen})
        for size in source.sample(range(len(whole)), min(60, len(whole))):
            attempt(sample, {**sample.documents, chosen: whole[:size]})


@samples
def test_too_large_documents(name: str) -> None:
    """A document beyond the limit is refused before it is read."""
    sample = SAMPLES[name]
    chosen = next(iter(sample.documents))
    assert attempt(sample, {**sample.documents, chosen: bytes(MAX_DOCUMENT_BYTES + 1)}) is None


@samples
def test_too_many_documents(name: str) -> None:
    """More than 64 documents are refused."""
    sample = SAMPLES[name]
    more = {f"manifest-{n}.txt": b"" for n in range(64)}
    assert attempt(sample, {**sample.documents, **more}) is None


@samples
def test_no_documents(name: str) -> None:
    """Without any document there is no marker."""
    assert attempt(SAMPLES[name], {}) is None


@pytest.mark.parametrize(
    "line",
    [
        "SHA256 (" + ")=x" * 900 + " ",
        "a " * 2000,
        "ab " * 1300 + "\0",
        "\\" * 4000,
        f"{A}  " + "\\n" * 2000,
        "(" * 4000,
    ],
)  # fmt: skip
def test_lines_made_to_take_long(line: str) -> None:
    """Lines that would lead a pattern astray are one problem each, and many of them too."""
    sample = SAMPLES["sums"]
    assert attempt(sample, {"SUMS": SUMS + f"{line}\n".encode() * 500}) is None


def test_long_lines_of_a_bag() -> None:
    """A tag file that is one line of a megabyte is refused as fast."""
    sample = SAMPLES["bagit"]
    for text in (b"a" * 2**20, b"a " * 2**19, b" " * 2**20 + b"x", b"a:" * 2**19, b"%" * 2**20):
        for name in sample.documents:
            attempt(sample, {**sample.documents, name: b"x " + text})
