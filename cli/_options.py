"""What the commands' options mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from ._types import Whole

if TYPE_CHECKING:
    from airflow_landmark.markers import Interval

__all__ = [
    "VERSION",
    "dataset_option",
    "interval_of",
    "json_option",
    "level_option",
    "marker_name_option",
    "min_version_option",
    "zone_option",
]

CommandT = TypeVar("CommandT", bound=Callable[..., object])


VERSION = Whole(least=1, most=2**53 - 1)

_LEVELS = click.Choice(["marker", "files", "digests", "rows"])


def _dataset(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """A name that a marker can have."""
    from airflow_landmark.markers import DATASET_PATTERN, show  # noqa: PLC0415

    if name is None or re.fullmatch(DATASET_PATTERN, name):
        return name
    text = f"{show(name)} is not 1 to 200 of A-Z a-z 0-9 . _ / -"
    raise click.BadParameter(text, ctx=context, param=parameter)


def dataset_option(*, required: bool) -> Callable[[CommandT], CommandT]:
    """``--dataset``."""
    text = "The agreed name of the dataset." if required else "The expected dataset; else the marker's own."
    return click.option("--dataset", metavar="NAME", required=required, callback=_dataset, help=text)


def _zone(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """The name of a time zone that this machine knows."""
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    if name is None:
        return None
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        text = f"{name!r} is not a time zone known here; a name looks like Europe/Berlin, and machines "
        text += "without a time zone database need: pip install tzdata"
        raise click.BadParameter(text, ctx=context, param=parameter) from None
    return name


def zone_option(command: CommandT) -> CommandT:
    """``--timezone``."""
    text = "IANA name, such as Europe/Berlin: --interval may then be a bare day, meaning that local day."
    return click.option("--timezone", "zone", metavar="TZ", callback=_zone, help=text)(command)


def _marker_name(context: click.Context, parameter: click.Parameter, name: str) -> str:
    from airflow_landmark.markers import UnsafePath, check_path  # noqa: PLC0415

    try:
        if "/" not in check_path(name):
            return name
        text = "the marker lies directly in the folder: give a plain file name"
    except UnsafePath as error:
        text = str(error)
    raise click.BadParameter(text, ctx=context, param=parameter)


def marker_name_option(command: CommandT) -> CommandT:
    """``--name``."""
    return click.option(
        "--name",
        default="_delivery.json",
        show_default=True,
        metavar="NAME",
        callback=_marker_name,
        help="The marker's file name.",
    )(command)


def json_option(command: CommandT) -> CommandT:
    """``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")(command)


def level_option(command: CommandT) -> CommandT:
    """``--level``."""
    text = "How much is proven: the marker alone; presence and size of its files; their digests too; "
    text += "the counts of rows too."
    return click.option("--level", type=_LEVELS, default="digests", show_default=True, help=text)(command)


def min_version_option(command: CommandT) -> CommandT:
    """``--min-version``."""
    return click.option(
        "--min-version",
        type=VERSION,
        default=1,
        show_default=True,
        metavar="N",
        help="The least acceptable version.",
    )(command)


def interval_of(text: str, zone: str | None) -> Interval:
    """The interval that is given."""
    from airflow_landmark.markers import Interval, InvalidInterval  # noqa: PLC0415

    try:
        return Interval.parse(text, timezone_name=zone)
    except InvalidInterval as error:
        hint = " (--timezone)" if zone is None and "/" not in text and len(text) == 10 else ""
        raise click.BadParameter(f"{error}{hint}", param_hint="'--interval'") from None
