"""What the commands of ``landmark ledger`` share: which ledger, and which entry of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from ._options import dataset_option, json_option, zone_option
from ._reach import reach_options, reach_to
from ._types import Whole

if TYPE_CHECKING:
    from airflow_landmark.deliveries import ReadableLedger

__all__ = ["entry_options", "interval_option", "ledger_at", "ledger_options", "limit_option"]

CommandT = TypeVar("CommandT", bound=Callable[..., object])

_INTERVAL = "The interval: two instants with a slash between them, or a day with --timezone."


def ledger_options(command: CommandT) -> CommandT:
    """``--ledger``, ``--table``, how a bucket is reached, ``--json``."""
    command = json_option(command)
    command = reach_options(command)
    text = "The table in the database, when it is not landmark_ledger."
    command = click.option("--table", metavar="NAME", help=text)(command)
    text = "sqlite:////PATH/ledger.db, postgresql://HOST/NAME, s3://BUCKET/PREFIX/, or to look into one that "
    text += "Airflow keeps airflow+https://HOST/?asset=NAME. A URL with a password "
    text += "belongs in the environment, LANDMARK_LEDGER: other users can see a command's arguments."
    return click.option(
        "--ledger", "text", metavar="URL", envvar="LANDMARK_LEDGER", callback=_named, help=text
    )(command)


def _named(context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    """The ledger that is named; there is no usual one."""
    if not text and not context.resilient_parsing:
        raise click.UsageError("name the ledger: --ledger URL or LANDMARK_LEDGER", ctx=context)
    return text


def interval_option(command: CommandT) -> CommandT:
    """``--interval`` and ``--timezone``, for one of several entries."""
    command = zone_option(command)
    return click.option("--interval", metavar="A/B", help=_INTERVAL)(command)


def entry_options(command: CommandT) -> CommandT:
    """``--dataset``, ``--interval`` and ``--timezone``, for one entry."""
    command = zone_option(command)
    command = click.option("--interval", metavar="A/B", required=True, help=_INTERVAL)(command)
    return dataset_option(required=True)(command)


def limit_option(text: str) -> Callable[[CommandT], CommandT]:
    """``--limit``, with its help."""
    return click.option(
        "--limit",
        type=Whole(least=1, most=100_000),
        default=100,
        show_default=True,
        metavar="N",
        help=text,
    )


def ledger_at(
    text: str, *, table: str | None, conn_id: str | None, options: tuple[str, ...]
) -> ReadableLedger:
    """The ledger that ``--ledger`` names.

    :raises AccessTrouble: kind ``"configuration"`` when it names none.
    :raises click.BadParameter: when connection and options do not fit to it.
    """
    from airflow_landmark.deliveries import open_ledger  # noqa: PLC0415

    from ._ledger_airflow import AirflowLedger, names_airflow  # noqa: PLC0415

    if names_airflow(text):
        if table is not None or conn_id is not None or options:
            raise click.UsageError("a ledger in Airflow is reached by its URL and a token alone")
        return AirflowLedger(text)
    if not text.lower().startswith("s3:"):
        if options:
            raise click.UsageError("--option is for a ledger in a bucket")
        return open_ledger(text, conn_id=conn_id, table=table)
    checked = open_ledger(text, table=table)  # first: it tells whether the place is one at all
    way = reach_to(str(checked), conn_id=conn_id, options=options).way
    return open_ledger(text, conn_id=way.conn_id, options=way.options)
