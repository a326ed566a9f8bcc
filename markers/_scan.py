"""A look at a document's brackets before it is parsed: how deep, and how many."""

from __future__ import annotations

import re

from ._report import Report

__all__ = ["MAX_CONTAINERS", "MAX_DEPTH", "place_of", "scan_shape"]

MAX_DEPTH = 32
"""How many objects and lists may lie inside each other; a plain marker needs 4."""

MAX_CONTAINERS = 250_000
"""How many objects and lists a document may hold: two a file, and as much as half of that besides."""

_MARKS = b'[]{}"'
_NO_MARKS = bytes(byte for byte in range(256) if byte not in _MARKS)
_TOKEN = re.compile(rb'"[^"]*"?|[\[\]{}]')


def scan_shape(data: bytes, *, report: Report) -> None:
    """Report nesting beyond ``MAX_DEPTH`` and more containers than ``MAX_CONTAINERS``.

    The parser recurses once a level, so that a deep document would overflow its stack, and an empty
    list costs it twenty times its three bytes.

    :param data: JSON text in UTF-8, well-formed or not.
    """
    if b"\\" in data:  # same length, so that positions stay true
        data = data.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    if not _is_modest(data):
        _scan_exactly(data, report=report)


def place_of(data: bytes, position: int) -> str:
    """``line L, column C`` of a byte, in characters, counted from 1."""
    start = data.rfind(b"\n", 0, position) + 1
    column = len(data[start:position].decode("utf-8", "replace")) + 1
    line = data.count(b"\n", 0, position) + 1
    return f"line {line}, column {column}"


def _is_modest(data: bytes) -> bool:
    """Whether the limits certainly hold; ``False`` when only a closer look can tell.

    Taking out two adjacent quotes keeps every bracket inside or outside of its string, and one round
    takes out at most two levels of brackets.
    """
    marks = data.translate(None, _NO_MARKS).replace(b'""', b"")
    if marks.count(b"[") + marks.count(b"{") > MAX_CONTAINERS:
        return False
    for _ in range(MAX_DEPTH // 2):
        marks = marks.replace(b"[]", b"").replace(b"{}", b"").replace(b'""', b"")
    return not marks


def _scan_exactly(data: bytes, *, report: Report) -> None:
    depth = containers = 0
    for token in _TOKEN.finditer(data):
        mark = token[0]
        if mark in (b"[", b"{"):
            depth += 1
            containers += 1
            if depth > MAX_DEPTH or containers > MAX_CONTAINERS:
                _report_excess(depth, place=place_of(data, token.start()), report=report)
                return
        elif mark in (b"]", b"}"):
            depth -= 1


def _report_excess(depth: int, *, place: str, report: Report) -> None:
    if depth > MAX_DEPTH:
        report.add(
            "too deep",
            place=place,
            expected=f"at most {MAX_DEPTH} objects and lists inside each other",
            found="one more",
        )
    else:
        report.add(
            "too large", place=place, expected=f"at most {MAX_CONTAINERS} objects and lists", found="one more"
        )
