"""Who may send a request now: a bounded number, of which those that wait for an answer take few."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from types import TracebackType

__all__ = ["Room", "Slots"]

_PATIENCE_SECONDS = 2.0
"""A request that has no answer by then is late."""
_LATE_IN_A_ROW = 4
"""So many late requests at an origin, and none in time between them, make the origin late."""
_MAX_REMEMBERED = 10_000


class Room:
    """Room for so many; those of anyio and asyncio take a turn of the loop even where there is room.

    :ivar free: how many more there is room for.
    """

    __slots__ = ("_waiting", "free", "size")

    def __init__(self, size: int) -> None:
        self.size = self.free = size
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait for room, first come, first served."""
        if self.take_now():
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self.give()  # it was given to one who is cancelled
            raise

    def take_now(self) -> bool:
        """Take room if there is some."""
        if self.free:
            self.free -= 1
            return True
        return False

    def give(self) -> None:
        """Give it back, to who waits longest."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1


class _Kind:
    """Room for requests of one kind: for all together, and for each origin three quarters of that."""

    def __init__(self, size: int) -> None:
        self.all = Room(size)
        self.share = max(1, size * 3 // 4)


class _Origin:
    """What one origin takes of the room."""

    __slots__ = ("late", "late_in_a_row", "prompt", "users")

    def __init__(self, slots: Slots) -> None:
        self.prompt = Room(slots.prompt.share)
        self.late = Room(slots.late.share)
        self.late_in_a_row = 0
        self.users = 0


class Slots:
    """Lets so many requests be in flight at once, and keeps those that are late apart.

    A request that turns late moves to one of the few slots for late ones, if there is room, and so does
    the next one for the same thing from its start, or for the same origin when it answers nobody in time.
    No origin takes all of either kind. So a place that does not answer holds up no other one for longer
    than a moment. While half of the other slots are free, late requests may use them, too.

    :param prompt: how many may be in flight.
    :param late: how many more while they are late.
    """

    def __init__(self, *, prompt: int, late: int) -> None:
        self.prompt = _Kind(prompt)
        self.late = _Kind(late)
        self._origins: dict[str, _Origin] = {}
        self._late_things: dict[Hashable, None] = {}

    def hold(self, origin: str, thing: Hashable) -> _Slot:
        """A slot for one request: a context.

        :param origin: whom it asks.
        :param thing: what for.
        """
        return _Slot(self, origin, thing)

    def is_late(self, origin: str, thing: Hashable) -> bool:
        """Whether a request is likely to be answered late."""
        known = self._origins.get(origin)
        return thing in self._late_things or (known is not None and known.late_in_a_row >= _LATE_IN_A_ROW)

    def origin(self, name: str) -> _Origin:
        """The origin's own room."""
        known = self._origins.get(name)
        if known is None:
            known = self._origins[name] = _Origin(self)
            if len(self._origins) > _MAX_REMEMBERED:
                self._origins = {n: origin for n, origin in self._origins.items() if origin.users}
        return known

    def rooms_for(self, origin: _Origin, *, late: bool) -> tuple[Room, Room]:
        """Where such a request has to queue: first among those of its origin, then among all."""
        spare = self.prompt.all.free > self.prompt.all.size / 2
        if late and not (spare and not origin.late.free):
            return origin.late, self.late.all
        return origin.prompt, self.prompt.all

    def note(self, origin: _Origin, thing: Hashable, *, late: bool) -> None:
        """Remember how it went."""
        if not late:
            self._late_things.pop(thing, None)
            origin.late_in_a_row = 0
            return
        origin.late_in_a_row += 1
        self._late_things[thing] = None
        if len(self._late_things) > _MAX_REMEMBERED:
            del self._late_things[next(iter(self._late_things))]


class _Slot:
    """One request's place."""

    __slots__ = ("_held", "_name", "_origin", "_slots", "_thing", "_timer", "_was_late")

    def __init__(self, slots: Slots, name: str, thing: Hashable) -> None:
        self._slots = slots
        self._name = name
        self._thing = thing
        self._was_late = False
        self._held: tuple[Room, ...] = ()

    async def __aenter__(self) -> None:
        slots = self._slots
        self._origin = origin = slots.origin(self._name)
        origin.users += 1
        try:
            while True:
                late = slots.is_late(self._name, self._thing)
                for room in slots.rooms_for(origin, late=late):
                    await room.take()
                    self._held = (*self._held, room)
                if late or not slots.is_late(self._name, self._thing):
                    break
                self._give_back()  # it turned late while it queued behind its like
        except BaseException:
            self._give_back()
            origin.users -= 1
            raise
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE_SECONDS, self._look_once_more)

    def _give_back(self) -> None:
        held, self._held = self._held, ()
        for room in held:
            room.give()

    def _look_once_more(self) -> None:
        """Late, unless the loop stood still and the answer waits to be read."""
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE_SECONDS / 8, self._turn_late)

    def _turn_late(self) -> None:
        self._was_late = True
        self._slots.note(self._origin, self._thing, late=True)
        own, all_ = self._origin.late, self._slots.late.all
        if own in self._held or not (own.free and all_.free):
            return
        own.take_now()
        all_.take_now()
        self._give_back()
        self._held = own, all_

    async def __aexit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._give_back()
        self._origin.users -= 1
        if not self._was_late and (kind is None or issubclass(kind, Exception)):
            self._slots.note(self._origin, self._thing, late=False)
