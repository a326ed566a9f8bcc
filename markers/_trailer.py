"""The last lines of a large file, from the bytes at its end."""

from __future__ import annotations

import codecs

from ._report import Report

__all__ = ["TAIL_BYTES", "last_lines"]

TAIL_BYTES = 64 * 1024
"""How much is read of the file's end."""

_MAX_CHARS = 4096
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "Zstandard", b"PK\x03\x04": "ZIP", b"BZh": "bzip2"}


def last_lines(tail: bytes, count: int, *, report: Report) -> str | None:
    """The last lines that are not blank, with line feeds between; ``None`` when refused and reported.

    :param tail: the file, or its last ``TAIL_BYTES`` bytes.
    :param count: how many lines.
    """
    kind = next((name for start, name in _COMPRESSED.items() if tail.startswith(start)), None)
    if kind is not None:
        report.add("encoding", place="document", expected="plain text with a trailer", found=kind)
        return None
    lines = tail.removeprefix(codecs.BOM_UTF8).splitlines()
    # The first line of a tail that does not reach back to the file's start may be the end of one.
    whole = lines if len(tail) < TAIL_BYTES else lines[1:]
    last = [line for line in whole if line.strip()][-count:]
    if len(last) < count or sum(map(len, last)) > _MAX_CHARS:
        expected = f"{count} last lines of at most {_MAX_CHARS} bytes together"
        report.add(
            "incomplete",
            place="last line",
            expected=expected,
            found=f"{len(last)}, {sum(map(len, last))} bytes",
        )
        return None
    try:
        return b"\n".join(last).decode("utf-8")
    except UnicodeDecodeError:
        report.add("encoding", place="last line", expected="UTF-8", found="other bytes")
        return None
