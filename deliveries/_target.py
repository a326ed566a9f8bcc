"""What is looked at, and what one look found there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from airflow_landmark.markers import (
    LANDMARK,
    Format,
    InvalidDeclaration,
    Marker,
    UnreadableMarker,
    format_of,
    show,
)
from airflow_landmark.stores import Access, Address, InvalidAddress, Sighting, StoreError, parse_uri

__all__ = ["Form", "Reading", "State", "Target"]

_NEVER_IN_NAMES = re.compile(r"[/\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Form:
    """In which format a marker is written, and what the Dag declares of it.

    :param name: of the format.
    :param declared: (key, text) pairs, sorted: what the format does not tell itself.
    """

    name: str = LANDMARK.name
    declared: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, name: str | None = None, declared: Mapping[str, str] | None = None) -> Form:
        """The form that a Dag's author names.

        :raises InvalidDeclaration: when there is no such format, or it could never be read so.
        """
        name, declared = LANDMARK.name if name is None else name, {} if declared is None else declared
        if not isinstance(declared, Mapping):
            raise InvalidDeclaration(f"declare must be keys and texts, not {show(declared)}")
        format_of(name).check(declared)
        return cls(name, tuple(sorted(declared.items())))

    @property
    def format(self) -> Format:
        """The format itself."""
        return LANDMARK if self.name == LANDMARK.name else format_of(self.name)

    @property
    def foreign(self) -> bool:
        """Whether it is another format than the project's own."""
        return self.name != LANDMARK.name

    def to_json(self) -> dict[str, Any] | None:
        """Plain JSON; ``None`` for the project's own format."""
        return {"name": self.name, "declared": dict(self.declared)} if self.foreign else None


@dataclass(frozen=True, slots=True)
class Target:
    """A marker by its name, or the markers of one folder by a pattern.

    :param address: the marker; with a pattern its folder.
    :param pattern: shell pattern (``*``, ``?``, ``[...]``) for names directly in the folder; ``None``
        takes the address literally, whatever characters it holds.
    :param form: in which format the marker is written.
    """

    address: Address
    pattern: str | None = None
    form: Form = Form()

    @classmethod
    def of(
        cls,
        uri: str,
        pattern: str | None = None,
        *,
        access: Access | None = None,
        form: Form | None = None,
    ) -> Target:
        """The target that a Dag's author names.

        :param form: in which format the marker is written; ``None`` for the project's own.
        :param access: how the store is reached; ``None`` for the environment's settings.
        :raises InvalidAddress: when it names none.
        """
        form = form or Form()
        if pattern is None:
            if isinstance(uri, str) and uri.endswith("/"):
                if not form.format.default_name:
                    raise InvalidAddress(
                        show(uri), f"format {form.name} has no usual file name: name the file"
                    )
                uri += quote(form.format.default_name) if ":" in uri else form.format.default_name
            return cls(parse_uri(uri, access=access), form=form)
        if not isinstance(pattern, str) or not pattern or _NEVER_IN_NAMES.search(pattern):
            text = "a pattern is a file name with * ? [...], without a slash or control characters"
            raise InvalidAddress(show(pattern), text)
        return cls(parse_uri(uri, folder=True, access=access), pattern, form)

    @property
    def text(self) -> str:
        """For people."""
        if self.pattern is None:
            return self.address.uri
        return f"{self.address.uri.rstrip('/')}/{self.pattern}"


@dataclass(frozen=True, slots=True)
class Reading:
    """A marker that was seen, or the report on what is not one.

    :param sighting: of the document that the target names.
    :param found: what it says, together with the others.
    :param beside: the other documents of a format of several; ``None`` for one that does not lie there.
    :param listed: identity of the listing that the format asked for.
    """

    sighting: Sighting
    found: Marker | UnreadableMarker
    beside: Mapping[str, Sighting | None] = field(default_factory=dict)
    listed: str = ""

    @property
    def documents(self) -> tuple[str, ...]:
        """The names of all documents that were read: no files of the delivery."""
        return (self.sighting.address.name, *self.beside)


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
            [(r.sighting.address, r.found.identity, r.sighting.size) for r in self.readings]
            == [(r.sighting.address, r.found.identity, r.sighting.size) for r in other.readings]
            and self.reason == other.reason
            and type(self.trouble) is type(other.trouble)
            and str(self.trouble) == str(other.trouble)
        )

    @property
    def identity(self) -> str:
        """A text that differs when bytes or trouble differ."""
        if self.trouble is not None:
            return f"{type(self.trouble).__name__}: {self.trouble}"
        return " ".join(reading.found.identity for reading in self.readings)
