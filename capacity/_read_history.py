"""Past waits from the metadata database: audit rows first, task instances where there are none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from ._history import wait_name
from ._pairing import EVENTS, AuditRow, Pairing, PastWait, TryKey, key_of
from ._read_database import Database, Row, epoch

__all__ = ["CHUNK", "NEEDED", "PastWaits", "read_past_waits", "read_timeouts"]

CHUNK = 20_000
"""How many rows one statement asks for."""
WARM_UP_SECONDS = 86_400.0
"""How far before the asked time reading begins, for waits that were open then."""
SINGLE_LOOKS = 2_000
"""How many waits without an end are looked up one by one."""
CLEANED_SECONDS = 3_600.0
"""A first audit row so much later than asked for means that older ones were cleaned away."""

Tell = Callable[[int, int], None]

_TRY = ("dag_id", "task_id", "run_id", "map_index", "try_number", "start_date")
NEEDED: dict[str, Sequence[str]] = {
    "log": ("id", "dttm", "dag_id", "task_id", "run_id", "map_index", "try_number", "event"),
    "task_instance": ("id", *_TRY, "end_date", "state", "scheduled_dttm", "trigger_timeout"),
    "task_instance_history": (*_TRY, "end_date", "state"),
    "task_reschedule": ("ti_id",),
}
"""What these readers ask for."""

# By primary key only: with the index on event or dttm a database would sort all that is left for every chunk.
_AUDIT = """
    SELECT id, dttm, dag_id, task_id, run_id, map_index, try_number, event FROM log
    WHERE id > :after AND COALESCE(event, '') IN :events
      AND dag_id IS NOT NULL AND task_id IS NOT NULL AND run_id IS NOT NULL
    ORDER BY id LIMIT :chunk
"""
_TRIES = """
    SELECT dag_id, task_id, run_id, map_index, try_number, start_date, end_date FROM {table}
    WHERE dag_id = :dag_id AND task_id = :task_id AND start_date >= :since
"""
_ONE_TRY = """
    SELECT state, end_date FROM {table}
    WHERE dag_id = :dag_id AND task_id = :task_id AND run_id = :run_id
      AND map_index = :map_index AND try_number = :try_number
"""
# One interval a try, from its start to the moment when its last trigger fired. It holds the first worker
# slice, and several deferrals of a try become one: a bound, not a measurement.
_WITHOUT_AUDIT = """
    SELECT t.id, t.dag_id, t.task_id, t.run_id, t.map_index, t.try_number, t.start_date, t.scheduled_dttm
    FROM task_instance t
    WHERE t.id > :after AND t.start_date >= :since AND t.start_date < :until
      AND t.scheduled_dttm > t.start_date
      AND NOT EXISTS (SELECT 1 FROM task_reschedule r WHERE r.ti_id = t.id)
    ORDER BY t.id LIMIT :chunk
"""
_TIMEOUTS = """
    SELECT id, dag_id, task_id, start_date, trigger_timeout FROM task_instance
    WHERE id > :after AND start_date >= :since AND trigger_timeout > start_date
    ORDER BY id LIMIT :chunk
"""
_NO_UUID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, kw_only=True)
class PastWaits:
    """What history tells.

    :ivar intervals: the deferrals, in the order of their ends, open ones last.
    :ivar bounded: those of them that come from task instances without audit rows: their ends are bounds.
    :ivar run_starts: Dag and run id to the moment of the run's first audit row.
    :ivar tries: Dag and task id to how many tries ended, those that did not defer included.
    :ivar rescheduled: Dag and task id to how long tries of reschedule sensors waited, in seconds.
    :ivar begins: from when on there are audit rows, seconds since 1970; None: there are none.
    :ivar rows: how many audit rows were read.
    :ivar notes: what a reader of the numbers must know.
    """

    intervals: tuple[PastWait, ...]
    bounded: int
    run_starts: Mapping[tuple[str, str], float]
    tries: Mapping[tuple[str, str], int]
    rescheduled: Mapping[tuple[str, str], Sequence[float]]
    begins: float | None
    rows: int
    notes: tuple[str, ...]


def read_past_waits(
    database: Database,
    *,
    since: datetime,
    from_trigger: Collection[tuple[str, str]] = (),
    tell: Tell | None = None,
    chunk: int = CHUNK,
) -> PastWaits:
    """The deferrals that were open at ``since`` or later.

    Reads in chunks by primary key: the time grows with the rows, the memory with the deferrals.

    :param from_trigger: Dag and task ids of tasks that start in the triggerer (they write no row
        ``deferred``).
    :param tell: called with rows done and an estimate of all.
    :raises CannotTell: when the database refuses.
    """
    database.require(NEEDED)
    reader = _Reader(database, since, chunk, tell)
    begins = reader.first_instant()
    found = [*reader.audited(from_trigger), *reader.started_in_triggerer()]
    without = list(reader.unaudited(begins))
    kept = [one for one in [*without, *found] if one.end is None or one.end >= reader.since]
    return PastWaits(
        intervals=tuple(kept),
        bounded=sum(one.end is None or one.end >= reader.since for one in without),
        run_starts=reader.pairing.run_starts,
        tries=reader.pairing.tries,
        rescheduled=reader.pairing.rescheduled,
        begins=begins,
        rows=reader.rows,
        notes=tuple(reader.notes),
    )


def read_timeouts(database: Database, *, since: datetime, chunk: int = CHUNK) -> dict[str, float]:
    """After how many seconds deferrals of tasks time out, by the name of their waits.

    The column keeps the deadline of a try's last deferral; the least time from a try's start to it is the
    time-out and the moment before the deferral.

    :raises CannotTell: when the database refuses.
    """
    found: dict[str, float] = {}
    after = _NO_UUID
    while rows := database.rows(_TIMEOUTS, after=after, since=since, chunk=chunk):
        for _, dag_id, task_id, start, deadline in rows:
            name, seconds = wait_name(dag_id, task_id), (epoch(deadline) or 0.0) - (epoch(start) or 0.0)
            found[name] = min(seconds, found.get(name, seconds))
        after = str(rows[-1][0])
    return found


class _Reader:
    """One pass over the history."""

    def __init__(self, database: Database, since: datetime, chunk: int, tell: Tell | None) -> None:
        self._database = database
        self._chunk = chunk
        self._tell = tell
        self.pairing = Pairing()
        self._moment = since
        self.since = since.timestamp()
        self.rows = 0
        self.notes: list[str] = []

    def first_instant(self) -> float | None:
        """When the oldest audit row was written."""
        found = self._database.rows("SELECT dttm FROM log WHERE dttm IS NOT NULL ORDER BY dttm LIMIT 1")
        return epoch(found[0][0]) if found else None

    def audited(self, from_trigger: Collection[tuple[str, str]]) -> Iterator[PastWait]:
        """The deferrals that audit rows tell of."""
        self.pairing = Pairing(from_trigger=from_trigger)
        for row in self._audit_rows():
            ended = self.pairing.feed(row)
            if ended is not None:
                yield ended
        yield from self._unfinished()

    def _audit_rows(self) -> Iterator[AuditRow]:
        begin = self._instant(self.since - WARM_UP_SECONDS)
        first = self._database.rows(
            "SELECT id FROM log WHERE dttm >= :since ORDER BY dttm LIMIT 1", since=begin
        )
        if not first:
            return
        last = int(self._database.rows("SELECT MAX(id) FROM log")[0][0])
        # rows of one moment may have their numbers in another order
        after = start = max(0, int(first[0][0]) - 1_000)
        while chunk := self._rows(_AUDIT, after=after, events=EVENTS):
            yield from (row for row in map(_audit_row, chunk) if row.at >= begin.timestamp())
            after = int(chunk[-1][0])
            self.rows += len(chunk)
            if self._tell is not None:
                self._tell(after - start, max(1, last - start))

    def _unfinished(self) -> Iterator[PastWait]:
        """Deferrals without a later row: still waiting, or ended by hand; then the task instance tells."""
        rest = list(self.pairing.rest())
        unseen = 0
        for index, one in enumerate(rest):
            state, end = self._try_state(one.key) if index < SINGLE_LOOKS else (None, None)
            if state == "deferred":
                yield one
            elif end is not None and end >= one.start:
                yield one._replace(end=end)
            else:
                unseen += 1
        if unseen:
            self.notes.append(f"{unseen:,} deferrals have no end in the audit log and were left out")

    def _try_state(self, key: TryKey) -> tuple[str | None, float | None]:
        for table in ("task_instance", "task_instance_history"):
            found = self._database.rows(_ONE_TRY.format(table=table), **key._asdict())
            if found:
                return found[0][0], epoch(found[0][1])
        return None, None

    def started_in_triggerer(self) -> Iterator[PastWait]:
        """Waits of ``start_from_trigger``: from the try's start to its first row ``running``, or its end."""
        tasks = sorted(self.pairing.from_trigger)
        for (dag_id, task_id), table in (
            (task, table) for task in tasks for table in ("task_instance", "task_instance_history")
        ):
            values = {"dag_id": dag_id, "task_id": task_id, "since": self._moment}
            for row in self._database.rows(_TRIES.format(table=table), **values):
                yield self._from_start(row)

    def _from_start(self, row: Row) -> PastWait:
        key, start, end = _key(row[:5]), epoch(row[5]), epoch(row[6])
        resumed = self.pairing.first_running.get(key, end)
        return PastWait(key, start or 0.0, resumed)

    def unaudited(self, begins: float | None) -> Iterator[PastWait]:
        """What task instances tell of the time from which the audit rows are gone."""
        until = datetime.now(tz=timezone.utc).timestamp() if begins is None else begins
        if until <= self.since + CLEANED_SECONDS:
            return
        count, after = 0, _NO_UUID
        between = {"since": self._moment, "until": self._instant(until)}
        while chunk := self._rows(_WITHOUT_AUDIT, after=after, **between):
            for row in chunk:
                yield PastWait(_key(row[1:6]), epoch(row[6]) or 0.0, epoch(row[7]))
            count, after = count + len(chunk), str(chunk[-1][0])
        if count:
            self.notes.append(
                f"no audit rows before {self._instant(until):%Y-%m-%d %H:%M}Z (cleaned?): {count:,} waits "
                "of that time come from task instances and hold the first worker slice too"
            )

    def _rows(self, sql: str, **values: Any) -> list[Row]:
        return self._database.rows(sql, chunk=self._chunk, **values)

    def _instant(self, seconds: float) -> datetime:
        return datetime.fromtimestamp(seconds, tz=timezone.utc)


def _audit_row(row: Row) -> AuditRow:
    return AuditRow(_key(row[2:7]), row[7], epoch(row[1]) or 0.0)


def _key(row: Row) -> TryKey:
    dag_id, task_id, run_id, map_index, try_number = row
    return key_of(dag_id=dag_id, task_id=task_id, run_id=run_id, map_index=map_index, try_number=try_number)
