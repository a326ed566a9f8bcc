"""``landmark capacity``: a group whose commands are imported when they are used."""

from __future__ import annotations

from itertools import pairwise

import click

from ._exits import Exit
from ._group import LazyCommands

__all__ = ["capacity"]


class _Capacity(LazyCommands):
    names = ("backfill", "calibrate", "check", "cost", "emit", "pools", "watch")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; ``--format json`` means a machine too."""
        machine = "--format=json" in args or ("--format", "json") in pairwise(args)
        rest = super().parse_args(ctx, args)
        self.note_machine(ctx, machine)
        return rest

    def trouble(self, ctx: click.Context, error: Exception) -> Exit:
        """The errors of the room ``capacity``, each in one line."""
        from airflow_landmark.capacity import CannotTell, CapacityError, InvalidPlan  # noqa: PLC0415

        if not isinstance(error, CapacityError):
            return super().trouble(ctx, error)
        status = Exit.UNKNOWN if isinstance(error, CannotTell) else Exit.USAGE
        problems = error.problems if isinstance(error, InvalidPlan) else ()
        text = _counted(problems) if len(problems) > 1 else error.text
        return self.failed(ctx, status, error.kind, f"{error.place}: {text}", details=problems)


def _counted(problems: tuple[str, ...]) -> str:
    return f"{len(problems)} problems"


@click.group(cls=_Capacity, name="capacity")
def capacity() -> None:
    """Size triggerers: how many the waits need, why, and what happens when one dies."""
