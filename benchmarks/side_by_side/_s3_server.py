"""The S3 server of the benchmark: moto behind a counter.

It closes each connection after one answer, which S3 does not.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from ._counts import Counts, answer

__all__: list[str] = []

_BUCKET = "landing"


class _Handler(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


class _CountingServer(ThreadedWSGIServer):
    """Counts its connections."""

    request_queue_size = 8192

    def __init__(self, counts: Counts, app: Any) -> None:
        self._counts = counts
        super().__init__("127.0.0.1", 0, app, handler=_Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._counts.connected()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._counts.disconnected()
        super().shutdown_request(request)


def _counted(app: Any, counts: Counts) -> Callable[[dict[str, Any], Any], Iterable[bytes]]:
    def counting(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            counts.request(environ["PATH_INFO"])
        answered: Iterable[bytes] = app(environ, start_response)
        return answered

    return counting


def _serve() -> None:
    counts = Counts()
    app = DomainDispatcherApplication(create_backend_app)
    server = _CountingServer(counts, _counted(app, counts))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def put(path: str, data: bytes) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("PUT", path, data)
        answered = connection.getresponse()
        assert answered.status == 200, answered.read()
        connection.close()

    put(f"/{_BUCKET}", b"")
    answer(counts, port=server.port, put=put)


if __name__ == "__main__":
    _serve()
