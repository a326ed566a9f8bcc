"""One look at any number of targets of one store: seen, read once, parsed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anyio import to_thread

from airflow_landmark.markers import Marker, UnreadableMarker, UnsafePath, read_marker
from airflow_landmark.stores import (
    Absent,
    Address,
    LastingTrouble,
    Look,
    Refused,
    Sighting,
    Store,
    StoreError,
)

from ._parallel import each
from ._target import Reading, State, Target

__all__ = ["look_at", "still_there"]

_MAX_MATCHES = 200
"""How many markers a pattern may match."""
_PARSE_HERE_BYTES = 16 * 1024
"""Larger documents are parsed in a thread: 16 KiB take about a millisecond."""


async def look_at(store: Store, before: Mapping[Target, State]) -> dict[Target, State]:
    """The new state of each target.

    :param before: each target's last state; an empty one for a first look.
    """
    names, troubles = await _expand(store, before)
    known = {r.sighting.address: r for state in before.values() for r in state.readings}
    wanted: dict[Address, Sighting | None] = {
        address: known[address].sighting if address in known else None
        for addresses in names.values()
        for address in addresses
    }
    looks = await store.look_many(wanted) if wanted else {}
    states = {target: _unlisted(before[target], error) for target, error in troubles.items()}
    for target, addresses in names.items():
        states[target] = await _state(target, addresses, looks, known, before[target])
    return states


async def still_there(store: Store, reading: Reading) -> bool:
    """Whether the bytes of a reading lie there unchanged.

    :raises StoreError: when the store fails.
    """
    target = Target(reading.sighting.address)
    state = (await look_at(store, {target: State((reading,))}))[target]
    if state.trouble is not None:
        raise state.trouble
    return [r.sighting.sha256 for r in state.readings] == [reading.sighting.sha256]


async def _expand(
    store: Store, targets: Mapping[Target, State]
) -> tuple[dict[Target, Sequence[Address]], dict[Target, StoreError]]:
    """The addresses that each target stands for now."""
    names: dict[Target, Sequence[Address]] = {}
    troubles: dict[Target, StoreError] = {}

    async def expand(target: Target) -> None:
        try:
            names[target] = await _matches(store, target)
        except StoreError as error:
            troubles[target] = error

    patterns = []
    for target in targets:
        if target.pattern is None:
            names[target] = [target.address]
        else:
            patterns.append(target)
    if patterns:
        await each(patterns, expand)
    return names, troubles


def _unlisted(before: State, error: StoreError) -> State:
    """A folder that does not exist yet is nothing unusual: its markers are absent."""
    if isinstance(error, Absent):
        return State(reason=error.reason)
    return State(before.readings, trouble=error)


async def _matches(store: Store, target: Target) -> list[Address]:
    try:
        found = await store.listing(target.address, pattern=target.pattern, limit=_MAX_MATCHES)
    except LastingTrouble as error:
        raise LastingTrouble(target.text, error.reason) from None
    addresses = []
    for name in sorted(found):
        try:
            addresses.append(target.address.at(name))
        except UnsafePath:
            continue  # a name that no partner of ours could have listed either
    return addresses


async def _state(
    target: Target,
    addresses: Sequence[Address],
    looks: Mapping[Address, Look | StoreError],
    known: Mapping[Address, Reading],
    before: State,
) -> State:
    readings, reason = [], "nothing matches the pattern" if target.pattern else ""
    for address in addresses:
        look = looks[address]
        if isinstance(look, Refused) and target.pattern is not None:
            reason = f"{address.name}: {look.reason}"  # a link or a pipe is no marker
            continue
        if isinstance(look, StoreError):
            return State(before.readings, trouble=look)
        if look.sighting is None:
            reason = look.reason
        elif look.data is None:
            readings.append(Reading(look.sighting, known[address].found))
        else:
            readings.append(Reading(look.sighting, await _parse(look.data, address.name)))
    return State(tuple(readings), "" if readings else reason)


async def _parse(data: bytes, name: str) -> Marker | UnreadableMarker:
    if len(data) <= _PARSE_HERE_BYTES:
        return _read(data, name)
    return await to_thread.run_sync(_read, data, name)


def _read(data: bytes, name: str) -> Marker | UnreadableMarker:
    try:
        return read_marker(data, name=name)
    except UnreadableMarker as report:
        return report
