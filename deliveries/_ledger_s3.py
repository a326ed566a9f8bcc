"""A ledger in a bucket: one object for each dataset and interval, replaced by conditional writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any, TypeVar

from airflow_landmark.markers import Interval, Taken
from airflow_landmark.stores import (
    InvalidAccess,
    InvalidAddress,
    LastingTrouble,
    StoreError,
    WritableStore,
    open_store,
    parse_uri,
)

from ._access import Way, reach
from ._errors import AccessTrouble, Unavailable
from ._ledger import Entry, Held, LedgerEvent, LedgerWord
from ._ledger_keys import check_dataset
from ._ledger_objects import Objects
from ._ledger_probe import probe
from ._ledger_rules import after_claim, after_commit, after_release, held_by
from ._run import run
from ._stamp import Stamp

__all__ = ["S3Ledger"]

ResultT = TypeVar("ResultT")


class S3Ledger:
    """A ledger in an S3 bucket that keeps conditional writes: of two claimants, the bucket lets one win.

    A local folder is no place for it: file systems that cannot lock would let both win. On one machine,
    take an SQLite file.

    :param uri: ``s3://bucket/prefix/``; nothing else should lie there.
    :param conn_id: the connection with the credentials; ``None`` takes the environment's.
    :param options: settings by name, which win over the connection's.
    :raises ValueError: when the URI names no folder of a bucket, or an option is none.
    """

    def __init__(
        self, uri: str, *, conn_id: str | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        place = parse_uri(uri, folder=True)
        if place.scheme != "s3":
            text = "a ledger of objects lies in a bucket, s3://bucket/prefix/; on one machine take SQLite"
            raise InvalidAddress(place.uri, text)
        Way(conn_id, {} if options is None else options).check(place.scheme)
        self._uri = place.uri
        self._conn_id = conn_id
        self._options = dict(options or {})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._uri!r}, conn_id={self._conn_id!r})"

    def __str__(self) -> str:
        return self._uri

    def taken(self, dataset: str, interval: Interval) -> Taken | None:
        """See :class:`Ledger`."""
        entry = self.entry(dataset, interval)
        return Taken(entry.taken.version, entry.taken.identity) if entry and entry.taken else None

    def claim(self, stamp: Stamp, owner: str) -> None:
        """See :class:`Ledger`."""
        self._change(stamp, owner, after_claim, "claimed")

    def commit(self, stamp: Stamp, owner: str) -> None:
        """See :class:`Ledger`."""
        self._change(stamp, owner, after_commit, "taken")

    def release(self, stamp: Stamp, owner: str) -> None:
        """See :class:`Ledger`."""
        self._change(stamp, owner, after_release, "released")

    def entry(self, dataset: str, interval: Interval) -> Entry | None:
        """See :class:`ReadableLedger`."""
        check_dataset(dataset)
        document, seen = self._with(lambda objects: objects.read(dataset, interval))
        return None if seen is None else document.entry

    def entries(self, dataset: str | None = None, *, limit: int = 1000) -> Sequence[Entry]:
        """See :class:`ReadableLedger`."""
        if dataset is not None:
            check_dataset(dataset)
        return self._with(lambda objects: objects.listed(dataset, limit=limit))

    def history(self, dataset: str, interval: Interval, *, limit: int = 1000) -> Sequence[LedgerEvent]:
        """See :class:`ReadableLedger`. At most the last 50 events are kept."""
        check_dataset(dataset)
        document, _ = self._with(lambda objects: objects.read(dataset, interval))
        return document.history[-limit:]

    def create(self) -> str:
        """Check that the bucket refuses conditional writes that come late; says what was seen.

        :raises AccessTrouble: when it does not, or may not be written to.
        """
        return self._with(lambda objects: probe(objects.store, objects.folder))

    def _change(
        self, stamp: Stamp, owner: str, rule: Callable[[Entry, Held], Entry], word: LedgerWord
    ) -> None:
        wanted = held_by(stamp, owner, at=datetime.now(tz=timezone.utc))
        subject = (stamp.dataset, stamp.interval)
        self._with(lambda objects: objects.change(subject, wanted, rule, word))

    def _with(self, work: Callable[[Objects], Awaitable[ResultT]]) -> ResultT:
        async def opened() -> ResultT:
            access = await reach(self._uri, conn_id=self._conn_id, options=self._options)
            folder = parse_uri(self._uri, folder=True, access=access)
            async with open_store(folder) as store:
                if not isinstance(store, WritableStore):
                    raise AccessTrouble(self._uri, "configuration", "this store cannot be written to")
                return await work(Objects(store, folder))

        with _sorted_trouble(self._uri):
            return run(opened)


@contextmanager
def _sorted_trouble(uri: str) -> Iterator[None]:
    """Trouble of the store as one of this room's errors."""
    try:
        yield
    except InvalidAccess as error:
        raise AccessTrouble(uri, "configuration", str(error)) from None
    except LastingTrouble as error:
        raise AccessTrouble(uri, "access", str(error)) from None
    except StoreError as error:
        raise Unavailable(uri, "trouble", str(error)) from None
