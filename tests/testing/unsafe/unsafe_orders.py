"""The orders example's work without its safeguards: what the injections must find."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import orders_replace
from airflow.sdk import RetryDecision
from orders_destination import Destination
from orders_operation import Operation
from orders_tables import DAYS, ORDERS, POINTERS, REPORTS, staging_table
from sqlalchemy import Connection, delete, insert, select

from airflow_landmark import deliveries
from airflow_landmark.deliveries import Accepted, Delivery, Terms
from airflow_landmark.markers import Expectation, Interval

_accept = deliveries.accept  # the real ones: they are replaced by those below
_write = orders_replace._write


def append(*, delivery: Delivery, destination: Destination) -> str:
    """Insert whatever was staged, and give orders that are there already another key."""
    operation = Operation.of(delivery)
    with destination.writing() as connection:
        there = set(
            connection.execute(select(ORDERS.c.order_id).where(ORDERS.c.day == operation.day)).scalars()
        )
        for row in _staged(connection, operation):
            key = row["order_id"] + ("-again" if row["order_id"] in there else "")
            connection.execute(insert(ORDERS).values({**row, "order_id": key}))
        _take_over(connection, destination, operation)
    return "appended"


def upsert(*, delivery: Delivery, destination: Destination) -> str:
    """Insert or update by key: keys that are gone stay."""
    operation = Operation.of(delivery)
    with destination.writing() as connection:
        for row in _staged(connection, operation):
            entry = destination.insert(ORDERS).values(row)
            keys = [ORDERS.c.day, ORDERS.c.order_id]
            connection.execute(entry.on_conflict_do_update(index_elements=keys, set_=row))
        _take_over(connection, destination, operation)
    return "upserted"


def replace_unguarded(*, delivery: Delivery, destination: Destination) -> str:
    """Replace the day in one transaction, whatever version it holds."""
    operation = Operation.of(delivery)
    with destination.writing() as connection:
        rows = _staged(connection, operation)
        connection.execute(delete(ORDERS).where(ORDERS.c.day == operation.day))
        connection.execute(insert(ORDERS), rows)
        _take_over(connection, destination, operation)
    return "replaced"


def write_and_commit(connection: Connection, operation: Operation) -> None:
    """Commit before the whole step is done."""
    _write(connection, operation)
    connection.commit()


def publish_unconditionally(*, delivery: Delivery, destination: Destination) -> str:
    """Move the pointer, wherever it is."""
    operation = Operation.of(delivery)
    row = {"operation": operation.name, "version": operation.version, "code": operation.code, "revision": 1}
    with destination.writing() as connection:
        amounts = [order["amount_cents"] for order in _staged(connection, operation)]
        report = {"operation": operation.name, "day": operation.day, "version": operation.version}
        report |= {"order_count": len(amounts), "amount_cents": sum(amounts)}
        connection.execute(destination.insert(REPORTS).values(report).on_conflict_do_nothing())
        pointer = destination.insert(POINTERS).values({"day": operation.day, **row})
        connection.execute(pointer.on_conflict_do_update(index_elements=[POINTERS.c.day], set_=row))
    return "published"


def clean_up_nothing(*, destination: Destination) -> list[str]:
    """Leave staging tables to attempts that come late."""
    return []


def retry_anything(self: Any, *_: Any, **__: Any) -> RetryDecision:
    """Decide as a task without a retry policy does."""
    return RetryDecision.default()


def retry_together(self: Any, exception: BaseException, *_: Any, **__: Any) -> RetryDecision:
    """Fail what is permanent, and retry the rest after one fixed delay."""
    if isinstance(exception, PermissionError):
        return RetryDecision.fail()
    return RetryDecision.retry(delay=timedelta(seconds=30))


async def accept_what_lies_there(terms: Terms, acceptance: Any = None, **_: Any) -> Accepted:
    """Believe the marker that lies there, whatever interval it tells: the event said that it is right."""
    told = json.loads(Path(terms.target.text).read_bytes())
    interval = Interval.parse(f"{told['interval']['start']}/{told['interval']['end']}")
    expectation = Expectation(told["dataset"], interval, told["version"])
    return await _accept(replace(terms, expectation=expectation), acceptance)


def _staged(connection: Connection, operation: Operation) -> list[dict[str, Any]]:
    rows = connection.execute(select(staging_table(operation.name))).mappings()
    columns = ("order_id", "ordered_at", "amount_cents")
    return [{"day": operation.day, **{name: row[name] for name in columns}} for row in rows]


def _take_over(connection: Connection, destination: Destination, operation: Operation) -> None:
    """Say that the day is this operation's, without a look at whose it was."""
    row = {
        "day": operation.day,
        "version": operation.version,
        "code": operation.code,
        "sha256": operation.sha256,
        "operation": operation.name,
    }
    entry = destination.insert(DAYS).values(row)
    connection.execute(entry.on_conflict_do_update(index_elements=[DAYS.c.day], set_=row))
