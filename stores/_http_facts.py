"""Size and pin of a resource, by the cheapest request that its server answers."""

from __future__ import annotations

from contextlib import aclosing

import anyio

from ._access import HttpAccess
from ._address import Address
from ._errors import LastingTrouble
from ._http_client import HttpAnswer
from ._http_codings import coding_of, decoded
from ._http_credentials import origin_of
from ._http_errors import error_of_answer
from ._http_headers import content_range, state_of, whole
from ._http_requests import Ask, Requests
from ._values import Facts

__all__ = ["FactsFinder"]

_HEAD, _ONE_BYTE, _WHOLE = range(3)
_REFUSALS = frozenset({400, 403, 405, 501})
"""How servers refuse a method or a range that they do not know. They may refuse the resource, too."""
_MAX_ORIGINS = 1000
_COUNT_SECONDS = 120.0
"""How long the bytes of a resource are counted when no header tells their number."""


class FactsFinder:
    """Asks by HEAD; where that is refused, for one byte; where that is, for the whole, which is dropped.

    What an origin refuses is remembered while the store is open, once it has answered the next way.
    """

    def __init__(self, requests: Requests, access: HttpAccess) -> None:
        self._requests = requests
        self._access = access
        self._ways: dict[str, int] = {}

    def refuses_head(self, address: Address) -> bool:
        """Whether the origin is known to refuse HEAD."""
        return self._first_way(address) > _HEAD

    async def facts(self, address: Address) -> Facts:
        """Size and pin.

        :raises StoreError: sorted.
        """
        refused = False
        for way in range(self._first_way(address), _WHOLE):
            async with self._ask(way, address) as answer:
                if answer.status in _REFUSALS:
                    refused = True
                    continue
                if refused:
                    self._remember(address, way)
                found = self._told(answer, address, way) or await self._counted(answer, address, way)
            if found is not None:
                return found
        async with self._ask(_WHOLE, address) as answer:
            if refused and answer.status not in _REFUSALS:
                self._remember(address, _WHOLE)
            return self._told(answer, address, _WHOLE) or await self._count(answer, address)

    def _first_way(self, address: Address) -> int:
        return self._ways.get(origin_of(address), _HEAD)

    def _remember(self, address: Address, way: int) -> None:
        self._ways[origin_of(address)] = way
        if len(self._ways) > _MAX_ORIGINS:
            del self._ways[next(iter(self._ways))]

    def _ask(self, way: int, address: Address) -> Ask:
        method = "HEAD" if way == _HEAD else "GET"
        return self._requests.ask(method, address, [("range", "bytes=0-0")] if way == _ONE_BYTE else ())

    def _told(self, answer: HttpAnswer, address: Address, way: int) -> Facts | None:
        """What the headers say; ``None`` when they do not tell the size.

        :raises StoreError: when the answer is no success.
        """
        size = None
        if answer.status == 206 and way == _ONE_BYTE:
            span = content_range(answer)
            size = None if span is None else span.total
        elif answer.status == 200:
            size = whole(answer.header("content-length"))
        elif answer.status != 416 or way != _ONE_BYTE:  # an empty resource has no first byte
            raise error_of_answer(answer, address.uri, self._access)
        # The length of an encoded body says nothing of what it stands for.
        return None if size is None or coding_of(answer) else Facts(size, state_of(answer).pin)

    async def _counted(self, answer: HttpAnswer, address: Address, way: int) -> Facts | None:
        """The size of a whole body that came though one byte was asked for; ``None`` for any other answer."""
        return await self._count(answer, address) if (answer.status, way) == (200, _ONE_BYTE) else None

    async def _count(self, answer: HttpAnswer, address: Address) -> Facts:
        size = 0
        with anyio.move_on_after(_COUNT_SECONDS):
            async with aclosing(decoded(answer, address.uri)) as pieces:
                async for piece in pieces:
                    size += len(piece)
            return Facts(size, state_of(answer).pin)
        text = f"no header tells its size, and its bytes did not all come within {_COUNT_SECONDS:g} s"
        raise LastingTrouble(address.uri, text)
