"""Reading a resource in one state, and on from where a connection broke."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio

from ._access import HttpAccess
from ._address import Address
from ._errors import Changed, LastingTrouble, PassingTrouble
from ._http_client import HttpAnswer
from ._http_codings import coding_of, decoded
from ._http_errors import error_of_answer
from ._http_headers import State, content_range, state_of
from ._http_requests import Requests
from ._values import Pin

__all__ = ["Reading"]

_ATTEMPTS = 3
"""So many times in a row a connection may break without having brought a byte."""
_MAX_RESUMED = 100
_PAUSE_SECONDS = 0.5
_MAX_PAUSE_SECONDS = 30.0
_MAX_SKIPPED = 256 << 20
"""So many bytes are read and dropped before the first that is wanted, where a server gives no ranges."""


class Reading:
    """One reading of one resource.

    What is read are its bytes as they are stored: a body that comes encoded though it was not asked for so
    is decoded, and a file that is compressed is not.

    :param pin: read this state only.
    :param start: first byte.
    :param stop: the byte before which to end; ``None`` reads to the end.
    :ivar state: which state is read, once bytes have come.
    :ivar position: of the next byte.
    """

    def __init__(
        self,
        requests: Requests,
        access: HttpAccess,
        address: Address,
        *,
        pin: Pin | None = None,
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        self._requests = requests
        self._access = access
        self._address = address
        self._pin = pin
        self._stop = stop
        self._start = start
        self._ranges = True
        self._asked_range = False
        self._resumed = 0
        self._total: int | None = None
        self.state: State | None = None
        self.position = start

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The bytes.

        :raises Changed: when it is not the pinned state, or becomes another one.
        :raises StoreError: sorted.
        """
        broken = 0
        while self._left is None or self._left > 0:
            before = self.position
            try:
                async with aclosing(self._once()) as chunks:
                    async for chunk in chunks:
                        self.position += len(chunk)
                        yield chunk
            except Changed:
                raise
            except PassingTrouble as error:
                broken = 0 if self.position > before else broken + 1
                await self._pause(error, broken)
                continue
            if self._total is None or not before < self.position < self._total:
                return  # servers may give less than was asked for, and the rest when it is asked for

    async def _pause(self, error: PassingTrouble, broken: int) -> None:
        """Let the server recover before the rest is asked for.

        :raises PassingTrouble: the error, when the rest of another answer is not sure to fit what was
            handed over, or the server has broken off too often: only the caller can begin anew.
        """
        self._resumed += 1
        seconds = max(_PAUSE_SECONDS * (broken + 1), error.retry_after or 0.0)
        hopeless = broken >= _ATTEMPTS or self._resumed > _MAX_RESUMED or seconds > _MAX_PAUSE_SECONDS
        if hopeless or self.state is None or not self.state.strong:
            raise error
        await anyio.sleep(seconds)

    @property
    def _left(self) -> int | None:
        return None if self._stop is None else self._stop - self.position

    async def _once(self) -> AsyncGenerator[bytes, None]:
        """The bytes of one answer, from the position on."""
        within = self._access.connect_timeout + self._access.read_timeout
        async with self._requests.ask("GET", self._address, self._conditions(), within=within) as answer:
            if answer.status == 416 and self._asked_range and not coding_of(answer):
                self._check_end(answer)
                return
            if answer.status not in (200, 206, 416):
                raise error_of_answer(answer, self._address.uri, self._access)
            self._check_state(answer)
            self._ranges = self._ranges and not coding_of(answer)  # ranges would be of the encoded bytes
            if answer.status == 200 or self._is_wanted(answer):
                async with aclosing(self._cut(answer)) as chunks:
                    async for chunk in chunks:
                        yield chunk
                return
            if not self._asked_range:
                raise LastingTrouble(self._address.uri, "the server talks of a range that was not asked for")
        self._ranges = False
        async with aclosing(self._once()) as chunks:
            async for chunk in chunks:
                yield chunk

    def _conditions(self) -> list[tuple[str, str]]:
        headers = []
        pin = self._pin if self.state is None else self.state.pin
        if pin is not None and pin.etag is not None and not pin.etag.startswith("W/"):
            headers.append(("if-match", pin.etag))  # a weak one would never match
        self._asked_range = self._ranges and (self.position > 0 or self._stop is not None)
        if self._asked_range:
            last = "" if self._stop is None else self._stop - 1
            headers.append(("range", f"bytes={self.position}-{last}"))
        return headers

    def _check_state(self, answer: HttpAnswer) -> None:
        found = state_of(answer)
        known = self._pin if self.state is None else self.state.pin
        if not found.is_pinned_by(known):
            when = "since it was seen" if self.state is None else "while it was read"
            raise Changed(self._address.uri, f"it was replaced or changed {when}")
        self.state = found

    def _check_end(self, answer: HttpAnswer) -> None:
        """The server says that nothing lies at the position: that must be the end, not another state."""
        if answer.header("etag") is not None:
            self._check_state(answer)
        span = content_range(answer)
        shorter = span is not None and span.total is not None and span.total < self.position
        if self.position > self._start and shorter:
            raise Changed(self._address.uri, "it became shorter while it was read")

    def _is_wanted(self, answer: HttpAnswer) -> bool:
        """Whether a range is the one that was asked for, of the bytes as they are stored."""
        span = content_range(answer)
        if span is None or span.start != self.position or not (self._asked_range and self._ranges):
            return False
        self._total = span.total
        return True

    async def _cut(self, answer: HttpAnswer) -> AsyncGenerator[bytes, None]:
        """Of the body what is wanted: a server that gives no ranges sends the whole."""
        skip = self.position if answer.status == 200 else 0
        if skip > _MAX_SKIPPED:
            text = f"the server gives no ranges, and {skip} bytes are too many to read for nothing"
            kind = PassingTrouble if self.position > self._start else LastingTrouble
            raise kind(self._address.uri, text)
        self._total = self._total if answer.status == 206 else None
        left = self._left
        async with aclosing(decoded(answer, self._address.uri)) as pieces:
            async for piece in pieces:
                wanted = piece[skip:] if left is None else piece[skip : skip + left]
                skip = max(0, skip - len(piece))
                if not wanted:
                    continue
                left = None if left is None else left - len(wanted)
                yield wanted
                if left == 0:
                    return
