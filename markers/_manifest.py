"""The manifest: what a delivery holds, in the form that all formats fill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["STRONG_ALGORITHMS", "WEAK_ALGORITHMS", "FileEntry", "Manifest", "is_strong"]

STRONG_ALGORITHMS: Mapping[str, int] = {"sha256": 64, "sha384": 96, "sha512": 128, "blake2b": 128}
"""Digest algorithms that prove content, with the length of their hex."""

WEAK_ALGORITHMS: Mapping[str, int] = {"md5": 32, "sha1": 40, "crc32c": 8, "crc64nvme": 16}
"""Digest algorithms that only show damage, with the length of their hex (big endian)."""


def is_strong(algorithm: str) -> bool:
    """Whether a digest of this algorithm proves content, rather than only showing damage."""
    return algorithm in STRONG_ALGORITHMS


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a manifest.

    :param path: relative to the delivery's folder, ``/`` between parts, checked.
    :param size: bytes as stored; ``None`` when the format does not tell.
    :param digests: algorithm to lower-case hex; empty when the format does not tell.
    :param rows: data records, header and trailer not counted; ``None`` when not told.
    :param header_rows: records before the data, such as a CSV's line of names.
    :param media_type: such as ``text/csv``; decides how rows are counted.
    :param content_encoding: such as ``gzip``.
    :param url: full address, only in formats whose entries are not relative paths.
    :param trailer_rows: records after the data, such as a line with their count.
    :param delimiter: between the fields of delimited text, one ASCII character; ``None`` leaves it to media
        type and name.
    :param decimal: the mark before the decimals of numbers in delimited text: ``.`` or ``,``.
    :param column_sums: column, by its name or its number from 1, to the exact sum of its numbers, as plain
        decimal text with a point; empty when the format does not tell.
    """

    path: str
    size: int | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    rows: int | None = None
    header_rows: int = 0
    media_type: str | None = None
    content_encoding: str | None = None
    url: str | None = None
    trailer_rows: int = 0
    delimiter: str | None = None
    decimal: str = "."
    column_sums: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The list of files with its sums.

    :param files: in the order of the document.
    :param size_bytes: sum of the sizes; ``None`` when any is unknown.
    :param rows: sum of the rows; ``None`` when any is unknown.
    """

    files: tuple[FileEntry, ...]
    size_bytes: int | None
    rows: int | None

    @classmethod
    def of(cls, files: tuple[FileEntry, ...]) -> Manifest:
        """A manifest whose sums are computed from its files."""
        sizes = [entry.size for entry in files]
        rows = [entry.rows for entry in files]
        return cls(
            files=files,
            size_bytes=None if None in sizes else sum(size or 0 for size in sizes),
            rows=None if None in rows else sum(count or 0 for count in rows),
        )

    def counts(self) -> dict[str, int | None]:
        """``{"files", "bytes", "rows"}``: whole numbers, ``None`` where unknown."""
        return {"files": len(self.files), "bytes": self.size_bytes, "rows": self.rows}
