"""``landmark ledger create``."""

from __future__ import annotations

import click

from ._exits import Exit
from ._ledger_options import ledger_at, ledger_options
from ._print import banner, out, out_json

__all__ = ["create"]


@click.command()
@ledger_options
def create(
    *, text: str, table: str | None, conn_id: str | None, options: tuple[str, ...], as_json: bool
) -> Exit:
    """Make the tables of a ledger in a database, or check that a bucket can hold one.

    What is there already is left as it is.
    """
    from airflow_landmark.deliveries import CreatableLedger  # noqa: PLC0415

    ledger = ledger_at(text, table=table, conn_id=conn_id, options=options)
    if not isinstance(ledger, CreatableLedger):
        raise click.UsageError(f"there is nothing to make at {ledger}: it is ready as it is")
    done = ledger.create()
    if as_json:
        out_json({"ok": True, "ledger": str(ledger), "text": done})
    else:
        out(banner(Exit.YES, "READY", f"{ledger}: {done}"))
    return Exit.YES
