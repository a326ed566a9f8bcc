"""An Airflow HTTP connection as the access to an origin, read as the HTTP provider's hook reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from airflow_landmark.markers import show
from airflow_landmark.stores import HttpAccess, InvalidAddress, options_of, parse_uri

from ._access_known import Known

__all__ = ["http_access"]

_UNUSED = {
    "stream", "check_response", "max_redirects", "allow_redirects", "trust_env", "srv_lookup", "cert",
}  # fmt: skip
"""Settings of the hook that are not headers. Looks check every status, and follow redirects within the
origin, whatever the connection says; the last three are refused where they mean something."""
_SETTINGS = _UNUSED | {"headers", "query", "verify", "verify_ssl", "timeout", "proxies", "proxy"}
_OURS = {
    "host", "range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range",
    "accept-encoding", "connection", "content-length", "transfer-encoding",
}  # fmt: skip
"""Headers that a look sets by itself."""
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\x80-\xff]{0,8192}")
_QUERY = re.compile(r"[!-~]{1,4096}")
_MAX_HEADERS = 64


def http_access(known: Known, scheme: str, options: Mapping[str, Any]) -> HttpAccess:
    """The access that the connection means.

    :param scheme: of the delivery's URI: which proxy counts.
    :raises InvalidAccess: naming what is wrong with the connection.
    """
    known.check_type({"http", "https"}, "an HTTP connection")
    _refuse_what_cannot_be_kept(known)
    settings = known.options(scheme, _timeouts(known) | {"verify": _verify(known)}) | options_of(
        scheme, options
    )
    return HttpAccess(
        **settings,
        origin=_origin(known),
        username=known.login or None,
        password=known.password if known.login else None,
        headers=_headers(known),
        query=_query(known),
        proxy=_proxy(known, scheme),
    )


def _refuse_what_cannot_be_kept(known: Known) -> None:
    for name, meant in (("cert", True), ("srv_lookup", True), ("trust_env", False)):
        value = known.flag(name)
        if value is not None and (name == "cert" or value is meant):
            raise known.wrong(f"its extra {name!r} is not supported here: leave it out")


def _origin(known: Known) -> str | None:
    """``scheme://host[:port]``; ``None`` when the connection names no host."""
    if not known.host:
        return None
    schema = known.schema.lower() or ("https" if known.conn_type == "https" else "http")
    base = known.host if "://" in known.host else f"{schema}://{known.host}"
    scheme, _, rest = base.partition("://")
    authority = rest.partition("/")[0]
    try:
        place = parse_uri(f"{scheme}://{authority}{f':{known.port}' if known.port else ''}/", folder=True)
    except InvalidAddress as error:
        raise known.wrong(f"its host, schema and port name no origin: {error.reason}") from None
    if place.scheme not in ("http", "https"):
        raise known.wrong(f"its schema must be http or https, not {show(place.scheme)}")
    return f"{place.scheme}://{place.authority}"


def _headers(known: Known) -> tuple[tuple[str, str], ...]:
    """The object under ``headers``, and every extra that is no setting: that is how the hook has them."""
    others = {name: value for name, value in known.extra.items() if name not in _SETTINGS}
    headers = {**others, **known.mapping("headers")}
    if known.login:  # the hook's authentication replaces a header of that kind too
        headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
    if len(headers) > _MAX_HEADERS:
        raise known.wrong(f"it has {len(headers)} headers, {_MAX_HEADERS} at most")
    return tuple((name, _header(known, name, value)) for name, value in sorted(headers.items()))


def _header(known: Known, name: str, value: Any) -> str:
    if not _HEADER_NAME.fullmatch(name) or name.lower() in _OURS:
        raise known.wrong(f"its extra {show(name)} cannot be sent as a header")
    text = str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not _HEADER_VALUE.fullmatch(text):
        raise known.wrong(f"its extra {show(name)} is no setting, and no text that a header can hold")
    return text


def _query(known: Known) -> str:
    query = known.extra.get("query", "")
    text = urlencode(query) if isinstance(query, dict) else query
    text = text.removeprefix("?") if isinstance(text, str) else ""
    if query and (not _QUERY.fullmatch(text) or "#" in text):
        raise known.wrong("its extra 'query' must be an object, or text that is percent-encoded")
    return text


def _verify(known: Known) -> Any:
    return known.flag("verify" if "verify" in known.extra else "verify_ssl")


def _timeouts(known: Known) -> dict[str, Any]:
    """One number of seconds for both, or two: to connect, and between bytes."""
    timeout = known.extra.get("timeout")
    connect, read = timeout if isinstance(timeout, list) and len(timeout) == 2 else (timeout, timeout)
    return {"connect_timeout": _number(connect), "read_timeout": _number(read)}


def _number(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", value):
        return float(value)
    return value


def _proxy(known: Known, scheme: str) -> str | None:
    given = known.extra.get("proxies", known.extra.get("proxy"))
    proxy = given.get(scheme, given.get("all")) if isinstance(given, dict) else given
    if proxy is None or (isinstance(proxy, str) and re.fullmatch(r"[a-z0-9]{2,8}://[!-~]{1,1000}", proxy)):
        return proxy
    raise known.wrong("its extra 'proxies' must be URLs by scheme, or one URL")
