"""Markers of foreign formats, read without a store: documents, listing and declaration in, verdict out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from airflow_landmark.markers import MAX_PROBLEMS, Listed, Marker, UnreadableMarker, format_of

__all__ = ["ABOUT", "CORPORA", "check_report", "hold", "problems_of", "read", "read_folder", "try_read"]

CORPORA = Path(__file__).parents[1] / "markers" / "corpora"
ABOUT = {"dataset": "shop/orders", "interval": "2024-10-01", "timezone": "UTC", "version": "3"}
"""What every declaration has to tell, as constants."""


def read(
    name: str,
    documents: Mapping[str, bytes],
    *,
    uri: str,
    listing: Sequence[Listed] = (),
    declared: Mapping[str, str] | None = None,
) -> Marker:
    """What a format makes of documents."""
    declared = ABOUT if declared is None else declared
    form = format_of(name)
    form.check(declared)
    return form.read(documents, listing, {**declared, "uri": uri})


def problems_of(
    name: str,
    documents: Mapping[str, bytes],
    *,
    uri: str,
    listing: Sequence[Listed] = (),
    declared: Mapping[str, str] | None = None,
) -> list[tuple[str, str]]:
    """(kind, place) of each problem of documents that are no marker; none when they are one."""
    try:
        read(name, documents, uri=uri, listing=listing, declared=declared)
    except UnreadableMarker as error:
        check_report(error, documents)
        return [(problem.kind, problem.place) for problem in error.problems]
    return []


def try_read(
    name: str,
    documents: Mapping[str, bytes],
    *,
    uri: str,
    listing: Sequence[Listed] = (),
    declared: Mapping[str, str] | None = None,
) -> Marker | None:
    """The marker, or ``None`` after a look at the report on what is none."""
    try:
        return read(name, documents, uri=uri, listing=listing, declared=declared)
    except UnreadableMarker as error:
        check_report(error, documents)
        return None


def check_report(error: UnreadableMarker, documents: Mapping[str, bytes]) -> None:
    """A report is bounded, printable ASCII, and names what it counted."""
    assert error.size == sum(map(len, documents.values()))
    assert 1 <= len(error.problems) <= MAX_PROBLEMS
    assert error.total >= len(error.problems)
    assert len(error.identity) == 64
    for problem in error.problems:
        for text in problem.to_json().values():
            assert text
            assert text.isascii()
            assert text.isprintable()
            assert len(text) <= 300


def read_folder(name: str, marker: Path, *, declared: Mapping[str, str] | None = None) -> Marker:
    """What a format makes of a marker on disk and what lies beside it."""
    declared = ABOUT if declared is None else declared
    folder = marker.parent
    listing = [
        (path.relative_to(folder).as_posix(), path.stat().st_size, "x")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    form = format_of(name)
    names = form.documents(str(marker), [entry[0] for entry in listing], declared)
    documents = {name: (folder / name).read_bytes() for name in names if (folder / name).is_file()}
    return read(name, documents, uri=str(marker), listing=listing, declared=declared)


def hold(folder: Path, marker: Marker) -> list[str]:
    """What is wrong with the files of a folder, by the manifest: every digest of each is computed."""
    wrong = []
    for entry in marker.manifest.files:
        path = folder / entry.path
        if not path.is_file():
            wrong.append(f"missing {entry.path}")
            continue
        data = path.read_bytes()
        if entry.size not in (None, len(data)):
            wrong.append(f"size {entry.path}")
        wrong += [
            f"{algorithm} {entry.path}"
            for algorithm, digest in entry.digests.items()
            if hashlib.new(algorithm, data).hexdigest() != digest
        ]
    return wrong
