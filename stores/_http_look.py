"""One look: a conditional GET, and what its answer says."""

from __future__ import annotations

import hashlib
import zlib
from contextlib import aclosing

from anyio import to_thread

from airflow_landmark.markers import MAX_DOCUMENT_BYTES

from ._access import HttpAccess
from ._address import Address
from ._errors import Absent, PassingTrouble
from ._http_client import HttpAnswer
from ._http_codings import coding_of, damaged, decoder_of
from ._http_errors import NO_PAGE, error_of_answer
from ._http_headers import state_of, whole
from ._http_requests import Requests
from ._values import Look, Sighting

__all__ = ["look_at"]

_LIMIT = MAX_DOCUMENT_BYTES + 1
_HERE_BYTES = 64 * 1024
"""Larger bodies are digested in a thread: that many take a tenth of a millisecond."""


async def look_at(requests: Requests, access: HttpAccess, address: Address, since: Sighting | None) -> Look:
    """The marker, read unless it is the one that was seen.

    :raises StoreError: sorted; an absent resource is a look without sighting.
    """
    conditions = _conditions(since)
    async with requests.ask("GET", address, conditions) as answer:
        if answer.status == 200:
            return await _seen(answer, address, since)
        if answer.status == 404:  # by far the most frequent answer
            return Look(None, reason=NO_PAGE)
        if answer.status == 304 and conditions:
            return Look(since)
        if answer.status == 304:
            text = "304: unchanged, the server says to a request that did not ask that"
            raise PassingTrouble(address.uri, text)
        error = error_of_answer(answer, address.uri, access)
    if isinstance(error, Absent):
        return Look(None, reason=error.reason)
    raise error


def _conditions(since: Sighting | None) -> list[tuple[str, str]]:
    """By the ETag, or else by Last-Modified; none where an equal one would prove nothing."""
    if since is None or not since.settled:
        return []
    if since.pin.etag is not None:
        return [("if-none-match", since.pin.etag)]
    return [("if-modified-since", since.pin.modified)] if since.pin.modified is not None else []


async def _seen(answer: HttpAnswer, address: Address, since: Sighting | None) -> Look:
    coding = coding_of(answer)
    body = await _body(answer)
    if coding:
        body = await to_thread.run_sync(_decoded, body, coding, address.uri)
    sha256 = _sha256(body) if len(body) <= _HERE_BYTES else await to_thread.run_sync(_sha256, body)
    told = None if coding else whole(answer.header("content-length"))
    size = len(body) if told is None else told
    state = state_of(answer)
    sighting = Sighting(address, size, sha256, state.pin, settled=state.settled)
    unchanged = since is not None and (since.sha256, since.size) == (sha256, size)
    return Look(sighting, None if unchanged else body)


async def _body(answer: HttpAnswer) -> bytes:
    """The body as it came, no more of it than a marker may have and a byte."""
    pieces, left = [], _LIMIT
    async with aclosing(answer.chunks()) as chunks:
        async for chunk in chunks:
            pieces.append(chunk[:left])
            left -= len(chunk)
            if left <= 0:
                break
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _decoded(body: bytes, coding: str, place: str) -> bytes:
    """The document, no more of it than a marker may have and a byte."""
    decoder, pieces, left = decoder_of(coding, place), [], _LIMIT
    try:
        for piece in decoder.pieces(body):
            pieces.append(piece[:left])
            left -= len(piece)
            if left <= 0:
                break
        else:
            if len(body) < _LIMIT:
                decoder.finish()
    except zlib.error:
        raise damaged(place, coding) from None
    return b"".join(pieces)


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
