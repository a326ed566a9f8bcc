"""``landmark ledger``: a group whose commands are imported when they are used."""

from __future__ import annotations

from importlib import import_module

import click

from ._exits import Exit
from ._group import Commands

__all__ = ["ledger"]

_COMMANDS = ("create", "history", "release", "show")


class _Lazy(Commands):
    """Commands of modules ``_ledger_NAME``."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All of them, with those that are not imported yet."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """One of them."""
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"._ledger_{cmd_name}", __package__)
        command: click.Command = getattr(module, cmd_name)
        return command

    def trouble(self, ctx: click.Context, error: Exception) -> Exit:
        """A text that names no ledger is wrong usage, all the rest is as everywhere."""
        from airflow_landmark.deliveries import AccessTrouble  # noqa: PLC0415

        if isinstance(error, AccessTrouble) and error.kind == "configuration":
            return self.failed(ctx, Exit.USAGE, error.kind, f"{error.uri}: {error.text}")
        return super().trouble(ctx, error)


@click.group(cls=_Lazy, name="ledger")
def ledger() -> None:
    """Look into a ledger, which remembers the versions that were taken, and give back stuck claims."""
