"""Announced is not complete: are the manifest's files there, in full length? Facts only, no content."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_landmark.markers import FileEntry, Marker, Problem
from airflow_landmark.stores import Absent, Address, Archived, Facts, Refused, Store, StoreError

from ._place import facts_of

__all__ = ["MAX_CHECKED_WHILE_WAITING", "Presence", "check_presence", "presence_problem"]

MAX_CHECKED_WHILE_WAITING = 10_000
"""Manifests with more files are left to the worker."""


@dataclass(frozen=True, slots=True)
class Presence:
    """Which files are not there yet.

    :param files: how many the manifest lists.
    :param problems: one for each file that is missing, short, archived or of a kind that is never opened.
    """

    files: int
    problems: tuple[Problem, ...]

    @property
    def text(self) -> str:
        """For people: the count and the first names."""
        names = ", ".join(f"{p.place} ({p.kind}, {p.found})" for p in self.problems[:3])
        return f"{len(self.problems)} of {self.files} files not complete: {names}"


async def check_presence(store: Store, address: Address, marker: Marker) -> Presence:
    """Look at presence and size of every file of the manifest.

    :param address: the marker's; files lie in its folder.
    :raises StoreError: when the store fails; an absent file is a result, not an error.
    """
    entries = marker.manifest.files
    facts = await facts_of(store, address, entries)
    problems = [
        problem for entry in entries if (problem := presence_problem(entry, facts[entry.path])) is not None
    ]
    return Presence(len(entries), tuple(problems))


def presence_problem(entry: FileEntry, facts: Facts | StoreError) -> Problem | None:
    """The problem of one file, judged by its facts.

    :raises StoreError: for trouble that says nothing of the file.
    """
    expected = "a file" if entry.size is None else f"{entry.size} bytes"
    if isinstance(facts, Absent):
        return Problem("missing", entry.path, expected, "nothing")
    if isinstance(facts, Refused):
        return Problem("refused", entry.path, "a regular file in the delivery's folder", facts.reason)
    if isinstance(facts, Archived):
        return Problem("archived", entry.path, "an object that can be read", facts.reason)
    if isinstance(facts, StoreError):
        raise facts
    if entry.size is None or facts.size == entry.size:
        return None
    kind = "incomplete" if facts.size < entry.size else "corrupt"
    return Problem(kind, entry.path, expected, f"{facts.size} bytes")
