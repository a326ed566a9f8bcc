"""Strict JSON: what other readers would repair, guess or take silently is reported with its place."""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ._marker import MAX_DOCUMENT_BYTES, MAX_VERSION
from ._report import Report, below
from ._scan import place_of, scan_shape

__all__ = ["MAX_NUMBER", "RefusedNumber", "load_json", "members_of"]

MAX_NUMBER = MAX_VERSION
"""Numbers end at plus and minus this: beyond it JSON readers differ (RFC 8259, section 6)."""

_LONGEST_WHOLE = len(str(-MAX_NUMBER))
_LONGEST_FRACTION = 400


class RefusedNumber:
    """Stands where a number stood that no reader can be trusted with; has been reported."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text if len(self.text) <= 40 else f"{self.text[:30]}... ({len(self.text)} characters)"


class _RepeatedKeys(dict[str, Any]):
    """Stands where an object with repeated keys stood."""

    repeated: tuple[str, ...] = ()


def load_json(data: bytes, *, report: Report) -> Any:
    """The parsed document, refused numbers as ``RefusedNumber``; ``None`` when it could not be parsed."""
    size = f"{len(data)} bytes"
    _check_bytes(data, size=size, report=report)
    body = data.removeprefix(codecs.BOM_UTF8)
    text = None if report.total else _decode(body, size=size, report=report)
    if text is None:
        return None
    scan_shape(body, report=report)
    return None if report.total else _parse(text, size=size, report=report)


def _check_bytes(data: bytes, *, size: str, report: Report) -> None:
    if len(data) > MAX_DOCUMENT_BYTES:
        report.add("too large", place="document", expected=f"at most {MAX_DOCUMENT_BYTES} bytes", found=size)
    elif not data.removeprefix(codecs.BOM_UTF8).strip():
        report.add("empty", place="document", expected="a marker", found=f"an empty document, {size}")
    elif not data.strip(b"\0"):
        report.add("empty", place="document", expected="a marker", found=f"{size}, all of them NUL")
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:4]:
        report.add("encoding", place="document", expected="UTF-8", found=f"UTF-16 or UTF-32, {size}")


def _decode(body: bytes, *, size: str, report: Report) -> str | None:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"a byte that is not UTF-8, {size} read"
        report.add("encoding", place=place_of(body, error.start), expected="UTF-8", found=found)
        return None


def _parse(text: str, *, size: str, report: Report) -> Any:
    hooks = _Hooks()
    decoder = json.JSONDecoder(
        object_pairs_hook=hooks.members,
        parse_int=hooks.whole,
        parse_float=hooks.fraction,
        parse_constant=hooks.refuse,
    )
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        _report_syntax(error, text=text, size=size, report=report)
        return None
    if hooks.refused:
        _report_refused(value, place="", report=report)
    return value


class _Hooks:
    """What the parser calls; ``refused`` tells whether the result must be searched for problems."""

    def __init__(self) -> None:
        self.refused = False

    def members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        return made if len(made) == len(pairs) else self._repeated(pairs)

    def _repeated(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        self.refused = True
        made = _RepeatedKeys(pairs)
        made.repeated = tuple(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        return made

    def whole(self, text: str) -> int | RefusedNumber:
        # The length first: Python's own limit on digits depends on settings, its cost is quadratic.
        value = int(text) if len(text) <= _LONGEST_WHOLE else MAX_NUMBER + 1
        return value if -MAX_NUMBER <= value <= MAX_NUMBER else self.refuse(text)

    def fraction(self, text: str) -> float | RefusedNumber:
        value = float(text) if len(text) <= _LONGEST_FRACTION else float("inf")
        return value if -MAX_NUMBER <= value <= MAX_NUMBER else self.refuse(text)

    def refuse(self, text: str) -> RefusedNumber:
        self.refused = True
        return RefusedNumber(text)


_NOTABLE = frozenset({dict, list, _RepeatedKeys, RefusedNumber})


def _report_refused(value: Any, *, place: str, report: Report) -> None:
    """Recurses at most as deep as ``scan_shape`` lets documents be."""
    if isinstance(value, RefusedNumber):
        report.add(
            "refused number",
            place=place or "document",
            expected="a plain number from -(2**53-1) to 2**53-1",
            found=repr(value),
        )
        return
    if isinstance(value, _RepeatedKeys):
        for twice in value.repeated:
            report.add("repeated key", place=place, key=twice, expected="each key once", found="it again")
    for key, child in members_of(value):
        if type(child) in _NOTABLE:  # the others need no place of their own
            _report_refused(child, place=below(place, key), report=report)


def members_of(value: dict[str, Any] | list[Any]) -> Iterable[tuple[str | int, Any]]:
    """Keys and values of an object, or positions and values of a list."""
    return value.items() if isinstance(value, dict) else enumerate(value)


def _report_syntax(error: json.JSONDecodeError, *, text: str, size: str, report: Report) -> None:
    if error.pos >= len(text.rstrip()):
        found = f"the end of the document, {size} read"
    else:
        found = f"a syntax error ({error.msg}), {size} read"
    report.add("syntax", place=f"line {error.lineno}, column {error.colno}", expected="JSON", found=found)
