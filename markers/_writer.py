"""Writes a marker document, version ``landmark/1``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from ._errors import UnreadableMarker
from ._identity import identity_of_document
from ._manifest import FileEntry
from ._marker import SPEC, Marker
from ._problems import show
from ._reader import read_marker
from ._report import Report

__all__ = ["write_marker"]


def write_marker(marker: Marker, *, name: str | None = None) -> bytes:
    """The document that ``read_marker`` reads back as this marker, its identity apart.

    UTF-8, keys in a fixed order, one file a line, totals always given, a newline at the end.

    :param name: the file name it will get, relative to the delivery's folder; a file of this name is
        refused. ``None`` leaves this check out.
    :raises UnreadableMarker: with all problems, when it would not be read back, or not as the same.
    """
    try:
        data = _encode(marker)
    except (TypeError, ValueError, RecursionError) as error:
        # What JSON has no form for: sets, bytes, loops, numbers too long to be spelled out.
        raise _refusal("marker", found=show(str(error), limit=120), data=b"") from None
    back = read_marker(data, name=name)
    for place, given, kept in _differences(marker, back):
        if given != kept:
            raise _refusal(place, found=f"{show(given)}, which reads back as {show(kept)}", data=data)
    return data


def _encode(marker: Marker) -> bytes:
    head = _present(
        spec=SPEC,
        dataset=marker.dataset,
        interval=marker.interval.to_json() | _present(timezone=marker.timezone, label=marker.label),
        version=marker.version,
        status=marker.status,
        created_at=marker.created_at,
        producer=marker.producer,
        totals=_present(**marker.manifest.counts()),
    )
    members = [f"{_dump(key)}: {_dump(value)}" for key, value in head.items()]
    files = ",\n    ".join(_dump(_entry(entry)) for entry in marker.manifest.files)
    members.append(f'"files": [\n    {files}\n  ]' if files else '"files": []')
    if marker.extensions:
        members.append(f'"extensions": {_dump(marker.extensions, sort_keys=True)}')
    text = "{\n  " + ",\n  ".join(members) + "\n}\n"
    # In a JSON text, Python's escape of a lone surrogate is JSON's own: the reader then names its place.
    return text.encode("utf-8", "backslashreplace")


def _entry(entry: FileEntry) -> dict[str, Any]:
    return _present(
        path=entry.path,
        size=entry.size,
        digests=dict(sorted(entry.digests.items())),
        rows=entry.rows,
        header_rows=entry.header_rows or None,
        media_type=entry.media_type,
        content_encoding=entry.content_encoding,
    )


def _present(**members: Any) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}


def _dump(value: Any, *, sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=sort_keys)


def _differences(marker: Marker, back: Marker) -> Iterator[tuple[str, Any, Any]]:
    back = replace(back, identity=marker.identity)
    for index, (given, kept) in enumerate(zip(marker.manifest.files, back.manifest.files, strict=True)):
        if given != kept:
            yield f"files[{index}]", given, kept
    for field in fields(Marker):
        yield field.name, getattr(marker, field.name), getattr(back, field.name)


def _refusal(place: str, *, found: str, data: bytes) -> UnreadableMarker:
    report = Report()
    report.add("not kept", place=place, expected="what a document can hold unchanged", found=found)
    identity = identity_of_document(data)
    return UnreadableMarker(report.problems, total=report.total, identity=identity, size=len(data))
