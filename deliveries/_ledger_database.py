"""A database that holds a ledger: its URL, connections that cannot hang for long, its errors sorted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ._errors import AccessTrouble, Unavailable
from ._ledger_deadline import Deadline
from ._ledger_url import place_of_url, with_driver

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine
    from sqlalchemy.exc import DBAPIError

    from ._ledger_tables import Tables

__all__ = ["Database"]

_INSTALL = "pip install 'airflow-landmark[sql]'"
_CONNECT_SECONDS = 15
_STATEMENT_SECONDS = 30
_SILENCE_SECONDS = 35.0
"""Longer than a statement may take on the server, which tells better than a cut connection what was wrong."""
_NO_RIGHTS = "42501"
"""insufficient_privilege."""
_SQLITE_LASTING = frozenset({3, 8, 14, 23, 26})
"""SQLITE_PERM, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_AUTH, SQLITE_NOTADB."""
_PASSING_KINDS = ("OperationalError", "InterfaceError", "InternalError")
_MAX_TOLD = 300
_SECRETS_IN_QUERIES = ("password", "sslpassword")


class Database:
    """One URL for the time of one call. Nothing is kept between calls: a task makes two or three.

    :ivar place: what errors call it.
    :ivar dialect: ``"sqlite"`` or ``"postgresql"``.
    """

    def __init__(self, url: str | URL, *, makes: str) -> None:
        """Look at the URL; nothing is connected to yet.

        :param makes: the command that makes the tables, for errors.
        :raises AccessTrouble: kind ``"configuration"`` when it names no database that can hold a ledger.
        """
        self.place = place_of_url(url)
        self._makes = makes
        self._url = self._parsed(url)
        self.dialect = self._url.get_backend_name()

    @contextmanager
    def transaction(self, tables: Tables, *, create: bool = False) -> Iterator[Connection]:
        """A connection in a transaction, which is committed at the block's end.

        :param create: make the file of an SQLite database when it is missing.
        :raises Unavailable: when the database does not answer now.
        :raises AccessTrouble: when it refuses for good, or has no such tables.
        """
        import sqlalchemy as sa  # noqa: PLC0415 - part of an extra, and half a second

        engine = self._engine(create=create)
        with self._deadline(engine) as deadline:
            try:
                with engine.begin() as connection:
                    if self.dialect != "sqlite":
                        connection.exec_driver_sql(f"SET LOCAL statement_timeout = '{_STATEMENT_SECONDS}s'")
                    yield connection
            except sa.exc.DBAPIError as error:
                if deadline.passed:
                    text = f"the database fell silent: its connection was ended after {_SILENCE_SECONDS:g} s"
                    raise Unavailable(self.place, "trouble", text) from None
                raise self._sorted(error, engine, tables) from None
            finally:
                engine.dispose()

    def _deadline(self, engine: Engine) -> Deadline:
        """A limit for all that is done on the engine's connections; a file has no server to wait for."""
        import sqlalchemy as sa  # noqa: PLC0415 - as above

        deadline = Deadline(_SILENCE_SECONDS)
        if self.dialect != "sqlite":
            # first: SQLAlchemy asks a new server for its version before others hear of the connection
            sa.event.listen(engine, "connect", deadline.watch, insert=True)
        return deadline

    def _parsed(self, url: str | URL) -> URL:
        try:
            import sqlalchemy as sa  # noqa: PLC0415 - as above
        except ModuleNotFoundError:
            raise self._misconfigured(f"SQLAlchemy is not installed. Run:\n{_INSTALL}") from None
        try:
            parsed = with_driver(sa.make_url(url))
            asynchronous = parsed.get_dialect().is_async
        except (ModuleNotFoundError, sa.exc.NoSuchModuleError):
            asynchronous = False
        except (sa.exc.ArgumentError, ValueError, TypeError):
            self.place = "the ledger's URL"  # what cannot be taken apart is not shown
            text = "is not an SQLAlchemy URL; it looks like sqlite:////PATH/ledger.db or "
            raise self._misconfigured(f"{text}postgresql://USER:PASSWORD@HOST/NAME") from None
        if parsed.get_backend_name() not in ("sqlite", "postgresql"):
            text = f"{parsed.get_backend_name()[:40]} was never tested as a ledger: take SQLite or PostgreSQL"
            raise self._misconfigured(text)
        if asynchronous:
            text = f"{parsed.drivername} is an asynchronous driver: write {parsed.get_backend_name()}://..."
            raise self._misconfigured(text)
        return parsed

    def _engine(self, *, create: bool) -> Engine:
        import sqlalchemy as sa  # noqa: PLC0415 - as above

        url, options = self._connection(create=create)
        # READ COMMITTED, whatever the server's default is: the statements are made for it
        level: dict[str, Any] = {"isolation_level": "READ COMMITTED"} if self.dialect != "sqlite" else {}
        try:
            return sa.create_engine(url, poolclass=sa.pool.NullPool, connect_args=options, **level)
        except (ModuleNotFoundError, sa.exc.NoSuchModuleError):
            text = f"no driver for {self._url.drivername} is installed here: pip install psycopg2-binary"
            raise self._misconfigured(text) from None

    def _connection(self, *, create: bool) -> tuple[URL, dict[str, Any]]:
        """The URL to connect to and the driver's options. A missing file would otherwise be made."""
        if self.dialect != "sqlite":
            quiet = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
            quiet["tcp_user_timeout"] = 1000 * _STATEMENT_SECONDS
            return self._url, {"connect_timeout": _CONNECT_SECONDS, **quiet}
        path = Path(self._url.database or "")
        if not path.is_absolute():
            text = "a ledger needs the absolute path of a file, with four slashes: sqlite:////PATH/ledger.db"
            raise self._misconfigured(text)
        try:
            self._check_file(path, create=create)
        except OSError as error:
            raise AccessTrouble(self.place, "access", f"cannot look at it: {error.strerror}") from None
        query = {"mode": "rwc" if create else "rw", "uri": "true"}
        return self._url.set(database=f"file:{quote(str(path))}", query=query), {"timeout": _CONNECT_SECONDS}

    def _check_file(self, path: Path, *, create: bool) -> None:
        """Refuse a path at which no file is, or can be made.

        :raises AccessTrouble: saying what is there, or what is missing.
        :raises OSError: when that cannot be told.
        """
        if path.is_dir():
            raise self._misconfigured("this is a folder; name a file in it")
        if not path.parent.is_dir():
            raise AccessTrouble(self.place, "absent", f"folder {path.parent} does not exist: make it first")
        if not create and not path.is_file():
            raise AccessTrouble(self.place, "absent", f"there is no such file; make it: {self._makes}")

    def _misconfigured(self, text: str) -> AccessTrouble:
        return AccessTrouble(self.place, "configuration", text)

    def _sorted(self, error: DBAPIError, engine: Engine, tables: Tables) -> AccessTrouble | Unavailable:
        """By codes, classes and a look at what is there; never by a text."""
        code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)
        number = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF  # 0 before Python 3.11: then it is passing
        told = self._told(error)
        if code == _NO_RIGHTS or number in _SQLITE_LASTING:
            return AccessTrouble(self.place, "access", f"the database refuses: {told}")
        passing = type(error).__name__ in _PASSING_KINDS
        if code is None and self.dialect != "sqlite":
            if not passing:
                return self._misconfigured(f"the database's client refuses: {told}")
            # The drivers tell no code when they cannot connect, whether it was silence or a refusal.
            text = f"the database does not answer, or does not let this user in: {told}"
            return Unavailable(self.place, "trouble", text)
        missing = self._missing(engine, tables)
        if missing:
            text = f"table {missing} does not exist; make the ledger's tables: {self._makes}"
            return AccessTrouble(self.place, "absent", text)
        if passing:
            return Unavailable(self.place, "trouble", f"the database failed: {told}")
        return AccessTrouble(self.place, "access", f"this is no ledger, or one of another release: {told}")

    def _missing(self, engine: Engine, tables: Tables) -> str | None:
        """The name of a table that is not there; ``None`` when both are, or that cannot be told."""
        import sqlalchemy as sa  # noqa: PLC0415 - as above

        try:
            seen = sa.inspect(engine)
            both = (tables.entries, tables.history)
            return next((t.fullname for t in both if not seen.has_table(t.name, schema=t.schema)), None)
        except sa.exc.DBAPIError:
            return None

    def _told(self, error: DBAPIError) -> str:
        """What the driver said, in one bounded line, without the password."""
        line = " ".join(str(error.orig).split())
        secrets = [self._url.password, *(self._url.query.get(name) for name in _SECRETS_IN_QUERIES)]
        for secret in (str(one) for one in secrets if one):
            for form in (secret, quote(secret, safe="")):
                line = line.replace(form, "***")
        return line[:_MAX_TOLD]
