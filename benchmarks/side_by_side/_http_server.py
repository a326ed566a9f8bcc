"""The HTTP server of the benchmark: keeps connections alive, counts, and knows only what was put.

A path below ``/refuse/STATUS/`` is answered with that status.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from typing import Any

from aiohttp import web

from ._counts import Counts, answer

__all__: list[str] = []


class _CountingServer(web.Server):
    """Counts its connections."""

    def __init__(self, counts: Counts, bodies: dict[str, bytes]) -> None:
        super().__init__(self._handle, access_log=None)
        self._counts = counts
        self._bodies = bodies

    def connection_made(self, handler: Any, transport: asyncio.Transport) -> None:
        self._counts.connected()
        super().connection_made(handler, transport)

    def connection_lost(self, handler: Any, exc: BaseException | None = None) -> None:
        self._counts.disconnected()
        super().connection_lost(handler, exc)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self._counts.request(request.path)
        body = self._bodies.get(request.path)
        if body is not None:
            etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
            return web.Response(body=body, headers={"ETag": etag}, content_type="application/json")
        if request.path.startswith("/refuse/"):
            return web.Response(status=int(request.path.split("/")[2]))
        return web.Response(status=404)


def _serve() -> None:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    bodies: dict[str, bytes] = {}
    counts = Counts()

    async def listen() -> int:
        server = await loop.create_server(_CountingServer(counts, bodies), "127.0.0.1", 0, backlog=8192)
        return int(server.sockets[0].getsockname()[1])

    port = asyncio.run_coroutine_threadsafe(listen(), loop).result()
    answer(counts, port=port, put=bodies.__setitem__)


if __name__ == "__main__":
    _serve()
