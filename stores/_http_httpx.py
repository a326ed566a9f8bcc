"""The client on httpx.

It stands on httpx's transports, without the client that httpx puts on top of them: that one adds redirects,
cookies, users and settings from the environment, none of which may happen here. Each transport has one
connection, and which one serves a request is decided here: with every request a transport asks each of its
connections whether it is still open, so that one with 16 of them costs three times the CPU a request.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator
from types import TracebackType
from typing import cast

import anyio
import httpx

from ._access import HttpAccess
from ._errors import StoreError
from ._http_client import Headers
from ._http_faults import BROKEN, fault_of
from ._http_headers import whole
from ._http_lane import KEEP_SECONDS, Lane, Ways
from ._http_slots import Room

__all__ = ["HttpxClient"]

_MAX_LANES = 32
_DRAIN_BYTES = 16 * 1024
"""So much of an unread body is read to keep its connection, before closing that is cheaper."""


class HttpxClient:
    """An HTTP/1.1 client with at most 32 connections.

    Certificates are checked as ``access.verify`` says; proxies are ``access.proxy`` or the environment's.
    Connecting, each read and each write end after the seconds of the access; an answer's head is bounded
    by httpx, and of its body no more is held than one read of the network brings.

    :param access: settings; its credentials are not this class's business.
    """

    def __init__(self, access: HttpAccess) -> None:
        self._ways = Ways(access)
        read, connect = access.read_timeout, access.connect_timeout
        self.timeouts = {"connect": connect, "read": read, "write": read, "pool": connect}
        self._room = Room(_MAX_LANES)
        self._idle: dict[str, list[Lane]] = {}
        self._lanes: set[Lane] = set()

    def send(self, method: str, origin: str, target: str, headers: Headers) -> _Exchange:
        """Send one request."""
        return _Exchange(self, method, origin, target, headers)

    async def aclose(self) -> None:
        """Close every connection."""
        lanes, self._lanes, self._idle = self._lanes, set(), {}
        for lane in lanes:
            await lane.aclose()

    async def take(self, origin: str) -> Lane:
        """A lane to the origin that nobody uses: the one that was used last, so that few stay open."""
        await self._room.take()
        try:
            return await self._lane(origin)
        except BaseException:
            self._room.give()
            raise

    def give_back(self, lane: Lane) -> None:
        """Keep the lane for the next request."""
        lane.idle_since = time.monotonic()
        self._idle.setdefault(lane.origin, []).append(lane)
        self._room.give()

    async def discard(self, lane: Lane) -> None:
        """Close the lane, in whatever state an error or a cancellation has left it."""
        self._lanes.discard(lane)
        try:
            with anyio.CancelScope(shield=True):
                await lane.aclose()
        finally:
            self._room.give()

    async def _lane(self, origin: str) -> Lane:
        idle = self._idle.get(origin, [])
        if len(idle) > 1 and time.monotonic() - idle[0].idle_since > KEEP_SECONDS:
            await self._drop(idle[0])
        if idle := self._idle.get(origin, []):
            lane = idle[-1]
            self._take_out(lane)
            return lane
        if len(self._lanes) >= _MAX_LANES:
            await self._drop_oldest()
        lane = await self._ways.to(origin)
        self._lanes.add(lane)
        return lane

    async def _drop_oldest(self) -> None:
        idle = [lanes[0] for lanes in self._idle.values()]
        if idle:
            await self._drop(min(idle, key=lambda lane: lane.idle_since))

    def _take_out(self, lane: Lane) -> None:
        lanes = self._idle[lane.origin]
        lanes.remove(lane)
        if not lanes:
            del self._idle[lane.origin]

    async def _drop(self, lane: Lane) -> None:
        self._take_out(lane)
        self._lanes.discard(lane)
        await lane.aclose()


class _Exchange:
    """One request and its answer: a context that holds a lane, and the answer that it gives."""

    def __init__(self, client: HttpxClient, method: str, origin: str, target: str, headers: Headers) -> None:
        self._client = client
        self._request = method, target, headers
        self._origin = origin
        self._lane: Lane | None = None
        self._response: httpx.Response | None = None
        self._headers: Headers = ()
        self._body: AsyncIterator[bytes] | None = None
        self._received = 0
        self._ended = False
        self.status = 0

    async def __aenter__(self) -> _Exchange:
        lane = self._lane = await self._client.take(self._origin)
        try:
            self._response = await lane.ask(*self._request, self._client.timeouts)
        except BaseException as error:
            await self._client.discard(lane)
            if isinstance(error, BROKEN):
                raise fault_of(error, connecting=True) from None
            raise
        self.status, self._headers = self._response.status_code, self._response.headers.raw
        return self

    def header(self, name: str) -> str | None:
        """The value of a header."""
        wanted = name.encode()
        values = [
            value.decode("latin-1").strip()  # httpx would guess, and an ETag goes back as it came
            for key, value in self._headers
            if len(key) == len(wanted) and key.lower() == wanted
        ]
        return ", ".join(values) if values else None

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it comes."""
        try:
            async for chunk in self._stream():
                self._received += len(chunk)
                yield chunk
            self._ended = True
        except BROKEN as error:
            raise fault_of(error, connecting=False) from None

    def _stream(self) -> AsyncIterator[bytes]:
        if self._body is None:
            response = cast("httpx.Response", self._response)
            self._body = aiter(cast("httpx.AsyncByteStream", response.stream))
        return self._body

    async def __aexit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._lane is None or self._response is None:
            return
        try:
            if not self._ended and (kind is None or issubclass(kind, StoreError)):
                await self._drain()
            await self._response.aclose()
        except BaseException:
            await self._client.discard(self._lane)
            raise
        self._client.give_back(self._lane)

    async def _drain(self) -> None:
        """Read the rest of a short body, so that the connection can be used again."""
        has_body = self._request[0] != "HEAD" and self.status not in (204, 304)
        length = whole(self.header("content-length")) or 0
        if has_body and length - self._received > _DRAIN_BYTES:
            return
        left = _DRAIN_BYTES
        try:
            async for chunk in self._stream():
                left -= len(chunk)
                if left < 0:
                    return
        except BROKEN:
            return  # the answer's head was all that was wanted
