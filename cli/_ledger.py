"""``landmark ledger``: a group whose commands are imported when they are used."""

from __future__ import annotations

import click

from ._exits import Exit
from ._group import LazyCommands

__all__ = ["ledger"]


class _Ledger(LazyCommands):
    names = ("create", "history", "release", "show")

    def trouble(self, ctx: click.Context, error: Exception) -> Exit:
        """A text that names no ledger is wrong usage, all the rest is as everywhere."""
        from airflow_landmark.deliveries import AccessTrouble  # noqa: PLC0415

        if isinstance(error, AccessTrouble) and error.kind == "configuration":
            return self.failed(ctx, Exit.USAGE, error.kind, f"{error.uri}: {error.text}")
        return super().trouble(ctx, error)


@click.group(cls=_Ledger, name="ledger")
def ledger() -> None:
    """Look into a ledger, which remembers the versions that were taken, and give back stuck claims."""
