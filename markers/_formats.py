"""The extension point: what a format of markers is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ._errors import InvalidDeclaration, UnreadableMarker
from ._identity import identity_of_documents
from ._marker import DEFAULT_NAME, Marker
from ._problems import Problem, show
from ._reader import read_marker

__all__ = ["LANDMARK", "Format", "Listed"]

Listed = tuple[str, int, str]
"""A name relative to the delivery's folder, its size in bytes, and the store's identity of that state."""


def _nothing(declared: Mapping[str, str]) -> None:
    """Refuse every declaration: the document tells everything itself."""
    if declared:
        raise InvalidDeclaration(f"{show(next(iter(declared)))}: this format needs no declaration")


@dataclass(frozen=True, slots=True)
class Format:
    """A name and two pure functions: which documents are needed, and the marker they make.

    :param name: a short word for settings and logs.
    :param documents: takes the marker's address, the names that lie beside it, and what the Dag declares;
        returns the names of the documents to read, the marker's own among them.
    :param read: takes these documents by name (a document that does not lie there is left out), the
        listing, and what the Dag declares since the format does not tell it, with the marker's address as
        ``uri``; returns the marker, or raises ``UnreadableMarker``.
    :param check: refuses a declaration that could never be read with, by ``InvalidDeclaration``: called
        when the Dag is parsed, with templates not yet rendered.
    :param default_name: the marker's file name where the URI names its folder; empty where none is usual.
    :param listing: which names are asked for: none, those directly in the folder, or the whole tree.
    :param tail_bytes: read only so many bytes at the end of the marker; ``None`` reads all of it.
    """

    name: str
    documents: Callable[[str, Sequence[str], Mapping[str, str]], Sequence[str]]
    read: Callable[[Mapping[str, bytes], Sequence[Listed], Mapping[str, str]], Marker]
    check: Callable[[Mapping[str, str]], None] = _nothing
    default_name: str = DEFAULT_NAME
    listing: Literal["none", "folder", "tree"] = "none"
    tail_bytes: int | None = None


def _documents(uri: str, _listing: Sequence[str], _declared: Mapping[str, str]) -> Sequence[str]:
    return (uri.rpartition("/")[2],)


def _read(documents: Mapping[str, bytes], _listing: Sequence[Listed], _declared: Mapping[str, str]) -> Marker:
    if len(documents) != 1:
        problem = Problem("syntax", "documents", "one marker document", f"{len(documents)} documents")
        identity, size = identity_of_documents(documents), sum(map(len, documents.values()))
        raise UnreadableMarker([problem], total=1, identity=identity, size=size)
    ((name, data),) = documents.items()
    return read_marker(data, name=name)


LANDMARK = Format(name="landmark", documents=_documents, read=_read)
"""The project's own format: one ``landmark/1`` document that tells everything itself."""
