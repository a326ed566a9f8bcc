"""Step 1: the files that were verified go into a staging table of the operation's own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import islice
from typing import Any

from orders_csv import orders_in
from orders_destination import Destination
from orders_errors import NotStaged
from orders_guard import refuse_when_newer
from orders_operation import Operation
from orders_tables import STAGINGS, staging_table
from sqlalchemy import Connection, insert, select, update

from airflow_landmark.deliveries import Delivery

__all__ = ["stage", "staged_rows"]

BATCH_ROWS = 1000
"""Rows in memory at once."""


def stage(*, delivery: Delivery, destination: Destination) -> int:
    """Read a delivery's files into the operation's staging table; returns how many orders it holds.

    The table and its entry in ``orders_stagings`` come with one commit: what is there is complete. A
    second attempt finds it and reads nothing again; one at the same moment waits for the first.

    :raises NotSetUp: when the destination was not set up.
    :raises InvalidOrders: when a file is no list of orders.
    :raises BadDelivery: when a file is not the one any more that was verified.
    :raises Superseded: when the destination holds a newer version of the day.
    """
    operation = Operation.of(delivery)
    destination.check()
    with destination.writing() as connection:
        refuse_when_newer(connection, operation)
        if _announce(connection, destination, operation):
            rows = _fill(connection, operation, delivery)
            counted = update(STAGINGS).where(STAGINGS.c.operation == operation.name)
            connection.execute(counted.values(row_count=rows))
        return staged_rows(connection, operation)


def staged_rows(connection: Connection, operation: Operation) -> int:
    """How many orders an operation has staged.

    :raises NotStaged: when its staging table is not there.
    """
    query = select(STAGINGS.c.row_count).where(STAGINGS.c.operation == operation.name)
    rows = connection.execute(query).scalar()
    if rows is None:
        raise NotStaged(
            f"{operation} is not staged, or was cleaned up: clear the task `stage` with what follows"
        )
    return int(rows)


def _announce(connection: Connection, destination: Destination, operation: Operation) -> bool:
    """Whether the operation was not staged before; waits for another attempt that is at it."""
    entry = destination.insert(STAGINGS).values(
        operation=operation.name,
        day=operation.day,
        version=operation.version,
        code=operation.code,
        row_count=0,
        staged_at=datetime.now(tz=timezone.utc).replace(tzinfo=None),
    )
    return connection.execute(entry.on_conflict_do_nothing()).rowcount == 1


def _fill(connection: Connection, operation: Operation, delivery: Delivery) -> int:
    """Make the staging table and fill it, batch by batch; returns how many orders went in."""
    table = staging_table(operation.name)
    table.create(connection)
    rows = _rows(delivery)
    count = 0
    while batch := list(islice(rows, BATCH_ROWS)):
        connection.execute(insert(table), batch)
        count += len(batch)
    return count


def _rows(delivery: Delivery) -> Iterator[dict[str, Any]]:
    for file in delivery.files():
        with delivery.open(file.path) as stream:
            for order in orders_in(stream, name=file.path):
                yield {"source": file.path, **order}
