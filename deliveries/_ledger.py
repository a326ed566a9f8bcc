"""The ledger: what remembers the highest version taken."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal, Protocol, runtime_checkable

from airflow_landmark.markers import MAX_VERSION, Interval, Taken, format_instant, parse_instant, show

from ._stamp import Stamp

__all__ = [
    "LEDGER_WORDS",
    "CreatableLedger",
    "Entry",
    "Held",
    "Ledger",
    "LedgerEvent",
    "LedgerWord",
    "ReadableLedger",
]

LedgerWord = Literal["claimed", "taken", "released"]
LEDGER_WORDS: tuple[LedgerWord, ...] = ("claimed", "taken", "released")

_SHA256 = re.compile(r"[0-9a-f]{64}")
_NEVER_IN_TEXTS = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
_OWNER = re.compile(rf"[^{_NEVER_IN_TEXTS}]{{1,1024}}")
_URI = re.compile(rf"[^{_NEVER_IN_TEXTS}]{{0,2048}}")


@dataclass(frozen=True, slots=True)
class Held:
    """Who holds which version.

    :param version: of the delivery.
    :param identity: its marker's sha256 in hex.
    :param owner: who claimed or took it: ``dag/run/task/map index`` when a sensor did. 1 to 1,024
        characters, none of them a control character.
    :param at: since when, in UTC, by the clock of whoever holds it; informative.
    :param uri: the marker's address, at most 2,048 characters.
    :raises ValueError: when one of them is none.
    """

    version: int
    identity: str
    owner: str
    at: datetime
    uri: str

    def __post_init__(self) -> None:
        if type(self.version) is not int or not 1 <= self.version <= MAX_VERSION:
            raise ValueError(f"version must be a whole number from 1 to 2**53-1, not {show(self.version)}")
        for name, pattern in (("identity", _SHA256), ("owner", _OWNER), ("uri", _URI)):
            value = getattr(self, name)
            if not isinstance(value, str) or not pattern.fullmatch(value):
                raise ValueError(f"{name} {show(value)} is not what a ledger holds")
        if not isinstance(self.at, datetime) or self.at.utcoffset() is None:
            raise ValueError(f"at must be an instant with an offset, not {show(str(self.at))}")
        object.__setattr__(self, "at", self.at.astimezone(timezone.utc))

    def same_as(self, other: Held | None) -> bool:
        """Whether the two are the same version with the same bytes, whoever holds them."""
        return other is not None and (self.version, self.identity) == (other.version, other.identity)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "version": self.version,
            "identity": self.identity,
            "owner": self.owner,
            "at": format_instant(self.at),
            "uri": self.uri,
        }

    @classmethod
    def from_json(cls, document: Any) -> Held:
        """What ``to_json`` wrote; fields of a newer release are passed over.

        :raises ValueError: when it did not.
        """
        if not isinstance(document, Mapping):
            raise ValueError(f"expected version, identity, owner, at and uri, found {show(document)}")  # noqa: TRY004 - of data
        missing = [name for name in ("version", "identity", "owner", "at", "uri") if name not in document]
        if missing or not isinstance(document["at"], str):
            raise ValueError(f"{', '.join(missing) or 'at'} is missing or no text")
        return cls(
            version=document["version"],
            identity=document["identity"],
            owner=document["owner"],
            at=parse_instant(document["at"]),
            uri=document["uri"],
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """What a ledger holds of one dataset and interval.

    :param taken: the highest version that was committed; ``None`` when none was.
    :param claim: the version that is being worked on; ``None`` when none is.
    """

    dataset: str
    interval: Interval
    taken: Held | None = None
    claim: Held | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "dataset": self.dataset,
            "interval": self.interval.to_json(),
            "taken": self.taken.to_json() if self.taken else None,
            "claim": self.claim.to_json() if self.claim else None,
        }

    @classmethod
    def from_json(cls, document: Any, *, dataset: str, interval: Interval) -> Entry:
        """What ``to_json`` wrote of this dataset and interval; fields of a newer release are passed over.

        :raises ValueError: when it did not, or wrote it of another one.
        """
        named = {"dataset": dataset, "interval": interval.to_json()}
        if not isinstance(document, Mapping) or {key: document.get(key) for key in named} != named:
            raise ValueError(f"expected an entry of {dataset} for {interval}")
        held = [document.get(name) for name in ("taken", "claim")]
        taken, claim = (None if one is None else Held.from_json(one) for one in held)
        if taken and claim and claim.version < taken.version:
            raise ValueError(
                f"version {claim.version} is claimed below version {taken.version}, which is taken"
            )
        return cls(dataset, interval, taken, claim)


@dataclass(frozen=True, slots=True)
class LedgerEvent:
    """One thing that happened to an entry."""

    dataset: str
    interval: Interval
    word: LedgerWord
    held: Held

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        interval = self.interval.to_json()
        return {"word": self.word, "dataset": self.dataset, "interval": interval, **self.held.to_json()}

    @classmethod
    def from_json(cls, document: Any, *, dataset: str, interval: Interval) -> LedgerEvent:
        """What ``to_json`` wrote of this dataset and interval; those two may be left out.

        :raises ValueError: when it did not.
        """
        held = Held.from_json(document)
        word = next((word for word in LEDGER_WORDS if word == document.get("word")), None)
        if word is None:
            raise ValueError(
                f"word must be one of {', '.join(LEDGER_WORDS)}, not {show(document.get('word'))}"
            )
        return cls(dataset, interval, word, held)


@runtime_checkable
class Ledger(Protocol):
    """Remembers per (dataset, interval) the highest version taken, in two steps.

    Methods block; they are called on a worker, never in an event loop. An owner is any text that is
    the same for every attempt of the same task: it may claim again what it has claimed.

    All of them raise :class:`Unavailable` when the ledger cannot be reached, and :class:`AccessTrouble`
    when it refuses for good (no rights, no table). What no ledger holds, such as a dataset of other
    characters, is a ``ValueError`` before anything is asked.
    """

    def taken(self, dataset: str, interval: Interval) -> Taken | None:
        """What was taken last; ``None`` when nothing was."""

    def claim(self, stamp: Stamp, owner: str) -> None:
        """Mark a version as being worked on. Claiming again, by the same owner, changes nothing.

        A higher version takes the place of a lower claim, whoever holds that: its commit is refused then.
        What was taken may be claimed again with the same bytes, to repeat the work.

        :raises BadDelivery: kind ``older version`` when a higher one was taken or is claimed,
            ``reused version`` when this one was taken or is claimed with other bytes, ``already taken``
            when another owner holds it.
        """

    def commit(self, stamp: Stamp, owner: str) -> None:
        """Mark a claimed version as taken, after the load succeeded. Repeating it changes nothing.

        What was taken stays taken: to commit it again succeeds, also while a higher version is claimed.

        :raises BadDelivery: kind ``older version`` when a higher one was taken or claimed meanwhile,
            ``reused version`` when this one was with other bytes, ``not claimed`` when the owner holds no
            claim and the version was not taken.
        """

    def release(self, stamp: Stamp, owner: str) -> None:
        """Give a claim back without having taken the version; without a claim, nothing happens."""


@runtime_checkable
class ReadableLedger(Ledger, Protocol):
    """A ledger that people can look into and mend."""

    def entry(self, dataset: str, interval: Interval) -> Entry | None:
        """What is held of one dataset and interval; ``None`` when it was never claimed."""

    def entries(self, dataset: str | None = None, *, limit: int = 1000) -> Sequence[Entry]:
        """What is held, the newest interval first; ``None`` for all datasets."""

    def history(self, dataset: str, interval: Interval, *, limit: int = 1000) -> Sequence[LedgerEvent]:
        """What happened, the oldest first, the last ``limit`` of it."""


@runtime_checkable
class CreatableLedger(ReadableLedger, Protocol):
    """A ledger that has to be made, or its place checked, before it is used: never silently."""

    def create(self) -> str:
        """Make what is missing, check what is there, and say in a sentence what was done.

        :raises AccessTrouble: when that place cannot hold a ledger.
        """
