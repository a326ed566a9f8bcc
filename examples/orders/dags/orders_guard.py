"""The guard: which version of a day the destination holds, and whether another may take its place."""

from __future__ import annotations

from orders_destination import Destination
from orders_errors import Superseded
from orders_operation import Operation
from orders_tables import DAYS
from sqlalchemy import Connection, and_, or_, select

__all__ = ["move_forward", "refuse_when_newer"]


def move_forward(connection: Connection, destination: Destination, operation: Operation) -> bool:
    """Make the operation the day's, in the caller's transaction; False when it is that already.

    One statement compares and writes. Until the commit it holds the day's row, and so every other attempt
    at this day; what the caller writes next becomes visible with it or not at all.

    :raises Superseded: when the day has a newer version, or this one with other bytes.
    """
    row = {
        "day": operation.day,
        "version": operation.version,
        "code": operation.code,
        "operation": operation.name,
    }
    entry = destination.insert(DAYS).values(row)
    new = entry.excluded
    newer = or_(DAYS.c.version < new.version, and_(DAYS.c.version == new.version, DAYS.c.code < new.code))
    moved = connection.execute(
        entry.on_conflict_do_update(index_elements=[DAYS.c.day], set_=row, where=newer)
    )
    if moved.rowcount == 1:
        return True
    refuse_when_newer(connection, operation)
    return False


def refuse_when_newer(connection: Connection, operation: Operation) -> None:
    """Return when nothing stands against the operation: no use in working on what will be refused.

    :raises Superseded: when the day has a newer version, or this one with other bytes.
    """
    held = connection.execute(select(DAYS).where(DAYS.c.day == operation.day)).one_or_none()
    if held is None or held.operation == operation.name or (held.version, held.code) < operation.fence:
        return
    same = (held.version, held.code) == operation.fence
    found = "the same version with other bytes" if same else f"version {held.version} (code {held.code})"
    do = "the partner has to raise the version" if same else "nothing is to be done: the newer one stays"
    raise Superseded(f"{operation} is refused: the destination holds {found}, {held.operation}; {do}")
