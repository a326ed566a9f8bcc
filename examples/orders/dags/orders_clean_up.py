"""Last: staging tables that nothing will need any more are dropped."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from orders_destination import Destination
from orders_tables import DAYS, STAGINGS, staging_table
from sqlalchemy import and_, delete, or_, select

__all__ = ["clean_up"]

KEEP_SECONDS = 7 * 86_400.0
"""How long the staging of a run that failed is kept, for a retry or a look."""


def clean_up(
    *, destination: Destination, keep_seconds: float = KEEP_SECONDS, now: datetime | None = None
) -> list[str]:
    """Drop the staging tables that are in place, superseded or abandoned; returns their operations.

    Those of a day whose version is theirs or a newer one can never be written again. Others may belong to
    a run that waits for its retry, so they stay until they are old.

    :param keep_seconds: how old a staging table must be to count as abandoned.
    :param now: the time to count from; ``None`` for the clock.
    """
    clock = now or datetime.now(tz=timezone.utc)
    oldest = clock.astimezone(timezone.utc).replace(tzinfo=None) - timedelta(seconds=keep_seconds)
    settled = or_(
        DAYS.c.version > STAGINGS.c.version,
        and_(DAYS.c.version == STAGINGS.c.version, DAYS.c.code >= STAGINGS.c.code),
    )
    query = (
        select(STAGINGS.c.operation)
        .select_from(STAGINGS.outerjoin(DAYS, DAYS.c.day == STAGINGS.c.day))
        .where(or_(settled, STAGINGS.c.staged_at < oldest))
        .order_by(STAGINGS.c.operation)
    )
    with destination.reading() as connection:
        operations = list(connection.execute(query).scalars())
    for operation in operations:
        _drop(destination, operation)
    return operations


def _drop(destination: Destination, operation: str) -> None:
    """Drop a table together with its entry: a stage that repeats finds both or neither."""
    with destination.writing() as connection:
        gone = connection.execute(delete(STAGINGS).where(STAGINGS.c.operation == operation))
        if gone.rowcount == 1:
            staging_table(operation).drop(connection)
