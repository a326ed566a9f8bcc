"""Entries and events of a ledger, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ._print import hanging, safe

if TYPE_CHECKING:
    from airflow_landmark.deliveries import Entry, Held

__all__ = ["entries_counted", "entry_lines", "held_text"]


def entries_counted(number: int) -> str:
    """``1 entry``, ``1,204 entries``."""
    return "1 entry" if number == 1 else f"{number:,} entries"


def entry_lines(entry: Entry) -> Iterator[str]:
    """An entry: what it is of, what was taken, what is claimed."""
    yield f"{safe(entry.dataset)}  {entry.interval}"
    for word, held in (("taken", entry.taken), ("claimed", entry.claim)):
        if held is not None:
            yield from _hung(word, held_text(held))


def held_text(held: Held) -> str:
    """``version 3 by OWNER since 2024-10-02T06:12:00Z``."""
    return safe(f"version {held.version} by {held.owner} since {held.at:%Y-%m-%dT%H:%M:%SZ}")


def _hung(word: str, text: str) -> Iterator[str]:
    first, *rest = hanging(text, indent=13)
    yield f"  {word:<10} {first.strip()}"
    yield from rest
