"""The destination: one SQLite file or one PostgreSQL database, and its transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import orders_settings
from orders_errors import NotSetUp
from orders_tables import METADATA
from sqlalchemy import (
    Connection,
    Engine,
    NullPool,
    Table,
    create_engine,
    event,
    func,
    inspect,
    make_url,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite

__all__ = ["Destination"]

LOCK_SECONDS = 30
"""How long a statement waits for another attempt's lock before the task fails, to be retried."""
IDLE_SECONDS = 300
"""After so long without a statement, PostgreSQL ends the transaction of an attempt that hangs."""
SET_UP_LOCK = int.from_bytes(b"orders", "big")
"""Key of PostgreSQL's advisory lock under which the tables are made: two set-ups at once would collide."""

_BEGIN = "orders_begin"
"""Name of the execution option that says how an SQLite transaction begins."""
_NOTHING = ""
"""That it does not begin: each statement is committed by itself."""


class Destination:
    """Where the orders go.

    Two kinds of transaction, each all or nothing:

    * :meth:`writing`: on SQLite ``BEGIN IMMEDIATE``: one writer at a time from its first statement on. On
      PostgreSQL ``READ COMMITTED``: the guarded statement comes first and locks the row that it compares,
      until the commit.
    * :meth:`reading`: one state of the whole destination, however many statements. On SQLite a read
      transaction, on PostgreSQL ``REPEATABLE READ``.

    :param url: SQLAlchemy URL; no connection is made before the first transaction.
    """

    def __init__(self, url: str) -> None:
        self._url = make_url(url)
        if self._url.get_backend_name() not in {"sqlite", "postgresql"}:
            raise ValueError(f"the destination must be SQLite or PostgreSQL, not {self!r}")

    @classmethod
    def from_settings(cls) -> Destination:
        """The one that ``ORDERS_DESTINATION`` names."""
        return cls(orders_settings.destination_url())

    def __repr__(self) -> str:
        return f"Destination({self._url.render_as_string(hide_password=True)!r})"

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes; it is rolled back when the block raises."""
        with self._transaction(**self._write_options) as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the destination, whatever is written meanwhile."""
        with self._transaction(**self._read_options) as connection:
            yield connection

    def insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """An ``INSERT`` that takes ``ON CONFLICT``, which both databases write alike."""
        return sqlite.insert(table) if self._is_sqlite else postgresql.insert(table)

    def set_up(self) -> list[str]:
        """Make the tables that are missing, and return their names; of two at once, one waits.

        :raises NotSetUp: when the folder of an SQLite file is missing.
        """
        if self._is_sqlite:
            self._prepare_file()
        with self.writing() as connection:
            if not self._is_sqlite:
                connection.execute(select(func.pg_advisory_xact_lock(SET_UP_LOCK)))
            missing = self._missing(connection)
            METADATA.create_all(connection)
        return missing

    def _prepare_file(self) -> None:
        """Have readers of the SQLite file go on while a writer writes; the file remembers it."""
        folder = Path(self._url.database or "").parent
        if not folder.is_dir():
            raise NotSetUp(f"{self!r}: the folder {folder} is missing: make it first")
        with self._transaction(**{_BEGIN: _NOTHING}) as connection:  # refused inside a transaction
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")

    def check(self) -> None:
        """Return when the tables are there.

        :raises NotSetUp: when one is not; says which command makes them.
        """
        missing = sorted(METADATA.tables) if self._is_absent() else self._missing(self._engine)
        if missing:
            raise NotSetUp(
                f"{self!r} has no {', '.join(missing)}: run `python orders_setup.py` once, with "
                "ORDERS_DESTINATION set as for the workers"
            )

    @staticmethod
    def _missing(where: Connection | Engine) -> list[str]:
        """The names of the tables that are not there."""
        seen = inspect(where)
        return sorted(name for name in METADATA.tables if not seen.has_table(name))

    def _is_absent(self) -> bool:
        """Whether it is an SQLite file that is not there: connecting to it would make an empty one."""
        return self._is_sqlite and not Path(self._url.database or "").is_file()

    @property
    def _is_sqlite(self) -> bool:
        return self._url.get_backend_name() == "sqlite"

    @contextmanager
    def _transaction(self, **options: Any) -> Iterator[Connection]:
        with self._engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    @property
    def _write_options(self) -> dict[str, Any]:
        return {_BEGIN: "BEGIN IMMEDIATE"} if self._is_sqlite else {"isolation_level": "READ COMMITTED"}

    @property
    def _read_options(self) -> dict[str, Any]:
        return {} if self._is_sqlite else {"isolation_level": "REPEATABLE READ"}

    @cached_property
    def _engine(self) -> Engine:
        # a task makes a handful of transactions: nothing is gained by keeping connections, and one that
        # outlived a restart of the database would only fail
        if not self._is_sqlite:
            settings = (
                f"-c lock_timeout={LOCK_SECONDS}s -c idle_in_transaction_session_timeout={IDLE_SECONDS}s"
            )
            return create_engine(self._url, poolclass=NullPool, connect_args={"options": settings})
        engine = create_engine(self._url, poolclass=NullPool, connect_args={"timeout": LOCK_SECONDS})
        event.listen(engine, "connect", _leave_transactions_to_us)
        event.listen(engine, "begin", _begin)
        return engine


def _leave_transactions_to_us(connection: Any, _record: Any) -> None:
    """Stop Python's driver from beginning transactions late, and from committing before DDL."""
    connection.isolation_level = None


def _begin(connection: Connection) -> None:
    begin = connection.get_execution_options().get(_BEGIN, "BEGIN")
    if begin != _NOTHING:
        connection.exec_driver_sql(begin)
