"""Stores: where deliveries lie, and how they are looked at, read and written."""

from ._access import Access, HttpAccess, S3Access, SessionSource, access_of, options_of
from ._address import Address, parse_uri, schemes
from ._errors import (
    Absent,
    Archived,
    Changed,
    InvalidAccess,
    InvalidAddress,
    LastingTrouble,
    PassingTrouble,
    Refused,
    StoreError,
)
from ._hashes import computable, new_hash
from ._local import LocalStore
from ._registry import open_store, store_key
from ._store import Store, WritableStore
from ._values import Digested, Facts, Look, Pin, Sighting, Sink

__all__ = [
    "Absent",
    "Access",
    "Address",
    "Archived",
    "Changed",
    "Digested",
    "Facts",
    "HttpAccess",
    "InvalidAccess",
    "InvalidAddress",
    "LastingTrouble",
    "LocalStore",
    "Look",
    "PassingTrouble",
    "Pin",
    "Refused",
    "S3Access",
    "SessionSource",
    "Sighting",
    "Sink",
    "Store",
    "StoreError",
    "WritableStore",
    "access_of",
    "computable",
    "new_hash",
    "open_store",
    "options_of",
    "parse_uri",
    "schemes",
    "store_key",
]
