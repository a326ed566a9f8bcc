"""How the store of a delivery is reached: options in the Dag, secrets in a connection.

The same words lead to the same access wherever a delivery is looked at: on the worker, in the trigger,
after the resume, and where a downstream task opens the files.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from typing import Any

from anyio import to_thread
from anyio.lowlevel import RunVar

from airflow_landmark.markers import show
from airflow_landmark.stores import (
    Access,
    Address,
    HttpAccess,
    InvalidAccess,
    access_of,
    options_of,
    parse_uri,
)

from ._target import Target

__all__ = ["Way", "reach", "reached"]

Resolver = Callable[[str, str, Mapping[str, Any]], Awaitable[Access]]
"""Scheme, name of the connection and options to the access that they mean."""

_GROUP, _NAME = "airflow_landmark.connections", "airflow"
_INSTALL = "pip install 'airflow-landmark[airflow]'"
_CONN_ID = re.compile(r"[\w.:/#!()\\ -]{1,250}", re.ASCII)
_KEPT_SECONDS = 60.0
"""So long a connection that was looked up serves the waits that start after it."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a store is reached, in words that are stored readably: none of them is a secret.

    :param conn_id: the connection that holds credentials and settings; ``None`` takes the environment's.
    :param options: settings by name, which win over the connection's.
    """

    conn_id: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def check(self, scheme: str) -> None:
        """Refuse what cannot reach a store of this kind.

        :raises InvalidAccess: naming what is wrong.
        """
        if not isinstance(self.options, Mapping):
            raise InvalidAccess("options", f"must be names and values, not {show(self.options)}")
        if self.conn_id is not None and not _is_name(self.conn_id):
            raise InvalidAccess("conn_id", f"must be the name of a connection, not {show(self.conn_id)}")
        if scheme == "file" and (self.conn_id is not None or self.options):
            raise InvalidAccess("conn_id and options", "a local path is reached without them: leave them out")
        options_of(scheme, self.options)

    def to_json(self) -> dict[str, Any] | None:
        """Plain JSON; ``None`` when it says nothing."""
        if self.conn_id is None and not self.options:
            return None
        return {"conn_id": self.conn_id, "options": dict(self.options)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any] | None) -> Way:
        """The way that ``to_json`` wrote.

        :raises TypeError, KeyError: when it did not.
        """
        if document is None:
            return cls()
        conn_id, options = document["conn_id"], document["options"]
        if not isinstance(options, Mapping) or not (conn_id is None or _is_name(conn_id)):
            raise TypeError("access is not one that this package wrote")
        return cls(conn_id, dict(options))


def _is_name(conn_id: object) -> bool:
    return isinstance(conn_id, str) and _CONN_ID.fullmatch(conn_id) is not None and conn_id.strip() == conn_id


async def reach(
    uri: str, *, conn_id: str | None = None, options: Mapping[str, Any] | None = None
) -> Access | None:
    """The access to the store of a URI; ``None`` for local files, which need none.

    A connection is looked up once for all who name it within a minute; a failed look-up is not kept.

    :param conn_id: the connection; ``None`` takes credentials from the environment.
    :param options: settings by name, which win over the connection's.
    :raises InvalidAddress: when the URI names no place.
    :raises InvalidAccess: when no such store can be reached so: no such connection, a wrong option.
    :raises PassingTrouble: when the connection cannot be looked up now.
    """
    way = Way(conn_id, {} if options is None else options)
    return await _access_to(parse_uri(uri, folder=True), way)


async def reached(target: Target, way: Way) -> Target:
    """The target with its access; one that has an access keeps it.

    :raises InvalidAccess, PassingTrouble: as ``reach`` does.
    """
    if target.address.access is not None:
        return target
    access = await _access_to(target.address, way)
    if access is None:
        return target
    return replace(target, address=replace(target.address, access=access))


async def _access_to(address: Address, way: Way) -> Access | None:
    way.check(address.scheme)
    if way.conn_id is None:
        return access_of(address.scheme, way.options)
    return _for_origin(await _looked_up(address.scheme, way.conn_id, way.options), address, way.conn_id)


def _for_origin(access: Access, address: Address, conn_id: str) -> Access:
    """The access, when its credentials are for the origin of the address: they go to no other."""
    if not isinstance(access, HttpAccess):
        return access
    origin = f"{address.scheme}://{address.authority}"
    if access.origin is None:
        return replace(access, origin=origin)
    if access.origin == origin:
        return access
    text = f"it is for {access.origin} and its credentials go nowhere else, but the delivery is at {origin}"
    raise InvalidAccess(f"connection {show(conn_id)}", text)


class _Lookup:
    """One look-up of a connection, running or kept."""

    def __init__(self, work: Awaitable[Access]) -> None:
        # It belongs to no wait: no wait's end ends it, and it carries no wait's log bindings.
        self.task = Context().run(asyncio.ensure_future, work)
        self.task.add_done_callback(self._note)
        self._kept_until = float("inf")

    def _note(self, _task: object) -> None:
        failed = self.task.cancelled() or self.task.exception() is not None
        self._kept_until = 0.0 if failed else time.monotonic() + _KEPT_SECONDS

    @property
    def serves(self) -> bool:
        """Whether its result may still be taken."""
        return time.monotonic() < self._kept_until


_LOOKUPS: RunVar[dict[tuple[str, str, str], _Lookup]] = RunVar("landmark_lookups")


async def _looked_up(scheme: str, conn_id: str, options: Mapping[str, Any]) -> Access:
    lookups = {key: lookup for key, lookup in _LOOKUPS.get({}).items() if lookup.serves}
    _LOOKUPS.set(lookups)
    key = (scheme, conn_id, json.dumps(dict(options), sort_keys=True))
    if key not in lookups:
        lookups[key] = _Lookup(_look_up(scheme, conn_id, dict(options)))
    return await asyncio.shield(lookups[key].task)


async def _look_up(scheme: str, conn_id: str, options: Mapping[str, Any]) -> Access:
    resolver = await to_thread.run_sync(_resolver)
    return await resolver(scheme, conn_id, options)


@functools.cache
def _resolver() -> Resolver:
    """What knows connections. It is found by name, since this room must not import one that needs Airflow.

    :raises InvalidAccess: when nothing is installed that does.
    """
    for entry in entry_points(group=_GROUP, name=_NAME):
        try:
            return entry.load()  # type: ignore[no-any-return]
        except ImportError as error:
            raise InvalidAccess("conn_id", f"connections need Airflow: {_INSTALL} ({error})") from None
    raise InvalidAccess("conn_id", f"connections need Airflow: {_INSTALL}")
