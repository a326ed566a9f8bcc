"""Which proxy the HTTP store goes through, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_landmark.stores import InvalidAccess, PassingTrouble, parse_uri
from airflow_landmark.stores._http_proxy import Proxies, proxy_of
from httpserver import HttpServer

Make = Callable[..., Any]


async def test_a_proxy_is_used(make_http: Make, http_server: HttpServer) -> None:
    """Plain requests go to the proxy whole, with the proxy's user and not the origin's."""
    http_server.pages["http://somewhere.invalid/in/m.json"] = b"hello"
    proxy = http_server.origin.replace("//", "//ann:s3cret@")
    store = await make_http(proxy=proxy)
    look = await store.look(parse_uri("http://somewhere.invalid/in/m.json"))
    assert look.data == b"hello"
    assert http_server.seen[0].headers["Proxy-Authorization"] == "Basic YW5uOnMzY3JldA=="


async def test_tls_through_a_proxy_is_a_tunnel(make_http: Make, http_server: HttpServer) -> None:
    """A proxy that refuses a tunnel is passing trouble, and no more of it is told."""
    store = await make_http(proxy=http_server.origin.replace("//", "//ann:s3cret@"))
    with pytest.raises(PassingTrouble, match="the proxy refuses") as caught:
        await store.look(parse_uri("https://somewhere.invalid/in/m.json"))
    assert http_server.seen[0].method == "CONNECT"
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "origin", "host"),
    [
        ({}, "http://a.b", None),
        ({"http_proxy": "http://p:1"}, "http://a.b", "p"),
        ({"HTTP_PROXY": "p:1"}, "http://a.b", "p"),
        ({"http_proxy": "http://p:1"}, "https://a.b", None),
        ({"https_proxy": "http://p:1"}, "https://a.b:444", "p"),
        ({"all_proxy": "http://p:1"}, "https://a.b", "p"),
        ({"all_proxy": "http://p:1", "no_proxy": "*"}, "http://a.b", None),
        ({"all_proxy": "http://p:1", "no_proxy": "x, B"}, "http://a.b:80", None),
        ({"all_proxy": "http://p:1", "no_proxy": ".a.b"}, "http://a.b", None),
        ({"all_proxy": "http://p:1", "NO_PROXY": "b"}, "http://ab", "p"),
        ({"all_proxy": "http://p:1", "no_proxy": "a.b:81"}, "http://a.b:81", None),
        ({"all_proxy": "http://p:1", "no_proxy": "a.b:81"}, "http://a.b:82", "p"),
        ({"all_proxy": "http://p:1", "no_proxy": "::1"}, "http://[::1]:82", None),
        ({"all_proxy": "http://p:1", "no_proxy": ","}, "http://a.b", "p"),
    ],
)
def test_the_environments_proxies(
    environment: dict[str, str], origin: str, host: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual variables mean what they usually do, and the access's own proxy goes before them."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = Proxies(None).towards(origin)
    assert (found and found.url.host) == host
    own = Proxies("http://own:2").towards(origin)
    assert own is not None
    assert (own.url.host, own.url.port) == ("own", 2)


@pytest.mark.parametrize(
    "url", ["http://", "ftp://s3cret@p", "http://p:99999", "http://s3cret:x@", "http://[::1"]
)
def test_no_proxy(url: str) -> None:
    """What names no proxy is refused, without telling it."""
    with pytest.raises(InvalidAccess, match="proxy") as caught:
        proxy_of(url)
    assert "s3cret" not in str(caught.value)


def test_a_proxys_secret_is_not_shown() -> None:
    """The representation of a proxy holds no password."""
    proxy = proxy_of("https://ann:p%40ss@host")
    assert (proxy.url.scheme, proxy.url.port, proxy.auth) == ("https", None, ("ann", "p@ss"))
    assert "p@ss" not in repr(proxy)
