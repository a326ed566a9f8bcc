"""One store for each place and event loop, shared by everything that waits there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from importlib import import_module
from types import TracebackType
from typing import TypeVar

import anyio
from anyio import to_thread
from anyio.lowlevel import RunVar

from ._access import HttpAccess, S3Access, access_of
from ._address import Address
from ._errors import InvalidAccess
from ._local import LocalStore
from ._store import Store

__all__ = ["open_store", "store_key"]

AccessT = TypeVar("AccessT", S3Access, HttpAccess)


@dataclass
class _Shared:
    """A store, how many use it, and a lock that keeps it from being built twice."""

    users: int = 0
    store: Store | None = None
    lock: anyio.Lock = field(default_factory=anyio.Lock)


_SHARED: RunVar[dict[Hashable, _Shared]] = RunVar("landmark_stores")


class open_store:  # noqa: N801 - used like a function
    """``async with open_store(address) as store``: the store that holds the address.

    It is built for the first user and closed with the last. A class, since every wait holds one: as a
    decorated generator it would take three times the memory.

    :raises StoreError: when it cannot be opened.
    """

    __slots__ = ("_address", "_key", "_shared")

    def __init__(self, address: Address) -> None:
        self._address = address

    async def __aenter__(self) -> Store:
        shared_stores = _SHARED.get({})
        _SHARED.set(shared_stores)
        self._key = store_key(self._address)
        self._shared = shared_stores.setdefault(self._key, _Shared())
        self._shared.users += 1
        try:
            async with self._shared.lock:
                if self._shared.store is None:
                    self._shared.store = await _FACTORIES[self._address.scheme](self._address)
                return self._shared.store
        except BaseException:
            await self._leave()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._leave()

    async def _leave(self) -> None:
        shared = self._shared
        shared.users -= 1
        if not shared.users:
            _SHARED.get().pop(self._key, None)
            if shared.store is not None:
                with anyio.CancelScope(shield=True):
                    await shared.store.aclose()


def store_key(address: Address) -> Hashable:
    """What addresses of the same store have in common: the kind of store, and how it is reached."""
    kind = "http" if address.scheme == "https" else address.scheme
    return kind, address.access or access_of(address.scheme)


async def _open_local(_address: Address) -> Store:
    return await LocalStore().start()


async def _open_s3(address: Address) -> Store:
    await _imported("_s3")
    from ._s3 import S3Store  # noqa: PLC0415 - heavy, and part of an extra

    return await S3Store(_own(address, S3Access)).start()


async def _open_http(address: Address) -> Store:
    await _imported("_http")
    from ._http import HttpStore  # noqa: PLC0415 - heavy, and part of an extra

    return await HttpStore(_own(address, HttpAccess)).start()


async def _imported(module: str) -> None:
    """Import a module in a thread: the loop stands still no longer than for a look into ``sys.modules``."""
    await to_thread.run_sync(import_module, f".{module}", __package__)


def _own(address: Address, kind: type[AccessT]) -> AccessT:
    access = address.access or kind()
    if not isinstance(access, kind):
        raise InvalidAccess(address.uri, f"a {type(access).__name__} does not reach {address.scheme}")
    return access


_FACTORIES: dict[str, Callable[[Address], Awaitable[Store]]] = {
    "file": _open_local,
    "http": _open_http,
    "https": _open_http,
    "s3": _open_s3,
}
