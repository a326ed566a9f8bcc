"""``landmark capacity emit``."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import click

from ._capacity_options import Span, calibration_option, plan_option
from ._capacity_sources import api_option, dags_option, db_option, gathered, history_option
from ._exits import Exit
from ._print import err, out

__all__ = ["emit"]

_FIVE_WEEKS = 35 * 86_400.0
_PREFIX = r"[A-Za-z_:][A-Za-z0-9_:]{0,100}"


def _prefix(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """What can stand before the name of a metric."""
    import re  # noqa: PLC0415

    if not re.fullmatch(_PREFIX, value):
        text = f"{value!r} is not the beginning of a metric's name, such as airflow"
        raise click.BadParameter(text, ctx=context, param=parameter)
    return value


@click.command()
@click.argument("form", type=click.Choice(["helm", "keda", "alerts"]))
@plan_option(required=False)
@dags_option
@db_option
@api_option
@history_option
@click.option(
    "--horizon",
    type=Span(least=3_600),
    metavar="SPAN",
    default=_FIVE_WEEKS,
    show_default="5w",
    help="How far ahead.",
)
@click.option(
    "--prefix",
    metavar="NAME",
    default="airflow",
    show_default=True,
    callback=_prefix,
    help="What the names of Airflow's metrics begin with (alerts).",
)
@calibration_option
def emit(
    *,
    form: str,
    plan: Path | None,
    dags: Path | None,
    db: str | None,
    api: str | None,
    history: float | None,
    horizon: float,
    prefix: str,
    calibrations: tuple[Path, ...],
) -> Exit:
    """Print settings that follow from the answer of `check`, with the same inputs.

    helm: values for the official chart. keda: values with a query for its scaler that knows queue, team,
    headroom and spare. alerts: rules for Prometheus.
    """
    from airflow_landmark.capacity import (  # noqa: PLC0415
        Inputs,
        alert_rules,
        check,
        helm_values,
        keda_values,
        load_calibrations,
        read_plan,
    )

    if plan is None and dags is None and db is None and api is None:
        raise click.UsageError("say what waits: give --plan, --dags, --db or --api")
    known = load_calibrations(*calibrations)
    planned = Inputs() if plan is None else read_plan(plan, calibrations=known).inputs
    begin = _next_midnight()
    inputs = gathered(planned, (dags, db, api, history), begin=begin, seconds=horizon).inputs
    answer = check(inputs, begin=begin, seconds=horizon, calibrations=known)
    if not any(part.worst.needed for part in answer.partitions):
        err("landmark capacity emit: could not tell: nothing that waits was found")
        return Exit.UNKNOWN
    if form == "helm":
        text = helm_values(answer, inputs)
    elif form == "keda":
        text = keda_values(answer, inputs)
    else:
        text = alert_rules(answer, inputs, prefix=prefix)
    out(*text.splitlines())
    return Exit.YES


def _next_midnight() -> float:
    now = datetime.now(tz=timezone.utc).timestamp()
    return (now // 86_400 + 1) * 86_400
