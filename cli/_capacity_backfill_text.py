"""What ``landmark capacity backfill`` answers, for people and for machines."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ._exits import Exit
from ._print import banner, counted, facts, safe

if TYPE_CHECKING:
    from airflow_landmark.capacity import (
        BackfillLoad,
        BackfillPreview,
        HeavyTask,
        PlannedRun,
        ScenarioAnswer,
    )

__all__ = ["Found", "document_of", "lines_of"]

_SHOWN = 5
_FATES = {
    "new": "a run is made",
    "again": "the run that is there runs again",
    "in flight": "no run: one is queued or running",
    "already exists": "no run: there is one, and --reprocess does not ask for it again",
    "not ended": "no run: its interval has not ended",
}


@dataclass(frozen=True)
class Found:
    """All that is shown.

    :param scenario: what the triggerers say to it; None: it adds no waits.
    :param task_seconds: how long the work of a run takes; None: not known.
    """

    preview: BackfillPreview
    load: BackfillLoad
    heavy: HeavyTask
    scenario: ScenarioAnswer | None
    task_seconds: float | None
    open_slots: float


def lines_of(found: Found, status: Exit) -> Iterator[str]:
    """The answer for people."""
    preview, asked = found.preview, found.preview.asked
    made = preview.made
    period = f"{_day(asked.begin)} to {_day(asked.to)}"
    if preview.refused:
        yield banner(Exit.NO, "Airflow would refuse", f"a backfill of {asked.dag_id}, {period}")
        yield from (f"  {safe(reason)}" for reason in preview.refused)
    else:
        yield banner(status, "would make", f"{counted(made, 'run')} of {asked.dag_id}, {period}")
    if preview.runs:
        yield ""
        yield from _fates(preview.runs)
    if made:
        yield ""
        yield from _load(found)


def _fates(runs: Sequence[PlannedRun]) -> Iterator[str]:
    counts = Counter[str](run.fate for run in runs)
    for fate, text in _FATES.items():
        if not counts[fate]:
            continue
        yield f"  {counts[fate]:>6,}  {text}"
        dates = [_day(run.date) for run in runs if run.fate == fate]
        if fate not in ("new", "again"):
            yield f"          {', '.join(dates[:_SHOWN])}{', ...' if len(dates) > _SHOWN else ''}"


def _load(found: Found) -> Iterator[str]:
    from airflow_landmark.capacity import span  # noqa: PLC0415

    load, heavy, course = found.load, found.heavy, found.load.course
    longest = "for ever" if load.longest is None else span(load.longest)
    fewer = "" if load.expected == load.waits else f", {load.expected:,.0f} with what lies there already"
    waits = f"at most {load.waits:,.0f} at once{fewer}; each up to {longest}"
    opened = "no end of" if math.isinf(found.open_slots) else f"{found.open_slots:,.0f}"
    slots = f"{heavy.task_id} takes {heavy.slots} of {opened} open slots of {heavy.pool}"
    unknown = "how long a run takes is not known (--task-time)"
    lasting = f"{span(course.seconds)} in {counted(course.waves, 'wave')}" if found.task_seconds else unknown
    if not course.at_once:
        lasting = "never: the pool has not enough open slots"
    yield from facts(
        ("waits", waits if load.waits else "none: no task of the Dag defers"),
        ("at once", f"{counted(course.at_once, 'task')}; {slots}"),
        ("lasts", lasting),
    )
    if found.preview.described.paused:
        yield from facts(("paused", "Airflow makes the runs, and starts none until the Dag is unpaused"))
    one = found.scenario
    if one is not None:
        text = f"{one.needed} needed, {one.with_spare} with spare, {one.replicas} there; limit: {one.binding}"
        yield from facts(("triggerers", text))


def document_of(found: Found) -> dict[str, Any]:
    """Plain JSON, version 1: ``landmark_capacity_backfill``."""
    preview, load, one = found.preview, found.load, found.scenario
    return {
        "landmark_capacity_backfill": 1,
        "dag": preview.asked.dag_id,
        "paused": preview.described.paused,
        "from": _iso(preview.asked.begin),
        "to": _iso(preview.asked.to),
        "refused": list(preview.refused),
        "made": preview.made,
        "runs": [
            {"date": _iso(run.date), "fate": run.fate, "run_id": run.run_id or None} for run in preview.runs
        ],
        "waits": {"most": load.waits, "expected": load.expected, "longest": load.longest},
        "at_once": load.course.at_once,
        "waves": load.course.waves,
        "seconds": load.course.seconds if math.isfinite(load.course.seconds) and found.task_seconds else None,
        "triggerers": None
        if one is None
        else {
            "needed": one.needed,
            "with_spare": one.with_spare,
            "replicas": one.replicas,
            "binding": one.binding,
            "verdict": one.verdict.name.lower(),
        },
    }


def _day(seconds: float) -> str:
    found = datetime.fromtimestamp(seconds, tz=timezone.utc)
    return f"{found:%Y-%m-%d}" if not seconds % 86_400 else f"{found:%Y-%m-%d %H:%M}"


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=timezone.utc).isoformat().replace("+00:00", "Z")
