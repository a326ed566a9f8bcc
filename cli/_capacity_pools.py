"""``landmark capacity pools``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._capacity_options import format_option, plan_option
from ._exits import Exit
from ._print import banner, counted, out, out_json, safe
from ._types import Whole

if TYPE_CHECKING:
    from airflow_landmark.capacity import Admission

__all__ = ["pools"]

_SHOWN = 20


@click.command()
@plan_option(required=True)
@click.option(
    "--at-most",
    "most",
    type=Whole(least=1, most=100_000),
    default=16,
    show_default=True,
    metavar="N",
    help="Tasks that the scheduler looks at in one query (max_tis_per_query).",
)
@format_option("text", "json")
def pools(*, plan: Path, most: int, form: str, as_json: bool) -> Exit:
    """Say which waiting tasks the scheduler lets into their pools now, and why not the others.

    The plan has the pools, [[pool]], and the tasks in all their states, [[task]]. Ends with 1 when a task
    can never be let in.
    """
    from airflow_landmark.capacity import admit, read_plan  # noqa: PLC0415

    read = read_plan(plan)
    if not read.tasks:
        raise click.UsageError(f"{plan} has no [[task]]: name, pool, slots, state, priority")
    found = admit(read.inputs.pools.values(), read.tasks, most=most)
    never = any(refusal.never for refusal in found.refused)
    status = Exit.NO if never else Exit.YES
    if as_json or form == "json":
        out_json(_document(found, ok=not never))
    else:
        out(*_lines(found, status))
    return status


def _document(found: Admission, *, ok: bool) -> dict[str, Any]:
    from airflow_landmark.capacity import plain  # noqa: PLC0415

    return {"landmark_capacity_pools": 1, "ok": ok, **plain(found)}


def _lines(found: Admission, status: Exit) -> Iterator[str]:
    never = [refusal for refusal in found.refused if refusal.never]
    let_in = counted(len(found.admitted), "task")
    word = "NEVER ADMITTED" if never else "ADMITTED"
    first = f"{safe(never[0].task.name)}: {never[0].reason}" if never else f"{let_in} now"
    yield banner(status, word, first)
    for name in sorted(found.open_before):
        before, after = (_slots(slots[name]) for slots in (found.open_before, found.open_after))
        starving = found.starving.get(name, 0)
        yield f"  pool {safe(name)}: {before} open, {after} after this pass, {starving} tasks starving"
    for task in found.admitted[:_SHOWN]:
        yield f"  + {safe(task.name)} ({counted(task.slots, 'slot')} of {safe(task.pool)})"
    yield from _more(len(found.admitted))
    for refusal in found.refused[:_SHOWN]:
        yield f"  - {safe(refusal.task.name)}: {safe(refusal.reason)}{' (never)' if refusal.never else ''}"
    yield from _more(len(found.refused))


def _slots(slots: float) -> str:
    return "no limit" if slots == float("inf") else f"{slots:,.0f}"


def _more(count: int) -> Iterator[str]:
    if count > _SHOWN:
        yield f"    and {count - _SHOWN:,} more"
