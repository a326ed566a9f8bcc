"""The guard: which version of a day the destination holds, and whether another may take its place."""

from __future__ import annotations

from orders_destination import Destination
from orders_errors import Superseded
from orders_operation import Operation
from orders_tables import DAYS
from sqlalchemy import Connection, and_, or_, select

__all__ = ["hold", "move_forward", "refuse_when_newer"]


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
        "sha256": operation.sha256,
        "operation": operation.name,
    }
    entry = destination.insert(DAYS).values(row)
    new = entry.excluded
    same_input = and_(DAYS.c.version == new.version, DAYS.c.sha256 == new.sha256)
    newer = or_(DAYS.c.version < new.version, and_(same_input, DAYS.c.code < new.code))
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
    if held is None or held.operation == operation.name:
        return
    other = held.version == operation.version and held.sha256 != operation.sha256
    if not other and (held.version, held.code) < operation.fence:
        return
    found = "the same version with other bytes" if other else f"version {held.version} (code {held.code})"
    do = "the partner has to raise the version" if other else "nothing is to be done: the newer one stays"
    raise Superseded(f"{operation} is refused: the destination holds {found}, {held.operation}; {do}")


def hold(connection: Connection, operation: Operation) -> None:
    """Keep the day's orders this operation's until the caller's transaction ends.

    On PostgreSQL the day's row is locked for whoever wants to change it; on SQLite a transaction that
    writes has the file to itself.

    :raises Superseded: when the destination holds another operation's orders of the day, or none.
    """
    ours = select(DAYS.c.operation).where(DAYS.c.day == operation.day, DAYS.c.operation == operation.name)
    if connection.execute(ours.with_for_update(read=True)).one_or_none() is None:
        refuse_when_newer(connection, operation)
        raise Superseded(f"{operation} is refused: the destination does not hold its orders")
