"""A list of checksums beside the marker, for partners who check with ``sha256sum``."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable

from anyio import to_thread

from airflow_landmark.markers import FileEntry
from airflow_landmark.stores import Address, Facts, LastingTrouble, Store

__all__ = ["SUMS_NAME", "is_list_of", "sums_document"]

SUMS_NAME = "SHA256SUMS"


def sums_document(entries: Iterable[FileEntry]) -> bytes:
    """A list as GNU ``sha256sum --binary`` writes it; no name here needs its escapes.

    Paths of a manifest hold neither backslashes nor line ends.
    """
    return "".join(f"{entry.digests['sha256']} *{entry.path}\n" for entry in entries).encode()


async def is_list_of(entries: Collection[FileEntry], store: Store, address: Address, facts: Facts) -> bool:
    """Whether the list of checksums that lies there says just what the manifest says.

    :param facts: of the list.
    :raises PassingTrouble: when the store fails, or the list changes meanwhile.
    """
    if any("sha256" not in entry.digests for entry in entries):
        return False
    expected = await to_thread.run_sync(sums_document, entries)
    if facts.size != len(expected):
        return False
    try:
        found = await store.digest(address, ["sha256"], pin=facts.pin)
    except LastingTrouble:
        return False
    return found.digests["sha256"] == hashlib.sha256(expected).hexdigest()
