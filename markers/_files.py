"""Reads the list of files of a document."""

from __future__ import annotations

import re
from typing import Any

from ._errors import UnsafePath
from ._fields import Fields
from ._json import MAX_NUMBER
from ._manifest import STRONG_ALGORITHMS, WEAK_ALGORITHMS, FileEntry, Manifest
from ._marker import MAX_FILES
from ._paths import check_path, path_key
from ._problems import show
from ._report import Report

__all__ = ["MAX_HEADER_ROWS", "read_manifest"]

MAX_HEADER_ROWS = 1_000_000

_REQUIRED = frozenset({"path", "size", "digests"})
_KNOWN = _REQUIRED | {"rows", "header_rows", "media_type", "content_encoding"}
_LENGTHS = {**STRONG_ALGORITHMS, **WEAK_ALGORITHMS}
_HEX = {algorithm: re.compile(f"[0-9a-f]{{{length}}}") for algorithm, length in _LENGTHS.items()}
_BLANKS = " \t\r\n"


def read_manifest(value: list[Any], *, name: str | None, report: Report) -> Manifest:
    """The manifest; of no use when the report has grown.

    :param value: the list of files; emptied on the way, to give its memory back.
    :param name: the marker's own file name, which no file may have.
    """
    if len(value) > MAX_FILES:
        found = f"{len(value)} files"
        report.add("too large", place="files", expected=f"at most {MAX_FILES} files", found=found)
        return Manifest.of(())
    paths = _Paths(name=name, report=report)
    entries = []
    for index, raw in enumerate(value):
        value[index] = None
        fields = Fields.of(raw, place=f"files[{index}]", report=report)
        if fields is not None:
            entries.append(_read_entry(fields, index=index, paths=paths))
    paths.check_folders()
    return _add_up(tuple(entries), report=report)


def _read_entry(fields: Fields, *, index: int, paths: _Paths) -> FileEntry:
    fields.check_keys(required=_REQUIRED, known=_KNOWN)
    return FileEntry(
        path=paths.take(fields, index=index),
        size=fields.whole("size"),
        digests=_read_digests(fields),
        rows=fields.whole("rows"),
        header_rows=fields.whole("header_rows", most=MAX_HEADER_ROWS) or 0,
        media_type=fields.line("media_type"),
        content_encoding=fields.line("content_encoding"),
    )


def _read_digests(fields: Fields) -> dict[str, str]:
    digests = fields.raw.get("digests")
    if not isinstance(digests, dict):
        fields.inner("digests")
        return {}
    strong = False
    for algorithm, value in digests.items():
        strong = strong or algorithm in STRONG_ALGORITHMS
        pattern = _HEX.get(algorithm)
        if pattern is None or type(value) is not str or not pattern.fullmatch(value):
            _normalise(fields, algorithm)
    if not strong:
        expected = f"at least one of {', '.join(STRONG_ALGORITHMS)}"
        found = ", ".join(show(algorithm, limit=20) for algorithm in list(digests)[:8]) or "none"
        fields.refuse("digests", kind="invalid digest", expected=expected, found=found)
    return digests


def _normalise(fields: Fields, algorithm: str) -> None:
    """Trim and fold one digest in place, or report it."""
    digests = fields.inner("digests")
    if digests is None:
        return
    value = digests.text(algorithm)
    if algorithm not in _HEX:
        known = f"one of {', '.join(_LENGTHS)}"
        digests.refuse(algorithm, kind="invalid digest", expected=known, found="another algorithm")
    elif value is not None:
        digests.raw[algorithm] = folded = value.strip(_BLANKS).lower()
        if not _HEX[algorithm].fullmatch(folded):
            expected = f"{_LENGTHS[algorithm]} hex digits and no prefix"
            digests.refuse(algorithm, kind="invalid digest", expected=expected, found=show(value))


class _Paths:
    """The paths so far: each its own file, none another's folder, none the marker itself.

    Keys hold NUL for the slash: no path holds NUL, and in sorted order a folder's files then follow
    at once on a file of the folder's name.
    """

    _MARKER = -1

    def __init__(self, *, name: str | None, report: Report) -> None:
        self._report = report
        self._indexes = {} if name is None else {_key(name): self._MARKER}

    def take(self, fields: Fields, *, index: int) -> str:
        """The path of one entry; empty when it is refused."""
        path = fields.text("path")
        if path is None:
            return ""
        try:
            check_path(path)
        except UnsafePath as error:
            expected = "a path inside the delivery's folder"
            found = f"{show(path)}: {error.reason}"
            fields.refuse("path", kind="invalid path", expected=expected, found=found)
            return ""
        first = self._indexes.setdefault(_key(path), index)
        if first != index:
            found = f"the same file as {self._name(first)}: {show(path)}"
            fields.refuse("path", kind="repeated path", expected="a file of its own", found=found)
        return path

    def check_folders(self) -> None:
        """Report each file whose path is the folder of another."""
        above = ""
        for key in sorted(self._indexes):
            if above and key.startswith(above):
                self._report.add(
                    "repeated path",
                    place=f"files[{max(self._indexes[key], self._indexes[above[:-1]])}].path",
                    expected="no file that is another file's folder",
                    found=f"{self._name(self._indexes[key])} below {self._name(self._indexes[above[:-1]])}",
                )
            else:
                above = f"{key}\0"

    def _name(self, index: int) -> str:
        return "the marker itself" if index == self._MARKER else f"files[{index}].path"


def _key(path: str) -> str:
    return path_key(path).replace("/", "\0")


def _add_up(files: tuple[FileEntry, ...], *, report: Report) -> Manifest:
    manifest = Manifest.of(files)
    for word, total in (("size", manifest.size_bytes), ("rows", manifest.rows)):
        if total is not None and total > MAX_NUMBER:
            expected = f"{word} that add up to at most {MAX_NUMBER}"
            report.add("out of range", place="files", expected=expected, found=str(total))
    return manifest
