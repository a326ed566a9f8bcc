"""Writing a delivery: hash everything, carry it where it belongs, then write the marker last."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone

from airflow_landmark.markers import (
    DEFAULT_NAME,
    Expectation,
    Manifest,
    Marker,
    format_instant,
)
from airflow_landmark.stores import (
    Access,
    Address,
    Store,
    WritableStore,
    computable,
    open_store,
    parse_uri,
)

from ._access import Way, reached
from ._errors import CannotDeliver
from ._folder import Hashed, hash_folder
from ._publish import as_document, existing_marker, put_marker, sorted_trouble
from ._report import Progress
from ._stamp import Stamp
from ._sums import SUMS_NAME, sums_document
from ._target import Target
from ._upload import upload

__all__ = ["Announced", "Announcement", "announce"]


@dataclass(frozen=True, slots=True)
class Announcement:
    """What is to be announced.

    :param expectation: dataset, interval and version (as the least version) of the new marker.
    :param name: the marker's file name.
    :param count_rows: count data records where the kind of file allows it.
    :param header_rows: records before the data in each CSV file.
    :param withdraw: recall what was delivered, rather than delivering files.
    :param allow_empty: a folder without files is meant to be one: nothing happened in the interval.
    :param producer: informative text.
    :param timezone: informative IANA name.
    :param also: what else is written, before the marker: ``"sums"`` for a list of checksums,
        ``SHA256SUMS``, as ``sha256sum`` writes and checks it.
    """

    expectation: Expectation
    name: str = DEFAULT_NAME
    count_rows: bool = False
    header_rows: int = 0
    withdraw: bool = False
    allow_empty: bool = False
    producer: str | None = None
    timezone: str | None = None
    also: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Announced:
    """What was written.

    :param stamp: of the new marker.
    :param marker: the new marker.
    :param not_counted: path to the reason why its rows are not known.
    :param uploaded: how many files were carried to the delivery's folder; those that lay there already,
        proven by the store's own digest, are left out.
    """

    stamp: Stamp
    marker: Marker
    not_counted: Mapping[str, str] = field(default_factory=dict)
    uploaded: int = 0


async def announce(
    folder: str,
    announcement: Announcement,
    *,
    source: str | None = None,
    progress: Callable[[Progress], None] | None = None,
    way: Way | None = None,
    access: Access | None = None,
) -> Announced:
    """Hash the delivery's files and write the marker that announces them.

    :param folder: absolute path or URI of the delivery's folder.
    :param source: local folder that holds the files; they are carried to the delivery's folder first.
        ``None`` announces what lies in the delivery's folder already.
    :param progress: is called as files are done, and every second meanwhile.
    :param way: how the delivery's store is reached, by name; ``None`` for the environment's settings.
    :param access: how it is reached, in place of ``way``.
    :raises CannotDeliver: when the folder cannot be announced as it is; no marker was written.
    :raises AccessTrouble: when the store refuses.
    :raises Unavailable: when the store fails.
    """
    target = Target(parse_uri(folder, folder=True, access=access))
    with sorted_trouble(folder):
        place = (await reached(target, way or Way())).address
        address = place.at(announcement.name)
        if "/" in announcement.name:
            raise CannotDeliver(folder, "name", "the marker lies directly in the folder: give a plain name")
        async with open_store(address) as store, _opened(source, store, place) as files:
            if not isinstance(store, WritableStore):
                text = "this kind of store cannot be written to: deliver on a disk or in a bucket"
                raise CannotDeliver(folder, "store", text)
            return await _Writer(store, address, announcement, files, progress).run()


@dataclass(frozen=True, slots=True)
class _Files:
    """Where the files are taken from.

    :param carried: whether that is another place than the delivery's folder.
    """

    store: Store
    place: Address
    carried: bool


@asynccontextmanager
async def _opened(source: str | None, store: Store, place: Address) -> AsyncIterator[_Files]:
    if source is None:
        yield _Files(store, place, carried=False)
        return
    origin = parse_uri(source, folder=True)
    if origin.scheme != "file":
        raise CannotDeliver(source, "source", "files are carried from a local folder only")
    if place.scheme == "file" and f"{place.path}/".startswith(f"{origin.path.rstrip('/')}/"):
        raise CannotDeliver(source, "source", f"the delivery's folder lies in it: {place.uri}")
    async with open_store(origin) as files:
        yield _Files(files, origin, carried=True)


class _Writer:
    """One announcement."""

    def __init__(
        self,
        store: WritableStore,
        address: Address,
        announcement: Announcement,
        files: _Files,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._store = store
        self._address = address
        self._what = announcement
        self._files = files
        self._progress = progress

    async def run(self) -> Announced:
        """The steps in their order; the marker is written last."""
        nothing = Hashed((), {}, {})
        before = await existing_marker(self._store, self._address, self._document(nothing))
        hashed = nothing if self._what.withdraw else await self._hashed()
        document = self._document(hashed)
        as_document(self._address, document)  # before anything is written
        uploaded = await self._carry(hashed) if self._files.carried else 0
        if "sums" in self._what.also:
            await self._store.put(self._address.at(SUMS_NAME), sums_document(document.manifest.files))
        stamp, marker = await put_marker(self._store, self._address, document, before=before)
        return Announced(stamp, marker, hashed.not_counted, uploaded)

    async def _hashed(self) -> Hashed:
        own_names = [self._address.name, *([SUMS_NAME] if "sums" in self._what.also else [])]
        # A bucket keeps this one of whole objects, however they were uploaded: readers need no download.
        kept = ["crc64nvme"] if self._address.scheme == "s3" and computable("crc64nvme") else []
        return await hash_folder(
            self._files.store,
            self._files.place,
            own_names=own_names,
            algorithms=["sha256", *kept],
            count_rows=self._what.count_rows,
            header_rows=self._what.header_rows,
            allow_empty=self._what.allow_empty,
            progress=self._progress,
        )

    async def _carry(self, hashed: Hashed) -> int:
        return await upload(
            hashed,
            source=self._files.store,
            origin=self._files.place,
            store=self._store,
            marker=self._address,
            progress=self._progress,
        )

    def _document(self, hashed: Hashed) -> Marker:
        wanted = self._what.expectation
        return Marker(
            dataset=wanted.dataset,
            interval=wanted.interval,
            version=wanted.min_version,
            manifest=Manifest.of(hashed.entries),
            status="withdrawn" if self._what.withdraw else "complete",
            created_at=format_instant(datetime.now(tz=timezone.utc).replace(microsecond=0)),
            producer=self._what.producer,
            timezone=self._what.timezone,
        )
