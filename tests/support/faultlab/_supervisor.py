"""Restarts components that have ended, as a supervisor of services does."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Literal

import psutil

from airflow_landmark.testing import LocalAirflow

__all__ = ["TRIGGERERS", "Part", "Supervisor"]

TRIGGERERS = ("triggerer-1", "triggerer-2")

Part = Literal["first", "children", "all"]


class Supervisor:
    """Watches an Airflow in a thread of its own, whatever the exit code of what ends.

    :param airflow: that runs.
    :param delay: seconds between an end and the restart.
    :ivar exits: names and exit codes of what has ended so far.
    """

    def __init__(self, airflow: LocalAirflow, *, delay: float = 2.0) -> None:
        self._airflow = airflow
        self._delay = delay
        self._held: set[str] = set()
        self._seen: dict[str, float] = {}
        self._lock = threading.RLock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.exits: list[tuple[str, int]] = []

    def __enter__(self) -> Supervisor:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join(60)

    def signal(self, name: str, number: signal.Signals, *, part: Part = "all") -> None:
        """Send a signal to a component's first process, to its descendants, or to all."""
        chosen = {"first": slice(0, 1), "children": slice(1, None), "all": slice(None)}[part]
        with self._lock:
            for process in self._airflow.process_tree(name=name)[chosen]:
                try:
                    process.send_signal(number)
                except psutil.NoSuchProcess:
                    continue

    @contextmanager
    def away(self, name: str) -> Iterator[None]:
        """Kill a component, and restart it at the block's end only."""
        with self._lock:
            self._held.add(name)
            self.signal(name, signal.SIGKILL)
        try:
            yield
        finally:
            self._held.discard(name)

    def tree(self, name: str) -> list[psutil.Process]:
        """A component's processes; empty while there are none."""
        with self._lock:
            return self._airflow.process_tree(name=name) if name in self._airflow.components else []

    def all_run(self) -> bool:
        """Whether nothing has ended and awaits its restart."""
        with self._lock:
            return not self._airflow.ended()

    def _run(self) -> None:
        while not self._end.wait(0.2):
            with self._lock:
                for name, code in self._airflow.ended().items():
                    self._attend(name, code)

    def _attend(self, name: str, code: int) -> None:
        now = time.monotonic()
        if name not in self._seen:
            self._seen[name] = now
            self.exits.append((name, code))
        if name not in self._held and now - self._seen[name] >= self._delay:
            del self._seen[name]
            self._airflow.restart(name=name)
