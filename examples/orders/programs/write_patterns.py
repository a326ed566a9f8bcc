"""Five ways to write a day, repeated after a lost acknowledgement, and killed inside the write.

Run: ``python examples/orders/programs/write_patterns.py``
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from sqlite3 import Connection as Database

from _process import Pause, Process
from _shop import CORRECTED, DAY, DELIVERED, Orders, connect, day_rows, total, transaction
from _table import show

Write = Callable[[Database, Orders, str, Pause], None]
Rows = list[tuple[str, int]]

TABLES = """
CREATE TABLE plain (day TEXT, id TEXT, amount INTEGER);
CREATE TABLE keyed (day TEXT, id TEXT, amount INTEGER, PRIMARY KEY (day, id));
CREATE TABLE staged (attempt TEXT, day TEXT, id TEXT, amount INTEGER);
CREATE TABLE pointer (day TEXT PRIMARY KEY, attempt TEXT);
CREATE VIEW pointed AS SELECT day, id, amount FROM staged JOIN pointer USING (attempt, day);
"""
INSERT = "INSERT INTO plain VALUES (?, ?, ?)"


def append(db: Database, orders: Orders, _attempt: str, inside: Pause) -> None:
    """Nothing tells a repeated row from a new one."""
    with transaction(db):
        db.executemany(INSERT, day_rows(orders))
        inside()


def upsert(db: Database, orders: Orders, _attempt: str, inside: Pause) -> None:
    """A row that has left the source is never touched again."""
    sql = "INSERT INTO keyed VALUES (?, ?, ?) ON CONFLICT (day, id) DO UPDATE SET amount = excluded.amount"
    with transaction(db):
        db.executemany(sql, day_rows(orders))
        inside()


def replace(db: Database, orders: Orders, _attempt: str, inside: Pause) -> None:
    """The whole partition in one transaction, an empty one included."""
    with transaction(db):
        db.execute("DELETE FROM plain WHERE day = ?", (DAY,))
        inside()
        db.executemany(INSERT, day_rows(orders))


def delete_then_insert(db: Database, orders: Orders, _attempt: str, inside: Pause) -> None:
    """Between the two commits the day is empty."""
    with transaction(db):
        db.execute("DELETE FROM plain WHERE day = ?", (DAY,))
    inside()
    with transaction(db):
        db.executemany(INSERT, day_rows(orders))


def stage_and_swap(db: Database, orders: Orders, attempt: str, inside: Pause) -> None:
    """Readers follow one pointer, which is moved last."""
    with transaction(db):
        db.executemany(
            "INSERT INTO staged VALUES (?, ?, ?, ?)", [(attempt, *row) for row in day_rows(orders)]
        )
    inside()
    swap = "INSERT INTO pointer VALUES (?, ?) ON CONFLICT (day) DO UPDATE SET attempt = excluded.attempt"
    with transaction(db):
        db.execute(swap, (DAY, attempt))


PATTERNS: dict[str, tuple[Write, str]] = {
    "append": (append, "plain"),
    "upsert by (day, order)": (upsert, "keyed"),
    "replace the partition, one transaction": (replace, "plain"),
    "delete, then insert, two commits": (delete_then_insert, "plain"),
    "stage under the attempt, swap the pointer": (stage_and_swap, "pointed"),
}


def write(pattern: str, path: Path, orders: Orders, attempt: str) -> None:
    """Write the day to the end."""
    with connect(path) as db:
        PATTERNS[pattern][0](db, orders, attempt, lambda: None)


def read(pattern: str, path: Path) -> Rows:
    """What a reader with a session of its own sees."""
    with connect(path) as db:
        sql = f"SELECT id, amount FROM {PATTERNS[pattern][1]} WHERE day = ? ORDER BY id"  # noqa: S608 - ours
        return db.execute(sql, (DAY,)).fetchall()


def write_corrected(pause: Pause, pattern: str, path: Path) -> None:
    """Write the corrected day in a process of its own, held in the middle."""
    with connect(path) as db:
        PATTERNS[pattern][0](db, CORRECTED, "killed", pause)


def killed_inside(pattern: str, path: Path) -> tuple[Rows, Rows]:
    """Kill a writer inside its write; what readers see before its end, and after it."""
    writer = Process(write_corrected, pattern, path)
    writer.wait_until_held()
    meanwhile = read(pattern, path)
    writer.kill()
    return meanwhile, read(pattern, path)


def verdict(rows: Rows, source: Orders) -> str:
    """Rows, their sum, and whether they are what the source holds."""
    right = rows == sorted(source.items())
    return f"{len(rows)} rows, sum {total(rows)}: {'right' if right else 'WRONG'}"


def outcome(pattern: str) -> tuple[str, ...]:
    """The row of one pattern: each case begins with a first attempt that was written to its end."""
    found: list[str] = [pattern]
    for case, orders in (("same", DELIVERED), ("corrected", CORRECTED), ("killed", CORRECTED)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "orders.db"
            with connect(path) as db:
                db.executescript(TABLES)
            write(pattern, path, DELIVERED, "first")
            if case == "killed":
                meanwhile, after = killed_inside(pattern, path)
                found.append(f"sum {total(meanwhile)}, then sum {total(after)}")
            write(pattern, path, orders, "retry")
            found.append(verdict(read(pattern, path), orders))
    return tuple(found)


def main() -> None:
    """Run each case in a database of its own."""
    columns = ("retry, same input", "retry, corrected input", "a writer is killed: readers see", "its retry")
    show(
        f"A write is repeated: sum {sum(DELIVERED.values())} first, sum {sum(CORRECTED.values())} corrected",
        ("pattern", *columns),
        [outcome(pattern) for pattern in PATTERNS],
        "Readers look while the writer is inside its write, and again after it was killed there.",
    )


if __name__ == "__main__":
    main()
