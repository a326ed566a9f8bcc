"""A TCP proxy that delays, cuts, resets or swallows what goes through it."""

from __future__ import annotations

import select
import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import Literal

__all__ = ["FaultProxy", "Mode"]

Mode = Literal["pass", "delay", "cut", "reset", "blackhole"]

_CHUNK_BYTES = 16 * 1024
_ABORT = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: closing sends RST in place of FIN."""


class FaultProxy:
    """Stands between a client and a server on this machine, and does what ``mode`` says.

    * ``pass``: forwards.
    * ``delay``: waits ``delay_seconds`` before each chunk of an answer.
    * ``cut``: closes a connection once ``after_bytes`` bytes of answers went through it.
    * ``reset``: the same, with a reset in place of an orderly end.
    * ``blackhole``: takes everything and forwards nothing.

    A new mode counts for open connections, too.

    :param host: of the server.
    :param port: of the server.
    :ivar port: where the proxy listens, on 127.0.0.1.
    :ivar connections: how many were made so far.
    :ivar faults: how many more connections are cut or reset before all pass; ``None`` for all of them.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.mode: Mode = "pass"
        self.after_bytes = 0
        self.delay_seconds = 0.0
        self.connections = 0
        self.faults: int | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> FaultProxy:
        self._threads[0].start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._closing.set()
        for thread in list(self._threads):
            thread.join(5)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            if select.select([self._listener], [], [], 0.05)[0]:
                client, _ = self._listener.accept()
                self.connections += 1
                thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.socket() as server, suppress(OSError):
            server.connect(self._server)
            _Exchange(self, client, server).run()

    def wait_or_closing(self, seconds: float) -> bool:
        """Sleep; whether the proxy is closing."""
        return self._closing.wait(seconds)

    def take_fault(self) -> bool:
        """Whether this connection is one of those to be broken."""
        with self._lock:
            if self.faults is None:
                return True
            if self.faults <= 0:
                return False
            self.faults -= 1
            return True


class _Exchange:
    """One connection through the proxy."""

    def __init__(self, proxy: FaultProxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._answered = 0

    def run(self) -> None:
        """Carry bytes both ways until one side ends, or the mode ends it."""
        while not self._proxy.wait_or_closing(0):
            if self._proxy.mode == "blackhole":
                self._proxy.wait_or_closing(0.02)
                continue
            ready, _, _ = select.select([self._client, self._server], [], [], 0.05)
            for source in ready:
                if self._proxy.mode == "blackhole":
                    break
                data = source.recv(_CHUNK_BYTES)
                if not data or not self._forward(source, data):
                    return

    def _forward(self, source: socket.socket, data: bytes) -> bool:
        """Hand the bytes on; ``False`` when the connection is to end."""
        if source is self._client:
            self._server.sendall(data)
            return True
        if self._proxy.mode == "delay" and self._proxy.wait_or_closing(self._proxy.delay_seconds):
            return False
        breaks = self._proxy.mode in ("cut", "reset")
        left = self._proxy.after_bytes - self._answered
        if breaks and len(data) >= left and self._proxy.take_fault():
            self._client.sendall(data[: max(0, left)])
            if self._proxy.mode == "reset":
                self._client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
            return False
        self._answered += len(data)
        self._client.sendall(data)
        return True
