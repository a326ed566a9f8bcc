"""How one wait takes part in the watch."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import anyio
from anyio.lowlevel import RunVar

from airflow_landmark.markers import Marker
from airflow_landmark.stores import Address, Store, open_store

from ._clock import Clock
from ._entry import Subscription
from ._presence import Presence, check_presence
from ._target import State, Target
from ._watch import Watch

__all__ = ["View", "watching"]


class View:
    """What one wait sees, and may ask of the watch."""

    def __init__(self, watch: Watch, subscription: Subscription) -> None:
        self._watch = watch
        self._subscription = subscription

    @property
    def state(self) -> State:
        """What the last look found."""
        return self._subscription.entry.state

    @property
    def looks(self) -> int:
        """How many looks have served this wait."""
        return self._subscription.looks

    @property
    def looks_alike(self) -> int:
        """How many of them in a row found the present state."""
        return min(self._subscription.entry.looks_alike, self.looks)

    @property
    def looked_at(self) -> datetime | None:
        """When the last look was made."""
        return self._subscription.entry.looked_at

    async def news(self, *, seconds: float | None, every_look: bool = False) -> bool:
        """Wait for a look that this wait has to judge.

        :param seconds: at most so long; ``None`` waits for ever.
        :returns: whether one came.
        :raises RuntimeError: when the watch has failed.
        """
        self._subscription.every_look = every_look
        came = await self._watch.clock.wait(self._subscription.wake, seconds)
        self._subscription.wake.clear()
        if self._watch.failure is not None:
            raise RuntimeError("the watch has ended by a defect") from self._watch.failure
        return came

    def look_soon(self) -> bool:
        """Ask for one more look, unless the last one was made within half the interval."""
        entry = self._subscription.entry
        if self._watch.clock.monotonic() - entry.looked < entry.poll_interval / 2:
            return False
        self._watch.look_soon(entry)
        return True

    async def presence(self, address: Address, marker: Marker) -> Presence:
        """Whether the files of the marker are there: asked once for all waits that see the same look.

        :raises StoreError: when the store fails.
        """
        return await self._subscription.entry.presence(
            marker.identity, lambda: check_presence(self._watch.store, address, marker)
        )


class _Shared:
    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.users = 0


_WATCHES: RunVar[dict[tuple[str, str], _Shared]] = RunVar("landmark_watches")


@asynccontextmanager
async def watching(target: Target, *, poll_interval: float, clock: Clock) -> AsyncIterator[View]:
    """Wait for a target together with everybody else of this event loop.

    The last one to leave ends the loop and closes the store.

    :param poll_interval: seconds between looks.
    :raises StoreError: when the store cannot be opened.
    """
    async with open_store(target.address) as store:
        shared = _shared_watch(target.address, store, clock)
        shared.users += 1
        subscription = shared.watch.subscribe(target, poll_interval)
        try:
            yield View(shared.watch, subscription)
        finally:
            shared.watch.unsubscribe(subscription)
            shared.users -= 1
            if not shared.users:
                watches = _WATCHES.get()
                if watches.get(_key(target.address)) is shared:
                    del watches[_key(target.address)]
                with anyio.CancelScope(shield=True):
                    await shared.watch.aclose()


def _shared_watch(address: Address, store: Store, clock: Clock) -> _Shared:
    watches = _WATCHES.get({})
    _WATCHES.set(watches)
    key = _key(address)
    if key not in watches or watches[key].watch.failure is not None:
        watches[key] = _Shared(Watch(store, clock))
    return watches[key]


def _key(address: Address) -> tuple[str, str]:
    return address.scheme, address.authority
