"""One store for each place and event loop, shared by everything that waits there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.lowlevel import RunVar

from ._address import Address
from ._local import LocalStore
from ._store import Store

__all__ = ["open_store"]

_Key = tuple[str, str]


@dataclass
class _Shared:
    """A store, how many use it, and a lock that keeps it from being built twice."""

    users: int = 0
    store: Store | None = None
    lock: anyio.Lock = field(default_factory=anyio.Lock)


_SHARED: RunVar[dict[_Key, _Shared]] = RunVar("landmark_stores")


@asynccontextmanager
async def open_store(address: Address) -> AsyncIterator[Store]:
    """The store that holds the address: built for the first user, closed with the last.

    :raises StoreError: when it cannot be opened.
    """
    shared_stores = _SHARED.get({})
    _SHARED.set(shared_stores)
    key = (address.scheme, address.authority)
    shared = shared_stores.setdefault(key, _Shared())
    shared.users += 1
    try:
        async with shared.lock:
            if shared.store is None:
                shared.store = await _FACTORIES[address.scheme](address)
        yield shared.store
    finally:
        shared.users -= 1
        if not shared.users:
            shared_stores.pop(key, None)
            if shared.store is not None:
                with anyio.CancelScope(shield=True):
                    await shared.store.aclose()


async def _open_local(_address: Address) -> Store:
    return await LocalStore().start()


_FACTORIES: dict[str, Callable[[Address], Awaitable[Store]]] = {"file": _open_local}
