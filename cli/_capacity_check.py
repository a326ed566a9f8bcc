"""``landmark capacity check``."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ._capacity_options import Span, calibration_option, format_option, moment, plan_option, status_of
from ._capacity_sources import api_option, dags_option, db_option, gathered, history_option
from ._exits import Exit
from ._print import err, out, out_json
from ._steps import telling

if TYPE_CHECKING:
    from airflow_landmark.capacity import Answer, Inputs

__all__ = ["check"]

_FIVE_WEEKS = 35 * 86_400.0


def _begin(context: click.Context, parameter: click.Parameter, value: str | None) -> float:
    """An instant; without one, the next midnight (UTC)."""
    if value is None:
        now = datetime.now(tz=timezone.utc).timestamp()
        return (now // 86_400 + 1) * 86_400
    try:
        return moment(value)
    except ValueError:
        text = f"{value!r} is not a date such as 2026-03-01"
        raise click.BadParameter(text, ctx=context, param=parameter) from None


@click.command()
@plan_option(required=False)
@dags_option
@db_option
@api_option
@history_option
@click.option(
    "--horizon",
    type=Span(least=3600),
    metavar="SPAN",
    default=_FIVE_WEEKS,
    show_default="5w",
    help="How far ahead to look: schedules meet at their worst once in weeks.",
)
@click.option("--from", "begin", metavar="DATE", callback=_begin, help="Where to begin; else next midnight.")
@calibration_option
@format_option("text", "json", "html")
def check(
    *,
    plan: Path | None,
    dags: Path | None,
    db: str | None,
    api: str | None,
    history: float | None,
    horizon: float,
    begin: float,
    calibrations: tuple[Path, ...],
    form: str,
    as_json: bool,
) -> Exit:
    """Say how many triggerers the waits need, why, and what happens when one dies.

    What waits is told by any of: a plan, Dags, the metadata database or the REST API with a history of
    waits. A plan knows better than the others. Every number is marked measured, bounded or assumed.
    """
    from airflow_landmark.capacity import Inputs, load_calibrations, read_plan  # noqa: PLC0415
    from airflow_landmark.capacity import check as sized  # noqa: PLC0415

    if plan is None and dags is None and db is None and api is None:
        raise click.UsageError("say what waits: give --plan, --dags, --db or --api")
    known = load_calibrations(*calibrations)
    planned = Inputs() if plan is None else read_plan(plan, calibrations=known).inputs
    found = gathered(planned, (dags, db, api, history), begin=begin, seconds=horizon)
    with telling() as tell:
        answer = sized(
            found.inputs,
            begin=begin,
            seconds=horizon,
            calibrations=known,
            tell=lambda done, whole: tell("Computing", done, whole),
        )
    _show(replace(answer, back_test=found.back_test), "json" if as_json else form)
    return _status(answer, found.inputs)


def _show(answer: Answer, form: str) -> None:
    if form == "json":
        from airflow_landmark.capacity import answer_document  # noqa: PLC0415

        out_json(answer_document(answer))
    elif form == "html":
        from airflow_landmark.capacity import html_page  # noqa: PLC0415

        out(html_page(answer, made_at=datetime.now(tz=timezone.utc).timestamp()))
    else:
        from ._capacity_text import answer_lines  # noqa: PLC0415

        out(*answer_lines(answer))


def _status(answer: Answer, inputs: Inputs) -> Exit:
    status = status_of(answer.verdict)
    if status is Exit.UNKNOWN:
        err("landmark capacity check: could not tell: no deployment is stated ([[deployment]] in a plan)")
    elif not inputs.waits:
        err("landmark capacity check: could not tell: nothing that waits was found")
        return Exit.UNKNOWN
    return status
