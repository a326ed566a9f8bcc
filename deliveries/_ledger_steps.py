"""The steps of a ledger as statements that change a row only when the rules allow it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._ledger import Held
from ._ledger_tables import Tables, values_of

if TYPE_CHECKING:
    from sqlalchemy import Insert, Update

__all__ = ["claim_statement", "commit_statement", "release_statement"]


def claim_statement(tables: Tables, key: dict[str, str], wanted: Held, *, dialect: str) -> Insert:
    """Insert the entry with the claim, or set the claim where nothing stands against it.

    :param dialect: ``"sqlite"`` or ``"postgresql"``.
    """
    import sqlalchemy as sa  # noqa: PLC0415 - part of an extra, and half a second
    from sqlalchemy.dialects import postgresql, sqlite  # noqa: PLC0415 - as above

    columns = tables.entries.c
    values = values_of(wanted, prefix="claim_")
    insert: Any = {"sqlite": sqlite, "postgresql": postgresql}[dialect].insert(tables.entries)
    same = sa.and_(columns.taken_version == wanted.version, columns.taken_identity == wanted.identity)
    upsert: Insert = insert.values(**key, **values).on_conflict_do_update(
        index_elements=list(key),
        set_=values,
        where=sa.and_(
            sa.or_(columns.taken_version.is_(None), columns.taken_version < wanted.version, same),
            sa.or_(columns.claim_version.is_(None), columns.claim_version < wanted.version),
        ),
    )
    return upsert


def commit_statement(
    tables: Tables,
    key: dict[str, str],
    wanted: Held,
    *,
    dialect: str,  # noqa: ARG001 - it is the same in both
) -> Update:
    """Make the owner's claim what is taken."""
    return _on_own_claim(tables, key, wanted).values(
        **values_of(wanted, prefix="taken_"), **values_of(None, prefix="claim_")
    )


def release_statement(
    tables: Tables,
    key: dict[str, str],
    wanted: Held,
    *,
    dialect: str,  # noqa: ARG001 - as above
) -> Update:
    """Empty the owner's claim."""
    return _on_own_claim(tables, key, wanted).values(**values_of(None, prefix="claim_"))


def _on_own_claim(tables: Tables, key: dict[str, str], wanted: Held) -> Update:
    columns = tables.entries.c
    return tables.entries.update().where(
        *(columns[name] == value for name, value in key.items()),
        columns.claim_version == wanted.version,
        columns.claim_identity == wanted.identity,
        columns.claim_owner == wanted.owner,
    )
