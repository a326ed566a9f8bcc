"""What is looked at, and what one look found there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_landmark.markers import Marker, UnreadableMarker, show
from airflow_landmark.stores import Address, InvalidAddress, Sighting, StoreError, parse_uri

__all__ = ["Reading", "State", "Target"]

_NEVER_IN_NAMES = re.compile(r"[/\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Target:
    """A marker by its name, or the markers of one folder by a pattern.

    :param address: the marker; with a pattern its folder.
    :param pattern: shell pattern (``*``, ``?``, ``[...]``) for names directly in the folder; ``None``
        takes the address literally, whatever characters it holds.
    """

    address: Address
    pattern: str | None = None

    @classmethod
    def of(cls, uri: str, pattern: str | None = None) -> Target:
        """The target that a Dag's author names.

        :raises InvalidAddress: when it names none.
        """
        if pattern is None:
            return cls(parse_uri(uri))
        if not isinstance(pattern, str) or not pattern or _NEVER_IN_NAMES.search(pattern):
            text = "a pattern is a file name with * ? [...], without a slash or control characters"
            raise InvalidAddress(show(pattern), text)
        return cls(parse_uri(uri, folder=True), pattern)

    @property
    def text(self) -> str:
        """For people."""
        if self.pattern is None:
            return self.address.uri
        return f"{self.address.uri.rstrip('/')}/{self.pattern}"


@dataclass(frozen=True, slots=True)
class Reading:
    """A marker that was seen, or the report on what is not one."""

    sighting: Sighting
    found: Marker | UnreadableMarker


@dataclass(frozen=True, slots=True)
class State:
    """What one look found.

    :param readings: one for a literal target, any number for a pattern; empty when nothing lies there.
    :param reason: why nothing does, for people.
    :param trouble: what kept the store from answering; then the readings are those of the look before.
    """

    readings: tuple[Reading, ...] = ()
    reason: str = ""
    trouble: StoreError | None = None

    def same_as(self, other: State) -> bool:
        """Whether the two show the same bytes and the same trouble."""
        return (
            [(r.sighting.address, r.sighting.sha256, r.sighting.size) for r in self.readings]
            == [(r.sighting.address, r.sighting.sha256, r.sighting.size) for r in other.readings]
            and self.reason == other.reason
            and type(self.trouble) is type(other.trouble)
            and str(self.trouble) == str(other.trouble)
        )

    @property
    def identity(self) -> str:
        """A text that differs when bytes or trouble differ."""
        if self.trouble is not None:
            return f"{type(self.trouble).__name__}: {self.trouble}"
        return " ".join(reading.sighting.sha256 for reading in self.readings)
