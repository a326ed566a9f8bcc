"""A partner that delivers, right and wrong, on purpose and the same way every time."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._hostile import HOSTILE, hostile_document

if TYPE_CHECKING:
    from airflow_landmark.deliveries import Way
    from airflow_landmark.markers import Interval

__all__ = ["Drop", "Partner"]

Files = Mapping[str, "str | bytes"]


@dataclass(frozen=True, kw_only=True)
class Drop:
    """What a partner wrote.

    :param kind: which of the partner's deeds it was.
    :param uri: the marker's address.
    :param version: that the marker tells; None: it tells none.
    :param sha256: of the marker's bytes, in hex.
    :param files: what was written beside the marker, by name; None: nothing was.
    """

    kind: str
    uri: str
    version: int | None
    sha256: str
    files: Mapping[str, bytes]


class Partner:
    """Delivers into a folder or a bucket; every method writes at once and returns what it wrote.

    The same call writes the same bytes: markers made here tell no time of their making. The marker is
    written last, over whatever lies there, without the care that ``landmark deliver`` takes.

    :param folder: where one interval is delivered, an absolute path or a URI; ``{start}`` and ``{end}``
        stand for the interval's instants, with a format: ``s3://in/orders/{start:%Y-%m-%d}``.
    :param dataset: the name that the markers tell.
    :param marker: the marker's file name.
    :param header_rows: records before the data in each CSV file: the others are counted.
    :param way: how the store is reached; None: by the environment's settings.
    """

    def __init__(
        self,
        *,
        folder: str | Path,
        dataset: str,
        marker: str = "_delivery.json",
        header_rows: int = 1,
        way: Way | None = None,
    ) -> None:
        self._folder = str(folder)
        self._dataset = dataset
        self._marker = marker
        self._header_rows = header_rows
        self._way = way

    def folder(self, interval: Interval) -> str:
        """Return where an interval is delivered."""
        return self._folder.format(start=interval.start, end=interval.end).rstrip("/")

    def good(self, interval: Interval, files: Files, *, version: int = 1) -> Drop:
        """Deliver as promised."""
        return self._deliver("good", interval, files, version)

    def corrected(self, interval: Interval, files: Files, *, version: int = 2) -> Drop:
        """Replace the delivery by a higher version with other files."""
        return self._deliver("corrected", interval, files, version)

    def duplicate(self, interval: Interval, files: Files, *, version: int = 1) -> Drop:
        """Deliver the same once more: with the arguments of the first time the bytes are the same."""
        return self._deliver("duplicate", interval, files, version)

    def reused_version(self, interval: Interval, files: Files, *, version: int = 1) -> Drop:
        """Deliver other content under a version that was used before: the marker's bytes differ."""
        return self._deliver("reused version", interval, files, version, {"producer": "again"})

    def older_version(self, interval: Interval, files: Files, *, version: int = 1) -> Drop:
        """Put a lower version in the place of a higher one."""
        return self._deliver("older version", interval, files, version)

    def withdrawn(self, interval: Interval, *, version: int = 2) -> Drop:
        """Recall the delivery, by a higher version."""
        recall = {"status": "withdrawn", "files": [], "totals": {"files": 0, "bytes": 0, "rows": 0}}
        return self._deliver("withdrawn", interval, {}, version, recall)

    def stale(self, interval: Interval, files: Files, *, version: int = 1) -> Drop:
        """Leave the delivery of the interval before in this one's place."""
        return self._write_misdated("stale", interval, _moved(interval, -1.0), files, version)

    def future(self, interval: Interval, files: Files, *, version: int = 1) -> Drop:
        """Put the delivery of the interval after in this one's place."""
        return self._write_misdated("future", interval, _moved(interval, 1.0), files, version)

    def wrong_interval(self, interval: Interval, files: Files, *, version: int = 1) -> Drop:
        """Deliver for an interval moved by a 24th, as a day of the wrong time zone is."""
        return self._write_misdated("wrong interval", interval, _moved(interval, 1 / 24), files, version)

    def misdated(self, interval: Interval, files: Files, *, told: Interval, version: int = 1) -> Drop:
        """Deliver for any other interval in this one's place.

        :param told: the interval that the marker tells.
        """
        return self._write_misdated("misdated", interval, told, files, version)

    def wrong_dataset(self, interval: Interval, files: Files, *, version: int = 1) -> Drop:
        """Deliver something else here."""
        other = {"dataset": f"{self._dataset[:190]}.other"}
        return self._deliver("wrong dataset", interval, files, version, other)

    def half(self, interval: Interval, files: Files, *, version: int = 1) -> Drop:
        """Write the marker's first half, as an upload that broke off leaves it."""
        whole = self._document(interval, files, version)
        return self._write("half", interval, _as_bytes(files), whole[: len(whole) // 2], None)

    def corrupt(self, interval: Interval, files: Files, *, version: int = 1) -> Drop:
        """Change one byte of the first file after its digest was taken; its size stays.

        :raises ValueError: when the first file is empty.
        """
        name, content = _first(files)
        middle = len(content) // 2
        changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        return self._damaged("corrupt", interval, files, version, {name: changed})

    def short_file(self, interval: Interval, files: Files, *, version: int = 1) -> Drop:
        """Write only the first half of the first file.

        :raises ValueError: when the first file is empty.
        """
        name, content = _first(files)
        return self._damaged("short file", interval, files, version, {name: content[: len(content) // 2]})

    def missing_file(self, interval: Interval, files: Files, *, version: int = 1) -> Drop:
        """List one file more than is delivered: ``missing-`` and the first file's name."""
        name, content = _first(files)
        document = self._document(interval, {**files, f"missing-{name}": content}, version)
        return self._write("missing file", interval, _as_bytes(files), document, version)

    def hostile(self, interval: Interval, *, kind: str) -> Drop:
        """Write a marker that is made to do harm.

        :param kind: one of ``HOSTILE``: ``"16 MiB"``, ``"escaping path"`` and so on.
        :raises ValueError: when there is no such kind.
        """
        if kind not in HOSTILE:
            raise ValueError(f"{kind!r} is no kind of hostile marker: there are {', '.join(HOSTILE)}")
        good = json.loads(self._document(interval, {"a.csv": b"id\n1\n"}, 1))
        return self._write(f"hostile: {kind}", interval, {}, hostile_document(good, kind), None)

    def _deliver(
        self,
        kind: str,
        interval: Interval,
        files: Files,
        version: int,
        other: Mapping[str, Any] | None = None,
    ) -> Drop:
        document = self._document(interval, files, version, other)
        return self._write(kind, interval, _as_bytes(files), document, version)

    def _write_misdated(self, kind: str, place: Interval, told: Interval, files: Files, version: int) -> Drop:
        return self._write(kind, place, _as_bytes(files), self._document(told, files, version), version)

    def _damaged(
        self, kind: str, interval: Interval, files: Files, version: int, damage: Mapping[str, bytes]
    ) -> Drop:
        document = self._document(interval, files, version)
        return self._write(kind, interval, {**_as_bytes(files), **damage}, document, version)

    def _document(
        self, interval: Interval, files: Files, version: int, other: Mapping[str, Any] | None = None
    ) -> bytes:
        """The marker of these files, as ``announce`` writes it but for the time of its making."""
        from airflow_landmark.deliveries import Announcement, announce, run  # noqa: PLC0415 - slow
        from airflow_landmark.markers import Expectation  # noqa: PLC0415 - as above

        expectation = Expectation(self._dataset, interval, version)
        announcement = Announcement(
            expectation, count_rows=True, header_rows=self._header_rows, allow_empty=True
        )
        with tempfile.TemporaryDirectory(prefix="landmark-drop-") as made:
            for name, content in _as_bytes(files).items():
                path = Path(made, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            run(lambda: announce(made, announcement))
            document = json.loads(Path(made, announcement.name).read_bytes())
        document.pop("created_at", None)
        return json.dumps({**document, **(other or {})}, indent=2).encode() + b"\n"

    def _write(
        self, kind: str, interval: Interval, files: Mapping[str, bytes], marker: bytes, version: int | None
    ) -> Drop:
        from airflow_landmark.deliveries import run  # noqa: PLC0415 - as above

        uri = run(lambda: self._put(self.folder(interval), {**files, self._marker: marker}))
        sha256 = hashlib.sha256(marker).hexdigest()
        return Drop(kind=kind, uri=uri, version=version, sha256=sha256, files=files)

    async def _put(self, folder: str, documents: Mapping[str, bytes]) -> str:
        """Write the documents in their order and return the last one's address."""
        from airflow_landmark.deliveries import reach  # noqa: PLC0415 - as above
        from airflow_landmark.stores import WritableStore, open_store, parse_uri  # noqa: PLC0415

        way = self._way
        access = await reach(
            folder, conn_id=None if way is None else way.conn_id, options=None if way is None else way.options
        )
        address = parse_uri(folder, folder=True, access=access)
        async with open_store(address) as store:
            if not isinstance(store, WritableStore):
                raise TypeError(f"{address.uri}: a partner delivers on a disk or in a bucket")
            for name, content in documents.items():
                stream = io.BytesIO(content)  # put_file also makes the folders on the way
                await store.put_file(address.at(name), stream, size=len(content), digests={})
        return address.at(self._marker).uri


def _moved(interval: Interval, lengths: float) -> Interval:
    by = (interval.end - interval.start) * lengths
    return replace(interval, start=interval.start + by, end=interval.end + by)


def _as_bytes(files: Files) -> dict[str, bytes]:
    return {
        name: content.encode() if isinstance(content, str) else content for name, content in files.items()
    }


def _first(files: Files) -> tuple[str, bytes]:
    name, content = next(iter(_as_bytes(files).items()), ("", b""))
    if not content:
        raise ValueError("give a first file with content: it is what will be wrong")
    return name, content
