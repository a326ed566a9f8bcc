"""How what was announced is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._exits import Exit
from ._print import banner, counted, facts, hanging, safe

if TYPE_CHECKING:
    from airflow_landmark.deliveries import Announced

__all__ = ["announced_document", "announced_lines"]

_MAX_NAMED = 20


def announced_document(announced: Announced) -> dict[str, Any]:
    """Plain JSON."""
    stamp, marker = announced.stamp, announced.marker
    return {
        "ok": True,
        "dataset": stamp.dataset,
        "interval": stamp.interval.to_json(),
        "version": stamp.version,
        "status": marker.status,
        "marker": {
            "uri": stamp.uri,
            "sha256": stamp.sha256,
            "size": stamp.size,
            "pin": stamp.pin.to_json(),
        },
        "manifest": marker.manifest.counts(),
        "not_counted": dict(announced.not_counted),
        "uploaded": announced.uploaded,
    }


def announced_lines(announced: Announced, *, word: str, rows: bool) -> Iterator[str]:
    """For people.

    :param word: what was done.
    :param rows: whether rows are of interest.
    """
    stamp, marker, missed = announced.stamp, announced.marker, announced.not_counted
    yield banner(Exit.YES, word, f"version {stamp.version} of {stamp.dataset}")
    files = f"{counted(stamp.files, 'file')}, {counted(stamp.size_bytes or 0, 'byte')}"
    zone = f" ({marker.timezone})" if marker.timezone else ""
    yield from facts(
        ("marker", stamp.uri),
        ("sha256", stamp.sha256),
        ("interval", f"{stamp.interval}{zone}"),
        ("files", None if marker.status == "withdrawn" else files),
        ("uploaded", counted(announced.uploaded, "file") if announced.uploaded else None),
        ("rows", _rows(announced) if rows else None),
    )
    for path, reason in list(missed.items())[:_MAX_NAMED]:
        yield f"  not counted: {safe(path)}"
        yield from hanging(safe(reason), indent=4)
    if len(missed) > _MAX_NAMED:
        yield f"  and {counted(len(missed) - _MAX_NAMED, 'file')} more not counted"


def _rows(announced: Announced) -> str | None:
    entries = announced.marker.manifest.files
    known = [entry.rows for entry in entries if entry.rows is not None]
    if not known and not announced.not_counted and entries:
        return None
    text = f"{sum(known):,}"
    return f"{text} in {counted(len(known), 'file')}" if len(known) < len(entries) else text
