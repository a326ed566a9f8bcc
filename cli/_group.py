"""What all commands share: every error ends as one line and an exit status, never as a traceback."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from ._exits import Exit, exit_of
from ._print import err, out_json, prepare_streams, problem_lines

__all__ = ["Commands", "LazyCommands"]

_JSON = "airflow_landmark.cli.json"


class Commands(click.Group):
    """A group whose commands return an exit status."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and note whether a machine reads the answer: errors of usage come before its options."""
        ctx.meta[_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and end with its status."""
        prepare_streams()
        try:
            status = super().invoke(ctx)
        except click.exceptions.Exit:
            raise
        except click.UsageError as error:
            status = _misused(ctx, error)
        except (KeyboardInterrupt, click.Abort):
            status = _failed(ctx, Exit.INTERRUPTED, "interrupted", "interrupted")
        except Exception as error:  # noqa: BLE001 - the last place that can spare users a traceback
            status = self.trouble(ctx, error)
        ctx.exit(status)

    def trouble(self, ctx: click.Context, error: Exception) -> Exit:
        """Say what an error of a command is; a group with errors of its own knows better."""
        return _sorted(ctx, error)

    @staticmethod
    def note_machine(ctx: click.Context, wanted: bool) -> None:
        """Note that a machine reads the answer, if so."""
        ctx.meta[_JSON] = ctx.meta[_JSON] or wanted

    @staticmethod
    def failed(
        ctx: click.Context, status: Exit, kind: str, text: str, *, details: Sequence[str] = ()
    ) -> Exit:
        """Say an error in one line, its details in lines below, and to machines in one document."""
        _failed(ctx, status, kind, text, details=details)
        if len(details) > 1:
            err(*(f"  {detail}" for detail in details))
        return status


class LazyCommands(Commands):
    """A group whose commands are imported when they are used: command ``x`` of module ``_GROUP_x``."""

    names: Sequence[str] = ()
    """The commands; a subclass says which."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All of them, with those that are not imported yet."""
        return list(self.names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """One of them."""
        if cmd_name not in self.names:
            return None
        command: click.Command = getattr(import_module(f"._{self.name}_{cmd_name}", __package__), cmd_name)
        return command


def _misused(ctx: click.Context, error: click.UsageError) -> Exit:
    command = error.ctx.command_path if error.ctx else ctx.command_path
    text = f"{error.format_message()} (usage: {command} --help)"
    return _failed(ctx, Exit.USAGE, "usage", text)


def _sorted(ctx: click.Context, error: Exception) -> Exit:
    from airflow_landmark.deliveries import DeliveryError  # noqa: PLC0415

    if not isinstance(error, DeliveryError):
        return _defect(ctx, error)
    status = exit_of(error)
    problems = [problem.to_json() for problem in error.problems]
    _failed(ctx, status, error.kind, error.text, uri=error.uri, problems=problems)
    for line in problem_lines(error.problems):
        err(line)
    return status


def _defect(ctx: click.Context, error: Exception) -> Exit:
    if os.environ.get("LANDMARK_DEBUG") == "1":
        err(*traceback.format_exc().splitlines())
    shown = f"{type(error).__name__}: {error}"
    text = f"a defect of landmark: {shown} (please report it, with what LANDMARK_DEBUG=1 shows)"
    return _failed(ctx, Exit.UNKNOWN, "defect", text)


def _failed(
    ctx: click.Context,
    status: Exit,
    kind: str,
    text: str,
    *,
    uri: str | None = None,
    problems: list[dict[str, str]] | None = None,
    details: Sequence[str] = (),
) -> Exit:
    """Say it in one line, and to machines in one document."""
    command = f"{ctx.command_path} {ctx.invoked_subcommand or ''}".strip()
    err(f"{command}: {uri}: {text}" if uri and uri not in text else f"{command}: {text}")
    if ctx.meta[_JSON]:
        document: dict[str, Any] = {"ok": False, "error": {"kind": kind, "text": text}}
        known = {"uri": uri, "problems": problems, "details": list(details) or None}
        out_json(document | {key: value for key, value in known.items() if value is not None})
    return status
