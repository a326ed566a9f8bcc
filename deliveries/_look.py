"""One look at any number of targets of one store: seen, read once, parsed once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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

from ._foreign import look_at_tail, read_foreign
from ._parallel import each
from ._target import Form, Reading, State, Target

__all__ = ["look_at", "still_there"]

_MAX_MATCHES = 200
"""How many markers a pattern may match."""
_PARSE_HERE_BYTES = 16 * 1024
"""Larger documents are parsed in a thread: 16 KiB take about a millisecond."""


async def look_at(
    store: Store, before: Mapping[Target, State], *, also: Mapping[Target, State] | None = None
) -> dict[Target, State]:
    """The new state of each target.

    :param before: each target's last state; an empty one for a first look.
    :param also: the same of targets that are due soon: they are in the result where that cost nothing.
    """
    names, troubles = await _expand(store, before)
    soon = {t: state for t, state in (also or {}).items() if t.pattern is None}
    known = {r.sighting.address: r for s in (*before.values(), *soon.values()) for r in s.readings}

    def last(addresses: Iterable[Address]) -> dict[Address, Sighting | None]:
        return {a: known[a].sighting if a in known else None for a in addresses}

    ends = {a: t.form.format.tail_bytes for t, addresses in names.items() for a in addresses}
    wanted = last(a for a, tail in ends.items() if tail is None)
    free = last(t.address for t in soon if not t.form.foreign)
    looks = dict(await store.look_many(wanted, also=free)) if wanted else {}
    states = {target: _unlisted(before[target], error) for target, error in troubles.items()}
    foreign = []
    for target, addresses in names.items():
        if target.form.foreign:
            foreign.append(target)
        else:
            states[target] = await _state(target, addresses, looks, known, before[target])
    for target, state in soon.items():
        if target.address in looks:
            states[target] = await _state(target, [target.address], looks, known, state)

    async def read(target: Target) -> None:
        look = _Foreign(store, target, looks, known)
        states[target] = await look.state(names[target], before[target])

    if foreign:
        await each(foreign, read)
    return states


async def still_there(store: Store, reading: Reading, form: Form) -> bool:
    """Whether the documents of a reading lie there unchanged.

    :param form: in which they were read.
    :raises StoreError: when the store fails.
    """
    target = Target(reading.sighting.address, form=form)
    state = (await look_at(store, {target: State((reading,))}))[target]
    if state.trouble is not None:
        raise state.trouble
    return [r.found.identity for r in state.readings] == [reading.found.identity]


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
    readings, reason = [], _no_match(target)
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


class _Foreign:
    """The state of one target of a foreign format."""

    def __init__(
        self,
        store: Store,
        target: Target,
        looks: Mapping[Address, Look | StoreError],
        known: Mapping[Address, Reading],
    ) -> None:
        self._store = store
        self._target = target
        self._looks = looks
        self._known = known

    async def state(self, addresses: Sequence[Address], before: State) -> State:
        """What the documents say now; trouble with one of them is trouble with the target."""
        readings, reason = [], _no_match(self._target)
        for address in addresses:
            try:
                look = await self._look(address)
                reading = await read_foreign(self._store, look, self._known.get(address), self._target.form)
            except StoreError as error:
                if isinstance(error, Refused) and self._target.pattern is not None:
                    reason = f"{address.name}: {error.reason}"
                    continue
                return State(before.readings, trouble=error)
            if reading is None:
                reason = look.reason
            else:
                readings.append(reading)
        return State(tuple(readings), "" if readings else reason)

    async def _look(self, address: Address) -> Look:
        tail = self._target.form.format.tail_bytes
        if tail is not None:
            known = self._known.get(address)
            return await look_at_tail(self._store, address, tail, known.sighting if known else None)
        look = self._looks[address]
        if isinstance(look, StoreError):
            raise look
        return look


def _no_match(target: Target) -> str:
    return "nothing matches the pattern" if target.pattern else ""


async def _parse(data: bytes, name: str) -> Marker | UnreadableMarker:
    if len(data) <= _PARSE_HERE_BYTES:
        return _read(data, name)
    return await to_thread.run_sync(_read, data, name)


def _read(data: bytes, name: str) -> Marker | UnreadableMarker:
    try:
        return read_marker(data, name=name)
    except UnreadableMarker as report:
        return report
