"""A web server that shows a folder to who knows the password, and notes what every request brought."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

__all__ = ["Guarded", "guarded"]


@dataclass
class Guarded:
    """The server.

    :param port: on 127.0.0.1.
    :param expected: the Authorization header that it wants.
    :param seen: the Authorization header of each request; ``None`` where there was none.
    :param queries: the query of each request.
    """

    port: int
    expected: str
    seen: list[str | None] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    @property
    def uri(self) -> str:
        """Its root."""
        return f"http://127.0.0.1:{self.port}/"


@contextmanager
def guarded(folder: Path, *, user: str, password: str) -> Iterator[Guarded]:
    """Serve the folder on a free port."""
    expected = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            own.seen.append(self.headers.get("Authorization"))
            own.queries.append(query)
            file = folder / unquote(path).lstrip("/")
            status = 401 if own.seen[-1] != expected else 200 if file.is_file() else 404
            body = file.read_bytes() if status == 200 else b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - the base class's name

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        own = Guarded(server.server_port, expected)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield own
        finally:
            server.shutdown()
            thread.join()
