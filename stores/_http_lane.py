"""Ways to origins: a transport of httpx each, which opens its one connection when it is needed."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import Any

import anyio
import httpx

from ._access import HttpAccess
from ._http_client import Headers
from ._http_proxy import Proxies
from ._http_tls import bare_context, trusting_context

__all__ = ["KEEP_SECONDS", "Lane", "Ways"]

KEEP_SECONDS = 120.0
"""An idle connection is closed after so long: later than most polls come round, if the server agrees."""
_STALE_SECONDS = 1.0
"""A connection that was idle for so long may have been closed by the server while we wrote to it."""
_NO_BODY = httpx.ByteStream(b"")


class Lane:
    """The way to one origin, for one request at a time.

    The transport opens its connection again when that was closed, has expired, or when something waits in
    its socket that nobody asked for. What was taken in together with the last answer, only the time shows
    at which it is taken for the next one.

    :ivar idle_since: when it was given back, by the monotonic clock.
    """

    __slots__ = ("_opened", "_same_turn", "_stream", "_transport", "_unasked", "idle_since", "origin")

    def __init__(self, origin: str, transport: httpx.AsyncHTTPTransport) -> None:
        self.origin = origin
        self.idle_since = 0.0
        self._transport = transport
        self._stream: Any = None
        self._opened = self._unasked = self._same_turn = False

    async def ask(
        self, method: str, target: str, headers: Headers, timeouts: dict[str, float]
    ) -> httpx.Response:
        """The head of the answer; once more when an old connection turns out to be of no use any more.

        RFC 9110, section 9.2.2: a client may repeat an idempotent request when the server may have closed
        the connection before.
        """
        request = httpx.Request(
            method,
            httpx.URL(self.origin, raw_path=target.encode("ascii")),
            headers=list(headers),
            stream=_NO_BODY,
            extensions={"timeout": timeouts, "trace": self._note},
        )
        was_idle = time.monotonic() - self.idle_since >= _STALE_SECONDS
        self._opened = self._unasked = False
        try:
            response = await self._transport.handle_async_request(request)
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            if self._opened or not (was_idle or self._unasked):
                raise
        else:
            if not self._unasked:
                return response
            await response.aclose()  # unread, so that its connection ends
        return await self._transport.handle_async_request(request)

    async def _note(self, event: str, info: dict[str, Any]) -> None:
        """Note a new connection, and an answer for which the network is not waited for.

        Waiting takes a turn of the loop. What is read as a head in the turn in which reading began has come
        before the request went out.
        """
        if event.endswith(".connect_tcp.started"):
            self._opened = True
        elif event.endswith(".connect_tcp.complete"):
            self._stream = info["return_value"]
        elif event == "http11.receive_response_headers.started":
            self._same_turn = True
            asyncio.get_running_loop().call_soon(self._next_turn)
        elif event.startswith("http11.receive_response_headers."):  # complete, or failed
            self._unasked = self._same_turn

    def _next_turn(self) -> None:
        self._same_turn = False

    async def aclose(self) -> None:
        """Close the connection, also when a handshake on it was cancelled: httpx loses it then."""
        stream, self._stream = self._stream, None
        await self._transport.aclose()
        if stream is not None:
            await stream.aclose()


class Ways:
    """How origins are reached: directly or by a proxy, and trusting whom.

    :param access: settings.
    """

    def __init__(self, access: HttpAccess) -> None:
        self._verify = access.verify
        self._proxies = Proxies(access.proxy)
        self._context: ssl.SSLContext | None = None
        self._lock = anyio.Lock()
        _transport(bare_context(), None)  # the first one imports httpx's engine, which no loop has time for

    async def to(self, origin: str) -> Lane:
        """A new way to the origin.

        :raises InvalidAccess: when the settings name no proxy, or no CAs.
        """
        proxy = self._proxies.towards(origin)
        by_tls = proxy is not None and proxy.url.scheme == "https"
        context = await self._trusting() if by_tls or origin.startswith("https:") else bare_context()
        if proxy is not None and by_tls:
            proxy.ssl_context = context
        return Lane(origin, _transport(context, proxy))

    async def _trusting(self) -> ssl.SSLContext:
        async with self._lock:  # many looks begin at once, and one context serves them all
            if self._context is None:
                self._context = await trusting_context(self._verify)
            return self._context


def _transport(context: ssl.SSLContext, proxy: httpx.Proxy | None) -> httpx.AsyncHTTPTransport:
    return httpx.AsyncHTTPTransport(
        verify=context,
        trust_env=False,
        http1=True,
        http2=False,
        limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEEP_SECONDS),
        proxy=proxy,
        retries=0,
    )
