"""A real HTTP server in a thread of its own: resources, scripted faults, and a record of what was asked."""

from __future__ import annotations

import asyncio
import hashlib
import re
import ssl
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from types import TracebackType
from typing import Any

from aiohttp import web

__all__ = ["Answer", "HttpServer", "Page", "Seen"]


@dataclass
class Page:
    """A resource, served as RFC 9110 asks for unless a field says otherwise.

    :param etag: with its quotes; ``None`` for none.
    :param modified: as a header has it; ``None`` for none.
    :param sized: whether its length is told; it comes in chunks otherwise.
    :param methods: what it answers; 405 to everything else.
    :param refusal: status of what it does not answer.
    :param coding: sent as Content-Encoding; the body is sent as it is.
    :param drip_seconds: pause after each piece of the body.
    :param breaks_after: bytes after which a connection is reset, once for each number in the list.
    """

    body: bytes = b""
    etag: str | None = None
    modified: str | None = None
    ranges: bool = True
    sized: bool = True
    methods: tuple[str, ...] = ("GET", "HEAD")
    refusal: int = 405
    coding: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    drip_seconds: float = 0.0
    breaks_after: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, body: bytes, **more: Any) -> Page:
        """A resource with a strong ETag made from its bytes."""
        return cls(body, etag=f'"{hashlib.sha256(body).hexdigest()[:16]}"', **more)


@dataclass
class Answer:
    """What one request is answered, whatever it asks.

    :param delay_seconds: pause before it.
    :param reset: reset the connection in place of any answer.
    :param raw: bytes that are sent in place of one, before the connection is closed.
    :param closes: whether it is closed then; the answer follows otherwise.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_seconds: float = 0.0
    reset: bool = False
    raw: bytes | None = None
    closes: bool = True


@dataclass(frozen=True)
class Seen:
    """One request."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    at: float


class HttpServer:
    """Serves on 127.0.0.1 until the context ends.

    :param tls: context for TLS; ``None`` serves without.
    :ivar pages: path, as it was sent, to what lies there; a number is a status without more.
    :ivar script: path to what the next requests there are answered, before the page is.
    :ivar fallback: what everything else is answered.
    :ivar seen: all requests.
    :ivar made: how many connections were made so far.
    """

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self.port = 0
        self.in_flight = 0
        self.forget()
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._ready, self._ended = threading.Event(), asyncio.Event()
        self._server: Any = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def origin(self) -> str:
        """As addresses have it."""
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}"

    @property
    def open(self) -> int:
        """How many connections are open now."""
        return len(self._server.connections)

    def asked(self, path: str, method: str | None = None) -> list[Seen]:
        """The requests for a path."""
        return [seen for seen in self.seen if seen.path == path and method in (None, seen.method)]

    def forget(self) -> None:
        """Be as new: another test begins."""
        self.pages: dict[str, Page | bytes | int] = {}
        self.script: dict[str, deque[Answer]] = {}
        self.fallback = Answer(404, b"nothing here")
        self.seen: list[Seen] = []
        self.made = self.most_in_flight = 0

    def until_closed(self) -> int:
        """How many connections are open once those that are being closed are."""
        deadline = time.monotonic() + 5
        while self.open and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.open

    def __enter__(self) -> HttpServer:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._server = web.Server(self._answer, access_log=None, handler_cancellation=True)
        listener = await self._loop.create_server(self._made, "127.0.0.1", 0, ssl=self._tls, backlog=512)
        self.port = listener.sockets[0].getsockname()[1]
        self._ready.set()
        await self._ended.wait()
        listener.close()
        transports = [handler.transport for handler in self._server.connections]
        await self._server.shutdown(0.01)
        for transport in filter(None, transports):
            transport.abort()  # one with TLS would wait for its client's farewell
        await asyncio.sleep(0.01)

    def _made(self) -> Any:
        self.made += 1
        return self._server()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, query = request.raw_path.partition("?")
        self.seen.append(Seen(request.method, path, query, request.headers.copy(), time.monotonic()))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if script := self.script.get(path):
                return await self._scripted(request, script.popleft())
            page = self.pages.get(path)
            if page is None:
                return await self._scripted(request, self.fallback)
            if isinstance(page, int):
                return await self._scripted(request, Answer(page))
            return await _Served(request, page if isinstance(page, Page) else Page.of(page)).answer()
        finally:
            self.in_flight -= 1

    async def _scripted(self, request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
        await asyncio.sleep(answer.delay_seconds)
        transport: Any = request.transport
        if transport is not None and (answer.reset or answer.raw is not None):
            if answer.raw is not None:
                transport.write(answer.raw)
                if answer.closes:
                    transport.close()
            else:
                transport.abort()
        return web.Response(status=answer.status, body=answer.body, headers=answer.headers)


class _Served:
    """The answer of one page to one request."""

    def __init__(self, request: web.BaseRequest, page: Page) -> None:
        self._request = request
        self._page = page
        self._headers = {
            name: value
            for name, value in (
                ("ETag", page.etag),
                ("Last-Modified", page.modified),
                ("Content-Encoding", page.coding),
                ("Date", formatdate(usegmt=True)),
                ("Content-Type", "application/octet-stream"),
            )
            if value is not None
        } | dict(page.headers)

    async def answer(self) -> web.StreamResponse:
        """What RFC 9110 asks for."""
        page, asked = self._page, self._request.headers
        if self._request.method not in page.methods:
            return self._short(page.refusal)
        if "If-Match" in asked and asked["If-Match"] != page.etag:
            return self._short(412)
        if "If-None-Match" in asked:
            if asked["If-None-Match"] == page.etag:
                return self._short(304)
        elif page.modified is not None and asked.get("If-Modified-Since") == page.modified:
            return self._short(304)
        return await self._content(asked.get("Range") if page.ranges else None)

    def _short(self, status: int) -> web.Response:
        return web.Response(status=status, headers=self._headers)

    async def _content(self, range_: str | None) -> web.StreamResponse:
        body, status, total = self._page.body, 200, len(self._page.body)
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", range_ or "")
        if match is not None:
            start, stop = int(match[1]), min(total, int(match[2] or total) + 1)
            if start >= total:
                self._headers["Content-Range"] = f"bytes */{total}"
                return self._short(416)
            body, status = body[start:stop], 206
            self._headers["Content-Range"] = f"bytes {start}-{stop - 1}/{total}"
        if self._page.sized:
            self._headers["Content-Length"] = str(len(body))
        response = web.StreamResponse(status=status, headers=self._headers)
        await response.prepare(self._request)
        if self._request.method != "HEAD":
            await self._send(response, body)
        await response.write_eof()
        return response

    async def _send(self, response: web.StreamResponse, body: bytes) -> None:
        breaks = self._page.breaks_after.pop(0) if self._page.breaks_after else None
        for start in range(0, len(body), 64 * 1024):
            piece = body[start : start + 64 * 1024]
            if breaks is not None and start + len(piece) > breaks:
                await response.write(piece[: breaks - start])
                await asyncio.sleep(0.05)  # what was sent must not be lost in the reset
                assert self._request.transport is not None
                self._request.transport.abort()
                return
            await response.write(piece)
            if self._page.drip_seconds:
                await asyncio.sleep(self._page.drip_seconds)
