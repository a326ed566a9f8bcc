"""One entry of a ledger as a JSON document, read as strictly as a marker: others may have written there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_landmark.markers import MAX_VERSION, Interval, show

from ._ledger import Entry, LedgerEvent

__all__ = ["MAX_BYTES", "EntryDocument", "read_entry", "write_entry"]

MAX_BYTES = 256 * 1024
_KEPT_EVENTS = 50
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class EntryDocument:
    """An entry with what happened to it last.

    :param revision: grows with each write, so that no two states of the document are alike.
    :param history: the oldest first, bounded.
    """

    entry: Entry
    revision: int = 0
    history: tuple[LedgerEvent, ...] = ()


def write_entry(document: EntryDocument) -> bytes:
    """The document in at most ``MAX_BYTES``: the oldest events go first."""
    history = document.history[-_KEPT_EVENTS:]
    while len(data := _bytes_of(document, history)) > MAX_BYTES:
        history = history[1:]
    return data


def _bytes_of(document: EntryDocument, history: tuple[LedgerEvent, ...]) -> bytes:
    events = [event.to_json() for event in history]
    for event in events:
        del event["dataset"], event["interval"]  # they are the entry's own
    whole = {
        "landmark_ledger": _FORMAT,
        "revision": document.revision,
        **document.entry.to_json(),
        "history": events,
    }
    return (json.dumps(whole, indent=1) + "\n").encode("ascii")


def read_entry(data: bytes, *, dataset: str, interval: Interval) -> EntryDocument:
    """The entry of this dataset and interval that ``write_entry`` wrote.

    :raises ValueError: when it did not; the text says what is wrong, in printable ASCII.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES:,} bytes")
    whole = _loaded(data)
    if not isinstance(whole, dict):
        raise ValueError(f"expected an object, found {show(whole)}")  # noqa: TRY004 - of data
    number = whole.get("landmark_ledger")
    if type(number) is not int or number != _FORMAT:
        raise ValueError(f"landmark_ledger must be {_FORMAT}, not {show(number)}")
    revision, events = whole.get("revision"), whole.get("history")
    if type(revision) is not int or not 0 <= revision <= MAX_VERSION:
        raise ValueError(f"revision must be a whole number, not {show(revision)}")
    if not isinstance(events, list) or len(events) > _KEPT_EVENTS:
        raise ValueError(f"history must be a list of at most {_KEPT_EVENTS}, not {show(events)}")
    entry = Entry.from_json(whole, dataset=dataset, interval=interval)
    history = (LedgerEvent.from_json(event, dataset=dataset, interval=interval) for event in events)
    return EntryDocument(entry, revision, tuple(history))


def _loaded(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_members, parse_constant=_refused)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _members(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice in an object")
    return made


def _refused(text: str) -> None:
    raise ValueError(f"{text} is no number")
