"""Many keys of a bucket, told of by few pages of its listing.

A page that starts just before a wanted key settles every key up to its own last one: what is not on it is
absent. Then the next page starts just before the next key that is not settled, so that never more pages are
read than keys are wanted, and what lies between them is skipped. A page costs about as much time in this
process as ten requests for single objects; keys whose page settled fewer are left to single requests for a
while. What pays is learnt so for each key, and nobody has to say it.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ._address import Address
from ._errors import PassingTrouble, StoreError
from ._s3_client import S3Connection
from ._s3_errors import DENIED, status_of
from ._s3_page import Listed, Page, page_of

__all__ = ["Sweeps", "Swept"]

_WORTH = 8
"""A page that settles fewer keys is not worth it."""
_ROUNDS = 60
"""For so many rounds what was not worth it is not tried again."""
_CLOSED_SECONDS = 900.0
_MAX_WASTED = 4
"""So many pages in a row may be not worth it before a round ends with single requests."""
_MAX_REFUSED = 4
_MAX_REMEMBERED = 200_000
_MAX_BUCKETS = 1_000
_MAX_KEY_BYTES = 1_024
_UNORDERED = "--x-s3"
"""The end of the names of directory buckets, whose listings are in no order."""


@dataclass
class Swept:
    """What pages told.

    :ivar settled: key to what is told of it, ``None`` for an absent one.
    :ivar trouble: what ended the sweep; the keys that are not settled should be left alone for now.
    """

    settled: dict[str, Listed | None] = field(default_factory=dict)
    trouble: PassingTrouble | None = None


@dataclass
class _Learned:
    """What is known of listings of one bucket.

    :ivar sparse: keys that are left to single requests, and for how many rounds.
    :ivar closed: prefixes that may not be listed, and until when that is believed.
    """

    sparse: dict[str, int] = field(default_factory=dict)
    closed: dict[str, float] = field(default_factory=dict)
    unordered: bool = False

    def dense(self, keys: Iterable[str]) -> list[str]:
        """Those of the keys for which a page may be worth it."""
        return [key for key in keys if key not in self.sparse]

    def note_sparse(self, keys: Sequence[str]) -> None:
        """Leave the keys to single requests for a while."""
        self.sparse.update(dict.fromkeys(keys, _ROUNDS))
        while len(self.sparse) > _MAX_REMEMBERED:
            del self.sparse[next(iter(self.sparse))]

    def close(self, prefix: str) -> None:
        """List this prefix no more for a while."""
        self.closed[prefix] = time.monotonic() + _CLOSED_SECONDS

    def is_closed(self, prefix: str) -> bool:
        """Whether listing this prefix, or one that it holds, was refused."""
        return any(closed.startswith(prefix) for closed in self.closed)

    def count_round(self, keys: Iterable[str]) -> None:
        """Another round in which these keys were wanted."""
        for key in keys:
            left = self.sparse.pop(key, 0) - 1
            if left > 0:
                self.sparse[key] = left
        now = time.monotonic()
        self.closed = {prefix: until for prefix, until in self.closed.items() if now < until}


class Sweeps:
    """Sweeps over the buckets of a store, and what was learnt by them."""

    def __init__(self, connection: S3Connection) -> None:
        self._connection = connection
        self._learned: OrderedDict[str, _Learned] = OrderedDict()

    async def sweep(self, place: Address, wanted: Collection[str], also: Collection[str] = ()) -> Swept:
        """Settle as many of the keys as listings settle at less cost than single requests.

        :param place: an address in the bucket.
        :param wanted: keys; those that are not settled have to be asked for singly.
        :param also: keys that may be settled on the way.
        """
        learned = self._of(place.authority)
        learned.count_round(wanted)
        swept = Swept()
        if not learned.unordered and not place.authority.endswith(_UNORDERED):
            run = _Sweep(self._connection, place, learned, swept)
            await run.over(sorted(learned.dense(wanted)), sorted(learned.dense(also)))
        return swept

    def _of(self, bucket: str) -> _Learned:
        learned = self._learned.setdefault(bucket, _Learned())
        self._learned.move_to_end(bucket)
        while len(self._learned) > _MAX_BUCKETS:
            self._learned.popitem(last=False)
        return learned


class _Sweep:
    """One sweep over one bucket. Keys are sorted by code points, which is the order of their UTF-8 bytes."""

    def __init__(self, connection: S3Connection, place: Address, learned: _Learned, swept: Swept) -> None:
        self._connection = connection
        self._place = place
        self._learned = learned
        self._swept = swept
        self._wasted = 0
        self._refused = 0

    async def over(self, wanted: list[str], also: list[str]) -> None:
        """Read pages while they are worth it."""
        while wanted and not self._is_over():
            also = also[bisect_left(also, wanted[0]) :]
            if len(wanted) + len(also) < _WORTH:
                return
            prefix = _common_start(wanted[0], max(wanted[-1:] + also[-1:]))
            if self._learned.is_closed(prefix):
                await self._narrower(prefix, wanted, also)
                return
            page = await self._page(prefix, wanted[0])
            if page is not None:
                wanted, also = self._settle(page, wanted, also)

    def _is_over(self) -> bool:
        ended = self._swept.trouble is not None or self._learned.unordered
        return ended or self._wasted >= _MAX_WASTED or self._refused >= _MAX_REFUSED

    async def _narrower(self, prefix: str, wanted: list[str], also: list[str]) -> None:
        """Where the common prefix may not be listed, the folders below it may be."""
        folders: dict[str, tuple[list[str], list[str]]] = {}
        for keys, place in ((wanted, 0), (also, 1)):
            for key in keys:
                if end := key.find("/", len(prefix)) + 1:
                    folders.setdefault(key[:end], ([], []))[place].append(key)
        for below, near in folders.values():
            await self.over(below, near)

    async def _page(self, prefix: str, first: str) -> Page | None:
        """A page from just before the first key; ``None`` when there is none to be had."""
        parameters = {"Prefix": prefix, "StartAfter": just_before(first)}
        try:
            answer = await self._connection.call("list_objects_v2", self._place, parameters, accept=DENIED)
            if status_of(answer) < 300:
                return self._ordered(page_of(self._place, answer), prefix, parameters["StartAfter"])
            self._refused += 1
        except PassingTrouble as trouble:
            self._swept.trouble = trouble
            return None
        except StoreError:
            self._refused = _MAX_REFUSED  # single requests tell this trouble better
        self._learned.close(prefix)
        return None

    def _ordered(self, page: Page, prefix: str, after: str) -> Page | None:
        """The page, unless its order is not the one that absence is told by."""
        ordered = all(one < other for one, other in pairwise([after, *page.keys]))
        if ordered and all(key.startswith(prefix) for key in page.keys) and (page.keys or page.token is None):
            return page
        self._learned.unordered = True
        return None

    def _settle(self, page: Page, wanted: list[str], also: list[str]) -> tuple[list[str], list[str]]:
        """Note what the page tells, and return the keys that are left."""
        last = next(reversed(list(page.keys))) if page.token is not None else None
        here = bisect_right(wanted, last) if last is not None else len(wanted)
        near = bisect_right(also, last) if last is not None else len(also)
        for key in (*wanted[:here], *also[:near]):
            self._swept.settled[key] = page.keys.get(key)
        if here + near >= _WORTH:
            self._wasted = 0
            return wanted[here:], also[near:]
        # Keys beside these will hardly fare better: leave out more and more of them.
        skipped = max(here, 1) + (_WORTH << self._wasted)
        self._wasted += 1
        self._learned.note_sparse(wanted[:skipped])
        return wanted[skipped:], also


def _common_start(one: str, other: str) -> str:
    length = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    return one if length is None else one[:length]


def just_before(key: str) -> str:
    """A text after which this key comes, and hardly another before it."""
    before = ord(key[-1]) - 1
    printable = before > 0x20 and not 0xD800 <= before <= 0xDFFF
    close = f"{key[:-1]}{chr(before)}~" if printable else key[:-1]
    return close if len(close.encode()) <= _MAX_KEY_BYTES else key[:-1]
