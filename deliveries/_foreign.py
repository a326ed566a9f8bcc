"""Reading a marker of a foreign format: more than one document, or a listing, may make it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from anyio import to_thread

from airflow_landmark.markers import (
    MAX_DOCUMENT_BYTES,
    MAX_FILES,
    Format,
    Listed,
    Marker,
    UnreadableMarker,
    UnsafePath,
    identity_of_listing,
    show,
)
from airflow_landmark.stores import (
    Absent,
    Address,
    Changed,
    Facts,
    LastingTrouble,
    Look,
    Pin,
    Sighting,
    Store,
    StoreError,
)

from ._target import Form, Reading

__all__ = ["look_at_tail", "read_foreign"]

_MAX_DOCUMENTS = 64
_MAX_BYTES = 4 * MAX_DOCUMENT_BYTES
_PARSE_HERE_BYTES = 16 * 1024
_PARSE_HERE_NAMES = 500


async def look_at_tail(store: Store, address: Address, tail_bytes: int, since: Sighting | None) -> Look:
    """A look at the end of a large file; its sha256 is that of the end alone.

    :raises StoreError: when the store fails; an absent file is a look without sighting.
    """
    try:
        facts = await store.facts(address)
    except Absent as absent:
        return Look(None, reason=absent.reason)
    same = since is not None and (since.pin, since.size) == (facts.pin, facts.size)
    if since is not None and same and facts.pin != Pin():  # a server without validators tells no change
        return Look(since)
    start = max(0, facts.size - tail_bytes)
    chunks = [chunk async for chunk in store.read(address, pin=facts.pin, start=start, stop=facts.size)]
    data = b"".join(chunks)
    sighting = Sighting(address, facts.size, hashlib.sha256(data).hexdigest(), facts.pin)
    return Look(sighting, data)


async def read_foreign(store: Store, look: Look, known: Reading | None, form: Form) -> Reading | None:
    """The marker that the documents make; ``None`` when the one that was looked at is gone meanwhile.

    What was read is read again when any document or the listing changed since, and the first one is
    looked at once more at the end: all of them belong to one moment.

    :param look: at the document that the target names.
    :param known: what was read before; ``None`` reads everything.
    :raises Changed: when it changes while it is read.
    :raises StoreError: when the store fails.
    """
    sighting = look.sighting
    if sighting is None:
        return None
    listing = await _listing(store, sighting.address, form.format)
    listed = identity_of_listing(listing) if form.format.listing != "none" else ""
    names = _names(sighting.address, form, [name for name, _, _ in listing])
    before = known.beside if known is not None and look.data is None else {}
    beside = await _looks(store, sighting.address, names, before)
    same = known is not None and look.data is None and known.listed == listed
    if same and known is not None and _sightings(beside) == known.beside and not _read(beside):
        return known
    return await _read_all(store, sighting, names, form=form, listing=listing, listed=listed)


async def _listing(store: Store, address: Address, format_: Format) -> list[Listed]:
    if format_.listing == "none":
        return []
    folder = Address(address.scheme, address.authority, address.folder, "", address.access)
    pattern = "*" if format_.listing == "folder" else None
    found = await store.listing(folder, pattern=pattern, limit=MAX_FILES)
    return [(name, facts.size, _pin_text(facts)) for name, facts in sorted(found.items())]


def _pin_text(facts: Facts) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(facts.pin.to_json().items()))


def _names(address: Address, form: Form, listing: Sequence[str]) -> list[str]:
    """The documents beside the one that was looked at."""
    names = form.format.documents(address.uri, listing, dict(form.declared))
    beside = [name for name in dict.fromkeys(names) if name != address.name]
    if len(beside) >= _MAX_DOCUMENTS:
        text = f"format {form.name} asks for more than {_MAX_DOCUMENTS} documents"
        raise LastingTrouble(address.uri, text)
    return beside


async def _looks(
    store: Store, address: Address, names: Sequence[str], before: Mapping[str, Sighting | None]
) -> dict[str, Look]:
    places = {}
    for name in names:
        try:
            places[address.at(name)] = name
        except UnsafePath as error:
            raise LastingTrouble(address.uri, f"a document's name is refused: {error.reason}") from None
    if not places:
        return {}
    found = await store.look_many({place: before.get(name) for place, name in places.items()})
    looks = {}
    for place, name in places.items():
        look = found[place]
        if isinstance(look, StoreError):
            raise look
        looks[name] = look
    return looks


def _sightings(looks: Mapping[str, Look]) -> dict[str, Sighting | None]:
    return {name: look.sighting for name, look in looks.items()}


def _read(looks: Mapping[str, Look]) -> bool:
    """Whether any of them brought new bytes."""
    return any(look.data is not None for look in looks.values())


async def _read_all(
    store: Store,
    sighting: Sighting,
    names: Sequence[str],
    *,
    form: Form,
    listing: Sequence[Listed],
    listed: str,
) -> Reading | None:
    """Everything anew, for one moment: a document that was known is read again too."""
    address, tail = sighting.address, form.format.tail_bytes
    beside = await _looks(store, address, names, {})
    look = await (store.look(address) if tail is None else look_at_tail(store, address, tail, None))
    if look.sighting is None:
        return None
    if look.sighting.sha256 != sighting.sha256:
        raise Changed(address.uri, "it changes while it is read")
    documents = {address.name: look.data or b""}
    documents |= {name: other.data for name, other in beside.items() if other.data is not None}
    size = sum(map(len, documents.values()))
    if size > _MAX_BYTES:
        raise LastingTrouble(address.uri, f"its documents have more than {_MAX_BYTES} bytes together")
    small = size <= _PARSE_HERE_BYTES and len(listing) <= _PARSE_HERE_NAMES
    found = (
        _parse(form, address, documents, listing)
        if small
        else await to_thread.run_sync(_parse, form, address, documents, listing)
    )
    return Reading(look.sighting, found, _sightings(beside), listed)


def _parse(
    form: Form, address: Address, documents: Mapping[str, bytes], listing: Sequence[Listed]
) -> Marker | UnreadableMarker:
    try:
        return form.format.read(documents, listing, {**dict(form.declared), "uri": address.uri})
    except UnreadableMarker as report:
        return report
    except Exception as error:  # another package's reader must not end the waits of others
        text = f"the reader of format {form.name} failed: {type(error).__name__}: {show(str(error))}"
        raise LastingTrouble(address.uri, text) from error
