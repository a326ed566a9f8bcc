"""Past waits from a metadata database that Airflow has made."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_landmark.capacity import OlderAirflow
from airflow_landmark.capacity._read_database import open_database
from airflow_landmark.capacity._read_history import PastWaits, read_past_waits
from metadata import NOW, Metadata

HOUR = 3_600.0
T0 = NOW.timestamp()


def _read(metadata: Metadata, *, hours: float = 24, chunk: int = 20_000, **kwargs: object) -> PastWaits:
    with open_database(metadata.url) as database:
        since = NOW - timedelta(hours=hours)
        return read_past_waits(database, since=since, chunk=chunk, **kwargs)  # type: ignore[arg-type]


def _spans(past: PastWaits) -> list[tuple[str, float, float | None]]:
    return sorted(
        (one.key.task_id, round(one.start - T0, 3), None if one.end is None else round(one.end - T0, 3))
        for one in past.intervals
    )


def _known_waits(metadata: Metadata, count: int) -> list[tuple[str, float, float]]:
    """So many waits that overlap, in the order in which their rows are written."""
    waits = [(f"t{number:02d}", -1_000.0 + number, -500.0 + 3 * number) for number in range(count)]
    rows = [(start, "deferred", task) for task, start, _ in waits]
    rows += [(end, "running", task) for task, _, end in waits] + [
        (end + 2, "success", t) for t, _, end in waits
    ]
    for at, event, task in sorted(rows):
        metadata.event(event, at, task=task)
    return waits


@pytest.mark.parametrize("chunk", [1, 7, 20_000])
def test_intervals_are_recovered(metadata: Metadata, chunk: int) -> None:
    """Known waits come out to the millisecond, however small the chunks in which they are read."""
    waits = _known_waits(metadata, 12)
    past = _read(metadata, chunk=chunk)
    assert _spans(past) == waits
    assert past.tries == {("d", task): 1 for task, _, _ in waits}
    assert past.rows == 36
    assert past.run_starts == {("d", "r1"): T0 - 1_000}


def test_waits_that_were_open_at_the_beginning_count(metadata: Metadata) -> None:
    """Reading begins a day earlier; what had ended before the asked time is left out."""
    metadata.event("deferred", -30 * HOUR, task="long")
    metadata.event("deferred", -29 * HOUR, task="over")
    metadata.event("running", -28 * HOUR, task="over")
    metadata.event("running", -23 * HOUR, task="long")
    assert [one[0] for one in _spans(_read(metadata))] == ["long"]


def test_waits_without_a_later_row(metadata: Metadata) -> None:
    """Still deferred: open. Ended by hand: the task instance tells. Neither: left out and said."""
    for task in ("waits", "marked", "gone"):
        metadata.event("deferred", -HOUR, task=task)
    metadata.instance(task="waits", state="deferred")
    metadata.instance(task="marked", state="failed", end_date=NOW - timedelta(minutes=30))
    past = _read(metadata)
    assert _spans(past) == [("marked", -HOUR, -HOUR / 2), ("waits", -HOUR, None)]
    assert past.notes == ("1 deferrals have no end in the audit log and were left out",)


def test_start_from_trigger(metadata: Metadata) -> None:
    """No row ``deferred``: from the task instance's start to its first ``running``, or to its end."""
    metadata.event("running", -100, task="resumed")
    begun = NOW - timedelta(seconds=500)
    metadata.instance(task="resumed", start_date=begun, end_date=NOW)
    metadata.instance(task="ended", start_date=begun, end_date=NOW - timedelta(seconds=50))
    tasks = {("d", "resumed"), ("d", "ended")}
    assert _spans(_read(metadata, from_trigger=tasks)) == [("ended", -500, -50), ("resumed", -500, -100)]
    assert _spans(_read(metadata)) == []


def test_cleaned_audit_log(metadata: Metadata) -> None:
    """Before the oldest audit row task instances tell, as bounds; rescheduled ones tell nothing."""
    metadata.event("deferred", -2 * HOUR, task="known")
    metadata.event("running", -1 * HOUR, task="known")
    begun, fired = NOW - timedelta(hours=20), NOW - timedelta(hours=19)
    metadata.instance(task="old", start_date=begun, scheduled_dttm=fired)
    metadata.instance(task="never", start_date=begun, scheduled_dttm=begun - timedelta(seconds=1))
    metadata.instance(task="again", id="0" * 31 + "7", start_date=begun, scheduled_dttm=fired)
    stamps = {"start_date": begun, "end_date": begun, "duration": 1, "reschedule_date": fired}
    metadata.row("task_reschedule", ti_id="0" * 31 + "7", **stamps)
    past = _read(metadata)
    assert _spans(past) == [("known", -2 * HOUR, -HOUR), ("old", -20 * HOUR, -19 * HOUR)]
    assert past.bounded == 1
    assert "no audit rows before 2026-11-20 10:00Z" in past.notes[0]


def test_rows_of_no_task_are_passed_over(metadata: Metadata) -> None:
    """The audit log also tells of what users do."""
    metadata.row("log", dttm=NOW, event="deferred", dag_id="d", task_id=None)
    assert _read(metadata).intervals == ()


def test_progress(metadata: Metadata) -> None:
    """It grows, and ends at all rows."""
    _known_waits(metadata, 5)
    told: list[tuple[int, int]] = []
    _read(metadata, chunk=4, tell=lambda done, whole: told.append((done, whole)))
    assert told == sorted(told)
    assert len(told) == 4
    assert told[-1][0] == told[-1][1]


def test_an_older_schema_is_named(metadata: Metadata) -> None:
    """A missing column is told with its table and the schema's revision, before anything long begins."""
    metadata.execute("ALTER TABLE log RENAME COLUMN try_number TO attempt")
    with pytest.raises(
        OlderAirflow, match=r"table log .* need Airflow 3\.3 or newer \(found schema revision"
    ):
        _read(metadata)
