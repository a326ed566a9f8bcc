"""What the triggers have told of themselves."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import psutil

__all__ = ["Told"]

CLOCK_TICK = 1.0
"""Seconds by which the start of a process may be told too late."""


@dataclass(frozen=True)
class _Line:
    what: str
    label: str
    pid: int
    at: float


class Told:
    """The lines that triggers append to a file, read as they come.

    :param path: of the file.
    :ivar gone: processes that do not count as living, and since when, as a fault has struck them: a signal
        takes effect only when its process gets its turn, and an orphan lives on for a moment.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.gone: dict[int, float] = {}
        self._offset = 0
        self._lines: list[_Line] = []

    def running(self) -> dict[str, set[int]]:
        """The waits that run now, each with the living processes in which it does."""
        self._read()
        begun = {pid: self._begun(pid) for pid in {line.pid for line in self._lines}}
        balance: Counter[tuple[str, int]] = Counter()
        for line in self._lines:
            if line.at >= begun[line.pid]:
                balance[line.label, line.pid] += {"start": 1, "cleanup": -1}.get(line.what, 0)
        found: dict[str, set[int]] = {}
        for label, pid in (key for key, number in balance.items() if number > 0):
            found.setdefault(label, set()).add(pid)
        return found

    def count(self, what: str, *, since: float = 0.0) -> Counter[str]:
        """How often each wait has told this.

        :param since: seconds since 1970.
        """
        self._read()
        return Counter(line.label for line in self._lines if line.what == what and line.at >= since)

    def again(self, *, since: float) -> int:
        """How many events were fired beyond each wait's first."""
        return sum(number - 1 for number in self.count("fire", since=since).values())

    def _begun(self, pid: int) -> float:
        """When a living process began, as process ids are used again; never, when it does not go on."""
        try:
            process = psutil.Process(pid)
            begun = process.create_time() - CLOCK_TICK
            halted = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_STOPPED)
        except psutil.NoSuchProcess:
            return math.inf
        return math.inf if halted or begun < self.gone.get(pid, -math.inf) else begun

    def _read(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole, _, _ = data.rpartition(b"\n")
        self._offset += len(whole) + 1 if whole else 0
        self._lines += [_Line(**json.loads(line)) for line in whole.splitlines()]
