"""What all readers of foreign formats do with their documents: bound, decode, refuse, and make the marker."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from ._declared import Subject
from ._errors import UnreadableMarker
from ._identity import identity_of_document, identity_of_documents
from ._manifest import FileEntry, Manifest
from ._marker import MAX_DOCUMENT_BYTES, MAX_FILES, Marker
from ._problems import show
from ._report import Report
from ._scan import place_of

__all__ = [
    "MAX_DOCUMENTS",
    "MAX_DOCUMENTS_BYTES",
    "as_text",
    "check_documents",
    "identity_of",
    "make_marker",
    "name_of",
    "numbered_lines",
    "unreadable",
]

MAX_DOCUMENTS = 64
"""How many documents may make one marker."""

MAX_DOCUMENTS_BYTES = 4 * MAX_DOCUMENT_BYTES
"""How many bytes they may have together; each has at most ``MAX_DOCUMENT_BYTES``."""


def name_of(uri: str) -> str:
    """The file name of the marker at this address, as its folder lists it."""
    name = uri.rpartition("/")[2]
    return unquote(name) if uri.startswith(("http://", "https://")) else name


def identity_of(documents: Mapping[str, bytes]) -> str:
    """sha256 of the one document, or over the names and digests of several."""
    if len(documents) == 1:
        return identity_of_document(*documents.values())
    return identity_of_documents(documents)


def check_documents(documents: Mapping[str, bytes], *, needed: Iterable[str], report: Report) -> bool:
    """Whether the documents can be read: those that are needed are there, and none are too many or too large.

    :param needed: names of documents without which there is nothing to read.
    """
    before = report.total
    if len(documents) > MAX_DOCUMENTS:
        found = f"{len(documents)} documents"
        report.add("too large", place="documents", expected=f"at most {MAX_DOCUMENTS} documents", found=found)
    size = sum(map(len, documents.values()))
    if size > MAX_DOCUMENTS_BYTES:
        expected = f"at most {MAX_DOCUMENTS_BYTES} bytes together"
        report.add("too large", place="documents", expected=expected, found=f"{size} bytes")
    for name, data in documents.items():
        if len(data) > MAX_DOCUMENT_BYTES:
            expected = f"at most {MAX_DOCUMENT_BYTES} bytes"
            report.add("too large", place=show(name)[1:-1], expected=expected, found=f"{len(data)} bytes")
    for name in needed:
        if name not in documents:
            report.add("missing", place=show(name)[1:-1], expected="this document", found="nothing")
    return report.total == before


def as_text(data: bytes, *, place: str, report: Report, encoding: str = "utf-8") -> str | None:
    """The document as text, without a byte-order mark; ``None`` when it is not in this encoding.

    :param place: what its problems are placed at: the document's name, or empty for the only one.
    :param encoding: a codec's name.
    """
    where = f"{place} " if place else ""
    if encoding == "utf-8" and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        found = f"UTF-16 or UTF-32, {len(data)} bytes"
        report.add("encoding", place=place or "document", expected="UTF-8", found=found)
        return None
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        found = f"a byte that is not, {len(data)} bytes read"
        spot = place_of(data, error.start)
        report.add("encoding", place=f"{where}{spot}", expected=encoding.upper(), found=found)
        return None


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    r"""Lines with their numbers from 1, ended by ``\n`` or ``\r\n``; lines of blanks are left out."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line.removesuffix("\r")


def make_marker(
    documents: Mapping[str, bytes],
    *,
    subject: Subject | None,
    files: Iterable[FileEntry],
    report: Report,
    identity: str | None = None,
) -> Marker:
    """The marker that the documents make.

    :param subject: what it is about; ``None`` when that could not be told, and was reported.
    :param report: whether anything is wrong.
    :param identity: ``None`` takes that of the documents.
    :raises UnreadableMarker: with all problems, when there are any.
    """
    entries = tuple(files)
    if len(entries) > MAX_FILES:
        found = f"{len(entries)} files"
        report.add("too large", place="files", expected=f"at most {MAX_FILES} files", found=found)
    if subject is None or report.total:
        raise unreadable(documents, report=report, identity=identity)
    return Marker(
        dataset=subject.dataset,
        interval=subject.interval,
        version=subject.version,
        manifest=Manifest.of(entries),
        identity=identity or identity_of(documents),
    )


def unreadable(
    documents: Mapping[str, bytes], *, report: Report, identity: str | None = None
) -> UnreadableMarker:
    """The error that holds the report."""
    return UnreadableMarker(
        report.problems,
        total=report.total,
        identity=identity or identity_of(documents),
        size=sum(map(len, documents.values())),
    )
