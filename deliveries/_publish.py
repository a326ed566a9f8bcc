"""Writing the marker itself: never over one that is newer, and never beside another writer's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_landmark.markers import (
    Marker,
    MarkerError,
    UnreadableMarker,
    UnsafePath,
    read_marker,
    write_marker,
)
from airflow_landmark.stores import (
    Absent,
    Address,
    Changed,
    InvalidAccess,
    LastingTrouble,
    Sighting,
    StoreError,
    WritableStore,
)

from ._errors import AccessTrouble, CannotDeliver, Unavailable
from ._stamp import Stamp

__all__ = ["as_document", "existing_marker", "put_marker", "sorted_trouble"]


async def existing_marker(store: WritableStore, address: Address, marker: Marker) -> Sighting | None:
    """What lies there, when it may be replaced by a marker like this one; ``None`` when nothing does.

    :param marker: dataset, interval and version count.
    :raises CannotDeliver: when it must not be replaced.
    """
    look = await store.look(address)
    if look.sighting is None:
        return None
    try:
        there = read_marker(look.data or b"", name=address.name)
    except UnreadableMarker as error:
        text = f"what lies there is no marker, remove it first: {error}"
        raise CannotDeliver(address.uri, "unreadable", text) from None
    if there.dataset != marker.dataset:
        text = f"a marker of dataset {there.dataset} lies there: remove it first"
        raise CannotDeliver(address.uri, "other dataset", text)
    if there.interval == marker.interval and there.version >= marker.version:
        text = f"version {there.version} lies there: a correction needs a version above it"
        raise CannotDeliver(address.uri, "version", text)
    return look.sighting


async def put_marker(
    store: WritableStore, address: Address, document: Marker, *, before: Sighting | None
) -> tuple[Stamp, Marker]:
    """Write the marker by one conditional write, so that of two writers one wins.

    :param before: what it replaces.
    :returns: the stamp of what lies there now, and the marker as a reader reads it.
    :raises CannotDeliver: when no reader would take it.
    :raises Changed: when another writer was faster.
    """
    data, marker = as_document(address, document)
    if before is None:
        facts = await store.put_if_absent(address, data)
    else:
        facts = await store.put_if_unchanged(address, data, since=before)
    return Stamp.of(Sighting(address, facts.size, marker.identity, facts.pin), marker), marker


def as_document(address: Address, document: Marker) -> tuple[bytes, Marker]:
    """The bytes of a marker, and what a reader reads in them.

    :raises CannotDeliver: when no reader would take it.
    """
    try:
        data = write_marker(document)
        return data, read_marker(data, name=address.name)
    except MarkerError as error:
        raise CannotDeliver(address.uri, "marker", str(error)) from None


@contextmanager
def sorted_trouble(folder: str) -> Iterator[None]:
    """Trouble of a store as one of this room's errors."""
    try:
        yield
    except UnsafePath as error:
        raise CannotDeliver(folder, "name", str(error)) from None
    except Changed as error:
        raise CannotDeliver(folder, "changed", f"{error}: nothing was announced, start again") from None
    except Absent as error:
        raise CannotDeliver(folder, "absent", str(error)) from None
    except LastingTrouble as error:
        kind = "configuration" if isinstance(error, InvalidAccess) else "access"
        raise AccessTrouble(folder, kind, str(error)) from None
    except StoreError as error:
        raise Unavailable(folder, "trouble", str(error)) from None
