"""A server of the benchmark, as the measuring process sees it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Server", "serving"]


class Server:
    """Starts the server in a process of its own. Every call blocks.

    :param module: of this package, which runs it.
    :ivar port: of 127.0.0.1.
    """

    def __init__(self, module: str) -> None:
        command = [sys.executable, "-m", f"{__package__}.{module}"]
        self._process = subprocess.Popen(  # noqa: S603 - a module beside this one
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lock = threading.Lock()
        self.port = int(self._answer()["port"])

    def put(self, path: str, data: bytes) -> float:
        """Make the path exist; returns the instant on the monotonic clock from which it does."""
        return float(self._ask("put", path, data.decode())["at"])

    def counts(self, *, reset: bool) -> dict[str, float]:
        """What was counted since the last reset."""
        return dict(self._ask("counts", reset))

    def close(self) -> None:
        """End it: it ends with its pipe."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)

    def _ask(self, *words: Any) -> Any:
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write(json.dumps(words) + "\n")
            self._process.stdin.flush()
            return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server process ended with status {self._process.wait()}")
        return json.loads(line)


@contextmanager
def serving(module: str) -> Iterator[Server]:
    """A server that is closed at the end."""
    server = Server(module)
    try:
        yield server
    finally:
        server.close()
