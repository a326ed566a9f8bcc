"""Four ways to publish, and who wins when two do it at once: a pointer table in SQLite.

Run: ``python examples/orders/programs/races.py``
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import NamedTuple

from _shop import DAY, connect
from _table import show


class Pointer(NamedTuple):
    """Which version readers get, and how often that was changed."""

    version: str
    revision: int


Row = tuple[str, Pointer, str]
"""What the publishers were told, what readers get in the end, and whether that is right."""


class Publisher:
    """One of those who publish: a session of its own, and what it saw when it began its work.

    :param candidate: the version that it publishes at the end.
    """

    def __init__(self, db: Connection, candidate: str) -> None:
        self.db = db
        self.candidate = candidate
        self.basis = read(db)

    def unconditional(self) -> bool:
        """Overwrite whatever is there by now."""
        return self._moved("")

    def if_version(self) -> bool:
        """Compare-and-swap on the version: comparison and write are one statement."""
        return self._moved(" AND version = ?", self.basis.version)

    def if_version_and_revision(self) -> bool:
        """Compare-and-swap on the version and on the number of changes."""
        return self._moved(" AND version = ? AND revision = ?", *self.basis)

    def reconciled(self) -> str:
        """Compare-and-swap; after a conflict, look whether an earlier attempt of ours has won."""
        if self.if_version_and_revision():
            return "published"
        return "already published" if read(self.db).version == self.candidate else "conflict"

    def _moved(self, condition: str, *values: object) -> bool:
        sql = "UPDATE pointer SET version = ?, revision = revision + 1 WHERE day = ?" + condition  # noqa: S608 - ours
        return self.db.execute(sql, (self.candidate, DAY, *values)).rowcount == 1


def read(db: Connection) -> Pointer:
    """What readers follow."""
    return Pointer(*db.execute("SELECT version, revision FROM pointer WHERE day = ?", (DAY,)).fetchone())


@contextmanager
def published() -> Iterator[tuple[Connection, Connection]]:
    """Two sessions on a database in which v1 is what readers get."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "orders.db"
        with connect(path) as one, connect(path) as other:
            one.execute("CREATE TABLE pointer (day TEXT PRIMARY KEY, version TEXT, revision INTEGER)")
            one.execute("INSERT INTO pointer VALUES (?, 'v1', 0)", (DAY,))
            yield one, other


def two_at_once(publish: Callable[[Publisher], bool]) -> Row:
    """A live run and a backfill begin with v1; the live run publishes its correction first."""
    with published() as (one, other):
        live, backfill = Publisher(one, "v2-live"), Publisher(other, "v3-backfill")
        answers = f"live {yes(publish(live))}, backfill {yes(publish(backfill))}"
        end = read(one)
    return answers, end, "right" if end.version == live.candidate else "WRONG: the live correction is lost"


def there_and_back(publish: Callable[[Publisher], bool]) -> Row:
    """While a candidate is made from v1, v2 is published and rolled back to v1."""
    with published() as (one, other):
        stale = Publisher(one, "v3-from-stale-input")
        for version in ("v2", "v1"):
            if not Publisher(other, version).if_version_and_revision():
                raise SystemExit(f"nobody else publishes, and yet {version} was refused")
        answers = f"stale candidate {yes(publish(stale))}"
        end = read(one)
    return answers, end, "right" if end.version == "v1" else "WRONG: made from what was taken back"


def lost_answer(publish: Callable[[Publisher], str]) -> Row:
    """The first attempt publishes and never learns it; its retry has the same candidate and basis."""
    with published() as (one, other):
        first, retry = (Publisher(session, f"v2-{DAY}") for session in (one, other))
        first.if_version_and_revision()
        answer = publish(retry)
        end = read(one)
    return f"retry: {answer}", end, "right" if answer == "already published" else "WRONG: it was our own"


def yes(moved: bool) -> str:
    """What the publisher is told."""
    return "published" if moved else "refused"


def conflict_or_not(publisher: Publisher) -> str:
    """Compare-and-swap without a look at what has won."""
    return "published" if publisher.if_version_and_revision() else "conflict"


def main() -> None:
    """Run each race in a database of its own."""
    races: list[tuple[str, str, Row]] = [
        ("two at once", "write, no condition", two_at_once(Publisher.unconditional)),
        ("two at once", "swap if version", two_at_once(Publisher.if_version)),
        ("v1, v2, v1 again", "swap if version", there_and_back(Publisher.if_version)),
        (
            "v1, v2, v1 again",
            "swap if version and revision",
            there_and_back(Publisher.if_version_and_revision),
        ),
        ("lost acknowledgement", "swap if version and revision", lost_answer(conflict_or_not)),
        ("lost acknowledgement", "the same, then reconcile", lost_answer(Publisher.reconciled)),
    ]
    show(
        "Publishing by a pointer that starts at (v1, 0): version and revision",
        ("race", "how it publishes", "answers", "pointer at the end", "outcome"),
        [
            (*names, answers, f"({end.version}, {end.revision})", end_is)
            for *names, (answers, end, end_is) in races
        ],
        "A retry can be reconciled since its candidate has the same name: the operation's, not the try's.",
        "After a conflict the basis is out of date: build anew, discard or ask. The old candidate is dead.",
    )


if __name__ == "__main__":
    main()
