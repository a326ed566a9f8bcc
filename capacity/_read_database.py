"""Airflow's metadata database, to read only: no statement but SELECT, no credential in any text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ._errors import MissingRights, MissingSoftware, OlderAirflow, Unreachable

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine
    from sqlalchemy.exc import DBAPIError

__all__ = ["Database", "Row", "configured_url", "epoch", "open_database"]

Row = tuple[Any, ...]

CONNECT_SECONDS = 15
# insufficient_privilege, invalid_authorization_specification, invalid_password
_REFUSED = frozenset({"42501", "28000", "28P01"})
_DRIVERS = ("psycopg2", "psycopg")


def configured_url() -> str:
    """The URL of the database that Airflow is configured with on this machine.

    :raises MissingSoftware: when Airflow is not installed.
    """
    try:
        from airflow.configuration import conf  # noqa: PLC0415
    except ModuleNotFoundError:
        raise _needs_airflow("Airflow's configuration") from None
    return str(conf.get_mandatory_value("database", "sql_alchemy_conn"))


@contextmanager
def open_database(url: str) -> Iterator[Database]:
    """The database, checked to be Airflow's, for as long as the block lasts.

    :param url: as SQLAlchemy writes it, for SQLite or PostgreSQL.
    :raises CannotTell: for a wrong URL, a missing driver, a server that does not answer or refuses, or a
        database that has not Airflow's tables.
    """
    try:
        import sqlalchemy as sa  # noqa: PLC0415
    except ModuleNotFoundError:
        raise _needs_airflow("a metadata database") from None
    parsed = _parsed(url)
    place = _place(parsed)
    address, options = _connection(parsed, place)
    try:
        engine = sa.create_engine(address, connect_args=options)
    except (ModuleNotFoundError, sa.exc.NoSuchModuleError):
        text = f"no driver for {parsed.drivername} is installed here: pip install psycopg2-binary"
        raise MissingSoftware(place, text) from None
    try:
        yield Database(engine, place)
    finally:
        engine.dispose()


class Database:
    """Runs queries; every answer is a plain list, every error one of this room.

    :ivar place: what errors call it: driver, host and name, never user or password.
    """

    def __init__(self, engine: Engine, place: str) -> None:
        self.place = place
        self._engine = engine
        self._dialect = engine.dialect.name

    def rows(self, sql: str, **values: Any) -> list[Row]:
        """The rows of one SELECT; ``values`` fill its ``:names``, a tuple fills an ``IN :name``.

        :raises CannotTell: when the database refuses it or does not answer.
        """
        import sqlalchemy as sa  # noqa: PLC0415

        lists: list[sa.BindParameter[Any]] = [
            sa.bindparam(name, expanding=True) for name, value in values.items() if _is_list(value)
        ]
        statement = sa.text(sql).bindparams(*lists)
        bound = {name: self._bound(value) for name, value in values.items()}
        try:
            with self._engine.connect() as connection:
                self._read_only(connection)
                return [tuple(row) for row in connection.execute(statement, bound)]
        except sa.exc.DBAPIError as error:
            raise self._sorted(error) from None

    def now(self) -> float:
        """The moment by the database's own clock, seconds since 1970: this machine's may be wrong."""
        exact = "STRFTIME('%Y-%m-%d %H:%M:%f', 'now')"  # SQLite's other clock counts whole seconds
        clock = exact if self._dialect == "sqlite" else "CURRENT_TIMESTAMP"
        found = epoch(self.rows(f"SELECT {clock}")[0][0])
        assert found is not None  # noqa: S101 - a clock always tells
        return found

    def require(self, tables: Mapping[str, Sequence[str]]) -> None:
        """Check that tables and columns are there, before long work begins.

        :raises OlderAirflow: when one is not.
        :raises MissingRights: when one may not be read.
        """
        for table, columns in tables.items():
            try:
                self.rows(f"SELECT {', '.join(columns)} FROM {table} WHERE 1 = 0")  # noqa: S608 - our names
            except Unreachable:
                self.rows("SELECT 1")  # the server answers: it is the table that is not as expected
                text = f"table {table} has not the columns {', '.join(columns)}: "
                raise OlderAirflow(self.place, text + self._found()) from None

    def _found(self) -> str:
        try:
            rows = self.rows("SELECT version_num FROM alembic_version")
        except (Unreachable, MissingRights):
            return "this is no Airflow database (it has no table alembic_version)"
        known = ", ".join(str(row[0]) for row in rows)
        return f"these readers need Airflow 3.3 or newer (found schema revision {known or 'none'})"

    def _read_only(self, connection: Any) -> None:
        if self._dialect == "postgresql":
            connection.execution_options(postgresql_readonly=True)

    def _bound(self, value: Any) -> Any:
        if _is_list(value):
            return [self._bound(one) for one in value]
        if not isinstance(value, datetime):
            return value
        if self._dialect == "postgresql":
            return value
        # SQLite compares texts, and this is how Airflow writes them
        return value.astimezone(timezone.utc).replace(tzinfo=None).isoformat(" ", "microseconds")

    def _sorted(self, error: DBAPIError) -> Unreachable | MissingRights:
        original = error.orig
        code = getattr(original, "sqlstate", None) or getattr(original, "pgcode", None)
        told = _one_line(str(original), self._engine.url.password)
        if code in _REFUSED:
            return MissingRights(self.place, f"reading is refused: {told}")
        return Unreachable(self.place, told)


def epoch(value: Any) -> float | None:
    """A column's instant in seconds since 1970; None for none."""
    if value is None:
        return None
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()


def _is_list(value: Any) -> bool:
    return isinstance(value, (tuple, list))


def _needs_airflow(what: str) -> MissingSoftware:
    return MissingSoftware(what, "reading it needs Airflow: pip install 'airflow-landmark[airflow]'")


def _parsed(url: str) -> URL:
    import sqlalchemy as sa  # noqa: PLC0415

    try:
        parsed = _with_driver(sa.make_url(url))
        asynchronous = parsed.get_dialect().is_async
    except (ModuleNotFoundError, sa.exc.NoSuchModuleError):
        asynchronous = False
    except (sa.exc.ArgumentError, ValueError):
        text = "is not an SQLAlchemy URL; it looks like postgresql+psycopg2://USER:PASSWORD@HOST/NAME, "
        raise Unreachable("the database's URL", f"{text}or sqlite:////PATH/airflow.db") from None
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        text = f"{parsed.get_backend_name()} cannot be read, only SQLite and PostgreSQL can; "
        raise Unreachable("the database's URL", f"{text}ask the REST API instead (--api)")
    if asynchronous:
        text = f"{parsed.drivername} is an asynchronous driver; give {parsed.get_backend_name()}://..."
        raise Unreachable("the database's URL", text)
    return parsed


def _with_driver(url: URL) -> URL:
    """A URL that names no driver gets one that is installed: which one is the default has changed."""
    from importlib.util import find_spec  # noqa: PLC0415

    driver = next((one for one in _DRIVERS if find_spec(one)), None)
    bare = url.drivername == "postgresql" and driver is not None
    return url.set(drivername=f"postgresql+{driver}") if bare else url


def _place(url: URL) -> str:
    if url.get_backend_name() == "sqlite":
        return f"sqlite:{url.database or ''}"
    port = f":{url.port}" if url.port else ""
    return f"{url.get_backend_name()}://{url.host or ''}{port}/{url.database or ''}"


def _connection(url: URL, place: str) -> tuple[URL, dict[str, Any]]:
    """The URL to connect to and the driver's options. A missing SQLite file would otherwise be made."""
    if url.get_backend_name() != "sqlite":
        return url, {"connect_timeout": CONNECT_SECONDS}
    path = Path(url.database or "").absolute()
    if not url.database or not path.is_file():
        raise Unreachable(
            place, "there is no such file (an absolute path takes four slashes: sqlite:////...)"
        )
    uri = f"file:{quote(str(path))}"
    return url.set(database=uri, query={"mode": "ro", "uri": "true"}), {"timeout": CONNECT_SECONDS}


def _one_line(text: str, password: Any) -> str:
    """What the driver said, in one line, without the password."""
    line = " ".join(text.split())
    return line.replace(str(password), "***") if password else line
