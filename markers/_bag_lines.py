r"""Reads the tag files of a bag, line by line; the rules for the whole are in ``_format_bagit``.

Lines end with ``\n``, ``\r\n`` or ``\r`` (RFC 8493, section 2.1.3), and those of blanks are left out.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ._documents import as_text
from ._hex import read_hex
from ._problems import show
from ._report import Report

__all__ = ["BagKind", "Labels", "read_bag_fetch", "read_bag_info", "read_bag_kind", "read_bag_manifest"]

_VERSIONS = ("0.93", "0.94", "0.95", "0.96", "0.97", "1.0")
_ENCODINGS: Mapping[str, str] = {
    **{name: name for name in ("utf-8", "utf-16", "utf-16le", "utf-16be", "iso-8859-1", "windows-1252")},
    "us-ascii": "ascii",
    "ascii": "ascii",
}
_END = re.compile(r"\r\n|\r|\n")
_VERSION = re.compile(r"BagIt-Version: (\d{1,3}\.\d{1,3})", re.ASCII)
_ENCODING = re.compile(r"Tag-File-Character-Encoding: ([A-Za-z0-9_.:-]{1,40})", re.ASCII)
_LABEL = re.compile(r"([^\s:][^:]{0,200}):[ \t]*(.*)")
_MANIFEST = re.compile(r"(\S+)[ \t]+\*?(.+)")
_FETCH = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}:\S+)[ \t]+(-|[0-9]{1,19})[ \t]+(.+)", re.ASCII)
_LINE_BREAK = re.compile(r"%0([AaDd])")
_PERCENT = re.compile(r"%(.{0,2})")
_PERCENT_CODES = {"25": "%", "0A": "\n", "0D": "\r"}


@dataclass(frozen=True, slots=True)
class BagKind:
    """What ``bagit.txt`` declares.

    :param version: such as ``(0, 97)``.
    :param encoding: the codec of the other tag files.
    """

    version: tuple[int, int]
    encoding: str

    @property
    def strict(self) -> bool:
        """Whether the rules of 1.0 hold: each file once in every manifest, percent signs encoded."""
        return self.version >= (1, 0)

    @property
    def info_name(self) -> str:
        """The tag file with the bag's labels."""
        return "bag-info.txt" if self.version >= (0, 96) else "package-info.txt"


class Labels(Mapping[str, str | list[str]]):
    """Labels of a bag by name; their case does not matter. A label that is repeated has a list."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, str | list[str]] = {}
        for label, value in pairs:
            key = label.casefold()
            before = self._values.get(key)
            if isinstance(before, list):
                before.append(value)
            else:
                self._values[key] = value if before is None else [before, value]

    def __getitem__(self, label: str) -> str | list[str]:
        return self._values[label.casefold()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(_END.split(text), start=1):
        if line.strip():
            yield number, line


def read_bag_kind(data: bytes, *, report: Report) -> BagKind | None:
    """What ``bagit.txt`` declares: two lines in UTF-8 without a byte-order mark, nothing else."""
    if data.startswith(codecs.BOM_UTF8):
        report.add("encoding", place="bagit.txt", expected="no byte-order mark", found="one")
    text = as_text(data[:1000], place="bagit.txt", report=report)
    if text is None:
        return None
    lines = _END.split(text)
    version = _VERSION.fullmatch(lines[0])
    encoding = _ENCODING.fullmatch(lines[1]) if len(lines) > 1 else None
    if version is None or version[1] not in _VERSIONS:
        expected = f"BagIt-Version: one of {', '.join(_VERSIONS)}"
        report.add("syntax", place="bagit.txt line 1", expected=expected, found=show(lines[0]))
    codec = None if encoding is None else _ENCODINGS.get(encoding[1].lower())
    if codec is None:
        expected = f"Tag-File-Character-Encoding: one of {', '.join(_ENCODINGS)}"
        found = show(lines[1]) if len(lines) > 1 else "the end"
        report.add("syntax", place="bagit.txt line 2", expected=expected, found=found)
    if len(data) > 1000 or any(lines[2:]):
        report.add("syntax", place="bagit.txt line 3", expected="the end", found="more")
    if version is None or codec is None or version[1] not in _VERSIONS:
        return None
    major, _, minor = version[1].partition(".")
    return BagKind((int(major), int(minor)), codec)


def read_bag_info(text: str, *, name: str, report: Report) -> Labels:
    """The labels of ``bag-info.txt``; a value may go on in lines that start with a blank."""
    found: list[tuple[str, list[str]]] = []
    for number, line in _lines(text):
        match = _LABEL.fullmatch(line)
        if found and line[0] in " \t":
            found[-1][1].append(line.strip())
        elif match is not None:
            found.append((match[1].strip(), [match[2].strip()]))
        else:
            report.add("syntax", place=f"{name} line {number}", expected="LABEL: VALUE", found=show(line))
    return Labels((label, " ".join(parts)) for label, parts in found)


def read_bag_manifest(
    text: str, *, name: str, algorithm: str, kind: BagKind, report: Report
) -> Iterator[tuple[str, str, str]]:
    """(place, path, digest) of each line ``HEX  path``; lines that are refused are left out and reported."""
    for number, line in _lines(text):
        place = f"{name} line {number}"
        match = _MANIFEST.fullmatch(line)
        if match is None:
            report.add("syntax", place=place, expected="HEX  path", found=show(line))
            continue
        digest = read_hex(match[1], algorithm, place=place, report=report)
        path = _decoded(match[2], kind, place=place, report=report)
        if digest is not None and path is not None:
            yield place, path, digest


def read_bag_fetch(text: str, *, kind: BagKind, report: Report) -> Iterator[tuple[str, str]]:
    """(place, path) of each line ``URL LENGTH path`` of ``fetch.txt``. No URL is ever opened."""
    for number, line in _lines(text):
        place = f"fetch.txt line {number}"
        match = _FETCH.fullmatch(line)
        if match is None:
            expected = "URL LENGTH path, with - for an unknown length"
            report.add("syntax", place=place, expected=expected, found=show(line))
            continue
        path = _decoded(match[3], kind, place=place, report=report)
        if path is not None:
            yield place, path


def _decoded(path: str, kind: BagKind, *, place: str, report: Report) -> str | None:
    """The path without ``./`` before it and without percent codes.

    1.0 has codes for the line breaks and the percent sign itself, older bags for the line breaks alone:
    there ``%7E`` is a name of three characters.
    """
    path = path.removeprefix("./")
    if not kind.strict:
        return _LINE_BREAK.sub(lambda match: _PERCENT_CODES[f"0{match[1].upper()}"], path)
    codes = {match[1].upper() for match in _PERCENT.finditer(path)}
    if codes <= _PERCENT_CODES.keys():
        return _PERCENT.sub(lambda match: _PERCENT_CODES[match[1].upper()], path)
    expected = "a percent sign only as %25, %0A or %0D"
    report.add("invalid path", place=place, expected=expected, found=show(path))
    return None
