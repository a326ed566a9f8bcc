"""Whom the credentials of an access are for, and what is sent to everybody."""

from __future__ import annotations

import re
from base64 import b64encode

from airflow_landmark.markers import show

from ._access import HttpAccess
from ._address import Address, parse_uri
from ._errors import InvalidAccess, InvalidAddress
from ._http_client import Headers

__all__ = ["headers_of", "normalised", "origin_of", "query_of", "trusted_origin"]

_BASE: Headers = (
    (b"accept", b"*/*"),
    (b"accept-encoding", b"identity"),
    (b"cache-control", b"no-cache"),
    (b"user-agent", b"airflow-landmark"),
)
_OURS = frozenset(
    {
        "accept-encoding", "connection", "content-length", "host", "if-match", "if-modified-since",
        "if-none-match", "if-range", "if-unmodified-since", "range", "te", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
_ADDED = frozenset({b"cache-control"})
"""Headers that a connection may add to, but not replace: no answer may come from a cache unasked."""
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_VALUE = re.compile(r"[\x20-\x7e\x80-\xff]{0,8192}")
_QUERY = re.compile(r"[!-~]{0,4096}")


def origin_of(address: Address) -> str:
    """Scheme, host and, unless it is the default one, port."""
    return f"{address.scheme}://{address.authority}"


def trusted_origin(access: HttpAccess) -> str | None:
    """The one origin that the credentials are for; ``None`` when the access names none.

    :raises InvalidAccess: when it is no origin.
    """
    if access.origin is None:
        return None
    try:
        return normalised(access.origin)
    except InvalidAddress as error:
        raise InvalidAccess("origin", f"must be scheme://host[:port]: {error.reason}") from None


def normalised(origin: str) -> str:
    """The origin as addresses have it.

    :raises InvalidAddress: when it is none.
    """
    place = parse_uri(f"{origin}/", folder=True)
    if place.scheme not in ("http", "https"):
        raise InvalidAddress(show(origin), "http or https is needed")
    return f"{place.scheme}://{place.authority}"


def query_of(access: HttpAccess) -> str:
    """What is appended to every URL.

    :raises InvalidAccess: for what cannot be sent.
    """
    if not _QUERY.fullmatch(access.query) or "#" in access.query:
        raise InvalidAccess("query", "must be percent-encoded text")
    return access.query.removeprefix("?")


def headers_of(access: HttpAccess) -> Headers:
    """Our headers and the connection's, which count more.

    :raises InvalidAccess: for what cannot be sent.
    """
    credentials = _credentials(access)
    replaced = {name for name, _ in credentials} - _ADDED
    return [*(pair for pair in _BASE if pair[0] not in replaced), *credentials]


def _credentials(access: HttpAccess) -> list[tuple[bytes, bytes]]:
    headers = []
    for name, value in access.headers:
        if not _NAME.fullmatch(name) or name.lower() in _OURS:
            raise InvalidAccess(show(name), "cannot be sent as a header")
        if not _VALUE.fullmatch(value):
            raise InvalidAccess(show(name), "its value holds what a header cannot hold")
        headers.append((name.lower().encode(), value.strip().encode("latin-1")))
    if access.username is not None:
        headers = [(name, value) for name, value in headers if name != b"authorization"]
        headers.append((b"authorization", b"Basic " + b64encode(_user(access))))
    return headers


def _user(access: HttpAccess) -> bytes:
    """User and password as requests and aiohttp write them; UTF-8 only where those would fail."""
    text = f"{access.username}:{access.password or ''}"
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
