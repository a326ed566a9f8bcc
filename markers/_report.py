"""Collects the problems of one document, with the place of each."""

from __future__ import annotations

import re

from ._problems import MAX_PROBLEMS, Problem, show

__all__ = ["Report", "below", "bounded"]

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}", re.ASCII)
_MAX_PLACE = 200


class Report:
    """Every problem is counted; the first ``MAX_PROBLEMS`` are kept.

    :ivar problems: the kept ones, in the order of finding.
    :ivar total: how many were found.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.total = 0

    def add(self, kind: str, *, place: str, key: str | int | None = None, expected: str, found: str) -> None:
        """Take one problem in.

        :param place: where it is, or where the object or list is that holds it under ``key``.
        :param found: printable ASCII.
        """
        self.total += 1
        if len(self.problems) < MAX_PROBLEMS:
            where = place if key is None else below(place, key)
            self.problems.append(Problem(kind, bounded(where), expected, bounded(found)))


def below(place: str, key: str | int) -> str:
    """The place of a member or an element: ``files[3]``, ``extensions.a``, ``extensions['two words']``."""
    if isinstance(key, int):
        return f"{place}[{key}]"
    if not _PLAIN_KEY.fullmatch(key):
        return f"{place}[{show(key, limit=40)}]"
    return f"{place}.{key}" if place else key


def bounded(text: str) -> str:
    """The text, its middle left out when it is long."""
    if len(text) <= _MAX_PLACE:
        return text
    half = _MAX_PLACE // 2 - 2
    return f"{text[:half]}...{text[-half:]}"
