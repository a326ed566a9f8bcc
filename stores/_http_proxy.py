"""Which proxy leads to an origin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from urllib.request import getproxies_environment

import httpx

from ._errors import InvalidAccess

__all__ = ["Proxies", "proxy_of"]

_NO_BRACKETS = {ord("["): None, ord("]"): None}
_SCHEMES = "http, https, socks5, socks5h"


def proxy_of(url: str) -> httpx.Proxy:
    """The proxy that a URL names, with its user; one without scheme is spoken to by HTTP.

    :raises InvalidAccess: when it names none. The text does not hold the URL, which may hold a password.
    """
    try:
        proxy = httpx.Proxy(url if "://" in url else f"http://{url}")
    except (ValueError, httpx.InvalidURL):
        raise _unusable() from None
    port = proxy.url.port  # None for the scheme's own
    if not proxy.url.host or (port is not None and not 0 < port < 65536):
        raise _unusable()
    if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
        raise InvalidAccess("proxy", "a SOCKS proxy needs socksio: pip install 'httpx[socks]'")
    return proxy


class Proxies:
    """The proxies of an access.

    :param url: of the one for everything; ``None`` takes the environment's ``HTTP_PROXY``,
        ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``, in either case of letters.
    """

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._environment: Mapping[str, str] = {} if url else getproxies_environment()

    def towards(self, origin: str) -> httpx.Proxy | None:
        """The proxy that leads there; ``None`` when none does.

        :raises InvalidAccess: when its URL is none.
        """
        if self._url:
            return proxy_of(self._url)
        scheme, _, authority = origin.partition("://")
        url = self._environment.get(scheme) or self._environment.get("all")
        if not url or _bypassed(authority, self._environment.get("no", "")):
            return None
        return proxy_of(url)


def _bypassed(authority: str, rules: str) -> bool:
    """Whether ``NO_PROXY`` names the host: by itself, by a domain that it is in, or as one of all (``*``)."""
    hosts = [place.translate(_NO_BRACKETS) for place in (authority, re.sub(r":[0-9]+$", "", authority))]
    for rule in rules.lower().split(","):
        name = rule.strip().lstrip(".").translate(_NO_BRACKETS)
        if name == "*" or (name and any(host == name or host.endswith(f".{name}") for host in hosts)):
            return True
    return False


def _unusable() -> InvalidAccess:
    return InvalidAccess("proxy", f"must be a URL of {_SCHEMES}: scheme://[user:password@]host[:port]")
