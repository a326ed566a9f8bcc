"""Where the files of a manifest lie, and what is known of them there."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_landmark.markers import FileEntry
from airflow_landmark.stores import (
    Address,
    Facts,
    LastingTrouble,
    Refused,
    Store,
    StoreError,
    parse_uri,
    store_key,
)

__all__ = ["facts_of", "place_of"]


def place_of(marker: Address, entry: FileEntry) -> Address:
    """The address of a file: in the marker's folder, or where a format of full addresses says.

    The format has held such an address against what the Dag allows; here it has to be one of the same
    store.

    :raises Refused: when it is none.
    """
    if entry.url is None:
        return marker.at(entry.path)
    try:
        place = parse_uri(entry.url, access=marker.access)
    except LastingTrouble as error:
        raise Refused(error.place, error.reason) from None
    if store_key(place) != store_key(marker):
        raise Refused(place.uri, f"the marker lies in another kind of store, at {marker.uri}")
    return place


async def facts_of(
    store: Store, marker: Address, entries: Sequence[FileEntry], *, exact: bool = False
) -> dict[str, Facts | StoreError]:
    """Path to the facts of each file, or to the trouble with it.

    :param marker: the marker's address.
    :param exact: each with the most lasting pin that the store has.
    """
    places: dict[str, Address] = {}
    found: dict[str, Facts | StoreError] = {}
    for entry in entries:
        try:
            places[entry.path] = place_of(marker, entry)
        except Refused as error:
            found[entry.path] = error
    facts = await store.facts_many(list(places.values()), exact=exact)
    found.update((path, facts[place]) for path, place in places.items())
    return found
