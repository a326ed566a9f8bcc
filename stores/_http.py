"""Deliveries on HTTP origins, to be waited for and read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import BinaryIO, TypeVar

import anyio

from ._access import HttpAccess
from ._address import Address
from ._errors import Changed, LastingTrouble, PassingTrouble, StoreError
from ._http_client import HttpClient, open_client
from ._http_codings import coding_of
from ._http_credentials import origin_of
from ._http_digests import WANTED, repr_digests
from ._http_errors import error_of_answer
from ._http_facts import FactsFinder
from ._http_headers import state_of
from ._http_look import look_at
from ._http_pass import copied, digested
from ._http_read import Reading
from ._http_requests import Requests
from ._http_slots import Slots
from ._values import Digested, Facts, Look, Pin, Sighting, Sink

__all__ = ["HttpStore"]

ResultT = TypeVar("ResultT")

_LOOK_SECONDS = 60.0
_FACTS_SECONDS = 180.0
_READS = 8
_AT_ONCE = 32


class HttpStore:
    """HTTP origins that are reached in the same way.

    At most 32 connections serve all of them, and are kept between requests: for up to 16 looks and five
    more that are late, eight requests for facts and two that are late, eight readings.

    Timeouts are the access's: seconds to connect (5 by default) and seconds without a byte (20); a look has
    to end within a minute. Certificates are checked against the CAs of the system and of certifi, or those
    in ``SSL_CERT_FILE``, or those that ``access.verify`` names. The environment's proxies are used unless
    the access names one.
    Redirects are followed within the origin only. Nothing is taken from caches unasked.

    :param access: settings and credentials.
    :param client: sends the requests; ``None`` for the one on httpx's engine.
    """

    lists_neighbours = False

    def __init__(self, access: HttpAccess, *, client: HttpClient | None = None) -> None:
        self._access = access
        self._client = client
        self._requests: Requests
        self._facts: FactsFinder
        self._look_slots = Slots(prompt=16, late=5)
        self._facts_slots = Slots(prompt=8, late=2)
        self._readers = anyio.CapacityLimiter(_READS)
        self._look_seconds = max(_LOOK_SECONDS, access.connect_timeout + access.read_timeout)

    async def start(self) -> HttpStore:
        """Build the client, in a thread; to be awaited once before use.

        :raises LastingTrouble: when httpx is missing, or the access cannot be used.
        """
        self._client = self._client or await open_client(self._access)
        self._requests = Requests(self._access, self._client)
        self._facts = FactsFinder(self._requests, self._access)
        return self

    async def aclose(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.aclose()

    def group(self, address: Address) -> Hashable:
        """Origin and folder: looks share nothing but the origin, and its slots keep slow ones apart."""
        return address.scheme, address.authority, address.folder

    async def look(self, address: Address, *, since: Sighting | None = None) -> Look:
        """A conditional GET: by the ETag, or else by a Last-Modified that is old enough to tell."""
        async with self._look_slots.hold(origin_of(address), address):
            with anyio.move_on_after(self._look_seconds):
                return await look_at(self._requests, self._access, address, since)
        raise PassingTrouble(address.uri, f"no whole answer within {self._look_seconds:g} s")

    async def look_many(
        self,
        wanted: Mapping[Address, Sighting | None],
        *,
        also: Mapping[Address, Sighting | None] | None = None,  # noqa: ARG002 - nothing is free here
    ) -> Mapping[Address, Look | StoreError]:
        """Look at each, several at a time."""
        return await _each(wanted, lambda address: self.look(address, since=wanted[address]))

    async def listing(
        self,
        folder: Address,
        *,
        pattern: str | None = None,  # noqa: ARG002
        limit: int = 100_000,  # noqa: ARG002
    ) -> Mapping[str, Facts]:
        """None: HTTP has no listings.

        :raises LastingTrouble: always.
        """
        raise LastingTrouble(
            folder.uri,
            "an HTTP origin cannot be listed: name the marker; patterns, unexpected files and formats "
            "that need a listing work in folders and buckets only",
        )

    async def facts(self, address: Address) -> Facts:
        """Size and pin, by HEAD where the server answers it."""
        async with self._facts_slots.hold(origin_of(address), address):
            with anyio.move_on_after(_FACTS_SECONDS):
                return await self._facts.facts(address)
        raise PassingTrouble(address.uri, f"its size was not told within {_FACTS_SECONDS:g} s")

    async def facts_many(
        self,
        addresses: Sequence[Address],
        *,
        exact: bool = False,  # noqa: ARG002 - a resource has one kind of pin
    ) -> Mapping[Address, Facts | StoreError]:
        """Size and pin of each, several at a time."""
        return await _each(addresses, self.facts)

    async def held_digests(
        self, address: Address, algorithms: Sequence[str], *, pin: Pin | None = None
    ) -> Mapping[str, str]:
        """The server's ``Repr-Digest``, of the bytes as they are stored and of the pinned state."""
        if self._facts.refuses_head(address):
            return {}
        async with (
            self._facts_slots.hold(origin_of(address), address),
            self._requests.ask("HEAD", address, [WANTED], within=_LOOK_SECONDS) as answer,
        ):
            if answer.status != 200:
                raise error_of_answer(answer, address.uri, self._access)
            state = state_of(answer)
            if not state.is_pinned_by(pin):
                raise Changed(address.uri, "it was replaced or changed since it was seen")
            if coding_of(answer) or (pin is not None and state.pin == Pin()):
                return {}
            held = repr_digests(answer.header("repr-digest"))
        return {name: digest for name, digest in held.items() if name in algorithms}

    async def read(
        self, address: Address, *, pin: Pin | None = None, start: int = 0, stop: int | None = None
    ) -> AsyncIterator[bytes]:
        """The bytes from ``start`` to before ``stop``, by a range where the server gives one."""
        async with self._readers, aclosing(self._reading(address, pin, start, stop).chunks()) as chunks:
            async for chunk in chunks:
                yield chunk

    async def open(self, address: Address, *, pin: Pin | None = None) -> BinaryIO:
        """A copy in a temporary file without a name.

        Blocking code may seek in it, and read it long after this event loop and the resource are gone. It
        takes as much room in the folder for temporary files (``TMPDIR``) as the resource has bytes.

        :raises LastingTrouble: when there is no such room.
        """
        facts = await self.facts(address)
        async with self._readers:
            return await copied(self._reading(address, pin), address.uri, facts.size)

    async def digest(
        self,
        address: Address,
        algorithms: Sequence[str],
        *,
        pin: Pin | None = None,
        sinks: Sequence[Sink] = (),
    ) -> Digested:
        """Digest the bytes as they come, in threads."""
        async with self._readers:
            return await digested(self._reading(address, pin), algorithms, sinks)

    def _reading(self, address: Address, pin: Pin | None, start: int = 0, stop: int | None = None) -> Reading:
        return Reading(self._requests, self._access, address, pin=pin, start=start, stop=stop)


async def _each(
    addresses: Iterable[Address], work: Callable[[Address], Awaitable[ResultT]]
) -> dict[Address, ResultT | StoreError]:
    """The results of the work on each, or the trouble with it."""
    results: dict[Address, ResultT | StoreError] = {}
    waiting = list(addresses)

    async def worker() -> None:
        while waiting:
            address = waiting.pop()
            try:
                results[address] = await work(address)
            except StoreError as error:
                results[address] = error

    if len(waiting) <= 1:
        await worker()
        return results
    async with anyio.create_task_group() as group:
        for _ in range(min(len(waiting), _AT_ONCE)):
            group.start_soon(worker)
    return results
