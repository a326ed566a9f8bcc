"""What a backfill would do: the Dag's dates, the runs that are there, other backfills. Reads only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from statistics import median
from typing import TYPE_CHECKING, Any

from ._backfill_runs import Asked, DagFacts, PastRun, PlannedRun, RunSlot, planned, refusals
from ._errors import CannotTell
from ._inventory import DescribedDag
from ._read_dags import NEEDED_DAGS, read_one_serialized
from ._read_database import Database, configured_url, epoch, open_database
from ._read_fires import decoded_timetable, restriction_between

if TYPE_CHECKING:
    from airflow.timetables.base import DagRunInfo, Timetable

__all__ = ["MOST_RUNS", "BackfillPreview", "preview", "preview_backfill", "usual_run_seconds"]

MOST_RUNS = 20_000
"""A range that holds more dates is most likely a mistake."""

_NEEDED: dict[str, Sequence[str]] = {
    **NEEDED_DAGS,
    "dag_run": ("dag_id", "run_id", "state", "logical_date", "partition_date", "start_date"),
}
# In Airflow's order: of several runs of a date the one that started last counts, one that did not start last.
_RUNS = """
    SELECT {date}, run_id, state FROM dag_run
    WHERE dag_id = :dag_id AND {date} >= :begin AND {date} <= :last
    ORDER BY CASE WHEN start_date IS NULL THEN 1 ELSE 0 END DESC, start_date ASC
"""


@dataclass(frozen=True, kw_only=True)
class BackfillPreview:
    """What would happen.

    :ivar runs: every date of the range with its fate.
    :ivar refused: why Airflow would refuse; empty: it would not.
    :ivar described: the Dag.
    """

    asked: Asked
    runs: tuple[PlannedRun, ...]
    refused: tuple[str, ...]
    described: DescribedDag

    @property
    def made(self) -> int:
        """How many runs there would be."""
        return sum(run.made for run in self.runs)


def preview_backfill(url: str, asked: Asked) -> tuple[BackfillPreview, float | None]:
    """What Airflow would do, and how long the Dag's runs usually take, in seconds; None: not known.

    :param url: of the metadata database, ``airflow`` for the configured one.
    :raises CannotTell: as :func:`preview`, or when the database cannot be opened.
    """
    with open_database(configured_url() if url == "airflow" else url) as database:
        return preview(database, asked), usual_run_seconds(database, asked.dag_id)


def preview(database: Database, asked: Asked, *, now: float | None = None) -> BackfillPreview:
    """What Airflow would do with this backfill, without asking it to.

    :param now: the moment; None: the database's.
    :raises CannotTell: when the Dag is not known, its timetable cannot be asked, or the database refuses.
    """
    database.require(_NEEDED)
    described = read_one_serialized(database, asked.dag_id)
    if described is None:
        raise CannotTell(database.place, f"no Dag {asked.dag_id} is stored there")
    moment = database.now() if now is None else now
    timetable = _timetable(described, asked.dag_id)
    facts = _facts(described, timetable, _active(database, asked.dag_id))
    runs: tuple[PlannedRun, ...] = ()
    if facts.periodic and asked.begin <= asked.to:
        slots = tuple(_slots(timetable, asked))
        past = _past(database, asked, slots, partitioned=facts.partitioned)
        runs = planned(slots, past, asked, partitioned=facts.partitioned, now=moment)
    ended = sum(run.fate != "not ended" for run in runs)
    refused = refusals(asked, facts, runs=ended, now=moment)
    return BackfillPreview(asked=asked, runs=runs, refused=refused, described=described)


def _timetable(described: DescribedDag, dag_id: str) -> Timetable:
    try:
        return decoded_timetable(described.serialized["dag"]["timetable"])
    except CannotTell:
        raise
    except Exception as error:  # noqa: BLE001 - a timetable is code of the user
        text = f"the timetable of {dag_id} cannot be asked here: {type(error).__name__}: {error}"[:300]
        raise CannotTell(dag_id, text) from None


def _facts(described: DescribedDag, timetable: Timetable, active: int) -> DagFacts:
    dag: Mapping[str, Any] = described.serialized["dag"]
    defaults = described.serialized.get("client_defaults", {}).get("tasks", {})
    tasks = [{**defaults, **one.get("__var", one)} for one in dag.get("tasks", ())]
    types = dag.get("allowed_run_types")
    return DagFacts(
        schedule=timetable.summary or type(timetable).__name__,
        periodic=timetable.periodic,
        partitioned=timetable.partitioned,
        depends_on_past=any(_depends(task) for task in tasks),
        run_types=None if types is None else tuple(types),
        active=active,
    )


def _depends(task: Mapping[str, Any]) -> bool:
    partial = task.get("partial_kwargs") or {}
    return bool(task.get("depends_on_past") or partial.get("depends_on_past"))


def _active(database: Database, dag_id: str) -> int:
    sql = "SELECT COUNT(*) FROM backfill WHERE dag_id = :dag_id AND completed_at IS NULL"
    return int(database.rows(sql, dag_id=dag_id)[0][0])


def _slots(timetable: Timetable, asked: Asked) -> Iterator[RunSlot]:
    """The dates in the range, both ends inclusive, as ``SerializedDAG.iter_dagrun_infos_between`` walks."""
    for count, slot in enumerate(_walk(timetable, asked)):
        if count >= MOST_RUNS:
            text = f"the range holds more than {MOST_RUNS:,} dates; give a shorter one"
            raise CannotTell(asked.dag_id, text)
        yield slot


def _walk(timetable: Timetable, asked: Asked) -> Iterator[RunSlot]:
    restriction = restriction_between(asked.begin, asked.to)
    if timetable.partitioned:
        begin, last = restriction.earliest, restriction.latest
        assert begin is not None and last is not None  # noqa: S101, PT018 - both were given
        for info in timetable.iter_partition_dagrun_infos(earliest=begin, latest=last):
            if info.partition_date is not None:
                yield RunSlot(info.partition_date.timestamp(), None)
        return
    last_info: DagRunInfo | None = None
    while True:
        last_info = timetable.next_dagrun_info_v2(last_dagrun_info=last_info, restriction=restriction)
        if last_info is None or last_info.data_interval is None:
            return
        interval = last_info.data_interval
        yield RunSlot(interval.start.timestamp(), interval.end.timestamp())


def _past(
    database: Database, asked: Asked, slots: Sequence[RunSlot], *, partitioned: bool
) -> dict[float, PastRun]:
    """The newest run of each date."""
    if not slots:
        return {}
    dates = [slot.date for slot in slots]
    sql = _RUNS.format(date="partition_date" if partitioned else "logical_date")
    begin, last = (datetime.fromtimestamp(one, tz=timezone.utc) for one in (min(dates), max(dates)))
    rows = database.rows(sql, dag_id=asked.dag_id, begin=begin, last=last)
    return {epoch(date) or 0.0: PastRun(run_id, state) for date, run_id, state in rows}


def usual_run_seconds(database: Database, dag_id: str) -> float | None:
    """The median duration of the Dag's last successful runs; None: it has none.

    :raises CannotTell: when the database refuses.
    """
    sql = (
        "SELECT start_date, end_date FROM dag_run WHERE dag_id = :dag_id AND state = 'success' "
        "AND start_date IS NOT NULL AND end_date IS NOT NULL ORDER BY start_date DESC LIMIT 50"
    )
    spans = [(epoch(end) or 0.0) - (epoch(start) or 0.0) for start, end in database.rows(sql, dag_id=dag_id)]
    return median(spans) if spans else None
