"""Step 2: what was staged is held against what was promised, before anybody can see it."""

from __future__ import annotations

from collections.abc import Iterator

from orders_destination import Destination
from orders_errors import InvalidOrders
from orders_guard import refuse_when_newer
from orders_operation import Operation
from orders_stage import staged_rows
from orders_tables import staging_table
from sqlalchemy import Connection, Table, func, or_, select

from airflow_landmark.deliveries import Delivery

__all__ = ["validate"]

NAMED = 5
"""How many wrong orders or files an error names."""


def validate(*, delivery: Delivery, destination: Destination) -> int:
    """Hold the staged orders against the manifest; returns how many there are. Changes nothing.

    Every file has as many orders as its manifest entry says, no order is there twice, and all were made
    on the day. All problems are told at once.

    :raises InvalidOrders: when one of these does not hold.
    :raises NotStaged: when the staging table is not there.
    :raises Superseded: when the destination holds a newer version of the day.
    """
    operation = Operation.of(delivery)
    table = staging_table(operation.name)
    with destination.reading() as connection:
        refuse_when_newer(connection, operation)
        rows = staged_rows(connection, operation)
        problems = [
            *_wrong_counts(connection, table, delivery),
            *_repeated(connection, table),
            *_outside(connection, table, operation),
        ]
    if problems:
        raise InvalidOrders(f"{operation} is not valid, and nothing of it became visible:", problems)
    return rows


def _wrong_counts(connection: Connection, table: Table, delivery: Delivery) -> Iterator[str]:
    """Files whose number of orders is not the promised one."""
    query = select(table.c.source, func.count().label("orders")).group_by(table.c.source)
    found: dict[str, int] = {row.source: row.orders for row in connection.execute(query)}
    wrong = [file for file in delivery.files() if file.rows != found.get(file.path, 0)]
    for file in wrong[:NAMED]:
        promised = "no number" if file.rows is None else f"{file.rows} rows"
        yield f"{file.path}: the manifest promises {promised}, found {found.get(file.path, 0)}"
    if len(wrong) > NAMED:
        yield f"and {len(wrong) - NAMED} more files with wrong counts"


def _repeated(connection: Connection, table: Table) -> Iterator[str]:
    """Orders that are there more than once."""
    times = func.count()
    query = select(table.c.order_id, times).group_by(table.c.order_id).having(times > 1)
    for key, count in connection.execute(query.order_by(table.c.order_id).limit(NAMED)):
        yield f"order {key} is there {count} times"


def _outside(connection: Connection, table: Table, operation: Operation) -> Iterator[str]:
    """Orders that were not made on the day."""
    query = select(table.c.order_id, table.c.ordered_at).where(
        or_(table.c.ordered_at < operation.start, table.c.ordered_at >= operation.end)
    )
    for key, instant in connection.execute(query.order_by(table.c.order_id).limit(NAMED)):
        yield f"order {key} was made at {instant}Z, not on {operation.day}"
