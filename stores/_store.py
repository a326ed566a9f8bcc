"""The two interfaces that every kind of store fills."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from typing import BinaryIO, Protocol, runtime_checkable

from ._address import Address
from ._errors import StoreError
from ._values import Digested, Facts, Look, Pin, Sighting, Sink

__all__ = ["Store", "WritableStore"]


@runtime_checkable
class Store(Protocol):
    """Where deliveries lie.

    One instance serves all waits of an event loop on the same place with the same settings. Methods
    raise :class:`StoreError` only; cancellation always propagates.
    """

    def group(self, address: Address) -> Hashable:
        """What shares a fate: addresses of one group are looked at together, and wait for each other."""

    async def look(self, address: Address, *, since: Sighting | None = None) -> Look:
        """See what lies at the address and read it when it is not what ``since`` saw.

        A conditional request for S3 and HTTP, open and compare for disks.

        :raises PassingTrouble, LastingTrouble: an absent object is no error, but a look without sighting.
        """

    async def look_many(
        self, wanted: Mapping[Address, Sighting | None]
    ) -> Mapping[Address, Look | StoreError]:
        """Look at many addresses of one group, by single looks or by listing: whichever costs less."""

    async def listing(
        self, folder: Address, *, pattern: str | None = None, limit: int = 100_000
    ) -> Mapping[str, int]:
        """Names in the folder, relative to it, with their sizes in bytes.

        :param pattern: match names directly in the folder, by ``fnmatch``'s rules and case; ``None``
            lists the whole tree below it.
        :param limit: at most so many.
        :raises LastingTrouble: when there are more.
        """

    async def facts(self, address: Address) -> Facts:
        """Size and pin.

        :raises Absent: when nothing lies there.
        """

    async def facts_many(self, addresses: Sequence[Address]) -> Mapping[Address, Facts | StoreError]:
        """Facts of many addresses of one folder, by single requests or by listing."""

    def read(
        self, address: Address, *, pin: Pin | None = None, start: int = 0, stop: int | None = None
    ) -> AsyncIterator[bytes]:
        """The bytes from ``start`` to before ``stop``, in chunks.

        :param pin: read this state only.
        :raises Changed: when it is another one, or becomes another one meanwhile.
        """

    async def open(self, address: Address, *, pin: Pin | None = None) -> BinaryIO:
        """The object as a binary file, for blocking code on a worker.

        :raises Changed: when it is not the pinned state.
        """

    async def digest(
        self,
        address: Address,
        algorithms: Sequence[str],
        *,
        pin: Pin | None = None,
        sinks: Sequence[Sink] = (),
    ) -> Digested:
        """Digest the whole object, in constant memory, off the event loop.

        :param sinks: are given every chunk on the way, so that a file is read once only.
        :raises Changed: when it is not the pinned state, or changes meanwhile.
        """

    async def aclose(self) -> None:
        """Release clients, threads and connections."""


@runtime_checkable
class WritableStore(Store, Protocol):
    """A store that markers can be written to. Every put is atomic: all of it is seen, or nothing."""

    async def put(self, address: Address, data: bytes) -> Facts:
        """Write, whatever lies there."""

    async def put_if_absent(self, address: Address, data: bytes) -> Facts:
        """Write when nothing lies there.

        :raises Changed: when something does.
        """

    async def put_if_unchanged(self, address: Address, data: bytes, *, since: Sighting) -> Facts:
        """Replace exactly what ``since`` saw.

        :raises Changed: when something else lies there, or nothing.
        """
