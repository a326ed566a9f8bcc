"""Making the tables of a ledger: by a command, never silently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._errors import AccessTrouble
from ._ledger_database import Database
from ._ledger_tables import Tables

if TYPE_CHECKING:
    from sqlalchemy import Inspector, Table

__all__ = ["create_tables"]

_ONE_AT_A_TIME = {
    "postgresql": "SELECT pg_advisory_xact_lock(7809644606448038507)",
    "sqlite": "BEGIN IMMEDIATE",
}
"""Held until the transaction ends: who comes at the same moment then sees the tables. The number is ours."""


def create_tables(database: Database, tables: Tables) -> str:
    """Make the tables where they are missing, and say in a sentence what was done.

    :raises AccessTrouble: when that is refused, or other tables have these names.
    :raises Unavailable: when the database does not answer now.
    """
    import sqlalchemy as sa  # noqa: PLC0415 - part of an extra, and half a second

    both = (tables.entries, tables.history)
    with database.transaction(tables, create=True) as connection:
        connection.exec_driver_sql(_ONE_AT_A_TIME[database.dialect])
        seen = sa.inspect(connection)
        missing = [table for table in both if not seen.has_table(table.name, schema=table.schema)]
        for table in both:
            if table not in missing:
                _check_columns(seen, table, database.place)
        tables.entries.metadata.create_all(connection, tables=missing)
    if not missing:
        return f"tables {tables.entries.fullname} and {tables.history.fullname} are there already"
    return f"made {' and '.join(table.fullname for table in missing)}"


def _check_columns(seen: Inspector, table: Table, place: str) -> None:
    found = {column["name"] for column in seen.get_columns(table.name, schema=table.schema)}
    missing = sorted(set(table.columns.keys()) - found)
    if missing:
        text = f"table {table.fullname} is there and is no ledger's: it has no column {missing[0]}; "
        raise AccessTrouble(place, "configuration", f"{text}choose another name (--table)")
