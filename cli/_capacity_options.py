"""What the commands of ``landmark capacity`` have in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ._exits import Exit

if TYPE_CHECKING:
    from airflow_landmark.capacity import Verdict

__all__ = ["Span", "calibration_option", "format_option", "moment", "plan_option", "status_of"]

CommandT = TypeVar("CommandT", bound=Callable[..., object])

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_EXAMPLE = "such as 300, 5m, 4h, 30d or 5w"


class Span(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.5
    """A duration: seconds, or numbers with units.

    :param least: the shortest, in seconds.
    """

    name = "duration"

    def __init__(self, *, least: float = 0.0) -> None:
        self._least = least

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The duration in seconds."""
        from airflow_landmark.capacity import seconds_of  # noqa: PLC0415

        number = isinstance(value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", value)
        seconds = seconds_of(float(value) if number else value)
        if seconds is None or seconds < self._least:
            bound = f" of at least {self._least:g} s" if self._least else ""
            self.fail(f"{value!r} is not a duration{bound}, {_EXAMPLE}", param, ctx)
        return seconds


def plan_option(*, required: bool) -> Callable[[CommandT], CommandT]:
    """``--plan``."""
    text = "A plan file (TOML): deployments, waits, scenarios."
    return click.option("--plan", type=_FILE, metavar="FILE", required=required, help=text)


def calibration_option(command: CommandT) -> CommandT:
    """``--calibration``."""
    text = "What `landmark capacity calibrate` wrote; may be given several times."
    return click.option(
        "--calibration", "calibrations", type=_FILE, metavar="FILE", multiple=True, help=text
    )(command)


def format_option(*formats: str) -> Callable[[CommandT], CommandT]:
    """``--format`` and its short form ``--json``."""

    def add(command: CommandT) -> CommandT:
        as_json = click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
        choice = click.option(
            "--format", "form", type=click.Choice(formats), default="text", show_default=True
        )
        return choice(as_json(command))

    return add


def status_of(verdict: Verdict) -> Exit:
    """The exit status of a verdict."""
    from airflow_landmark.capacity import Verdict  # noqa: PLC0415

    return {
        Verdict.HOLDS: Exit.YES,
        Verdict.WITHOUT_SPARE: Exit.SPARE,
        Verdict.UNKNOWN: Exit.UNKNOWN,
        Verdict.DOES_NOT_HOLD: Exit.NO,
    }[verdict]


def moment(text: str) -> float:
    """The instant of a date, or of a date and time, in UTC unless it has an offset; seconds since 1970.

    :raises ValueError: when it is neither.
    """
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
