"""``landmark ledger show``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ._exits import Exit
from ._ledger_options import interval_option, ledger_at, ledger_options, limit_option
from ._ledger_text import entries_counted, entry_lines
from ._options import dataset_option, interval_of
from ._print import banner, out, out_json

if TYPE_CHECKING:
    from airflow_landmark.deliveries import Entry, ReadableLedger
    from airflow_landmark.markers import Interval

__all__ = ["show"]


@click.command()
@dataset_option(required=False)
@interval_option
@limit_option("At most so many entries, the newest interval first.")
@ledger_options
def show(
    *,
    dataset: str | None,
    interval: str | None,
    zone: str | None,
    limit: int,
    text: str,
    table: str | None,
    conn_id: str | None,
    options: tuple[str, ...],
    as_json: bool,
) -> Exit:
    """Show what was taken and what is claimed, by whom and since when."""
    if interval is not None and dataset is None:
        raise click.UsageError("--interval names an entry together with --dataset: give that too")
    if zone is not None and interval is None:
        raise click.UsageError("--timezone says what day --interval means: give --interval too")
    wanted = interval_of(interval, zone) if interval is not None else None
    ledger = ledger_at(text, table=table, conn_id=conn_id, options=options)
    found = _found(ledger, dataset, wanted, limit=limit)
    status = Exit.NO if dataset is not None and not found else Exit.YES
    if as_json:
        answer = {"ok": status is Exit.YES, "ledger": str(ledger)}
        out_json(answer | {"entries": [entry.to_json() for entry in found]})
        return status
    claims = sum(entry.claim is not None for entry in found)
    if status is Exit.NO:
        what = dataset if wanted is None else f"{dataset} for {wanted}"
        out(banner(status, "NOT THERE", f"nothing of {what} in {ledger}"))
    else:
        out(banner(status, "LEDGER", f"{ledger}: {entries_counted(len(found))}, {claims} claimed"))
    for entry in found:
        out(*entry_lines(entry))
    return status


def _found(
    ledger: ReadableLedger, dataset: str | None, interval: Interval | None, *, limit: int
) -> Sequence[Entry]:
    if dataset is None or interval is None:
        return ledger.entries(dataset, limit=limit)
    entry = ledger.entry(dataset, interval)
    return [] if entry is None else [entry]
