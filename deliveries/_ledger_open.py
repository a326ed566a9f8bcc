"""The ledger that a text names, for the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ._errors import AccessTrouble
from ._ledger import CreatableLedger
from ._ledger_s3 import S3Ledger
from ._ledger_sql import SqlLedger

__all__ = ["open_ledger"]

_SCHEME = re.compile(r"([a-z][a-z0-9.-]*)(?:\+[a-z0-9_]+)?:", re.IGNORECASE)
_KNOWN = (
    "a ledger is named by sqlite:////PATH/ledger.db, postgresql://HOST/NAME or s3://BUCKET/PREFIX/, and to "
    "look into one that Airflow keeps by airflow+https://HOST/?asset=NAME"
)


def open_ledger(
    text: str,
    *,
    conn_id: str | None = None,
    options: Mapping[str, Any] | None = None,
    table: str | None = None,
) -> CreatableLedger:
    """The ledger at an SQLAlchemy URL or an ``s3://`` URI. Nothing is connected to yet.

    :param conn_id: the connection for a bucket; ``None`` takes the environment's credentials.
    :param options: settings of the bucket by name.
    :param table: its name in a database; ``None`` for the usual one.
    :raises AccessTrouble: kind ``"configuration"`` when the text names no ledger.
    """
    scheme = _SCHEME.match(text)
    kind = scheme[1].lower() if scheme else ""
    if kind not in ("s3", "sqlite", "postgresql", "postgres"):
        # The text itself is not shown: it may hold a password, and so may what stands before a bare colon.
        found = f"scheme {kind[:40]!r}" if scheme and text[scheme.end() :].startswith("//") else "no scheme"
        raise _misfit(f"{_KNOWN}; found {found}")
    if kind == "s3" and table is not None:
        raise _misfit("a ledger in a bucket has no table")
    if kind != "s3" and (conn_id is not None or options):
        raise _misfit("a ledger in a database is reached by its URL alone, without connection and options")
    try:
        if kind == "s3":
            return S3Ledger(text, conn_id=conn_id, options=options)
        return SqlLedger(text) if table is None else SqlLedger(text, table=table)
    except ValueError as error:
        raise _misfit(str(error)) from None


def _misfit(text: str) -> AccessTrouble:
    return AccessTrouble("the ledger", "configuration", text)
