"""The orders of one day, and the database that the programs write them into."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

__all__ = ["CORRECTED", "DAY", "DELIVERED", "Orders", "connect", "day_rows", "total", "transaction"]

Orders = dict[str, int]
"""Order to amount."""

DAY = "2024-10-01"
DELIVERED: Orders = {"o1": 10, "o2": 20, "o3": 30}
CORRECTED: Orders = {"o1": 10, "o2": 25}
"""The same day, after o3 was cancelled and the amount of o2 was mended."""


@contextmanager
def connect(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a session of one's own, in which nothing begins or commits by itself."""
    with closing(sqlite3.connect(path, timeout=30.0, isolation_level=None)) as db:
        yield db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; other writers wait from the start."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def day_rows(orders: Orders) -> list[tuple[str, str, int]]:
    """The orders as rows of the day's partition."""
    return [(DAY, order, amount) for order, amount in orders.items()]


def total(rows: list[tuple[str, int]]) -> int:
    """What a report over the day would say."""
    return sum(amount for _, amount in rows)
