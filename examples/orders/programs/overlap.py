"""A lost attempt commits after its replacement: what keeps its stale input out of the day.

Run: ``python examples/orders/programs/overlap.py``
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from sqlite3 import Connection as Database

from _process import Pause, Process
from _shop import CORRECTED, DAY, DELIVERED, Orders, connect, day_rows, total, transaction
from _table import show

INPUTS: dict[int, Orders] = {1: DELIVERED, 2: CORRECTED}
"""The partner's versions of the day."""

TABLES = """
CREATE TABLE orders (day TEXT, id TEXT, amount INTEGER, PRIMARY KEY (day, id));
CREATE TABLE day_version (day TEXT PRIMARY KEY, version INTEGER);
"""
FORWARD = """
INSERT INTO day_version VALUES (?, ?)
ON CONFLICT (day) DO UPDATE SET version = excluded.version WHERE excluded.version > day_version.version
"""
Load = Callable[[Database, int, Pause], bool]


def replace(db: Database, version: int) -> None:
    """Write the whole day, within the caller's transaction."""
    db.execute("DELETE FROM orders WHERE day = ?", (DAY,))
    db.executemany("INSERT INTO orders VALUES (?, ?, ?)", day_rows(INPUTS[version]))


def moved_forward(db: Database, version: int) -> bool:
    """Whether the stored version rose to this one: comparison and change are one statement."""
    return db.execute(FORWARD, (DAY, version)).rowcount == 1


def unguarded(db: Database, version: int, pause: Pause) -> bool:
    """Whoever commits last is what readers see."""
    pause()
    with transaction(db):
        replace(db, version)
    return True


def guarded_before(db: Database, version: int, pause: Pause) -> bool:
    """The comparison is over before the write begins: what comes between them is not seen."""
    if not moved_forward(db, version):
        return False
    pause()
    with transaction(db):
        replace(db, version)
    return True


def guarded(db: Database, version: int, pause: Pause) -> bool:
    """The comparison and the write are one transaction."""
    pause()
    with transaction(db):
        if not moved_forward(db, version):
            return False
        replace(db, version)
    return True


GUARDS: dict[str, Load] = {
    "none": unguarded,
    "version, compared before the write": guarded_before,
    "version, compared in the write's transaction": guarded,
}


def attempt(pause: Pause, guard: str, path: Path, version: int) -> bool:
    """One attempt, with a session of its own: whether it wrote."""
    with connect(path) as db:
        return GUARDS[guard](db, version, pause)


def overlap(guard: str, path: Path) -> tuple[object, ...]:
    """Attempt 1 reads version 1 and gets lost; attempt 2 writes version 2; then attempt 1 goes on."""
    with connect(path) as db:
        db.executescript(TABLES)
    lost = Process(attempt, guard, path, 1)
    lost.wait_until_held()
    replacement = Process(attempt, guard, path, 2)
    replacement.wait_until_held()
    replacement.go_on()
    answers = [replacement.answer()]
    lost.go_on()
    answers.append(lost.answer())
    with connect(path) as db:
        rows = db.execute("SELECT id, amount FROM orders WHERE day = ? ORDER BY id", (DAY,)).fetchall()
    verdict = "right" if rows == sorted(CORRECTED.items()) else "WRONG: stale"
    return guard, *("written" if wrote else "refused" for wrote in answers), len(rows), total(rows), verdict


def main() -> None:
    """Run each guard in a database of its own."""
    rows = []
    for guard in GUARDS:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(overlap(guard, Path(folder) / "orders.db"))
    show(
        f"Attempt 1 (version 1, sum {sum(INPUTS[1].values())}) is lost, attempt 2 (version 2, sum "
        f"{sum(INPUTS[2].values())}) writes, then attempt 1 goes on",
        ("guard", "attempt 2", "attempt 1, late", "rows", "sum", "the day is"),
        rows,
        "Only the destination can refuse, and only where it writes.",
    )


if __name__ == "__main__":
    main()
