"""The identity of what was seen: one hex sha256 for one document, several, or a listing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

__all__ = ["identity_of_document", "identity_of_documents", "identity_of_listing"]


def identity_of_document(data: bytes) -> str:
    """sha256 of one marker document, in hex."""
    return hashlib.sha256(data).hexdigest()


def identity_of_documents(documents: Mapping[str, bytes]) -> str:
    """sha256 over the sorted ``(name, sha256)`` lines of a format of several documents, in hex."""
    return _of_lines((name, identity_of_document(data)) for name, data in documents.items())


def identity_of_listing(entries: Iterable[tuple[str, int, str]]) -> str:
    """sha256 over the sorted ``(name, size, store identity)`` lines a sentinel stands for, in hex."""
    return _of_lines((name, str(size), pin) for name, size, pin in entries)


def _of_lines(rows: Iterable[tuple[str, ...]]) -> str:
    digest = hashlib.sha256()
    for row in sorted(rows):
        # Lengths before texts: no name can imitate the end of a line.
        for text in row:
            data = text.encode("utf-8", "surrogatepass")  # no two names alike
            digest.update(f"{len(data)}:".encode() + data)
        digest.update(b"\n")
    return digest.hexdigest()
