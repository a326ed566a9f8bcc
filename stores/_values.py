"""What a store tells: pins, facts, sightings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

from ._address import Address

__all__ = ["Digested", "Facts", "Look", "Pin", "Sighting", "Sink"]


@dataclass(frozen=True, slots=True)
class Pin:
    """The store's own identity of one state of one object: a change token, never a proof of content.

    An S3 object has ``version_id`` and ``etag``, an HTTP resource ``etag`` and ``modified``, a local
    file ``inode`` (``device:inode``) and its times in nanoseconds. All are text, since an inode may
    not fit the whole numbers of JSON and of databases.
    """

    etag: str | None = None
    version_id: str | None = None
    inode: str | None = None
    modified: str | None = None
    changed: str | None = None

    def to_json(self) -> dict[str, str]:
        """The known fields, as plain JSON."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Pin:
        """The pin that ``to_json`` wrote; fields of a newer release are passed over."""
        known = {f.name for f in fields(cls)}
        return cls(**{name: str(value) for name, value in document.items() if name in known})


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an object without reading it.

    :param size: bytes as stored.
    :param pin: the store's own identity of this state.
    """

    size: int
    pin: Pin


@dataclass(frozen=True, slots=True)
class Sighting:
    """One observed state of a marker.

    :param address: where.
    :param size: bytes.
    :param sha256: hex digest of the bytes that were read.
    :param pin: the store's own identity of this state.
    :param settled: whether an equal pin proves equal bytes. A file that was written within the
        resolution of its file system's clock may change again under the same times.
    """

    address: Address
    size: int
    sha256: str
    pin: Pin
    settled: bool = True


@dataclass(frozen=True, slots=True)
class Look:
    """The result of one look.

    :param sighting: what lies there; ``None`` when nothing does.
    :param data: the bytes; ``None`` when nothing lies there or nothing changed since the sighting that
        was given. At most one byte more than the largest marker.
    :param reason: why nothing was seen, for people.
    """

    sighting: Sighting | None
    data: bytes | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Digested:
    """The digests of an object.

    :param facts: of the state that was digested.
    :param digests: algorithm to lower-case hex.
    """

    facts: Facts
    digests: Mapping[str, str]


class Sink(Protocol):
    """Takes the bytes of a file while it is read once: a hash, a row counter, a progress bar."""

    def update(self, chunk: bytes, /) -> object:
        """Take the next bytes. Called in a worker thread, never in the event loop's."""
