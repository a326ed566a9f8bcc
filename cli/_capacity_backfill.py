"""``landmark capacity backfill``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._capacity_backfill_text import Found, document_of, lines_of
from ._capacity_options import Span, calibration_option, moment, plan_option, status_of
from ._capacity_sources import db_option, gathered
from ._exits import Exit
from ._options import json_option
from ._print import out, out_json
from ._types import Whole

if TYPE_CHECKING:
    from airflow_landmark.capacity import (
        Asked,
        BackfillPreview,
        Calibrations,
        Gathered,
        Inputs,
        ScenarioAnswer,
    )

__all__ = ["backfill"]

_TWO_WEEKS = 14 * 86_400.0
_THIRTY_DAYS = 30 * 86_400.0


def _instant(context: click.Context, parameter: click.Parameter, value: str) -> float:
    try:
        return moment(value)
    except ValueError:
        text = f"{value!r} is not a date such as 2026-03-01"
        raise click.BadParameter(text, ctx=context, param=parameter) from None


@dataclass(frozen=True, kw_only=True)
class _Given:
    """The options that are not the backfill's own."""

    db: str
    history: float
    plan: Path | None
    calibrations: tuple[Path, ...]
    arrived: float
    task_seconds: float | None
    slots: int | None
    open_slots: int | None


@click.command()
@click.option("--dag", "dag_id", metavar="ID", required=True, help="The Dag.")
@click.option("--from", "begin", metavar="DATE", required=True, callback=_instant, help="The first date.")
@click.option("--to", metavar="DATE", required=True, callback=_instant, help="The last date, inclusive.")
@click.option(
    "--max-active-runs",
    type=Whole(least=1, most=10_000),
    default=10,
    show_default=True,
    metavar="N",
    help="Runs at once; independent of the Dag's own limit.",
)
@click.option(
    "--reprocess",
    type=click.Choice(["none", "failed", "completed"]),
    default="none",
    show_default=True,
    help="What to do where a run is: leave it, run it again when it failed, run it again.",
)
@click.option("--backwards", is_flag=True, help="The latest date first.")
@click.option(
    "--arrived",
    type=click.FloatRange(0.0, 1.0),
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="The share of dates whose data lie there already: their sensors do not defer.",
)
@click.option("--task-time", type=Span(least=0.1), metavar="SPAN", help="A run's work; else the usual one.")
@click.option("--slots", type=Whole(least=1, most=100_000), metavar="N", help="Pool slots a task.")
@click.option(
    "--open-slots", type=Whole(least=0, most=1_000_000), metavar="N", help="Open slots of its pool."
)
@click.option(
    "--history",
    type=Span(least=3_600),
    metavar="SPAN",
    default=_THIRTY_DAYS,
    show_default="30d",
    help="How far back to read waits: which tasks defer, and how long.",
)
@db_option
@plan_option(required=False)
@calibration_option
@json_option
def backfill(
    *,
    dag_id: str,
    begin: float,
    to: float,
    max_active_runs: int,
    reprocess: Any,
    backwards: bool,
    arrived: float,
    task_time: float | None,
    slots: int | None,
    open_slots: int | None,
    history: float,
    db: str | None,
    plan: Path | None,
    calibrations: tuple[Path, ...],
    as_json: bool,
) -> Exit:
    """Say what a backfill would do before it is made: runs, refusals, waits, waves, triggerers.

    The runs are those of `airflow backfill create --dry-run`, with the dates that get none and why. Whether
    the triggerers hold is said for those of a plan, or else for those that are alive.
    """
    from airflow_landmark.capacity import Asked  # noqa: PLC0415

    if db is None:
        raise click.UsageError("a backfill is looked at in the metadata database: give --db")
    asked = Asked(
        dag_id=dag_id,
        begin=begin,
        to=to,
        max_active_runs=max_active_runs,
        reprocess=reprocess,
        backwards=backwards,
    )
    given = _Given(
        db=db,
        history=history,
        plan=plan,
        calibrations=calibrations,
        arrived=arrived,
        task_seconds=task_time,
        slots=slots,
        open_slots=open_slots,
    )
    found = _look(asked, given)
    status = _status(found)
    if as_json:
        out_json(document_of(found))
    else:
        out(*lines_of(found, status))
    return status


def _look(asked: Asked, given: _Given) -> Found:
    from airflow_landmark.capacity import (  # noqa: PLC0415
        Inputs,
        backfill_load,
        heavy_task,
        load_calibrations,
        preview_backfill,
        read_plan,
    )

    known = load_calibrations(*given.calibrations)
    planned = Inputs() if given.plan is None else read_plan(given.plan, calibrations=known).inputs
    preview, usual_seconds = preview_backfill(given.db, asked)
    begin = datetime.now(tz=timezone.utc).timestamp()
    around = gathered(
        planned, (None, given.db, None, given.history), begin=begin, seconds=_TWO_WEEKS, awake=asked.dag_id
    )
    heavy = heavy_task(preview.described.serialized)
    task_seconds = given.task_seconds or usual_seconds
    open_slots = _open_slots(around, heavy.pool) if given.open_slots is None else float(given.open_slots)
    load = backfill_load(
        [wait for wait in around.inputs.waits if wait.dag == asked.dag_id],
        asked,
        runs=preview.made,
        arrived=given.arrived,
        task_seconds=task_seconds or 0.0,
        slots=given.slots or heavy.slots,
        open_slots=open_slots,
    )
    inputs = _with_backfill(around.inputs, asked, preview, given.arrived)
    scenario = None if inputs is None else _scenario(inputs, begin, known)
    return Found(preview, load, heavy, scenario, task_seconds, open_slots)


def _open_slots(around: Gathered, pool: str) -> float:
    """Open slots now; infinite for a pool without a limit, none for one that is not there."""
    line = around.live.pools.get(pool) if around.live else None
    if line is None:
        return 0.0
    return math.inf if line["open"] is None else float(max(0, line["open"]))


def _with_backfill(inputs: Inputs, asked: Asked, preview: BackfillPreview, arrived: float) -> Inputs | None:
    """The inputs with the backfill as a scenario; None: it adds no waits."""
    from airflow_landmark.capacity import with_backfill  # noqa: PLC0415

    found = with_backfill(inputs, asked, runs=preview.made, arrived=arrived)
    return None if found is inputs else found


def _scenario(inputs: Inputs, begin: float, known: Calibrations) -> ScenarioAnswer | None:
    """What the triggerers say to it; None: no wait of the Dag is known."""
    from airflow_landmark.capacity import check  # noqa: PLC0415

    answer = check(inputs, begin=begin, seconds=_TWO_WEEKS, calibrations=known)
    found = [one for part in answer.partitions for one in part.scenarios if one.name == "this backfill"]
    return max(found, key=lambda one: (one.verdict, one.with_spare), default=None)


def _status(found: Found) -> Exit:
    if found.preview.refused or not found.preview.made or math.isinf(found.load.course.seconds):
        return Exit.NO
    return Exit.YES if found.scenario is None else status_of(found.scenario.verdict)
