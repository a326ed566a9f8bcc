"""What a server of the benchmark counts, and how it is asked: lines of JSON through its pipes."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["Counts", "answer"]


class Counts:
    """Requests and connections since the last reset, from any thread.

    ``distinct`` and ``last_new_at`` are about the paths that were ever asked for: when the last one was
    first asked for, on the clock that all processes of the machine share. ``longest_gap`` is the most
    seconds between two requests for the same path.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[str, float] = {}
        self._last_new_at = 0.0
        self._requests = self._connections = self._open = self._peak = 0
        self._longest_gap = 0.0

    def request(self, path: str) -> None:
        """Count a request."""
        now = time.monotonic()
        with self._lock:
            self._requests += 1
            before = self._last.get(path)
            if before is None:
                self._last_new_at = now
            else:
                self._longest_gap = max(self._longest_gap, now - before)
            self._last[path] = now

    def connected(self) -> None:
        """Count a connection."""
        with self._lock:
            self._connections += 1
            self._open += 1
            self._peak = max(self._peak, self._open)

    def disconnected(self) -> None:
        """Count a connection that has ended."""
        with self._lock:
            self._open -= 1

    def snapshot(self, *, reset: bool) -> dict[str, float]:
        """What was counted; with ``reset`` the counts start anew."""
        with self._lock:
            found = {
                "requests": self._requests,
                "connections": self._connections,
                "sockets_peak": self._peak,
                "distinct": len(self._last),
                "last_new_at": self._last_new_at,
                "longest_gap": self._longest_gap,
            }
            if reset:
                self._requests = self._connections = 0
                self._peak, self._longest_gap = self._open, 0.0
        return found


def answer(counts: Counts, *, port: int, put: Callable[[str, bytes], None]) -> None:
    """Tell the port, then answer ``["counts", reset]`` and ``["put", path, text]`` until the pipe closes."""
    _say({"port": port})
    for line in sys.stdin:
        word, *rest = json.loads(line)
        if word == "counts":
            _say(counts.snapshot(reset=rest[0]))
        else:
            put(rest[0], rest[1].encode())
            _say({"at": time.monotonic()})


def _say(document: Any) -> None:
    print(json.dumps(document), flush=True)
