"""What the resumed tasks have written, to be compared with what was delivered."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_landmark.deliveries import ReadableLedger
from airflow_landmark.markers import Interval

from ._parcels import Truth, interval_of

__all__ = ["Count", "Destination", "settled"]

_TABLES = """
PRAGMA journal_mode = WAL;
CREATE TABLE day (day TEXT PRIMARY KEY, version INTEGER, amount INTEGER);
CREATE TABLE attempt (wait, day, version INTEGER, operation, amount INTEGER, attempt, at REAL);
CREATE TABLE effect (wait, day, version INTEGER, operation, amount INTEGER, attempt, at REAL);
"""
_UNIX_EPOCH_AS_JULIAN_DAY = 2440587.5


@dataclass(frozen=True, kw_only=True)
class Count:
    """What became of some waits.

    :param lost: waits whose delivery lies there, and whose day does not.
    :param wrong: effects of another delivery than the wait's own, or of none that was made.
    :param doubled: effects beyond the first of the same wait.
    :param again: attempts beyond the first of the same wait, most of them stopped by the guard.
    """

    lost: int
    wrong: int
    doubled: int
    again: int


class Destination:
    """An SQLite file with one row for each day, and with all attempts and effects.

    :param path: of the file, which is made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with closing(sqlite3.connect(path)) as base:
            base.executescript(_TABLES)

    def count(self, waits: Collection[str], truth: Truth) -> Count:
        """Count what became of these waits.

        :param waits: their days; what others have done is left out.
        :param truth: what was delivered, by day.
        """
        columns = "wait, day, version, amount"
        effects = [row for row in self._rows(f"SELECT {columns} FROM effect") if row[0] in waits]  # noqa: S608
        attempts = Counter(row[0] for row in self._rows("SELECT wait FROM attempt") if row[0] in waits)
        held = {row[0]: row[1:] for row in self._rows("SELECT day, version, amount FROM day")}
        by_wait = Counter(row[0] for row in effects)
        return Count(
            lost=sum(held.get(wait) != truth[wait] for wait in waits if wait in truth),
            wrong=sum(wait != day or truth.get(wait) != (version, amount)
                      for wait, day, version, amount in effects),
            doubled=sum(number - 1 for number in by_wait.values()),
            again=sum(number - 1 for number in attempts.values()),
        )  # fmt: skip

    def written(self) -> set[str]:
        """The days that are there."""
        return {row[0] for row in self._rows("SELECT day FROM day")}

    def tries(self, waits: Collection[str]) -> list[int]:
        """The try numbers in which these waits took effect."""
        rows = self._rows("SELECT wait, attempt FROM effect")
        return [int(str(row[1]).split()[-1]) for row in rows if row[0] in waits]

    def last_write(self, waits: Collection[str]) -> float | None:
        """When the last of these waits took effect, in seconds since 1970; ``None`` when none did."""
        times = [row[1] for row in self._rows("SELECT wait, at FROM effect") if row[0] in waits]
        return (max(times) - _UNIX_EPOCH_AS_JULIAN_DAY) * 86400 if times else None

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path, timeout=60)) as base:
            return base.execute(sql).fetchall()


def settled(ledger: ReadableLedger, day: str) -> bool:
    """Whether the ledger holds a version of the day as taken, and no claim.

    A task that lost its worker after its commit claims and commits once more: the history tells of both.
    """
    entry = ledger.entry("shop/orders", Interval.parse("/".join(interval_of(day))))
    return entry is not None and entry.taken is not None and entry.claim is None
