r"""Counting JSON lines: one JSON value a line, which is what the file types .jsonl and .ndjson hold.

Sources: the ndjson specification 1.0 (github.com/ndjson/ndjson-spec) and jsonlines.org. Lines end with
``\n`` or ``\r\n``, lines of white space are passed over, and the last line needs no end.
"""

from __future__ import annotations

import json
import re

from ._rows_base import BLOCK_BYTES, RECORD_LIMIT_BYTES, NotCounted, TextCounter

__all__ = ["LAST_LINE_LIMIT_BYTES", "JsonLinesCounter"]

LAST_LINE_LIMIT_BYTES = 1024 * 1024
"""A last line without an end that is longer is not counted: parsing it takes many times its memory."""

_SPACE = b" \t\r"
_ENDS = frozenset({b"{}", b"[]", b'""'})
_SCALAR = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")


class JsonLinesCounter(TextCounter):
    r"""Counts the lines that hold a JSON value.

    Lines are not parsed: each must begin and end as one JSON value does, which refuses an indented
    document, an array over several lines and most other texts, but not what is wrong between both
    ends. Only a last line without an end is parsed, since it may be cut; a number there is not counted,
    because its digits may be (RFC 7464 section 2.4). Nor is ``\r`` alone: it separates no lines.

    :param block_bytes: bytes that are looked at together, at least 4.
    """

    def __init__(self, *, block_bytes: int = BLOCK_BYTES) -> None:
        super().__init__(block_bytes=block_bytes)
        self._records = 0
        self._open: list[bytes] = []
        self._open_bytes = 0

    def _take_text(self, block: bytes) -> NotCounted | None:
        cut = block.rfind(b"\n") + 1
        problem = None
        if cut:
            problem = self._take_lines(b"".join((*self._open, block[:cut])))
            self._open.clear()
            self._open_bytes = 0
        self._open.append(block[cut:])
        self._open_bytes += len(block) - cut
        if self._open_bytes > RECORD_LIMIT_BYTES:
            return NotCounted(f"record {self._records + 1} is longer than {RECORD_LIMIT_BYTES} bytes")
        return problem

    def _take_lines(self, lines: bytes) -> NotCounted | None:
        if _all_objects(lines):
            self._records += lines.count(b"\n")
            return None
        if lines.count(b"\r") != lines.count(b"\r\n"):
            return NotCounted(f"a carriage return stands alone after record {self._records}")
        for line in lines.split(b"\n"):
            value = line.strip(_SPACE)
            if not value:
                continue
            if not _looks_whole(value):
                return NotCounted(f"record {self._records + 1} is not one JSON value on a line")
            self._records += 1
        return None

    def _end(self) -> int | NotCounted:
        value = b"".join(self._open).strip(_SPACE)
        if not value:
            return self._records
        if len(value) > LAST_LINE_LIMIT_BYTES:
            return NotCounted(f"the last line has no end and is longer than {LAST_LINE_LIMIT_BYTES} bytes")
        if not _is_whole(value):
            return NotCounted(f"the last line, record {self._records + 1}, is cut")
        return self._records + 1


def _all_objects(lines: bytes) -> bool:
    r"""Whether each line begins with ``{`` and ends with ``}``, and all line ends are the same."""
    ends, returns = lines.count(b"\n"), lines.count(b"\r")
    end = b"}\r\n" if returns else b"}\n"
    return (
        returns in (0, ends)
        and lines.startswith(b"{")
        and lines.endswith(end)
        and lines.count(end + b"{") == ends - 1
    )


def _looks_whole(value: bytes) -> bool:
    if value[:1] + value[-1:] in _ENDS:
        return len(value) > 1
    return _SCALAR.fullmatch(value) is not None


def _is_whole(value: bytes) -> bool:
    if value[-1:].isdigit() or not _looks_whole(value):
        return False
    try:
        # Numbers stay text: turning a long run of digits into an int takes quadratic time.
        json.loads(value, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True
