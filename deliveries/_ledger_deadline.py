"""A limit for what a connection to a database may take: a server that falls silent is hung up on.

The server's own limit of a statement does not help there, nor do keepalives: the kernel of a frozen server
still answers them, and the driver waits for ever.
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Any

__all__ = ["Deadline"]


class Deadline:
    """Shuts each connection that it was told of when its time is up; use it as a block.

    The driver, wherever it waits, then finds its connection at an end and raises an error.

    :param seconds: for each connection, from when it was made until the block ends.
    :ivar passed: whether it has shut one.
    """

    def __init__(self, seconds: float) -> None:
        self.passed = False
        self._seconds = seconds
        self._watched: list[tuple[threading.Timer, socket.socket]] = []

    def __enter__(self) -> Deadline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for timer, own in self._watched:
            timer.cancel()
            timer.join()  # at once: no thread is left behind, for a process may be forked next
            own.close()
        self._watched.clear()

    def watch(self, connection: Any, _record: object = None) -> None:
        """Watch a driver's connection, which tells its socket by ``fileno``; a listener for a pool."""
        # A descriptor of our own: the driver's number may by then belong to something else.
        own = socket.socket(fileno=os.dup(connection.fileno()))
        timer = threading.Timer(self._seconds, self._hang_up, [own])
        timer.daemon = True
        self._watched.append((timer, own))
        timer.start()

    def _hang_up(self, own: socket.socket) -> None:
        self.passed = True
        with suppress(OSError):  # it has ended by itself
            own.shutdown(socket.SHUT_RDWR)
