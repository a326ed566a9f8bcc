"""What readers of the destination see: always a whole day, of one version.

``python orders_read.py 2026-05-01`` prints it.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from datetime import date, datetime

from orders_command import explained
from orders_destination import Destination
from orders_tables import DAYS, ORDERS, OUTBOX, POINTERS, REPORTS
from sqlalchemy import select

__all__ = ["Day", "Order", "Report", "notices", "orders_of", "published"]


@dataclass(frozen=True, kw_only=True)
class Order:
    """One order; its time is in UTC."""

    order_id: str
    ordered_at: datetime
    amount_cents: int


@dataclass(frozen=True, kw_only=True)
class Day:
    """A day's partition.

    :param version: of the delivery that it holds; 0 when it never held one.
    :param operation: that wrote it; empty when none did.
    """

    version: int
    operation: str
    orders: tuple[Order, ...]

    @property
    def amount_cents(self) -> int:
        """The sum of the orders."""
        return sum(order.amount_cents for order in self.orders)


@dataclass(frozen=True, kw_only=True)
class Report:
    """A day's published report."""

    operation: str
    version: int
    revision: int
    order_count: int
    amount_cents: int


def orders_of(destination: Destination, day: str) -> Day:
    """A day's orders with their version."""
    orders = select(ORDERS.c.order_id, ORDERS.c.ordered_at, ORDERS.c.amount_cents)
    with destination.reading() as connection:
        held = connection.execute(select(DAYS).where(DAYS.c.day == day)).one_or_none()
        rows = connection.execute(orders.where(ORDERS.c.day == day).order_by(ORDERS.c.order_id)).all()
    version, operation = (0, "") if held is None else (held.version, held.operation)
    return Day(version=version, operation=operation, orders=tuple(Order(**row._asdict()) for row in rows))


def published(destination: Destination, day: str) -> Report | None:
    """A day's published report; ``None`` when there is none. One statement: the pointer is followed once."""
    query = select(
        REPORTS.c.operation,
        REPORTS.c.version,
        POINTERS.c.revision,
        REPORTS.c.order_count,
        REPORTS.c.amount_cents,
    ).join(POINTERS, POINTERS.c.operation == REPORTS.c.operation)
    with destination.reading() as connection:
        row = connection.execute(query.where(POINTERS.c.day == day)).one_or_none()
    return None if row is None else Report(**row._asdict())


def notices(destination: Destination, day: str) -> list[str]:
    """The notices of a day that lie in the outbox."""
    query = select(OUTBOX.c.text).where(OUTBOX.c.day == day).order_by(OUTBOX.c.text)
    with destination.reading() as connection:
        return list(connection.execute(query).scalars())


def show(day: str) -> None:
    """Print a day as readers see it.

    :raises NotSetUp: when the destination was not set up.
    """
    destination = Destination.from_settings()
    destination.check()
    held = orders_of(destination, day)
    print(f"{day}: version {held.version}, {len(held.orders)} orders, {held.amount_cents} cents")
    for order in held.orders:
        print(f"  {order.order_id}  {order.ordered_at}  {order.amount_cents}")
    print(f"published: {published(destination, day)}")
    for text in notices(destination, day):
        print(f"notice: {text}")


def _day(text: str) -> str:
    """A day as the destination writes it.

    :raises argparse.ArgumentTypeError: when the text is none.
    """
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:40]!a} is no day such as 2026-05-01") from None


def main() -> None:
    """Print the day that the command line names."""
    parser = argparse.ArgumentParser(description="Print a day as readers of ORDERS_DESTINATION see it.")
    parser.add_argument("day", type=_day, metavar="DAY", help="such as 2026-05-01")
    day = parser.parse_args().day
    with explained():
        show(day)


if __name__ == "__main__":
    main()
