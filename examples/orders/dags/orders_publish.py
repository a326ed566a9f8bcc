"""Step 4: the day's report is published: a pointer moves to it, if it is still where it was looked at.

The report is a candidate under the operation's own name, and never changes. Readers follow the pointer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from orders_destination import Destination
from orders_errors import PublishConflict, Superseded
from orders_guard import hold
from orders_operation import Operation
from orders_tables import DAYS, ORDERS, POINTERS, REPORTS
from sqlalchemy import BigInteger, cast, func, select, update

from airflow_landmark.deliveries import Delivery

__all__ = ["Pointer", "build", "look", "publish", "swap"]


@dataclass(frozen=True, kw_only=True)
class Pointer:
    """Where a day's pointer stood when it was looked at.

    :param operation: whose report is published.
    :param version: the input's version of that report.
    :param code: the transformation's version of that report.
    :param revision: rises with every move, so that a pointer that went away and came back is noticed.
    """

    operation: str
    version: int
    code: int
    revision: int


def publish(*, delivery: Delivery, destination: Destination) -> Literal["published", "already published"]:
    """Move the day's pointer to this operation's report.

    A repeat after a lost answer finds the operation's own name in the pointer, and is done. A swap that
    fails is never tried again with the same basis: the error ends the attempt, and a retry looks anew.

    :raises Superseded: when something newer is published or in the destination: this one is discarded.
    :raises PublishConflict: when somebody moved the pointer between the look and the swap.
    """
    operation = Operation.of(delivery)
    basis = look(destination=destination, day=operation.day)
    if basis is not None and basis.operation == operation.name:
        return "already published"
    if basis is not None and (basis.version, basis.code) >= operation.fence:
        raise Superseded(
            f"{operation} is not published: version {basis.version} (code {basis.code}), {basis.operation}, "
            "is; nothing is to be done: it stays"
        )
    build(destination=destination, operation=operation)
    if swap(destination=destination, operation=operation, basis=basis):
        return "published"
    return _reconcile(destination, operation, basis)


def look(*, destination: Destination, day: str) -> Pointer | None:
    """Where the pointer stands; ``None`` when nothing of the day was ever published."""
    query = select(POINTERS.c.operation, POINTERS.c.version, POINTERS.c.code, POINTERS.c.revision)
    with destination.reading() as connection:
        row = connection.execute(query.where(POINTERS.c.day == day)).one_or_none()
    return None if row is None else Pointer(**row._asdict())


def build(*, destination: Destination, operation: Operation) -> None:
    """Write the operation's report, unless an earlier attempt has.

    The day is held meanwhile: the report cannot take another operation's orders for its own.

    :raises Superseded: when the destination holds another operation's orders.
    """
    day = (
        select(
            DAYS.c.operation,
            DAYS.c.day,
            DAYS.c.version,
            func.count(ORDERS.c.order_id),
            cast(func.coalesce(func.sum(ORDERS.c.amount_cents), 0), BigInteger),
        )
        .select_from(DAYS.outerjoin(ORDERS, ORDERS.c.day == DAYS.c.day))
        .where(DAYS.c.day == operation.day, DAYS.c.operation == operation.name)
        .group_by(DAYS.c.operation, DAYS.c.day, DAYS.c.version)
    )
    columns = ["operation", "day", "version", "order_count", "amount_cents"]
    report = destination.insert(REPORTS).from_select(columns, day).on_conflict_do_nothing()
    with destination.writing() as connection:
        hold(connection, operation)
        connection.execute(report)


def swap(*, destination: Destination, operation: Operation, basis: Pointer | None) -> bool:
    """Move the pointer from its basis to the operation's report: compare and swap, in one statement.

    The day is held meanwhile: a report is not released over orders that have become another operation's
    since it was built.

    :param basis: where the pointer stood; ``None`` when there was none.
    :returns: False when it is not there any more; nothing was changed then.
    :raises Superseded: when the destination holds another operation's orders.
    """
    row = {"operation": operation.name, "version": operation.version, "code": operation.code}
    with destination.writing() as connection:
        hold(connection, operation)
        if basis is None:
            first = destination.insert(POINTERS).values(day=operation.day, revision=1, **row)
            return connection.execute(first.on_conflict_do_nothing()).rowcount == 1
        move = update(POINTERS).where(
            POINTERS.c.day == operation.day,
            POINTERS.c.version == basis.version,
            POINTERS.c.revision == basis.revision,
        )
        return connection.execute(move.values(revision=basis.revision + 1, **row)).rowcount == 1


def _reconcile(
    destination: Destination, operation: Operation, basis: Pointer | None
) -> Literal["already published"]:
    """A swap failed: another attempt at the same operation may have made it, or somebody else another."""
    found = look(destination=destination, day=operation.day)
    if found is not None and found.operation == operation.name:
        return "already published"
    raise PublishConflict(
        f"{operation} is not published: the pointer was expected at {basis}, and is at {found}; a retry "
        "looks anew, and publishes only what is newer than that"
    )
