"""Whether a bucket keeps the promise that a ledger stands on: a conditional write that lost is refused."""

from __future__ import annotations

import json
import secrets

from airflow_landmark.stores import Address, Changed, WritableStore

from ._errors import AccessTrouble

__all__ = ["probe"]

_NAME = "_landmark-ledger.json"


async def probe(store: WritableStore, folder: Address) -> str:
    """Write an object, try to write over it as a late writer would, and say in a sentence what was seen.

    :raises AccessTrouble: when a late writer's condition is passed over.
    :raises StoreError: when the store refuses or fails.
    """
    address = folder.at(_NAME)
    before = (await store.look(address)).sighting
    if before is None:
        await store.put_if_absent(address, _document())
    if not await _refuses_if_absent(store, address):
        text = "this server passes over If-None-Match: of two claims at the same moment both would win"
        raise AccessTrouble(address.uri, "configuration", text)
    if not await _refuses_if_changed(store, address):
        text = "this server passes over If-Match: of two claims at the same moment both would win"
        raise AccessTrouble(address.uri, "configuration", text)
    return f"conditional writes hold: {address.uri} was written, and writers that came late were refused"


async def _refuses_if_absent(store: WritableStore, address: Address) -> bool:
    try:
        await store.put_if_absent(address, _document())
    except Changed:
        return True
    return False


async def _refuses_if_changed(store: WritableStore, address: Address) -> bool:
    seen = (await store.look(address)).sighting
    if seen is None:
        raise Changed(address.uri, "it was removed meanwhile: try again")
    await store.put_if_unchanged(address, _document(), since=seen)
    try:
        await store.put_if_unchanged(address, _document(), since=seen)
    except Changed:
        return True
    return False


def _document() -> bytes:
    about = "landmark ledger create wrote this to check the bucket's conditional writes; it may be removed"
    return json.dumps({"about": about, "number": secrets.token_hex(8)}).encode("ascii")
