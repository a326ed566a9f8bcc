"""The destination's tables. ``python orders_setup.py`` makes them; no task does."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, DateTime, Integer, MetaData, String, Table

__all__ = [
    "DAYS",
    "METADATA",
    "NOTICES",
    "ORDERS",
    "OUTBOX",
    "POINTERS",
    "REPORTS",
    "STAGINGS",
    "staging_table",
]

METADATA = MetaData()

ORDERS = Table(
    "orders",
    METADATA,
    Column("day", String(10), primary_key=True),
    Column("order_id", String(64), primary_key=True),
    Column("ordered_at", DateTime, nullable=False),
    Column("amount_cents", BigInteger, nullable=False),
)
"""The orders, each in its day's partition; times in UTC."""

DAYS = Table(
    "orders_days",
    METADATA,
    Column("day", String(10), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("code", Integer, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("operation", String(43), nullable=False),
)
"""Which operation's orders each day holds: what a guarded write compares lies in this row.

``sha256`` is that of the marker: the same version with other bytes is told by it.
"""

STAGINGS = Table(
    "orders_stagings",
    METADATA,
    Column("operation", String(43), primary_key=True),
    Column("day", String(10), nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("code", Integer, nullable=False),
    Column("row_count", BigInteger, nullable=False),
    Column("staged_at", DateTime, nullable=False),
)
"""The staging tables that are there, each complete; the time serves the clean-up only."""

REPORTS = Table(
    "orders_reports",
    METADATA,
    Column("operation", String(43), primary_key=True),
    Column("day", String(10), nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("order_count", BigInteger, nullable=False),
    Column("amount_cents", BigInteger, nullable=False),
)
"""What is published of a day, under its operation's name: candidates, never changed once written."""

POINTERS = Table(
    "orders_pointers",
    METADATA,
    Column("day", String(10), primary_key=True),
    Column("operation", String(43), nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("code", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
)
"""Which report of each day is the published one; ``revision`` rises with every move, backwards ones too."""

NOTICES = Table(
    "orders_notices",
    METADATA,
    Column("identity", String(64), primary_key=True),
)
"""The notices that were handed to the transport: what is recorded here is not sent again."""

OUTBOX = Table(
    "orders_outbox",
    METADATA,
    Column("identity", String(64), primary_key=True),
    Column("day", String(10), nullable=False),
    Column("text", String(500), nullable=False),
)
"""Where the default transport puts a notice; a mail or chat program takes it from there."""


def staging_table(operation: str) -> Table:
    """The table in which an operation's orders wait to be validated; it is named after the operation.

    It has no key: orders that are there twice are for the validation to find and to name.
    """
    return Table(
        f"orders_staging_{operation}",
        MetaData(),
        Column("source", String(500), nullable=False),
        Column("order_id", String(64), nullable=False),
        Column("ordered_at", DateTime, nullable=False),
        Column("amount_cents", BigInteger, nullable=False),
    )
