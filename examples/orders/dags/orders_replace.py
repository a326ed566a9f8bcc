"""Step 3: the day's partition becomes what was staged, all of it in one transaction, or nothing of it."""

from __future__ import annotations

from typing import Literal

from orders_destination import Destination
from orders_errors import InvalidOrders
from orders_guard import move_forward
from orders_operation import Operation
from orders_stage import staged_rows
from orders_tables import ORDERS, staging_table
from sqlalchemy import Connection, delete, insert, literal, select

from airflow_landmark.deliveries import Delivery

__all__ = ["replace"]


def replace(*, delivery: Delivery, destination: Destination) -> Literal["replaced", "already replaced"]:
    """Replace the day's orders by the staged ones, an empty set included.

    The version that the destination holds and the orders change together: a reader sees the old day or the
    new one. Whatever attempt comes late, the day's version never goes back.

    :raises Superseded: when the destination holds a newer version of the day.
    :raises NotStaged: when the staging table is not there.
    """
    operation = Operation.of(delivery)
    with destination.writing() as connection:
        if not move_forward(connection, destination, operation):
            return "already replaced"
        _write(connection, operation)
    return "replaced"


def _write(connection: Connection, operation: Operation) -> None:
    promised = staged_rows(connection, operation)
    connection.execute(delete(ORDERS).where(ORDERS.c.day == operation.day))
    staged = staging_table(operation.name)
    rows = select(literal(operation.day), staged.c.order_id, staged.c.ordered_at, staged.c.amount_cents)
    columns = ["day", "order_id", "ordered_at", "amount_cents"]
    written = connection.execute(insert(ORDERS).from_select(columns, rows)).rowcount
    if written != promised:
        raise InvalidOrders(f"{operation}: {promised} orders were staged, {written} are there now", [])
