"""A ledger in a database: one conditional statement for each step, its history in the same transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_landmark.markers import Interval, Taken, show

from ._errors import AccessTrouble, Unavailable
from ._ledger import Entry, Held, LedgerEvent, LedgerWord
from ._ledger_create import create_tables
from ._ledger_database import Database
from ._ledger_keys import check_dataset
from ._ledger_rules import after_claim, after_commit, after_release, held_by
from ._ledger_steps import claim_statement, commit_statement, release_statement
from ._ledger_tables import TABLE_NAME, Tables, entry_of_row, event_of_row, key_of, tables_of, values_of
from ._ledger_url import place_of_url
from ._stamp import Stamp

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection
    from sqlalchemy.sql.dml import UpdateBase

__all__ = ["SqlLedger"]

_TABLE = "landmark_ledger"
_ATTEMPTS = 10
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class _Step:
    """What changes an entry: the statement that does, the rule that it follows, the word for it."""

    word: LedgerWord
    statement: Callable[..., UpdateBase]
    rule: Callable[[Entry, Held], Entry]


_CLAIM = _Step("claimed", claim_statement, after_claim)
_COMMIT = _Step("taken", commit_statement, after_commit)
_RELEASE = _Step("released", release_statement, after_release)
_COUNTED = {"preserve_rowcount": True}
"""SQLAlchemy forgets how many rows an INSERT made unless it is asked not to."""


class SqlLedger:
    """A ledger in SQLite or PostgreSQL, by SQLAlchemy URL.

    Its tables are made by ``landmark ledger create``. The database decides which of two claimants wins.
    Nothing is connected to before the first use, and no connection is kept.

    :param url: such as ``sqlite:////srv/ledger.db`` or ``postgresql://user:password@host/name``, as text or
        as SQLAlchemy's ``URL``; or what returns it, called at each use, so that no secret is kept. What that
        raises, the methods raise.
    :param table: its name; ``NAME_history`` is the other table's. A schema may stand in front.
    :param place: what repr and text of the ledger say in place of its URL; ``None`` for the URL without user,
        password and query.
    :raises ValueError: when the table's name is none.
    :raises TypeError: when the URL is none of these.
    """

    def __init__(
        self, url: str | URL | Callable[[], str], *, table: str = _TABLE, place: str | None = None
    ) -> None:
        if not isinstance(table, str) or not TABLE_NAME.fullmatch(table):
            raise ValueError(f"table must be a name, or SCHEMA.NAME, of A-Z a-z 0-9 _, not {show(table)}")
        self._find = url if callable(url) else partial(str, _text_of(url))
        self._place = place_of_url("" if callable(url) else url) if place is None else place
        self._table = table

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._place!r}, table={self._table!r})"

    def __str__(self) -> str:
        return self._place

    def taken(self, dataset: str, interval: Interval) -> Taken | None:
        """See :class:`Ledger`."""
        entry = self.entry(dataset, interval)
        return Taken(entry.taken.version, entry.taken.identity) if entry and entry.taken else None

    def claim(self, stamp: Stamp, owner: str) -> None:
        """See :class:`Ledger`."""
        self._step(_CLAIM, stamp, owner)

    def commit(self, stamp: Stamp, owner: str) -> None:
        """See :class:`Ledger`."""
        self._step(_COMMIT, stamp, owner)

    def release(self, stamp: Stamp, owner: str) -> None:
        """See :class:`Ledger`."""
        self._step(_RELEASE, stamp, owner)

    def entry(self, dataset: str, interval: Interval) -> Entry | None:
        """See :class:`ReadableLedger`."""
        check_dataset(dataset)
        tables, database = self._opened()
        with database.transaction(tables) as connection:
            return _read(connection, tables, dataset, interval, database.place)

    def entries(self, dataset: str | None = None, *, limit: int = 1000) -> Sequence[Entry]:
        """See :class:`ReadableLedger`."""
        if dataset is not None:
            check_dataset(dataset)
        tables, database = self._opened()
        found = tables.entries.select().limit(limit)
        if dataset is not None:
            found = found.where(tables.entries.c.dataset == dataset)
        columns = tables.entries.c
        order = (columns.interval_start.desc(), columns.interval_end.desc(), columns.dataset)
        with database.transaction(tables) as connection:
            rows = connection.execute(found.order_by(*order)).mappings().all()
        return _understood(lambda: [entry_of_row(row) for row in rows], database.place)

    def history(self, dataset: str, interval: Interval, *, limit: int = 1000) -> Sequence[LedgerEvent]:
        """See :class:`ReadableLedger`."""
        check_dataset(dataset)
        tables, database = self._opened()
        found = tables.history.select().where(*_is(tables.history, dataset, interval))
        found = found.order_by(tables.history.c.id.desc()).limit(limit)
        with database.transaction(tables) as connection:
            rows = connection.execute(found).mappings().all()
        return _understood(
            lambda: [event_of_row(row, dataset=dataset, interval=interval) for row in reversed(rows)],
            database.place,
        )

    def create(self) -> str:
        """Make the tables where they are missing; says what was done.

        :raises AccessTrouble: when that is refused, or other tables of these names are there.
        """
        tables, database = self._opened()
        return create_tables(database, tables)

    def _opened(self) -> tuple[Tables, Database]:
        named = f" --table {self._table}" if self._table != _TABLE else ""
        makes = f"landmark ledger create --ledger URL{named}"
        database = Database(self._find(), makes=makes)  # first: it tells when SQLAlchemy is missing
        return tables_of(self._table), database

    def _step(self, step: _Step, stamp: Stamp, owner: str) -> None:
        """One statement that says for itself whether the step is allowed; the rule tells why it was not."""
        wanted = held_by(stamp, owner, at=datetime.now(tz=timezone.utc))
        tables, database = self._opened()
        key = key_of(stamp.dataset, stamp.interval)
        statement = step.statement(tables, key, wanted, dialect=database.dialect)
        for _ in range(_ATTEMPTS):
            with database.transaction(tables) as connection:
                if connection.execute(statement, execution_options=_COUNTED).rowcount:
                    _note(connection, tables, key, step.word, wanted)
                    return
                entry = _read(connection, tables, stamp.dataset, stamp.interval, database.place)
            entry = entry or Entry(stamp.dataset, stamp.interval)
            if step.rule(entry, wanted) is entry:
                return
            # The entry changed between the statement and the look: now the step would be allowed.
        text = f"{stamp.dataset} for {stamp.interval} changed {_ATTEMPTS} times while it was to be changed"
        raise Unavailable(database.place, "trouble", text)


def _text_of(url: object) -> str:
    """The whole URL, password included: the text of SQLAlchemy's URL hides it.

    :raises TypeError: when it is none.
    """
    if hasattr(url, "render_as_string"):
        return str(url.render_as_string(hide_password=False))
    if not isinstance(url, str):
        raise TypeError(f"url must be an SQLAlchemy URL, or what returns one, not {show(url)}")
    return url


def _note(connection: Connection, tables: Tables, key: dict[str, str], word: LedgerWord, held: Held) -> None:
    connection.execute(tables.history.insert().values(**key, word=word, **values_of(held, prefix="")))


def _read(
    connection: Connection, tables: Tables, dataset: str, interval: Interval, place: str
) -> Entry | None:
    found = tables.entries.select().where(*_is(tables.entries, dataset, interval))
    row = connection.execute(found).mappings().first()
    return None if row is None else _understood(lambda: entry_of_row(row), place)


def _is(table: Any, dataset: str, interval: Interval) -> list[Any]:
    return [table.c[name] == value for name, value in key_of(dataset, interval).items()]


def _understood(work: Callable[[], ResultT], place: str) -> ResultT:
    try:
        return work()
    except (ValueError, TypeError, AttributeError) as error:
        text = f"a row of the ledger was not written by landmark, mend or remove it: {show(str(error))}"
        raise AccessTrouble(place, "unreadable", text) from None
