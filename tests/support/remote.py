"""A store in memory that stands for buckets and origins, and notes how it was asked to be reached."""

from __future__ import annotations

import fnmatch
import hashlib
import io
from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from typing import Any, BinaryIO

import pytest

from airflow_landmark.stores import (
    Absent,
    Access,
    Address,
    Digested,
    Facts,
    Look,
    Pin,
    Sighting,
    Sink,
    StoreError,
)
from airflow_landmark.stores import _registry as registry

__all__ = ["Remote"]


class Remote:
    """Objects by their URI.

    :ivar files: URI to bytes.
    :ivar reached: the access of every store that was opened, in their order.
    """

    lists_neighbours = False

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.reached: list[Access | None] = []
        self.closed = 0

    def install(self, monkeypatch: pytest.MonkeyPatch) -> Remote:
        """Let it be opened for every address in a bucket or at an origin."""

        async def factory(address: Address) -> Any:
            self.reached.append(address.access)
            return self

        for scheme in ("s3", "http", "https"):
            monkeypatch.setitem(registry._FACTORIES, scheme, factory)
        return self

    def group(self, address: Address) -> Hashable:
        """The bucket or the origin."""
        return address.authority

    async def look(self, address: Address, *, since: Sighting | None = None) -> Look:
        """One look."""
        data = self.files.get(address.uri)
        if data is None:
            return Look(None, reason="no such object")
        sha256 = hashlib.sha256(data).hexdigest()
        known = since is not None and since.sha256 == sha256
        return Look(Sighting(address, len(data), sha256, _facts(data).pin), None if known else data)

    async def look_many(
        self,
        wanted: Mapping[Address, Sighting | None],
        *,
        also: Mapping[Address, Sighting | None] | None = None,
    ) -> Mapping[Address, Look | StoreError]:
        """Looks one after another."""
        return {address: await self.look(address, since=since) for address, since in wanted.items()}

    async def listing(
        self, folder: Address, *, pattern: str | None = None, limit: int = 100_000
    ) -> Mapping[str, Facts]:
        """Names in the folder."""
        start = folder.at("x").uri.removesuffix("x")
        found = {uri.removeprefix(start): _facts(d) for uri, d in self.files.items() if uri.startswith(start)}
        if pattern is None:
            return found
        return {n: f for n, f in found.items() if "/" not in n and fnmatch.fnmatchcase(n, pattern)}

    async def facts(self, address: Address) -> Facts:
        """Size and pin."""
        return _facts(self._data(address))

    async def facts_many(
        self, addresses: Sequence[Address], *, exact: bool = False
    ) -> Mapping[Address, Facts | StoreError]:
        """Facts one after another."""
        found: dict[Address, Facts | StoreError] = {}
        for address in addresses:
            try:
                found[address] = await self.facts(address)
            except StoreError as error:
                found[address] = error
        return found

    async def held_digests(
        self, address: Address, algorithms: Sequence[str], *, pin: Pin | None = None
    ) -> Mapping[str, str]:
        """None."""
        return {}

    async def read(
        self, address: Address, *, pin: Pin | None = None, start: int = 0, stop: int | None = None
    ) -> AsyncIterator[bytes]:
        """All in one chunk."""
        yield self._data(address)[start:stop]

    async def open(self, address: Address, *, pin: Pin | None = None) -> BinaryIO:
        """The bytes as a file."""
        return io.BytesIO(self._data(address))

    async def digest(
        self,
        address: Address,
        algorithms: Sequence[str],
        *,
        pin: Pin | None = None,
        sinks: Sequence[Sink] = (),
    ) -> Digested:
        """Digest the bytes."""
        data = self._data(address)
        for sink in sinks:
            sink.update(data)
        return Digested(_facts(data), {name: hashlib.new(name, data).hexdigest() for name in algorithms})

    async def aclose(self) -> None:
        """Count it."""
        self.closed += 1

    def _data(self, address: Address) -> bytes:
        if address.uri not in self.files:
            raise Absent(address.uri, "no such object")
        return self.files[address.uri]


def _facts(data: bytes) -> Facts:
    return Facts(len(data), Pin(etag=hashlib.md5(data, usedforsecurity=False).hexdigest()))
