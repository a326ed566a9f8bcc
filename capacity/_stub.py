"""An HTTP server on this machine that has nothing: what a trigger polls while it is measured."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Stub", "running_stub"]


class Stub:
    """The running server.

    :ivar url: its address.
    :ivar requests: how many it has answered.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests = 0
        self._lock = threading.Lock()

    def count(self) -> None:
        """One more."""
        with self._lock:
            self.requests += 1


@contextmanager
def running_stub() -> Iterator[Stub]:
    """A server on a free port of 127.0.0.1 that answers 404 to everything, for as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def _nothing(self) -> None:
            stub.count()
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_HEAD = do_POST = do_PUT = _nothing  # noqa: N815 - the names that http.server calls

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its parent's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub = Stub(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, name="stub", daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
