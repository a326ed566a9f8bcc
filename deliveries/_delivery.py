"""The delivery that was accepted: what a sensor returns, and what downstream tasks open."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from airflow_landmark.markers import (
    FileEntry,
    Interval,
    Marker,
    check_path,
    parse_instant,
    show,
)
from airflow_landmark.stores import (
    Absent,
    Access,
    Address,
    Changed,
    Facts,
    InvalidAccess,
    LastingTrouble,
    Pin,
    Refused,
    Store,
    StoreError,
    computable,
    open_store,
    parse_uri,
)

from ._access import Way, reach
from ._errors import AccessTrouble, BadDelivery, Unavailable
from ._look import look_at
from ._run import run
from ._stamp import Stamp
from ._target import Form, State, Target

__all__ = ["MAX_DOCUMENT_BYTES", "DeliveredFile", "Delivery"]

MAX_DOCUMENT_BYTES = 32 * 1024
"""A delivery document above this carries no file list; it is loaded again from the pinned marker."""

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class DeliveredFile:
    """One file of a delivery.

    :param path: relative to the delivery's folder.
    :param uri: full address.
    :param size: bytes as stored; ``None`` when the format does not tell.
    :param digests: algorithm to lower-case hex.
    :param rows: data records; ``None`` when not told.
    :param pin: the state that was verified; ``None`` when the list was loaded again from the marker.
    """

    path: str
    uri: str
    size: int | None
    digests: Mapping[str, str]
    rows: int | None
    pin: Pin | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "path": self.path,
            "uri": self.uri,
            "size": self.size,
            "digests": dict(self.digests),
            "rows": self.rows,
            "pin": None if self.pin is None else self.pin.to_json(),
        }


class _Kept:
    """The access that was looked up for a delivery. It holds secrets: copies and pickles are empty."""

    __slots__ = ("access",)

    def __init__(self) -> None:
        self.access: Access | None = None

    def __reduce__(self) -> tuple[type[_Kept], tuple[()]]:
        return _Kept, ()


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery that was judged and verified.

    :param stamp: what was accepted.
    :param level: how much was verified: ``"marker"``, ``"files"``, ``"digests"`` or ``"rows"``.
    :param way: how its store is reached.
    :param form: in which format the marker is written.
    :param owner: in whose name a ledger holds it, which is needed to commit it; ``None`` without a ledger.
    """

    stamp: Stamp
    level: str
    _files: tuple[DeliveredFile, ...] | None = field(default=None, repr=False)
    way: Way = field(default_factory=Way)
    form: Form = field(default_factory=Form)
    owner: str | None = None
    _kept: _Kept = field(default_factory=_Kept, init=False, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        stamp: Stamp,
        marker: Marker,
        facts: Mapping[str, Facts],
        *,
        level: str,
        way: Way | None = None,
        form: Form | None = None,
    ) -> Delivery:
        """The delivery of a marker whose files were verified.

        :param facts: path to what was verified; a file without facts gets no pin.
        :param way: how its store is reached; ``None`` for the environment's settings.
        :param form: in which format the marker is written; ``None`` for the project's own.
        """
        pins = {path: known.pin for path, known in facts.items()}
        return cls(stamp, level, _delivered(stamp, marker, pins), way or Way(), form or Form())

    def claimed_by(self, owner: str) -> Delivery:
        """The same delivery, held in that name."""
        return replace(self, owner=owner)

    @property
    def dataset(self) -> str:
        """The dataset's name."""
        return self.stamp.dataset

    @property
    def interval(self) -> Interval:
        """What the data is about."""
        return self.stamp.interval

    @property
    def version(self) -> int:
        """The input's version: the number to compare in a guarded write."""
        return self.stamp.version

    def operation_id(self, code_version: str) -> str:
        """A name for the work on this delivery, the same for every attempt.

        Made from dataset, interval, version, the marker's bytes and the code's version; never from
        clock, chance or try number. 43 characters of ``a-z0-9_``: safe as a table, key or file name.

        :param code_version: what changes when the transformation does.
        """
        parts = [self.dataset, str(self.interval), self.version, self.stamp.sha256, code_version]
        return "op_" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]

    def to_xcom(self) -> dict[str, Any]:
        """The delivery document: plain JSON of at most 32 KiB."""
        stamp = self.stamp
        document: dict[str, Any] = {
            "landmark_delivery": _FORMAT,
            "dataset": self.dataset,
            "interval": self.interval.to_json(),
            "version": self.version,
            "verified": self.level,
            "marker": {
                "uri": stamp.uri,
                "sha256": stamp.sha256,
                "size": stamp.size,
                "pin": stamp.pin.to_json(),
            },
            "manifest": {"files": stamp.files, "bytes": stamp.size_bytes, "rows": stamp.rows},
            "files": None if self._files is None else [file.to_json() for file in self._files],
        }
        access = self.way.to_json()
        if access is not None:
            document["access"] = access
        if self.form.foreign:
            document["format"] = self.form.to_json()
        if self.owner is not None:
            document["claim"] = {"owner": self.owner}
        if len(json.dumps(document)) > MAX_DOCUMENT_BYTES:
            document["files"] = None
        return document

    @classmethod
    def from_xcom(cls, document: Mapping[str, Any]) -> Delivery:
        """The delivery that a sensor returned.

        :raises ValueError: when the document is not one, or of a newer format.
        """
        if not isinstance(document, Mapping) or document.get("landmark_delivery") != _FORMAT:
            raise ValueError(f"not a delivery document of format {_FORMAT}: pass on what the sensor returned")
        try:
            return cls(
                _stamp(document),
                _text(document["verified"]),
                _files(document["files"]),
                Way.from_json(document.get("access")),
                _form(document.get("format")),
                _owner(document.get("claim")),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            found = show(repr(error), limit=200)
            raise ValueError(f"not a complete delivery document: {found} is wrong or missing") from None

    def files(self) -> tuple[DeliveredFile, ...]:
        """The files, in the marker's order. Blocks when the list has to be loaded again.

        :raises BadDelivery: when the marker is not the one any more that was accepted.
        :raises AccessTrouble: when the store refuses.
        :raises Unavailable: when the store fails.
        """
        if self._files is None:
            object.__setattr__(self, "_files", run(self._load_files))  # once, not for every file
        return self._files or ()

    def open(self, path: str) -> BinaryIO:
        """A file of the delivery, open for reading; blocks.

        A file whose pin the document could not carry is digested first.

        :param path: as in the manifest.
        :raises KeyError: when the manifest does not list it.
        :raises BadDelivery: when it is not the file any more that was verified.
        :raises AccessTrouble: when the store refuses.
        :raises Unavailable: when the store fails.
        """
        file = next((f for f in self.files() if f.path == path), None)
        if file is None:
            raise KeyError(f"{path!r} is not a file of this delivery ({self.stamp.uri})")
        try:
            return run(lambda: self._open(file))
        except StoreError as error:
            raise self._trouble(error) from None

    async def _marker(self) -> Address:
        """Where the marker lies, with the access to it: looked up once, not for every file."""
        if self._kept.access is None:
            way = self.way
            self._kept.access = await reach(self.stamp.uri, conn_id=way.conn_id, options=way.options)
        return parse_uri(self.stamp.uri, access=self._kept.access)

    async def _open(self, file: DeliveredFile) -> BinaryIO:
        address = self._place(await self._marker(), file)
        async with open_store(address) as store:
            pin = file.pin or await self._proven(store, address, file)
            return await store.open(address, pin=pin)

    def _place(self, marker: Address, file: DeliveredFile) -> Address:
        """Where the file lies: in the marker's folder, or where a format of full addresses says."""
        place = marker.at(file.path)
        return place if place.uri == file.uri else parse_uri(file.uri, access=marker.access)

    async def _proven(self, store: Store, address: Address, file: DeliveredFile) -> Pin | None:
        """The state of a file that came without a pin, once its bytes are the promised ones."""
        algorithm = next((name for name in file.digests if computable(name)), None)
        if algorithm is None:
            return None
        digested = await store.digest(address, [algorithm])
        if digested.digests[algorithm] != file.digests[algorithm]:
            raise Changed(address.uri, f"its {algorithm} is not the one that was promised")
        return digested.facts.pin

    async def _load_files(self) -> tuple[DeliveredFile, ...]:
        try:
            address = await self._marker()
            async with open_store(address) as store:
                marker = await self._load_marker(store, address)
        except StoreError as error:
            raise self._trouble(error) from None
        return _delivered(self.stamp, marker, {})

    async def _load_marker(self, store: Store, address: Address) -> Marker:
        target = Target(address, form=self.form)
        state = (await look_at(store, {target: State()}))[target]
        if state.trouble is not None:
            raise state.trouble
        marker = next((r.found for r in state.readings if isinstance(r.found, Marker)), None)
        if marker is None or marker.identity != self.stamp.sha256:
            raise BadDelivery(
                self.stamp.uri, "replaced", "the marker is not the one any more that was accepted"
            )
        return marker

    def _trouble(self, error: StoreError) -> BadDelivery | AccessTrouble | Unavailable:
        if isinstance(error, (Absent, Changed, Refused)):
            return BadDelivery(self.stamp.uri, "changed", f"not what was verified: {error}")
        if isinstance(error, LastingTrouble):
            kind = "configuration" if isinstance(error, InvalidAccess) else "access"
            return AccessTrouble(self.stamp.uri, kind, str(error))
        return Unavailable(self.stamp.uri, "trouble", str(error))


def _delivered(stamp: Stamp, marker: Marker, pins: Mapping[str, Pin]) -> tuple[DeliveredFile, ...]:
    place = parse_uri(stamp.uri)

    def delivered(entry: FileEntry) -> DeliveredFile:
        uri = entry.url or place.at(entry.path).uri
        return DeliveredFile(entry.path, uri, entry.size, entry.digests, entry.rows, pins.get(entry.path))

    return tuple(delivered(entry) for entry in marker.manifest.files)


def _form(document: Mapping[str, Any] | None) -> Form:
    return Form() if document is None else Form.of(_text(document["name"]), document["declared"])


def _owner(document: Mapping[str, Any] | None) -> str | None:
    return None if document is None else _text(document["owner"])


def _stamp(document: Mapping[str, Any]) -> Stamp:
    marker, counts = document["marker"], document["manifest"]
    span = document["interval"]
    return Stamp(
        uri=parse_uri(marker["uri"]).uri,
        sha256=_text(marker["sha256"]),
        size=_whole(marker["size"]),
        pin=Pin.from_json(marker["pin"]),
        dataset=_text(document["dataset"]),
        interval=Interval(parse_instant(span["start"]), parse_instant(span["end"])),
        version=_whole(document["version"]),
        files=_whole(counts["files"]),
        size_bytes=_whole_or_none(counts["bytes"]),
        rows=_whole_or_none(counts["rows"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{show(value)} is no text")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{show(value)} is no whole number")
    return value


def _whole_or_none(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _files(documents: list[dict[str, Any]] | None) -> tuple[DeliveredFile, ...] | None:
    if documents is None:
        return None
    return tuple(
        DeliveredFile(
            path=check_path(d["path"]),
            uri=_text(d["uri"]),
            size=_whole_or_none(d["size"]),
            digests={_text(name): _text(digest) for name, digest in d["digests"].items()},
            rows=_whole_or_none(d["rows"]),
            pin=None if d["pin"] is None else Pin.from_json(d["pin"]),
        )
        for d in documents
    )
