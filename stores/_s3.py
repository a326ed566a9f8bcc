"""Deliveries in S3 buckets, and in those of servers that speak its protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import BinaryIO

from anyio import to_thread

from . import _s3_write as write
from ._access import S3Access
from ._address import Address
from ._errors import StoreError
from ._s3_again import Again
from ._s3_client import S3Connection, check_extra
from ._s3_facts import facts, held_digests
from ._s3_file import open_file
from ._s3_list import list_folder
from ._s3_look import look_at
from ._s3_many import Many
from ._s3_read import Reading, digest
from ._values import Digested, Facts, Look, Pin, Sighting, Sink

__all__ = ["S3Store"]


class S3Store:
    """All buckets that are reached with the same settings and credentials, through one client.

    :param access: settings and credentials.
    :param again: how often requests of uploads are sent again.
    :ivar connection: the client, built with the first request.
    """

    lists_neighbours = True

    def __init__(self, access: S3Access, *, again: Again | None = None) -> None:
        self.connection = S3Connection(access)
        self._again = again or Again()
        self._many = Many(self.connection)

    async def start(self) -> S3Store:
        """See whether the extra is installed.

        :raises InvalidAccess: saying what to install.
        """
        await to_thread.run_sync(check_extra)
        return self

    async def aclose(self) -> None:
        """Close the client."""
        await self.connection.aclose()

    def group(self, address: Address) -> Hashable:
        """The bucket: one listing tells of all that lies in it."""
        return address.authority

    async def look(self, address: Address, *, since: Sighting | None = None) -> Look:
        """One conditional GET."""
        return await look_at(self.connection, address, since)

    async def look_many(
        self,
        wanted: Mapping[Address, Sighting | None],
        *,
        also: Mapping[Address, Sighting | None] | None = None,
    ) -> Mapping[Address, Look | StoreError]:
        """Listings tell what is absent or unchanged where they cost less; the rest is asked for singly."""
        return await self._many.looks(wanted, also or {})

    async def listing(
        self, folder: Address, *, pattern: str | None = None, limit: int = 100_000
    ) -> Mapping[str, Facts]:
        """Names and facts in the folder, or in the tree below it."""
        return await list_folder(self.connection, folder, pattern=pattern, limit=limit)

    async def facts(self, address: Address) -> Facts:
        """One HEAD."""
        return await facts(self.connection, address)

    async def facts_many(
        self, addresses: Sequence[Address], *, exact: bool = False
    ) -> Mapping[Address, Facts | StoreError]:
        """One HEAD for each; by listings where they cost less and versions are not asked for."""
        return await self._many.facts(addresses, exact=exact)

    async def held_digests(
        self, address: Address, algorithms: Sequence[str], *, pin: Pin | None = None
    ) -> Mapping[str, str]:
        """Checksums that S3 keeps of the whole object; never an ETag."""
        return await held_digests(self.connection, address, algorithms, pin=pin)

    async def read(
        self, address: Address, *, pin: Pin | None = None, start: int = 0, stop: int | None = None
    ) -> AsyncIterator[bytes]:
        """The bytes from ``start`` to before ``stop``, in chunks of at most 1 MiB."""
        reading = Reading(self.connection, address, pin=pin, start=start, stop=stop)
        async with aclosing(reading.chunks()) as chunks:
            async for chunk in chunks:
                yield chunk

    async def open(self, address: Address, *, pin: Pin | None = None) -> BinaryIO:
        """A file that reads what it is asked for, and does not need this event loop."""
        return await open_file(replace(address, access=self.connection.access), pin)

    async def digest(
        self,
        address: Address,
        algorithms: Sequence[str],
        *,
        pin: Pin | None = None,
        sinks: Sequence[Sink] = (),
    ) -> Digested:
        """Read it once, in constant memory."""
        return await digest(self.connection, address, algorithms, pin=pin, sinks=sinks)

    async def put(self, address: Address, data: bytes) -> Facts:
        """One PUT."""
        return await write.put(self.connection, address, data)

    async def put_if_absent(self, address: Address, data: bytes) -> Facts:
        """One conditional PUT."""
        return await write.put_if_absent(self.connection, address, data)

    async def put_if_unchanged(self, address: Address, data: bytes, *, since: Sighting) -> Facts:
        """One conditional PUT."""
        return await write.put_if_unchanged(self.connection, address, data, since)

    async def put_file(
        self,
        address: Address,
        source: BinaryIO,
        *,
        size: int,
        digests: Mapping[str, str],
        sinks: Sequence[Sink] = (),
    ) -> Facts:
        """One PUT, or a multipart upload that is aborted when it fails."""
        return await write.put_file(
            self.connection, address, source, size=size, digests=digests, sinks=sinks, again=self._again
        )
