"""``landmark capacity cost``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._capacity_options import Span, format_option, plan_option
from ._capacity_text import span, table
from ._exits import Exit
from ._print import out, out_json, safe

if TYPE_CHECKING:
    from airflow_landmark.capacity import Cost, CostMode, Duration, Recommendation, Terms

__all__ = ["cost"]

_POLL = Span(least=0.001)
_LONG = 55


@dataclass(frozen=True)
class Priced:
    """One wait at one poll interval, in all modes."""

    name: str
    terms: Terms
    costs: Sequence[Cost]
    drawn: Sequence[Cost]
    advice: Recommendation


@click.command()
@plan_option(required=False)
@click.option("--wait", "names", multiple=True, metavar="NAME", help="Only these waits of the plan.")
@click.option(
    "--within",
    type=_POLL,
    metavar="SPAN",
    help="Without a plan: it comes at any time within this, such as 90m.",
)
@click.option("--after", type=_POLL, metavar="SPAN", help="Without a plan: it comes after just this time.")
@click.option(
    "--poll",
    "polls",
    type=_POLL,
    multiple=True,
    metavar="SPAN",
    help="Poll intervals; else the wait's own, or 60.",
)
@click.option(
    "--start", type=Span(), metavar="SPAN", default=2.0, show_default="2", help="Slot time of a task's start."
)
@click.option(
    "--check",
    "seconds",
    type=Span(),
    metavar="SPAN",
    default=1.0,
    show_default="1",
    help="Time of one check.",
)
@click.option(
    "--price",
    type=click.FloatRange(min=0, max=1e6),
    metavar="NUMBER",
    default=0.0,
    help="Of 1,000 requests to the source, in any currency.",
)
@format_option("text", "json")
def cost(
    *,
    plan: Path | None,
    names: tuple[str, ...],
    within: float | None,
    after: float | None,
    polls: tuple[float, ...],
    start: float,
    seconds: float,
    price: float,
    form: str,
    as_json: bool,
) -> Exit:
    """Price ways of waiting: worker slots, delay, checks of the source, database rows, requests.

    Closed forms, with a simulation of 20,000 seeded draws beside them: the two must agree.
    """
    arrivals = _arrivals(plan, names, within, after)
    priced = [
        _priced(name, arrival, poll, start=start, check=seconds, price=price / 1000)
        for name, arrival, own in arrivals
        for poll in polls or (own,)
    ]
    if as_json or form == "json":
        out_json({"landmark_capacity_cost": 1, "waits": [_document(one) for one in priced]})
    else:
        out(*_lines(priced))
    return Exit.YES


def _arrivals(
    plan: Path | None, names: Sequence[str], within: float | None, after: float | None
) -> list[tuple[str, Duration, float]]:
    """Name, arrival and poll interval of the waits that are asked for."""
    from airflow_landmark.capacity import Fixed, Uniform  # noqa: PLC0415

    if sum(one is not None for one in (plan, within, after)) != 1:
        raise click.UsageError("give one of --plan, --within, --after")
    if names and plan is None:
        raise click.UsageError("--wait names waits of a plan: give --plan too")
    if within is not None:
        return [(f"within {span(within)}", Uniform(0.0, within), 60.0)]
    if after is not None:
        return [(f"after {span(after)}", Fixed(after), 60.0)]
    assert plan is not None  # noqa: S101 - one of the three
    return _planned(plan, names)


def _planned(plan: Path, names: Sequence[str]) -> list[tuple[str, Duration, float]]:
    from airflow_landmark.capacity import load_calibrations, read_plan, waiting_time  # noqa: PLC0415

    known = load_calibrations()
    waits = {wait.name: wait for wait in read_plan(plan).inputs.waits}
    missing = [name for name in names if name not in waits]
    if missing:
        raise click.UsageError(f"the plan has no wait {missing[0]!r}")
    chosen = [waits[name] for name in names] or list(waits.values())
    found = []
    for wait in chosen:
        duration = waiting_time(wait)
        if duration.mean < float("inf"):
            poll = wait.poll_interval or known.kind(wait.kind).poll_interval
            found.append((wait.name, duration, poll))
    return found


def _priced(name: str, arrival: Duration, poll: float, *, start: float, check: float, price: float) -> Priced:
    from airflow_landmark.capacity import MODES, Terms, cost, recommend, simulated_cost  # noqa: PLC0415

    terms = Terms(arrival=arrival, poll_interval=poll, start=start, check=check, price=price)
    costs: dict[CostMode, Cost] = {mode: cost(mode, terms) for mode in MODES}
    drawn = [simulated_cost(mode, terms) for mode in MODES]
    return Priced(name, terms, list(costs.values()), drawn, recommend(terms, costs=costs))


def _document(one: Priced) -> dict[str, Any]:
    from airflow_landmark.capacity import plain  # noqa: PLC0415

    return {
        "name": one.name,
        "poll_interval": one.terms.poll_interval,
        "mean_arrival": round(one.terms.arrival.mean, 6),
        "modes": {cost.mode: plain(cost) for cost in one.costs},
        "simulated": {cost.mode: plain(cost) for cost in one.drawn},
        "recommended": {"mode": one.advice.mode, "reason": one.advice.reason},
    }


def _lines(priced: Sequence[Priced]) -> Iterator[str]:
    for number, one in enumerate(priced):
        if number:
            yield ""
        mean, poll = span(one.terms.arrival.mean), span(one.terms.poll_interval)
        yield f"{safe(one.name)[:_LONG]}: comes after {mean} on average, checked every {poll}"
        head = (
            "mode",
            "slot s",
            "delay s",
            "checks",
            "rows",
            "trigger s",
            "requests",
            "simulated slot s, delay s",
        )
        rows = [_row(*both) for both in zip(one.costs, one.drawn, strict=True)]
        yield from table(head, rows, right=range(1, 8))
        yield f"  recommended: {one.advice.mode}, {one.advice.reason}"


def _row(cost: Cost, drawn: Cost) -> tuple[str, ...]:
    return (
        cost.mode,
        f"{cost.slot_seconds:,.0f}",
        f"{cost.delay:,.1f}",
        f"{cost.checks:,.1f}",
        f"{cost.rows:,.0f}",
        f"{cost.trigger_seconds:,.0f}",
        f"{cost.requests_cost:,.4g}",
        f"{drawn.slot_seconds:,.0f}, {drawn.delay:,.1f}",
    )
