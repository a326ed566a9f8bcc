"""Reads one line of a list of sums; ``_format_sums`` shows the forms."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ._hex import LENGTHS, algorithm_of, read_base64, read_hex
from ._marker import MAX_VERSION
from ._problems import show
from ._report import Report

__all__ = ["MAX_LINE", "SumLine", "read_sum_line"]

MAX_LINE = 4096
"""The longest line in characters: a path of 1,024 with all of it escaped, and a digest, are shorter."""

_TAG = re.compile(r"([A-Za-z0-9-]{1,16}) ?\((.+)\) ?= ?(\S+)[ \t]*", re.ASCII)
_GNU = re.compile(r"([0-9A-Fa-f]+) (?: |\*)?(.+)", re.ASCII)
_NAME_FIRST = re.compile(r"(.*\S)[ \t]+([0-9A-Fa-f]+)", re.ASCII)
_STAMP = re.compile(r"TIMESTAMP = [0-9]{1,20}", re.ASCII)
_WHOLE = re.compile(r"[0-9]{1,16}", re.ASCII)
_ESCAPE = re.compile(r"\\(.?)")
_ESCAPED = {"\\": "\\", "n": "\n", "r": "\r"}
_FORMS = "HEX  name, or ALGORITHM (name) = HEX"


@dataclass(frozen=True, slots=True)
class SumLine:
    """What one line tells of a file: a digest, or its size.

    :param path: as listed, without ``./`` before it.
    :param algorithm: of the digest; empty in a line that tells the size.
    :param size: bytes; ``None`` in a line that tells a digest.
    """

    path: str
    algorithm: str = ""
    digest: str = ""
    size: int | None = None


def read_sum_line(line: str, default: str | None, *, place: str, report: Report) -> SumLine | None:
    """What the line tells; ``None`` for comments, and for what is refused and reported.

    :param default: algorithm of a line that does not name its own; ``None`` refuses such a line.
    """
    if line.startswith("#") or _STAMP.fullmatch(line):
        return None
    if len(line) > MAX_LINE:
        found = f"{len(line)} characters"
        report.add("too large", place=place, expected=f"at most {MAX_LINE} characters", found=found)
        return None
    escaped = line.startswith("\\")
    body = line[escaped:]
    tag = _TAG.fullmatch(body)
    if tag is not None:
        return _tagged(_name(tag[2], escaped), tag[1], tag[3], place=place, report=report)
    path, value = _split(body)
    if not value:
        report.add("syntax", place=place, expected=_FORMS, found=show(line))
        return None
    if default is None:
        expected = '"algorithm" declared, since the line does not name it'
        report.add("undeclared", place=place, expected=expected, found=show(line))
        return None
    digest = read_hex(value, default, place=place, report=report)
    return None if digest is None else SumLine(_name(path, escaped), default, digest)


def _split(body: str) -> tuple[str, str]:
    """Name and hex of a line without a tag; no hex when it is no such line.

    The hex is looked for in front: only a line that does not start with hex can end with it.
    """
    plain = _GNU.fullmatch(body)
    if plain is not None:
        return plain[2], plain[1]
    name_first = _NAME_FIRST.fullmatch(body)
    return (body, "") if name_first is None else (name_first[1], name_first[2])


def _tagged(path: str, tag: str, value: str, *, place: str, report: Report) -> SumLine | None:
    if tag == "SIZE":
        if _WHOLE.fullmatch(value) and int(value) <= MAX_VERSION:
            return SumLine(path, size=int(value))
        report.add("out of range", place=place, expected="a whole number of bytes", found=show(value))
        return None
    algorithm = algorithm_of(tag)
    if algorithm is None:
        known = f"one of {', '.join(LENGTHS)}"
        report.add("invalid digest", place=place, expected=known, found=show(tag))
        return None
    # The algorithm is known: its hex and its base64 differ in length.
    is_base64 = len(value) == _base64_length(algorithm) != LENGTHS[algorithm]
    read = read_base64 if is_base64 else read_hex
    digest = read(value, algorithm, place=place, report=report)
    return None if digest is None else SumLine(path, algorithm, digest)


def _base64_length(algorithm: str) -> int:
    return 4 * ((LENGTHS[algorithm] // 2 + 2) // 3)


def _name(text: str, escaped: bool) -> str:
    name = _ESCAPE.sub(_unescaped, text) if escaped else text
    return name.removeprefix("./")


def _unescaped(match: re.Match[str]) -> str:
    # An escape that GNU does not know stays as it is: its backslash is refused with the path.
    return _ESCAPED.get(match[1], match[0])
