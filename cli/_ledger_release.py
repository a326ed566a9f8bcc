"""``landmark ledger release``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

from ._exits import Exit
from ._ledger_options import entry_options, ledger_at, ledger_options
from ._ledger_text import held_text
from ._options import interval_of
from ._print import banner, facts, out, out_json, safe

if TYPE_CHECKING:
    from airflow_landmark.deliveries import Entry, Held, ReadableLedger
    from airflow_landmark.markers import Interval

__all__ = ["release"]


@click.command()
@entry_options
@click.option("--owner", metavar="TEXT", help="Who holds the claim: a claim of anybody else is not touched.")
@ledger_options
def release(
    *,
    dataset: str,
    interval: str,
    zone: str | None,
    owner: str | None,
    text: str,
    table: str | None,
    conn_id: str | None,
    options: tuple[str, ...],
    as_json: bool,
) -> Exit:
    """Give back a claim whose owner will never commit it, so that another one may claim the version.

    What was taken stays taken. Without --owner, a terminal is asked. An owner that is still at work
    fails at its commit, unless another one has taken the same version with the same bytes by then.
    """
    wanted = interval_of(interval, zone)
    ledger = ledger_at(text, table=table, conn_id=conn_id, options=options)
    entry, claim = _claim_of(ledger, dataset, wanted, owner)
    if owner is None:
        _confirm(ledger, claim)
    _give_back(ledger, entry, claim)
    if as_json:
        named = {"dataset": dataset, "interval": wanted.to_json(), "released": claim.to_json()}
        out_json({"ok": True, "ledger": str(ledger), **named})
    else:
        out(banner(Exit.YES, "RELEASED", f"version {claim.version} of {dataset} for {wanted}"))
        stays = held_text(entry.taken) if entry.taken else None
        out(*facts(("was held", held_text(claim)), ("taken", stays)))
    return Exit.YES


def _claim_of(
    ledger: ReadableLedger, dataset: str, interval: Interval, owner: str | None
) -> tuple[Entry, Held]:
    """The entry, and the claim on it that may be given back.

    :raises BadDelivery: when there is none.
    """
    entry = ledger.entry(dataset, interval)
    if entry is None:
        _refuse(ledger, "absent", f"nothing was ever claimed of {dataset} for {interval}")
    if entry.claim is None:
        taken = f"; taken: {held_text(entry.taken)}, and that stays" if entry.taken else ""
        _refuse(ledger, "not claimed", f"nothing is claimed of {dataset} for {interval}{taken}")
    if owner is not None and entry.claim.owner != owner:
        _refuse(ledger, "other owner", f"not claimed by {owner}, but {held_text(entry.claim)}: left as it is")
    return entry, entry.claim


def _refuse(ledger: ReadableLedger, kind: str, text: str) -> NoReturn:
    from airflow_landmark.deliveries import BadDelivery  # noqa: PLC0415

    raise BadDelivery(str(ledger), kind, text)


def _confirm(ledger: ReadableLedger, claim: Held) -> None:
    """Ask whoever sits there.

    :raises BadDelivery: when the answer is no.
    """
    if not _is_terminal():
        raise click.UsageError(f"name the owner with --owner; claimed is {held_text(claim)}")
    if not click.confirm(safe(f"Claimed is {held_text(claim)}. Give it back?"), err=True):
        _refuse(ledger, "kept", "the claim is left as it is")


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _give_back(ledger: ReadableLedger, entry: Entry, claim: Held) -> None:
    """Release exactly this claim.

    :raises BadDelivery: when it is not the same claim any more.
    """
    from airflow_landmark.deliveries import Stamp  # noqa: PLC0415
    from airflow_landmark.stores import Pin  # noqa: PLC0415

    # Of the stamp, a ledger looks at version and identity: the rest of it was never stored.
    stamp = Stamp(
        claim.uri, claim.identity, 0, Pin(), entry.dataset, entry.interval, claim.version, 0, None, None
    )
    ledger.release(stamp, claim.owner)
    after = ledger.entry(entry.dataset, entry.interval)
    if after is not None and after.taken != entry.taken:
        _refuse(
            ledger, "taken", f"it was committed at this moment, and stays taken: {claim.owner} is at work"
        )
