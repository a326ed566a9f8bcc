"""Where the commands of ``landmark capacity`` read from, besides a plan: Dags, database, REST API."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ._capacity_options import Span
from ._steps import telling

if TYPE_CHECKING:
    from airflow_landmark.capacity import Gathered, Inputs, Sources

__all__ = ["Places", "api_option", "dags_option", "db_option", "gathered", "history_option", "sources_of"]

CommandT = TypeVar("CommandT", bound=Callable[..., object])

Places = tuple["Path | None", "str | None", "str | None", "float | None"]
"""Folder of Dags, database, REST API, seconds of history."""

_TOKEN = "LANDMARK_API_TOKEN"  # noqa: S105 - a variable's name
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def dags_option(command: CommandT) -> CommandT:
    """``--dags``."""
    text = "A folder of Dags: which tasks defer, and when. Their code runs, in a process of its own."
    return click.option("--dags", type=_FOLDER, metavar="DIR", help=text)(command)


def db_option(command: CommandT) -> CommandT:
    """``--db``."""
    text = "The metadata database, as SQLAlchemy writes it; or airflow: the one configured here. Read only."
    return click.option("--db", metavar="URL", envvar="LANDMARK_DB", show_envvar=True, help=text)(command)


def api_option(command: CommandT) -> CommandT:
    """``--api``."""
    text = f"Airflow's REST API; its token in {_TOKEN}."
    return click.option("--api", metavar="URL", help=text)(command)


def history_option(command: CommandT) -> CommandT:
    """``--history``."""
    text = "How far back to read waits, such as 30d."
    return click.option("--history", type=Span(least=3_600), metavar="SPAN", help=text)(command)


def sources_of(places: Places, *, begin: float, seconds: float, queues_enabled: bool = False) -> Sources:
    """What the options say. The token is never an option: all users of a machine see command lines.

    :raises click.UsageError: when they contradict each other.
    """
    from airflow_landmark.capacity import Sources  # noqa: PLC0415

    dags, database, api, history = places
    if database is not None and api is not None:
        raise click.UsageError("--db and --api tell the same: give one of them")
    if history is not None and database is None and api is None:
        raise click.UsageError("--history is read from --db or --api: give one of them")
    return Sources(
        dags=dags,
        database=database,
        api=api,
        token=os.environ.get(_TOKEN) or None,
        history_seconds=history,
        begin=begin,
        seconds=seconds,
        queues_enabled=queues_enabled,
    )


def gathered(
    planned: Inputs, places: Places, *, begin: float, seconds: float, awake: str | None = None
) -> Gathered:
    """The plan with what the places hold, with progress.

    :param awake: a Dag that is meant even when it is paused.
    """
    from airflow_landmark.capacity import Gathered, gather  # noqa: PLC0415

    enabled = planned.platform.queues_enabled
    sources = sources_of(places, begin=begin, seconds=seconds, queues_enabled=enabled)
    sources = replace(sources, awake=frozenset() if awake is None else frozenset({awake}))
    if not any(place is not None for place in places):
        return Gathered(inputs=planned)
    with telling() as tell:
        return gather(planned, sources, tell=tell)
