"""The two tables of a ledger in a database, and their rows as values.

Instants are texts in UTC of one fixed width: every database compares and orders them alike, from year 1
to year 9999, to the microsecond, and people can read them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airflow_landmark.markers import Interval

from ._ledger import LEDGER_WORDS, Entry, Held, LedgerEvent

if TYPE_CHECKING:
    from sqlalchemy import Column, RowMapping, Table

__all__ = ["TABLE_NAME", "Tables", "entry_of_row", "event_of_row", "key_of", "tables_of", "values_of"]

TABLE_NAME = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]{0,49}\.)?[A-Za-z_][A-Za-z0-9_]{0,49}", re.ASCII)
"""A table's name, with the name of its schema in front where it has one."""

_FIELDS = ("version", "identity", "owner", "at", "uri")


@dataclass(frozen=True, slots=True)
class Tables:
    """The entries, and what happened to them."""

    entries: Table
    history: Table


def tables_of(name: str) -> Tables:
    """The tables under a name that was checked."""
    import sqlalchemy as sa  # noqa: PLC0415 - part of an extra, and half a second

    schema, _, table = name.rpartition(".")
    known = sa.MetaData(schema=schema or None)
    entries = sa.Table(
        table, known, *_key_columns(primary=True), *_held_columns("taken_"), *_held_columns("claim_")
    )
    history = sa.Table(
        f"{table}_history",
        known,
        # SQLite numbers rows by itself only in a column of its plain INTEGER type
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        *_key_columns(primary=False),
        sa.Column("word", sa.String(16), nullable=False),
        *_held_columns("", nullable=False),
        sa.Index(f"{table}_history_of", "dataset", "interval_start", "interval_end"),
    )
    return Tables(entries, history)


def _key_columns(*, primary: bool) -> list[Column[Any]]:
    import sqlalchemy as sa  # noqa: PLC0415 - as above

    kinds = {"dataset": sa.String(200), "interval_start": sa.String(27), "interval_end": sa.String(27)}
    return [sa.Column(name, kind, primary_key=primary, nullable=False) for name, kind in kinds.items()]


def _held_columns(prefix: str, *, nullable: bool = True) -> list[Column[Any]]:
    import sqlalchemy as sa  # noqa: PLC0415 - as above

    kinds: tuple[Any, ...] = (sa.BigInteger(), sa.String(64), sa.String(1024), sa.String(27), sa.String(2048))
    return [
        sa.Column(f"{prefix}{name}", kind, nullable=nullable)
        for name, kind in zip(_FIELDS, kinds, strict=True)
    ]


def key_of(dataset: str, interval: Interval) -> dict[str, str]:
    """The columns that name an entry."""
    return {
        "dataset": dataset,
        "interval_start": _text_of(interval.start),
        "interval_end": _text_of(interval.end),
    }


def values_of(held: Held | None, *, prefix: str) -> dict[str, Any]:
    """The columns that hold a version; ``None`` empties them."""
    if held is None:
        return dict.fromkeys(f"{prefix}{name}" for name in _FIELDS)
    values = (held.version, held.identity, held.owner, _text_of(held.at), held.uri)
    return {f"{prefix}{name}": value for name, value in zip(_FIELDS, values, strict=True)}


def entry_of_row(row: RowMapping) -> Entry:
    """The entry of a row.

    :raises ValueError, TypeError: when somebody else has written it.
    """
    interval = Interval(_instant_of(row["interval_start"]), _instant_of(row["interval_end"]))
    taken, claim = (
        None if row[f"{prefix}version"] is None else _held_of(row, prefix=prefix)
        for prefix in ("taken_", "claim_")
    )
    return Entry(row["dataset"], interval, taken, claim)


def event_of_row(row: RowMapping, *, dataset: str, interval: Interval) -> LedgerEvent:
    """The event of a row of the history.

    :raises ValueError, TypeError: when somebody else has written it.
    """
    word = next((word for word in LEDGER_WORDS if word == row["word"]), None)
    if word is None:
        raise ValueError(f"word must be one of {', '.join(LEDGER_WORDS)}")
    return LedgerEvent(dataset, interval, word, _held_of(row, prefix=""))


def _held_of(row: RowMapping, *, prefix: str) -> Held:
    version, identity, owner, at, uri = (row[f"{prefix}{name}"] for name in _FIELDS)
    return Held(version, identity, owner, _instant_of(at), uri)


def _text_of(instant: datetime) -> str:
    return f"{instant.astimezone(timezone.utc).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def _instant_of(text: str) -> datetime:
    return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=timezone.utc)
