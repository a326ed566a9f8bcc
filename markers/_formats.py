"""The extension point: what a format of markers is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ._errors import UnreadableMarker
from ._identity import identity_of_documents
from ._marker import Marker
from ._problems import Problem
from ._reader import read_marker

__all__ = ["LANDMARK", "Format"]


@dataclass(frozen=True, slots=True)
class Format:
    """A name and two pure functions: which documents are needed, and the marker they make.

    :param name: a short word for settings and logs.
    :param documents: takes the marker's address and the names that lie beside it; returns the names of
        the documents to read.
    :param read: takes these documents by name, the listing as (name, size in bytes, store identity) and
        what the Dag declares since the format does not tell it; returns the marker, or raises
        ``UnreadableMarker``.
    """

    name: str
    documents: Callable[[str, Sequence[str]], Sequence[str]]
    read: Callable[[Mapping[str, bytes], Sequence[tuple[str, int, str]], Mapping[str, str]], Marker]


def _documents(uri: str, _listing: Sequence[str]) -> Sequence[str]:
    return (uri.rpartition("/")[2],)


def _read(
    documents: Mapping[str, bytes], _listing: Sequence[tuple[str, int, str]], _declared: Mapping[str, str]
) -> Marker:
    if len(documents) != 1:
        problem = Problem("syntax", "documents", "one marker document", f"{len(documents)} documents")
        identity, size = identity_of_documents(documents), sum(map(len, documents.values()))
        raise UnreadableMarker([problem], total=1, identity=identity, size=size)
    ((name, data),) = documents.items()
    return read_marker(data, name=name)


LANDMARK = Format(name="landmark", documents=_documents, read=_read)
"""The project's own format: one ``landmark/1`` document that tells everything itself."""
