"""From the name of an Airflow connection to the access to a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anyio import to_thread

from airflow_landmark.stores import Access

from ._access_http import http_access
from ._access_lookup import look_up
from ._access_s3 import s3_access

__all__ = ["resolve"]


async def resolve(scheme: str, conn_id: str, options: Mapping[str, Any]) -> Access:
    """The access that a connection and options mean together; an option wins over the connection.

    :param scheme: ``"s3"``, ``"http"`` or ``"https"``.
    :raises InvalidAccess: when there is no such connection, or none that fits.
    :raises PassingTrouble: when Airflow cannot be asked now.
    """
    known = await look_up(conn_id)
    if scheme == "s3":
        # Reads AWS settings with the Amazon provider, whose import takes seconds.
        return await to_thread.run_sync(s3_access, known, options)
    return http_access(known, scheme, options)
