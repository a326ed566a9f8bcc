"""A ledger in a database that an Airflow connection names."""

from __future__ import annotations

import re
from functools import partial
from urllib.parse import quote, urlencode

from airflow_landmark.deliveries import AccessTrouble, SqlLedger, Unavailable, run
from airflow_landmark.markers import show
from airflow_landmark.stores import InvalidAccess, StoreError
from airflow_landmark.triggers import Known, look_up

__all__ = ["ConnectionLedger"]

_CONN_ID = re.compile(r"[\w.:/#!()\\ -]{1,250}", re.ASCII)
_POSTGRES, _SQLITE = frozenset({"postgres", "postgresql"}), frozenset({"sqlite"})
_HOST = re.compile(r"[A-Za-z0-9._-]{0,255}|\[[0-9A-Fa-f:.%]{2,64}\]")
_LIBPQ = re.compile(r"ssl[a-z_]{1,40}|gssencmode|channel_binding|target_session_attrs|host|hostaddr|options")
"""Extras that are parameters of the database's client; others are meant for other users of the connection."""


class ConnectionLedger(SqlLedger):
    """A :class:`SqlLedger` whose URL is an Airflow connection's, of the type Postgres or SQLite.

    The connection is looked up at each use, and nothing of it is kept.

    :param conn_id: the connection's name.
    :param table: as for :class:`SqlLedger`.
    :raises ValueError: when one of them is no name.
    """

    def __init__(self, conn_id: str, *, table: str = "landmark_ledger") -> None:
        if not isinstance(conn_id, str) or not _CONN_ID.fullmatch(conn_id):
            raise ValueError(f"conn_id must be the name of a connection, not {show(conn_id)}")
        self.conn_id = conn_id
        super().__init__(partial(_url_of, conn_id), table=table, place=f"connection {conn_id}")


def _url_of(conn_id: str) -> str:
    """The SQLAlchemy URL of a connection, password included.

    :raises AccessTrouble: when there is no such connection, or none to a database that can be used.
    :raises Unavailable: when Airflow cannot be asked now.
    """
    try:
        return _url(run(lambda: look_up(conn_id)))
    except InvalidAccess as error:
        raise AccessTrouble(error.place, "configuration", error.reason) from None
    except StoreError as error:
        raise Unavailable(error.place, "trouble", error.reason) from None


def _url(known: Known) -> str:
    known.check_type(_POSTGRES | _SQLITE, "a connection to PostgreSQL or SQLite")
    if known.conn_type in _SQLITE:
        return _sqlite(known)
    if known.conn_type in _POSTGRES:
        return _postgres(known)
    raise known.wrong("its type must be postgres or sqlite, to say which database it means")


def _sqlite(known: Known) -> str:
    # Airflow keeps a file's path as the host; a URI with four slashes leaves it in the schema.
    path = known.host or known.schema
    if not path.startswith("/") or (known.host and known.schema):
        raise known.wrong("its host must be the absolute path of the database's file, its schema empty")
    if "?" in path:  # SQLAlchemy reads a file's path as it stands, up to there
        raise known.wrong("the path of the database's file must not hold a question mark")
    return f"sqlite:///{path}"


def _postgres(known: Known) -> str:
    for name in ("iam", "azure_conn_id"):
        if known.extra.get(name) and known.flag(name) is not False:
            raise known.wrong(f"its extra {show(name)} asks for a password that changes: not supported here")
    query = urlencode({name: str(value) for name, value in known.extra.items() if _LIBPQ.fullmatch(name)})
    user = quote(known.login, safe="")
    if known.password:
        user += f":{quote(known.password, safe='')}"
    host = f"[{known.host}]" if ":" in known.host else known.host
    if not _HOST.fullmatch(host):
        raise known.wrong("its host must be a name or an address")
    server = f"{user}@{host}" if user else host
    port = f":{known.port}" if known.port else ""
    return f"postgresql://{server}{port}/{quote(known.schema, safe='')}" + (f"?{query}" if query else "")
