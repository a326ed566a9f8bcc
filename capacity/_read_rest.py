"""Airflow's REST API v2, to read only: one GET after the other, bounded, and the token goes nowhere else."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from http.client import HTTPException, HTTPMessage
from typing import IO, Any

from ._errors import CannotTell, MissingRights, OlderAirflow, Unreachable

__all__ = ["MOST_PAGES", "RestApi", "instant", "understood"]

REQUEST_SECONDS = 60.0
LARGEST_ANSWER_BYTES = 64 * 2**20
PAGE = 1_000
"""What is asked for; the server's ``maximum_page_limit`` (100 by default) cuts it silently."""
MOST_PAGES = 100_000
TRIES = 4
LONGEST_PAUSE_SECONDS = 30.0
_AGAIN = {429, 502, 503, 504}

Query = Mapping[str, Any]


class RestApi:
    """Asks one Airflow.

    :param url: its base address, such as ``https://airflow.example``; with or without ``/api/v2``.
    :param token: the bearer token; None: none is sent.
    :param sleep: what to wait with between tries.
    :raises Unreachable: when the address is none, or holds a user or password.
    """

    def __init__(self, *, url: str, token: str | None, sleep: Callable[[float], None] = time.sleep) -> None:
        self.place, self._base = _checked(url)
        self._token = token
        self._sleep = sleep
        self._opener = urllib.request.build_opener(_NoRedirects())

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """The JSON object at a path below ``/api/v2/``.

        :raises CannotTell: when there is none: no such server, no rights, not Airflow 3.
        """
        address = f"{self._base}/{path}?{urllib.parse.urlencode(query, doseq=True)}".rstrip("?")
        for tried in range(1, TRIES + 1):
            try:
                return self._once(address)
            except urllib.error.HTTPError as error:
                if error.code not in _AGAIN or tried == TRIES:
                    raise self._refused(error, path) from None
                self._sleep(_pause(error.headers, tried))
        raise AssertionError  # the last try returns or raises

    def pages(self, path: str, field: str, **query: Any) -> Iterator[dict[str, Any]]:
        """All entries of a list, page by page, by offset: for lists that are short."""
        offset = 0
        for _ in range(MOST_PAGES):
            page = _entries(self.get(path, limit=PAGE, offset=offset, **query), field, self.place)
            yield from page
            offset += len(page)
            if not page:
                return

    def events(self, *, since: datetime, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        """The audit rows from ``since`` on, in the order of their times.

        Goes on by time and not by offset: an offset makes the server count through all rows before it,
        and rows that come meanwhile shift it. Rows of one microsecond may lie on both sides of a page, so
        each page begins a microsecond early and what was seen is left out.
        """
        cursor, offset, seen = since, 0, set[int]()
        for _ in range(MOST_PAGES):
            after = (cursor - timedelta(microseconds=1)).isoformat()
            query = {"included_events": list(names), "after": after, "order_by": "when", "offset": offset}
            page = _entries(self.get("eventLogs", limit=PAGE, **query), "event_logs", self.place)
            if not page:
                return
            yield from (row for row in page if row["event_log_id"] not in seen)
            last = instant(page[-1]["when"])
            here = {int(row["event_log_id"]) for row in page if instant(row["when"]) == last}
            if last > cursor:
                cursor, offset, seen = last, 0, here
            else:
                offset, seen = offset + len(page), seen | here

    def _once(self, address: str) -> dict[str, Any]:
        headers = {"Accept": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(address, headers=headers)  # noqa: S310 - http and https only
        try:
            with self._opener.open(request, timeout=REQUEST_SECONDS) as answer:
                content = answer.read(LARGEST_ANSWER_BYTES + 1)
        except urllib.error.HTTPError:
            raise
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise Unreachable(self.place, f"does not answer: {type(error).__name__}: {reason}") from None
        return self._parsed(content)

    def _parsed(self, content: bytes) -> dict[str, Any]:
        if len(content) > LARGEST_ANSWER_BYTES:
            raise Unreachable(self.place, f"an answer is larger than {LARGEST_ANSWER_BYTES:,} bytes")
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise OlderAirflow(self.place, "does not answer as Airflow's REST API v2 does: no JSON object")
        return document

    def _refused(self, error: urllib.error.HTTPError, path: str) -> CannotTell:
        code = error.code
        error.close()
        if code == 401:
            return MissingRights(self.place, "401: the token is missing, wrong or expired")
        if code == 403:
            what = path.partition("/")[0]
            text = f"403: the token is not valid, or its user may not read {what}"
            return MissingRights(self.place, text)
        if code == 404:
            return OlderAirflow(self.place, f"404 for {path}: these readers need Airflow 3.3 or newer")
        if 300 <= code < 400:
            return Unreachable(self.place, f"{code}: it redirects; give the address it redirects to")
        return Unreachable(self.place, f"answers with {code} for {path}")


@contextmanager
def understood(place: str) -> Iterator[None]:
    """Turn what goes wrong with an answer of another form into an error that says so.

    :raises OlderAirflow: for a missing field, or one of another type.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"an answer is not as Airflow 3.3 gives it ({type(error).__name__}: {error})"[:200]
        raise OlderAirflow(place, text) from None


def instant(text: Any) -> datetime:
    """A moment as the API writes it.

    :raises ValueError: when it is none.
    """
    moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to wherever it points."""

    def redirect_request(  # noqa: PLR0917 - its parent's
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        """Follow none; the answer is then an error of its own."""


def _checked(url: str) -> tuple[str, str]:
    """How errors call the server, and the address below which its paths lie."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise Unreachable("the API's URL", "is no address such as https://airflow.example") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Unreachable("the API's URL", "is no address such as https://airflow.example")
    if parts.username or parts.password:
        raise Unreachable("the API's URL", "holds a user or password; give a token instead")
    path = parts.path.rstrip("/").removesuffix("/api/v2")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    place = f"{parts.scheme}://{host}{port}{path}"
    return place, f"{place}/api/v2"


def _entries(answer: Mapping[str, Any], field: str, place: str) -> list[dict[str, Any]]:
    found = answer.get(field)
    if not isinstance(found, list):
        raise OlderAirflow(place, f"does not answer as Airflow's REST API v2 does: no list {field}")
    return found


def _pause(headers: Any, tried: int) -> float:
    """How long to wait before the next try: as the server asks, within reason."""
    asked = str(headers.get("Retry-After", ""))
    seconds = float(asked) if asked.isdecimal() else float(2**tried)
    return min(seconds, LONGEST_PAUSE_SECONDS)
