"""How a store is reached: settings and credentials, as plain values.

Options are what a Dag's author may write beside a URI. They end up in the metadata database in readable
form, so none of them is a secret; secrets come from an Airflow connection or from the environment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from airflow_landmark.markers import show

from ._errors import InvalidAccess

__all__ = ["Access", "HttpAccess", "S3Access", "SessionSource", "access_of", "options_of"]

AddressingStyle = Literal["auto", "path", "virtual"]
_MAX_TIMEOUT = 600.0


class SessionSource(Protocol, Hashable):
    """Builds AWS sessions: equal ones build equal sessions, so that waits can share a client."""

    def __call__(self) -> Any:
        """A new aiobotocore session, with the credentials of now. Blocks: call it in a thread."""


@dataclass(frozen=True, slots=True)
class S3Access:
    """How S3 or a server that speaks its protocol is reached.

    :param region: such as ``"eu-west-3"``; ``None`` takes the environment's.
    :param endpoint_url: of a server that is not AWS; ``None`` takes the environment's.
    :param verify: whether TLS certificates are checked, or the path of a file with the CAs to trust.
    :param addressing_style: ``"path"`` puts the bucket into the path, ``"virtual"`` into the host's name.
    :param profile: name in the AWS configuration files.
    :param anonymous: send no credentials.
    :param connect_timeout: seconds.
    :param read_timeout: seconds without a byte.
    :param treat_403_as_missing: a refusal counts as an absent object: for buckets that may not be listed.
    :param access_key_id: static credentials; ``None`` takes the default chain of the AWS SDK.
    :param secret_access_key: see above.
    :param session_token: see above.
    :param proxies: (scheme, URL) pairs; empty takes the environment's.
    :param client_config: further settings of botocore's ``Config``, as (name, value) pairs.
    :param session: builds the session in place of the settings above, as the Amazon provider does.
    """

    region: str | None = None
    endpoint_url: str | None = None
    verify: bool | str = True
    addressing_style: AddressingStyle = "auto"
    profile: str | None = None
    anonymous: bool = False
    connect_timeout: float = 5.0
    read_timeout: float = 20.0
    treat_403_as_missing: bool = False
    access_key_id: str | None = field(default=None, repr=False)
    secret_access_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    proxies: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    client_config: tuple[tuple[str, Hashable], ...] = field(default=(), repr=False)
    session: SessionSource | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class HttpAccess:
    """How an HTTP origin is reached.

    Credentials (user, headers, query) go to ``origin`` only; without one they are refused.

    :param verify: whether TLS certificates are checked, or the path of a file with the CAs to trust.
    :param connect_timeout: seconds.
    :param read_timeout: seconds without a byte.
    :param gone: what a 410 answer means: ``"wait"`` as for 404, or ``"fail"``.
    :param treat_403_as_missing: a refusal counts as an absent resource.
    :param origin: ``scheme://host[:port]`` that the credentials are for.
    :param username: for basic authentication; ``None`` for none.
    :param password: see above.
    :param headers: (name, value) pairs sent with every request to the origin.
    :param query: appended to every URL of the origin, such as an access signature.
    :param proxy: URL; ``None`` takes the environment's.
    """

    verify: bool | str = True
    connect_timeout: float = 5.0
    read_timeout: float = 20.0
    gone: Literal["wait", "fail"] = "wait"
    treat_403_as_missing: bool = False
    origin: str | None = None
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    query: str = field(default="", repr=False)
    proxy: str | None = field(default=None, repr=False)


Access = S3Access | HttpAccess


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise TypeError("text")
    return value


def _one_of(*words: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in words:
            raise TypeError(f"one of {', '.join(words)}")
        return str(value)

    return check


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _flag_or_text(value: Any) -> bool | str:
    return value if isinstance(value, bool) else _text(value)


def _seconds(value: Any) -> float:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not 0.1 <= value <= _MAX_TIMEOUT:
        raise TypeError(f"0.1 to {_MAX_TIMEOUT:g} seconds")
    return float(value)


def _url(value: Any) -> str:
    """A URL without user, password and query."""
    text = _text(value)
    if not text.lower().startswith(("http://", "https://")) or any(mark in text for mark in "@?#"):
        raise TypeError("http(s)://host[:port] without user, password and query")
    return text.rstrip("/")


_Rules = Mapping[str, Callable[[Any], Any]]

_S3: _Rules = {
    "region": _text,
    "endpoint_url": _url,
    "verify": _flag_or_text,
    "addressing_style": _one_of("auto", "path", "virtual"),
    "profile": _text,
    "anonymous": _flag,
    "connect_timeout": _seconds,
    "read_timeout": _seconds,
    "treat_403_as_missing": _flag,
}
_HTTP: _Rules = {
    "verify": _flag_or_text,
    "connect_timeout": _seconds,
    "read_timeout": _seconds,
    "gone": _one_of("wait", "fail"),
    "treat_403_as_missing": _flag,
}
_RULES: Mapping[str, _Rules] = {"file": {}, "s3": _S3, "http": _HTTP, "https": _HTTP}


def options_of(scheme: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options, checked.

    :raises InvalidAccess: naming the option and what it may be.
    """
    rules = _RULES.get(scheme, {})
    checked = {}
    for name, value in (options or {}).items():
        rule = rules.get(name)
        if rule is None:
            known = ", ".join(rules) or "none"
            raise InvalidAccess(
                show(name), f"no option for {scheme} (known: {known}); secrets belong into a connection"
            )
        try:
            checked[name] = rule(value)
        except TypeError as error:
            raise InvalidAccess(name, f"must be {error}") from None
    return checked


def access_of(scheme: str, options: Mapping[str, Any] | None = None) -> Access | None:
    """The access that options alone make: credentials come from the environment.

    :param scheme: of the address; ``None`` is returned for local files, which need no access.
    :raises InvalidAccess: for an option that does not exist or cannot have that value.
    """
    checked = options_of(scheme, options)
    if scheme == "s3":
        return S3Access(**checked)
    if scheme in ("http", "https"):
        return HttpAccess(**checked)
    return None
