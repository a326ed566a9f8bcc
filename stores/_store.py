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

    lists_neighbours: bool
    """Whether one listing of this kind of store can tell of many folders: look_many then takes ``also``."""

    def group(self, address: Address) -> Hashable:
        """What shares a fate: addresses of one group are looked at together, and wait for each other."""

    async def look(self, address: Address, *, since: Sighting | None = None) -> Look:
        """See what lies at the address and read it when it is not what ``since`` saw.

        A conditional request for S3 and HTTP, open and compare for disks.

        :raises PassingTrouble, LastingTrouble: an absent object is no error, but a look without sighting.
        """

    async def look_many(
        self,
        wanted: Mapping[Address, Sighting | None],
        *,
        also: Mapping[Address, Sighting | None] | None = None,
    ) -> Mapping[Address, Look | StoreError]:
        """Look at many addresses of one group, by single looks or by listing: whichever costs less.

        :param also: addresses of the same group that are due soon: answered where that costs no request
            beside those for ``wanted``, and left out of the result otherwise.
        """

    async def listing(
        self, folder: Address, *, pattern: str | None = None, limit: int = 100_000
    ) -> Mapping[str, Facts]:
        """Names in the folder, relative to it, with their facts.

        :param pattern: match names directly in the folder, by ``fnmatch``'s rules and case; ``None``
            lists the whole tree below it.
        :param limit: at most so many.
        :raises LastingTrouble: when there are more, or when this kind of store lists nothing.
        """

    async def facts(self, address: Address) -> Facts:
        """Size and pin.

        :raises Absent: when nothing lies there.
        """

    async def facts_many(
        self, addresses: Sequence[Address], *, exact: bool = False
    ) -> Mapping[Address, Facts | StoreError]:
        """Facts of many addresses of one folder, by single requests or by listing.

        :param exact: each with the most lasting pin that the store has, such as a version that stays
            readable after it was replaced; otherwise with one that costs no request of its own.
        """

    async def held_digests(
        self, address: Address, algorithms: Sequence[str], *, pin: Pin | None = None
    ) -> Mapping[str, str]:
        """Digests of the whole object that the store itself has computed and vouches for.

        :param algorithms: the ones of interest; one that the store does not hold is left out.
        :returns: algorithm to lower-case hex; empty where a download has to prove the content.
        :raises Changed: when it is not the pinned state.
        """

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

    async def put_file(
        self,
        address: Address,
        source: BinaryIO,
        *,
        size: int,
        digests: Mapping[str, str],
        sinks: Sequence[Sink] = (),
    ) -> Facts:
        """Write a file, all of it or nothing, whatever lies there; in constant memory.

        :param source: open for reading, at its start, of a local file; read in threads.
        :param size: bytes that are to come.
        :param digests: what is known of the content, algorithm to hex, for the store to check and keep.
        :param sinks: are given every chunk that was sent.
        :raises Changed: when the source gives other bytes than that.
        """
