"""Stores: where deliveries lie, and how they are looked at, read and written."""

from ._address import Address, parse_uri, schemes
from ._errors import (
    Absent,
    Changed,
    InvalidAddress,
    LastingTrouble,
    PassingTrouble,
    Refused,
    StoreError,
)
from ._local import LocalStore
from ._local_digest import computable
from ._registry import open_store
from ._store import Store, WritableStore
from ._values import Digested, Facts, Look, Pin, Sighting, Sink

__all__ = [
    "Absent",
    "Address",
    "Changed",
    "Digested",
    "Facts",
    "InvalidAddress",
    "LastingTrouble",
    "LocalStore",
    "Look",
    "PassingTrouble",
    "Pin",
    "Refused",
    "Sighting",
    "Sink",
    "Store",
    "StoreError",
    "WritableStore",
    "computable",
    "open_store",
    "parse_uri",
    "schemes",
]
