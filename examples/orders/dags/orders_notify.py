"""Step 5: tell others that the day is published, once, whatever is repeated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from orders_destination import Destination
from orders_errors import Superseded
from orders_operation import Operation
from orders_tables import NOTICES, OUTBOX, POINTERS, REPORTS
from sqlalchemy import Connection, insert, select

from airflow_landmark.deliveries import Delivery

__all__ = ["Notice", "Transport", "notify", "to_outbox"]


@dataclass(frozen=True, kw_only=True)
class Notice:
    """What is told.

    :param identity: the same for every attempt: a receiver that remembers it takes a notice once.
    """

    identity: str
    day: str
    text: str


Transport = Callable[[Connection, Notice], None]
"""Sends a notice, inside the transaction that records it; raises when it could not."""


def to_outbox(connection: Connection, notice: Notice) -> None:
    """Put a notice into the table ``orders_outbox``, from which another program sends it."""
    row = {"identity": notice.identity, "day": notice.day, "text": notice.text}
    connection.execute(insert(OUTBOX).values(row))


def notify(
    *, delivery: Delivery, destination: Destination, send: Transport = to_outbox
) -> Literal["sent", "already sent"]:
    """Send the notice of a published day, unless that was done.

    With the outbox, the record and the notice are one commit: exactly once. A transport that leaves the
    database sends before the commit: a crash between the two makes a retry send again, and only a receiver
    that remembers ``Notice.identity`` can tell.

    :param send: how it is sent.
    :raises Superseded: when this operation's report is not the published one any more.
    """
    operation = Operation.of(delivery)
    identity = f"published.{operation.name}"
    with destination.writing() as connection:
        record = destination.insert(NOTICES).values(identity=identity).on_conflict_do_nothing()
        if connection.execute(record).rowcount == 0:
            return "already sent"
        send(connection, Notice(identity=identity, day=operation.day, text=_text(connection, operation)))
    return "sent"


def _text(connection: Connection, operation: Operation) -> str:
    query = (
        select(REPORTS)
        .join(POINTERS, POINTERS.c.operation == REPORTS.c.operation)
        .where(POINTERS.c.day == operation.day, POINTERS.c.operation == operation.name)
    )
    report = connection.execute(query).one_or_none()
    if report is None:
        raise Superseded(f"{operation}: no notice is sent, since its report is not the published one")
    what = "Orders" if report.version == 1 else f"Corrected orders (version {report.version})"
    return f"{what} of {report.day}: {report.order_count} orders, {report.amount_cents} cents"
