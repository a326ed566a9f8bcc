"""The objects of a ledger in a bucket: their names, reading them, and replacing what was read."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

import anyio

from airflow_landmark.markers import Interval
from airflow_landmark.stores import Address, Changed, PassingTrouble, Sighting, WritableStore

from ._errors import AccessTrouble
from ._ledger import Entry, Held, LedgerEvent, LedgerWord
from ._ledger_document import EntryDocument, read_entry, write_entry
from ._parallel import each

__all__ = ["Objects"]

_NAME = re.compile(r"([A-Za-z0-9._~-]{1,200})@(\d{8}T\d{6}\.\d{6})Z_(\d{8}T\d{6}\.\d{6})Z\.json", re.ASCII)
_ATTEMPTS = 40
_TROUBLES = 3
_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 0.02, 1.0


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of one ledger, while their store is open."""

    store: WritableStore
    folder: Address

    async def read(self, dataset: str, interval: Interval) -> tuple[EntryDocument, Sighting | None]:
        """The entry, and what was seen of its object; an empty entry and ``None`` when there is none.

        :raises AccessTrouble: kind ``"unreadable"`` when something else lies there.
        :raises StoreError: when the store fails.
        """
        address = self.folder.at(_name_of(dataset, interval))
        look = await self.store.look(address)
        if look.sighting is None:
            return EntryDocument(Entry(dataset, interval)), None
        try:
            return read_entry(look.data or b"", dataset=dataset, interval=interval), look.sighting
        except ValueError as error:
            text = f"this object is no entry of a ledger, {error}; look at it, then mend or remove it"
            raise AccessTrouble(address.uri, "unreadable", text) from None

    async def listed(self, dataset: str | None, *, limit: int) -> Sequence[Entry]:
        """At most so many entries, the newest interval first; other names are passed over.

        :raises AccessTrouble, StoreError: as ``read`` does.
        """
        pattern = "*@*.json" if dataset is None else f"{_in_names(dataset)}@*.json"
        names = await self.store.listing(self.folder, pattern=pattern)
        subjects = [subject for name in names if (subject := _subject_of(name)) is not None]
        subjects.sort(key=lambda subject: subject[0])
        subjects.sort(key=lambda subject: subject[1], reverse=True)
        found: dict[tuple[str, Interval], Entry] = {}

        async def read(subject: tuple[str, Interval]) -> None:
            document, seen = await self.read(*subject)
            if seen is not None:
                found[subject] = document.entry

        await each(subjects[:limit], read)
        return [found[subject] for subject in subjects[:limit] if subject in found]

    async def change(
        self,
        subject: tuple[str, Interval],
        wanted: Held,
        rule: Callable[[Entry, Held], Entry],
        word: LedgerWord,
    ) -> None:
        """Replace the entry by what the rule makes of it; when another writer was faster, judge again.

        A write whose answer was lost is found at the next look, where the rule has nothing left to change.

        :raises BadDelivery: when the rule refuses.
        :raises AccessTrouble, StoreError: as ``read`` does; passing trouble once it has lasted.
        """
        troubles = 0
        for attempt in range(_ATTEMPTS):
            try:
                document, seen = await self.read(*subject)
                entry = rule(document.entry, wanted)
                if entry is not document.entry:
                    event = LedgerEvent(*subject, word, wanted)
                    await self._put(_next(document, entry, event), seen)
            except PassingTrouble as trouble:
                troubles += not isinstance(trouble, Changed)
                if troubles > _TROUBLES or attempt == _ATTEMPTS - 1:
                    raise
            else:
                return
            pause = min(_MAX_PAUSE_SECONDS, _PAUSE_SECONDS * 2**attempt)
            await anyio.sleep(random.uniform(0, pause))  # noqa: S311 - it spreads writers, it hides nothing

    async def _put(self, document: EntryDocument, seen: Sighting | None) -> None:
        data = write_entry(document)
        if seen is None:
            address = self.folder.at(_name_of(document.entry.dataset, document.entry.interval))
            await self.store.put_if_absent(address, data)
        else:
            await self.store.put_if_unchanged(seen.address, data, since=seen)


def _next(document: EntryDocument, entry: Entry, event: LedgerEvent) -> EntryDocument:
    return EntryDocument(entry, document.revision + 1, (*document.history, event))


def _name_of(dataset: str, interval: Interval) -> str:
    return f"{_in_names(dataset)}@{_compact(interval.start)}_{_compact(interval.end)}.json"


def _in_names(dataset: str) -> str:
    return dataset.replace("/", "~")  # which no dataset's name holds


def _compact(instant: datetime) -> str:
    text = instant.astimezone(timezone.utc).replace(tzinfo=None).isoformat(timespec="microseconds")
    return f"{text.replace('-', '').replace(':', '')}Z"


def _subject_of(name: str) -> tuple[str, Interval] | None:
    """Dataset and interval of an object's name; ``None`` when it is no entry's."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    try:
        start, end = (_instant_of(text) for text in match.groups()[1:])
        return match[1].replace("~", "/"), Interval(start, end)
    except ValueError:
        return None


def _instant_of(text: str) -> datetime:
    return datetime.strptime(text, "%Y%m%dT%H%M%S.%f").replace(tzinfo=timezone.utc)
