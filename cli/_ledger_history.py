"""``landmark ledger history``."""

from __future__ import annotations

import click

from ._exits import Exit
from ._ledger_options import entry_options, ledger_at, ledger_options, limit_option
from ._options import interval_of
from ._print import banner, counted, out, out_json, safe

__all__ = ["history"]


@click.command()
@entry_options
@limit_option("At most so many events, the last ones.")
@ledger_options
def history(
    *,
    dataset: str,
    interval: str,
    zone: str | None,
    limit: int,
    text: str,
    table: str | None,
    conn_id: str | None,
    options: tuple[str, ...],
    as_json: bool,
) -> Exit:
    """Tell what happened to one dataset and interval, the oldest first."""
    wanted = interval_of(interval, zone)
    ledger = ledger_at(text, table=table, conn_id=conn_id, options=options)
    events = ledger.history(dataset, wanted, limit=limit)
    status = Exit.YES if events else Exit.NO
    if as_json:
        answer = {"ok": bool(events), "ledger": str(ledger), "dataset": dataset}
        out_json(answer | {"interval": wanted.to_json(), "events": [event.to_json() for event in events]})
        return status
    text_of_all = f"{dataset} for {wanted}: {counted(len(events), 'event')}"
    out(banner(status, "HISTORY" if events else "NOT THERE", text_of_all))
    for event in events:
        held = event.held
        line = f"{held.at:%Y-%m-%dT%H:%M:%SZ}  {event.word:<8}  version {held.version} by {held.owner}"
        out(f"  {safe(line)}")
    return status
