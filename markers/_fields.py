"""Reads the fields of one JSON object; what is wrong is reported with its place."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

from ._errors import InvalidInterval
from ._interval import parse_instant
from ._json import MAX_NUMBER, RefusedNumber, load_json, members_of
from ._problems import show
from ._report import Report, below

__all__ = ["MAX_TEXT", "Fields", "check_extensions"]

MAX_TEXT = 200
"""The longest informative text, in characters."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_POISON = re.compile("[\x00\ud800-\udfff]")
_UNPOISONED = "keys and texts without NUL and lone surrogates"


class Fields:
    """One JSON object. Every getter returns ``None`` when the field is absent, or wrong and reported.

    :param raw: the parsed object.
    :param place: where it stands in the document; empty at the top.
    """

    __slots__ = ("place", "raw", "report")

    def __init__(self, raw: dict[str, Any], *, place: str, report: Report) -> None:
        self.raw = raw
        self.place = place
        self.report = report

    @classmethod
    def of(cls, value: Any, *, place: str, report: Report) -> Fields | None:
        """The fields of a value that must be an object."""
        if isinstance(value, dict):
            return cls(value, place=place, report=report)
        if not isinstance(value, RefusedNumber):  # reported by the parser
            found = show(value)
            report.add("wrong type", place=place or "document", expected="an object", found=found)
        return None

    @classmethod
    def load(cls, data: bytes, *, report: Report) -> Fields | None:
        """The fields of a JSON document, which must be the first that the report is on."""
        document = load_json(data, report=report)
        # A repeated key or a refused number leaves a document that can still be looked through.
        if document is None and report.total:
            return None
        return cls.of(document, place="", report=report)

    def check_keys(self, *, required: AbstractSet[str], known: AbstractSet[str]) -> None:
        """Report keys that are missing and keys that nobody knows."""
        keys = self.raw.keys()
        if not required <= keys:
            for key in sorted(required - keys):
                self.refuse(key, kind="missing key", expected="this key", found="none")
        if not keys <= known:
            expected = f"one of {', '.join(sorted(known))}"
            for key in self.raw:
                if key not in known:
                    self.refuse(key, kind="unknown key", expected=expected, found="another key")

    def inner(self, key: str) -> Fields | None:
        """The object under a key."""
        if key not in self.raw:
            return None
        return Fields.of(self.raw[key], place=below(self.place, key), report=self.report)

    def items(self, key: str) -> list[Any] | None:
        """The list under a key."""
        value = self.raw.get(key)
        if isinstance(value, list):
            return value
        if key in self.raw:
            self._refuse(key, kind="wrong type", expected="a list")
        return None

    def whole(self, key: str, *, least: int = 0, most: int = MAX_NUMBER) -> int | None:
        """A whole number from ``least`` to ``most``."""
        value = self.raw.get(key)
        if type(value) is int and least <= value <= most:  # bool is an int by inheritance
            return value
        if value is not None or key in self.raw:
            expected = f"a whole number from {least} to {most}"
            self._refuse(key, kind="out of range" if type(value) is int else "wrong type", expected=expected)
        return None

    def text(self, key: str) -> str | None:
        """A text of any content."""
        value = self.raw.get(key)
        if isinstance(value, str):
            return value
        if value is not None or key in self.raw:
            self._refuse(key, kind="wrong type", expected="text")
        return None

    def line(self, key: str) -> str | None:
        """A text of 1 to ``MAX_TEXT`` characters, none of them a control character or half a pair."""
        value = self.text(key)
        if value is None or (0 < len(value) <= MAX_TEXT and not _CONTROL.search(value)):
            return value
        expected = f"1 to {MAX_TEXT} characters without control characters"
        self._refuse(key, kind="invalid text", expected=expected)
        return None

    def matching(self, key: str, *, pattern: re.Pattern[str], expected: str) -> str | None:
        """A text that matches a pattern as a whole."""
        value = self.text(key)
        if value is None or pattern.fullmatch(value):
            return value
        self._refuse(key, kind="invalid text", expected=expected)
        return None

    def instant(self, key: str) -> datetime | None:
        """An RFC 3339 instant."""
        value = self.text(key)
        if value is None:
            return None
        try:
            return parse_instant(value)
        except InvalidInterval:
            expected = "an RFC 3339 instant with Z or an offset, such as 2024-10-01T00:00:00Z"
            self._refuse(key, kind="invalid instant", expected=expected)
            return None

    def refuse(self, key: str, *, kind: str, expected: str, found: str) -> None:
        """Report a problem of one field."""
        self.report.add(kind, place=self.place, key=key, expected=expected, found=found)

    def _refuse(self, key: str, *, kind: str, expected: str) -> None:
        value = self.raw[key]
        if not isinstance(value, RefusedNumber):  # reported by the parser
            self.refuse(key, kind=kind, expected=expected, found=show(value))


def check_extensions(value: dict[str, Any] | list[Any], *, place: str, report: Report) -> None:
    """Report NUL and lone surrogates in all keys and texts below: databases and encoders choke on them.

    Recurses at most as deep as documents may be.
    """
    for key, child in members_of(value):
        for text in (key, child):
            if isinstance(text, str) and _POISON.search(text):
                report.add("invalid text", place=place, key=key, expected=_UNPOISONED, found=show(text))
        if isinstance(child, (dict, list)):
            check_extensions(child, place=below(place, key), report=report)
