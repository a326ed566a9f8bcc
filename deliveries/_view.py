"""How one wait takes part in the watch."""

from __future__ import annotations

from collections.abc import Awaitable, Hashable
from datetime import datetime
from types import TracebackType

import anyio
from anyio.lowlevel import RunVar

from airflow_landmark.markers import Marker
from airflow_landmark.stores import Address, Store, open_store, store_key

from ._clock import Clock
from ._entry import Subscription
from ._presence import Presence, check_presence
from ._target import State, Target
from ._watch import Watch

__all__ = ["View", "watching"]


class View:
    """What one wait sees, and may ask of the watch."""

    __slots__ = ("_subscription", "_watch")

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

    def news(self, *, seconds: float | None, every_look: bool = False) -> Awaitable[bool]:
        """Wait for a look that this wait has to judge; whether one came. ``heard`` comes after it.

        Not async itself: every wait spends its life in here.

        :param seconds: at most so long; ``None`` waits for ever.
        """
        self._subscription.every_look = every_look
        return self._watch.clock.wait(self._subscription.wake, seconds)

    def heard(self) -> None:
        """Take note of the news: the next ones are those of a later look.

        :raises RuntimeError: when the watch has failed.
        """
        self._subscription.wake.clear()
        if self._watch.failure is not None:
            raise RuntimeError("the watch has ended by a defect") from self._watch.failure

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


_WATCHES: RunVar[dict[Hashable, _Shared]] = RunVar("landmark_watches")


class watching:  # noqa: N801 - used like a function
    """Wait for a target together with everybody else of this event loop: ``async with watching(...)``.

    The last one to leave ends the loop and closes the store. A class, since every wait holds one: as a
    decorated generator it would take three times the memory.

    :param poll_interval: seconds between looks.
    :raises StoreError: when the store cannot be opened.
    """

    __slots__ = ("_address", "_ask", "_opened", "_shared", "_subscription")

    def __init__(self, target: Target, *, poll_interval: float, clock: Clock) -> None:
        self._address = target.address
        self._opened = open_store(target.address)
        self._ask = (target, poll_interval, clock)

    async def __aenter__(self) -> View:
        store = await self._opened.__aenter__()
        target, poll_interval, clock = self._ask
        del self._ask
        self._shared = _shared_watch(self._address, store, clock)
        self._shared.users += 1
        self._subscription = self._shared.watch.subscribe(target, poll_interval)
        return View(self._shared.watch, self._subscription)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._leave()
        finally:
            await self._opened.__aexit__(kind, error, trace)

    async def _leave(self) -> None:
        shared = self._shared
        shared.watch.unsubscribe(self._subscription)
        shared.users -= 1
        if not shared.users:
            watches = _WATCHES.get()
            if watches.get(store_key(self._address)) is shared:
                del watches[store_key(self._address)]
            with anyio.CancelScope(shield=True):
                await shared.watch.aclose()


def _shared_watch(address: Address, store: Store, clock: Clock) -> _Shared:
    watches = _WATCHES.get({})
    _WATCHES.set(watches)
    key = store_key(address)
    if key not in watches or watches[key].watch.failure is not None:
        watches[key] = _Shared(Watch(store, clock))
    return watches[key]
