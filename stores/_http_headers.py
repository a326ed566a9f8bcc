"""What the headers of an answer say: identity, sizes, ranges, times. Any of them may be nonsense."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from ._http_client import HttpAnswer
from ._values import Pin

__all__ = ["ContentRange", "State", "content_range", "http_date", "retry_after", "state_of", "whole"]

_ETAG = re.compile(r'(W/)?"[\x21\x23-\x7e\x80-\xff]{0,512}"')
_WHOLE = re.compile(r"[0-9]{1,18}", re.ASCII)
_RANGE = re.compile(r"bytes (?:([0-9]{1,18})-([0-9]{1,18})|\*)/([0-9]{1,18}|\*)", re.ASCII)
_MAX_DATE_CHARS = 64
_SETTLE_SECONDS = 2.0
"""Last-Modified counts in seconds: a resource that is older than this has a time of its own."""
_MAX_RETRY_AFTER = 3600.0


@dataclass(frozen=True, slots=True)
class State:
    """Which state of a resource an answer is about.

    :param pin: its ETag and its Last-Modified, as far as they came and are well formed.
    :param settled: whether an equal pin proves an unchanged resource.
    :param strong: whether it proves equal bytes, so that ranges of two answers fit together.
    """

    pin: Pin
    settled: bool
    strong: bool

    def is_pinned_by(self, pin: Pin | None) -> bool:
        """Whether this is the pinned state, by the ETag or, when the pin has none, by Last-Modified."""
        if pin is not None and pin.etag is not None:
            found = self.pin.etag
            # Servers that compress on the way weaken the tag of one and the same state.
            return found is not None and found.removeprefix("W/") == pin.etag.removeprefix("W/")
        return pin is None or pin.modified is None or pin.modified == self.pin.modified


@dataclass(frozen=True, slots=True)
class ContentRange:
    """The range that a body is.

    :param start: of its first byte; ``None`` when no range was given.
    :param total: bytes of the whole resource; ``None`` when that is not told.
    """

    start: int | None
    total: int | None


def state_of(answer: HttpAnswer) -> State:
    """The state that the answer is about."""
    etag = answer.header("etag")
    etag = etag if etag is not None and _ETAG.fullmatch(etag) else None
    modified = answer.header("last-modified")
    changed = http_date(modified)
    pin = Pin(etag=etag, modified=None if changed is None else modified)
    if etag is not None:
        return State(pin, settled=True, strong=not etag.startswith("W/"))
    now = http_date(answer.header("date"))
    known = changed is not None and now is not None
    old = known and (now - changed).total_seconds() >= _SETTLE_SECONDS  # type: ignore[operator]
    return State(pin, settled=old, strong=old)


def http_date(text: str | None) -> datetime | None:
    """The instant that a header names; ``None`` for nonsense."""
    if not text or len(text) > _MAX_DATE_CHARS:
        return None
    try:
        parsed = parsedate_to_datetime(text)
        return (
            parsed.replace(tzinfo=timezone.utc) if parsed.tzinfo is None else parsed.astimezone(timezone.utc)
        )
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def whole(text: str | None) -> int | None:
    """A number of bytes; ``None`` when none is told, or nonsense."""
    return int(text) if text is not None and _WHOLE.fullmatch(text) else None


def content_range(answer: HttpAnswer) -> ContentRange | None:
    """The range that the answer gives; ``None`` when it gives none, or nonsense."""
    match = _RANGE.fullmatch(answer.header("content-range") or "")
    if match is None:
        return None
    first, last, total = match.groups()
    if first is not None and int(first) > int(last):
        return None
    return ContentRange(whole(first), whole(total))


def retry_after(answer: HttpAnswer) -> float | None:
    """Seconds that the server asks to be left alone; an hour at most, so that no wait is stopped for good."""
    text = (answer.header("retry-after") or "").strip()
    seconds = whole(text)
    if seconds is not None:
        return min(float(seconds), _MAX_RETRY_AFTER)
    until = http_date(text)
    if until is None:
        return None
    # By the server's clock when it tells, since ours may differ.
    now = http_date(answer.header("date")) or datetime.now(timezone.utc)
    return min(max(0.0, (until - now).total_seconds()), _MAX_RETRY_AFTER)
