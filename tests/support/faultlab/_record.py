"""What one trial of a fault has shown, as one line of a file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Record"]

MORE_MEMORY = 128
"""MiB by which a triggerer may grow in a trial: it takes over waits, and some read large bodies."""
MORE_DESCRIPTORS = 100
"""What a triggerer may hold beyond one log file for each wait: connections that are about to close."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One trial.

    :param fault: what was done, in words; the table has one row for each and each number of waits.
    :param way: ``"workers"`` when real workers deferred and resumed the waits; ``"parked"`` when the waits
        were rows in the database, counted up to the stored event and to resumable.
    :param waits: how many were open at the fault.
    :param released: how many of them got their delivery during the trial.
    :param lost: waits that did not go on.
    :param wrong: waits that went on with another delivery than their own.
    :param doubled: effects beyond the first of a wait.
    :param unsettled: waits whose version the ledger does not hold as taken, or still as claimed.
    :param again: attempts beyond the first of a wait, which the guarded write stopped.
    :param fired_again: events beyond the first of a wait, which Airflow dropped.
    :param running: seconds from the fault until every open wait ran in a living triggerer that owned it;
        ``None`` when the fault does not touch that.
    :param written: seconds from the fault until every released wait had taken effect.
    :param memory: MiB of the largest triggerer, before and after.
    :param descriptors: of the triggerer that has most, before and after.
    :param exits: what ended meanwhile: name and exit code.
    """

    fault: str
    way: str
    waits: int
    released: int
    lost: int
    wrong: int
    doubled: int
    unsettled: int = 0
    again: int = 0
    fired_again: int = 0
    running: float | None = None
    written: float | None = None
    memory: tuple[int, int] = (0, 0)
    descriptors: tuple[int, int] = (0, 0)
    exits: tuple[tuple[str, int], ...] = ()

    def append_to(self, path: Path) -> None:
        """Add a line to a file of results."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"{json.dumps(asdict(self))}\n")

    @classmethod
    def read(cls, path: Path) -> list[Record]:
        """The trials of a file of results."""
        return [cls._of(json.loads(line)) for line in path.read_text().splitlines()]

    @classmethod
    def _of(cls, row: dict[str, Any]) -> Record:
        pairs = {name: tuple(row[name]) for name in ("memory", "descriptors")}
        return cls(**row | pairs | {"exits": tuple(tuple(end) for end in row["exits"])})

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, wrong, doubled or left claimed, and no triggerer has swollen."""
        flaws = (self.lost, self.wrong, self.doubled, self.unsettled)
        memory, descriptors = (after - before for before, after in (self.memory, self.descriptors))
        return not any(flaws) and memory <= MORE_MEMORY and descriptors <= self.waits + MORE_DESCRIPTORS
