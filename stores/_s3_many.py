"""Looks and facts of many objects: by listings where they cost less, and by single requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from ._address import Address
from ._errors import Absent, PassingTrouble, Refused, StoreError
from ._s3_answer import key_of, same_etag
from ._s3_client import S3Connection
from ._s3_facts import facts
from ._s3_look import look_at
from ._s3_singles import Singles
from ._s3_sweep import Sweeps, Swept
from ._values import Facts, Look, Sighting

__all__ = ["Many"]

ResultT = TypeVar("ResultT")

_ABSENT = "no such object"
_VAIN_SECONDS = 2.0


class Many:
    """The many requests of a store, and what was learnt from them."""

    def __init__(self, connection: S3Connection) -> None:
        access = connection.access
        vain = min(_VAIN_SECONDS, 0.8 * access.connect_timeout, 0.8 * access.read_timeout)
        self._connection = connection
        self._singles = Singles(slow_seconds=vain)
        self._sweeps = Sweeps(connection)

    async def looks(
        self, wanted: Mapping[Address, Sighting | None], also: Mapping[Address, Sighting | None]
    ) -> dict[Address, Look | StoreError]:
        """A look or an error for each wanted address, and for those others that listings settled."""
        results: dict[Address, Look | StoreError] = {}
        singly: list[Address] = []
        for addresses in _by_bucket(wanted):
            keys, refused = _keys(addresses)
            results.update(refused)
            bucket = addresses[0].authority
            near, _ = _keys(a for a in also if a.authority == bucket and a not in wanted)
            swept = await self._sweeps.sweep(addresses[0], set(keys.values()), set(near.values()))
            for address, key in keys.items():
                _sort(address, _look_told(swept, key, address, wanted[address]), results, singly)
            for address, key in near.items():
                told = _look_told(swept, key, address, also[address])
                if isinstance(told, Look):
                    results[address] = told
        read = partial(_look, self._connection, wanted)
        results.update(await self._singles.each(singly, read))
        return results

    async def facts(self, addresses: Sequence[Address], *, exact: bool) -> dict[Address, Facts | StoreError]:
        """Facts or an error for each address.

        :param exact: with versions, which listings do not tell.
        """
        results: dict[Address, Facts | StoreError] = {}
        singly: list[Address] = []
        for places in _by_bucket(addresses):
            keys, refused = _keys(places)
            results.update(refused)
            swept = Swept() if exact else await self._sweeps.sweep(places[0], set(keys.values()))
            for address, key in keys.items():
                _sort(address, _facts_told(swept, key, address), results, singly)
        results.update(await self._singles.each(singly, partial(facts, self._connection)))
        return results


async def _look(
    connection: S3Connection, wanted: Mapping[Address, Sighting | None], address: Address
) -> Look:
    return await look_at(connection, address, wanted[address])


def _by_bucket(addresses: Iterable[Address]) -> Iterable[list[Address]]:
    buckets: dict[str, list[Address]] = {}
    for address in addresses:
        buckets.setdefault(address.authority, []).append(address)
    return buckets.values()


def _keys(addresses: Iterable[Address]) -> tuple[dict[Address, str], dict[Address, Refused]]:
    """The keys of addresses, and errors for those whose names are never asked for."""
    keys: dict[Address, str] = {}
    refused: dict[Address, Refused] = {}
    for address in addresses:
        try:
            keys[address] = key_of(address)
        except Refused as error:
            refused[address] = error
    return keys, refused


def _look_told(swept: Swept, key: str, address: Address, since: Sighting | None) -> Look | StoreError | None:
    """What listings told; ``None`` when a request of its own has to."""
    if key not in swept.settled:
        return _at(address, swept.trouble)
    listed = swept.settled[key]
    if listed is None:
        return Look(None, reason=_ABSENT)
    if since is None or since.size != listed.facts.size or not same_etag(since.pin, listed.facts.pin):
        return None
    return Look(since)


def _facts_told(swept: Swept, key: str, address: Address) -> Facts | StoreError | None:
    """What listings told; ``None`` when a request of its own has to, as of what may be archived."""
    if key not in swept.settled:
        return _at(address, swept.trouble)
    listed = swept.settled[key]
    if listed is None:
        return Absent(address.uri, _ABSENT)
    return None if listed.archived else listed.facts


def _at(address: Address, trouble: PassingTrouble | None) -> PassingTrouble | None:
    """The trouble of a listing, as the trouble of an address that it was to tell of."""
    if trouble is None:
        return None
    return PassingTrouble(address.uri, trouble.reason, retry_after=trouble.retry_after)


def _sort(
    address: Address,
    told: ResultT | StoreError | None,
    results: dict[Address, ResultT | StoreError],
    singly: list[Address],
) -> None:
    if told is None:
        singly.append(address)
    else:
        results[address] = told
