"""The event: the only way from a wait to its task, and a dangerous one.

A payload with a whole number outside 64 bits, a lone surrogate, NaN or (on PostgreSQL) a NUL ends the
whole triggerer, again after every restart, and keys such as ``__type`` are reinterpreted on the way.
One function therefore builds every event: fixed keys, checked numbers, printable ASCII of bounded length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from airflow_landmark.deliveries import Looks, Outcome, Stamp
from airflow_landmark.markers import DATASET_PATTERN, MAX_VERSION, Interval, format_instant, parse_instant
from airflow_landmark.stores import Pin

from ._errors import InvalidEvent

__all__ = ["MAX_EVENT_BYTES", "build_event", "parse_event"]

MAX_EVENT_BYTES = 8 * 1024
"""Every event is smaller, whatever the manifest's size."""

_VERSION = 1
_URI_CHARS, _TEXT_CHARS, _PIN_CHARS, _WORD_CHARS, _WORDS = 700, 800, 120, 24, 16
_OUTCOMES = ("arrived", "deadline", "failed")
_PIN_FIELDS = {field.name for field in fields(Pin)}
_HEX = re.compile(r"[0-9a-f]{64}")


def build_event(outcome: Outcome) -> dict[str, Any]:
    """The payload of an outcome: plain JSON below 8 KiB, equal for two copies of a wait but for ``looks``."""
    looks = outcome.looks
    event: dict[str, Any] = {
        "landmark": _VERSION,
        "outcome": outcome.kind,
        "looks": {
            "first_at": _instant(looks.first_at),
            "last_at": _instant(looks.last_at),
            "count": _whole(looks.count),
            "seen": {_word(word): _whole(count) for word, count in list(looks.seen.items())[:_WORDS]},
            "last": _text(looks.last, _TEXT_CHARS),
        },
    }
    if outcome.interval is not None:
        event |= {"dataset": _text(outcome.dataset, 200), "interval": outcome.interval.to_json()}
    if outcome.stamp is not None:
        event |= _stamp_fields(outcome.stamp)
    if outcome.kind != "arrived":
        event["error"] = {"kind": _word(outcome.word), "text": _text(outcome.text, _TEXT_CHARS)}
    return event


def _stamp_fields(stamp: Stamp) -> dict[str, Any]:
    pin = {name: _text(value, _PIN_CHARS) for name, value in stamp.pin.to_json().items()}
    marker: dict[str, Any] = {"uri": _text(stamp.uri, _URI_CHARS), "sha256": _text(stamp.sha256, 64)}
    marker |= {"size": _whole(stamp.size)} | pin
    manifest = {"files": _whole(stamp.files), "bytes": _whole(stamp.size_bytes), "rows": _whole(stamp.rows)}
    return {
        "marker": marker,
        "dataset": _text(stamp.dataset, 200),
        "interval": stamp.interval.to_json(),
        "version": _whole(stamp.version),
        "manifest": manifest,
    }


def _text(text: str, limit: int) -> str:
    """Printable ASCII of at most ``limit`` characters; everything else is escaped."""
    shown = "".join(c if " " <= c <= "~" else ascii(c)[1:-1] for c in text[:limit])
    return shown if max(len(shown), len(text)) <= limit else f"{shown[: limit - 3]}..."


def _word(word: str) -> str:
    """A verdict, or a kind of trouble: also a key, which must not be one that Airflow interprets."""
    return re.sub(r"[^a-z -]", "?", word[:_WORD_CHARS])


def _whole(number: int | None) -> int | None:
    """A whole number that every JSON reader and database keeps; ``None`` for any other."""
    return number if number is not None and 0 <= number <= MAX_VERSION else None


def _instant(instant: datetime | None) -> str | None:
    return None if instant is None else format_instant(instant)


def parse_event(payload: Any) -> Outcome:
    """The outcome that a payload tells of. Strict: whatever is not one of ours is refused.

    :raises InvalidEvent: naming what is wrong.
    """
    if not isinstance(payload, Mapping):
        raise InvalidEvent(f"expected an object, found {type(payload).__name__}")
    if payload.get("landmark") != _VERSION or isinstance(payload.get("landmark"), bool):
        raise InvalidEvent(f"expected an event of version {_VERSION} from this package's trigger")
    if payload.get("outcome") not in _OUTCOMES:
        raise InvalidEvent(f"outcome must be one of {', '.join(_OUTCOMES)}")
    try:
        size = len(json.dumps(payload, allow_nan=False))
        outcome = _parse(payload)
    except InvalidEvent:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        what = f"{type(error).__name__}: {error}"
        raise InvalidEvent(f"a field is missing or of the wrong kind ({what})") from None
    if size > MAX_EVENT_BYTES:
        raise InvalidEvent(f"larger than {MAX_EVENT_BYTES} bytes")
    return outcome


def _parse(payload: Mapping[str, Any]) -> Outcome:
    looks = _parse_looks(payload["looks"])
    # A wait whose arguments could not be read has nothing to say of what it waited for.
    dataset, interval = _parse_subject(payload) if "interval" in payload else ("", None)
    if payload["outcome"] == "arrived":
        return Outcome("arrived", looks, _parse_stamp(payload), "arrived", looks.last, dataset, interval)
    error = payload["error"]
    word, text = _parse_text(error, "kind"), _parse_text(error, "text")
    return Outcome(payload["outcome"], looks, None, word, text, dataset, interval)


def _parse_subject(payload: Mapping[str, Any]) -> tuple[str, Interval]:
    if not re.fullmatch(DATASET_PATTERN, payload["dataset"]):
        raise InvalidEvent("dataset is not a dataset's name")
    span = payload["interval"]
    return payload["dataset"], Interval(parse_instant(span["start"]), parse_instant(span["end"]))


def _parse_looks(document: Mapping[str, Any]) -> Looks:
    first, last = (document[name] for name in ("first_at", "last_at"))
    seen = document["seen"]
    if not isinstance(seen, Mapping):
        raise InvalidEvent("looks.seen must be an object")
    return Looks(
        first_at=None if first is None else parse_instant(first),
        last_at=None if last is None else parse_instant(last),
        count=_parse_whole(document, "count"),
        seen={str(word): _parse_whole(seen, word) for word in seen},
        last=_parse_text(document, "last"),
    )


def _parse_stamp(payload: Mapping[str, Any]) -> Stamp:
    marker, manifest = payload["marker"], payload["manifest"]
    dataset, interval = _parse_subject(payload)
    if not _HEX.fullmatch(marker["sha256"]):
        raise InvalidEvent("marker.sha256 must be 64 hex digits")
    return Stamp(
        uri=_parse_text(marker, "uri"),
        sha256=marker["sha256"],
        size=_parse_whole(marker, "size"),
        pin=Pin.from_json({name: _parse_text(marker, name) for name in marker if name in _PIN_FIELDS}),
        dataset=dataset,
        interval=interval,
        version=_parse_whole(payload, "version", least=1),
        files=_parse_whole(manifest, "files"),
        size_bytes=None if manifest["bytes"] is None else _parse_whole(manifest, "bytes"),
        rows=None if manifest["rows"] is None else _parse_whole(manifest, "rows"),
    )


def _parse_text(document: Mapping[str, Any], name: str) -> str:
    value = document[name]
    if not isinstance(value, str):
        raise InvalidEvent(f"{name} must be text")
    return value


def _parse_whole(document: Mapping[str, Any], name: str, *, least: int = 0) -> int:
    value = document[name]
    if type(value) is not int or not least <= value <= MAX_VERSION:
        raise InvalidEvent(f"{name} must be a whole number from {least} to 2**53-1")
    return value
