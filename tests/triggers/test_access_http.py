"""HTTP connections: read as the HTTP provider's hook reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.sdk import Connection
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.stores import HttpAccess, InvalidAccess
from airflow_landmark.triggers._access_http import http_access
from airflow_landmark.triggers._access_known import Known

SECRET = "pw-EXAMPLE-1"  # noqa: S105 - what must not be seen anywhere


def known_of(extra: Any = None, **fields: Any) -> Known:
    """What is known of a connection with these fields."""
    text = extra if extra is None or isinstance(extra, str) else json.dumps(extra)
    return Known.of(Connection(conn_id="partner", **{"conn_type": "http", **fields}, extra=text))


def access_of(extra: Any = None, scheme: str = "https", options: Any = None, **fields: Any) -> HttpAccess:
    """The access that a connection with these fields means."""
    return http_access(known_of(extra, **fields), scheme, options or {})


@pytest.mark.parametrize(
    ("fields", "origin"),
    [
        ({"host": "host.example"}, "http://host.example"),
        ({"host": "host.example", "schema": "https"}, "https://host.example"),
        ({"host": "host.example", "conn_type": "https"}, "https://host.example"),
        ({"host": "host.example", "schema": "https", "port": 8443}, "https://host.example:8443"),
        ({"host": "host.example", "schema": "https", "port": 443}, "https://host.example"),
        ({"host": "host.example:8080"}, "http://host.example:8080"),
        ({"host": "https://host.example", "schema": "http"}, "https://host.example"),
        ({"host": "https://HOST.example/api/v1"}, "https://host.example"),
        ({"host": "https://host.example", "port": 8443}, "https://host.example:8443"),
        ({"host": "::1", "schema": "http"}, None),
        ({"host": "[::1]", "schema": "http", "port": 80}, "http://[::1]"),
        ({"conn_type": "generic", "host": "host.example", "schema": "https"}, "https://host.example"),
        ({"conn_type": None, "host": "host.example", "schema": "https"}, "https://host.example"),
        ({}, ""),
    ],
)
def test_origin(fields: dict[str, Any], origin: str | None) -> None:
    """Host, schema and port name the origin; without a host the URI's own is meant."""
    if origin is None:
        with pytest.raises(InvalidAccess, match="name no origin"):
            access_of(**fields)
    else:
        assert access_of(**fields).origin == (origin or None)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"conn_type": "postgres"}, "it is of type 'postgres', and an HTTP connection is wanted"),
        ({"conn_type": "aws"}, "it is of type 'aws'"),
        ({"host": f"https://user:{SECRET}@host.example"}, "user and password"),
        ({"host": "host.example", "schema": "ftp"}, "name no origin|http or https"),
        ({"host": "host.example", "schema": "s3"}, "http or https"),
        ({"host": "host example"}, "name no origin"),
    ],
)
def test_connections_that_do_not_fit(fields: dict[str, Any], says: str) -> None:
    """A connection to something else, or to no origin, is refused by its name."""
    with pytest.raises(InvalidAccess, match=says) as caught:
        access_of(**fields)
    assert str(caught.value).startswith("connection 'partner': ")
    assert SECRET not in str(caught.value)


def test_login_and_password() -> None:
    """Login and password are for basic authentication; a password alone is none, as with the hook."""
    access = access_of(login="user", password=SECRET)
    assert (access.username, access.password) == ("user", SECRET)
    assert access_of(password=SECRET).password is None
    assert access_of(login="user").password == ""


def test_headers_in_both_ways() -> None:
    """Headers stand under their own name, or all extras that are no settings are headers."""
    hook_way = {"Authorization": f"Bearer {SECRET}", "X-Trace": 7, "stream": True, "check_response": False}
    assert access_of(hook_way).headers == (("Authorization", f"Bearer {SECRET}"), ("X-Trace", "7"))
    assert access_of({"headers": {"X-Token": SECRET}, "timeout": 3}).headers == (("X-Token", SECRET),)
    assert access_of({"Authorization": SECRET}, login="user", password=SECRET).headers == ()


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ("no JSON", "its extra must be a JSON object, and is no JSON at all"),
        ("[" * 100_000, "its extra must be a JSON object"),
        ([1], "its extra must be a JSON object, not list"),
        ('"text"', "not str"),
        ({"headers": "Authorization: x"}, "'headers' must be an object, not str"),
        ({"X-Trace": {"a": 1}}, "'X-Trace' is no setting, and no text that a header can hold"),
        ({"X-Trace": True}, "'X-Trace' is no setting"),
        ({"X-Trace": "a\r\nHost: evil"}, "'X-Trace' is no setting"),
        ({"X Trace": "x"}, "'X Trace' cannot be sent"),
        ({"Host": "evil.example"}, "'Host' cannot be sent as a header"),
        ({"headers": {"Range": "bytes=0-"}}, "'Range' cannot be sent as a header"),
        ({f"X-{n}": "x" for n in range(65)}, "it has 65 headers, 64 at most"),
        ({"query": "a b"}, "'query' must be"),
        ({"query": "a=1#b"}, "'query' must be"),
        ({"query": 7}, "'query' must be"),
        ({"timeout": 0}, "connect_timeout must be 0.1 to 600 seconds"),
        ({"timeout": [1, 2, 3]}, "connect_timeout must be"),
        ({"verify": 7}, "verify must be text"),
        ({"proxies": 7}, "'proxies' must be URLs"),
        ({"proxies": {"https": 7}}, "'proxies' must be URLs"),
        ({"proxy": "no url"}, "'proxies' must be URLs"),
        ({"cert": "/etc/client.pem"}, "'cert' is not supported"),
        ({"srv_lookup": True}, "'srv_lookup' is not supported"),
        ({"srv_lookup": "true"}, "'srv_lookup' is not supported"),
        ({"trust_env": False}, "'trust_env' is not supported"),
    ],
)
def test_extras_that_cannot_be_kept(extra: Any, says: str) -> None:
    """What cannot be kept to is refused by its name, and its value is not repeated."""
    with pytest.raises(InvalidAccess, match=says) as caught:
        access_of(extra)
    assert "evil" not in str(caught.value)


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({"timeout": 3}, {"connect_timeout": 3.0, "read_timeout": 3.0}),
        ({"timeout": "3.5"}, {"connect_timeout": 3.5, "read_timeout": 3.5}),
        ({"timeout": [2, 9]}, {"connect_timeout": 2.0, "read_timeout": 9.0}),
        ({"verify": False}, {"verify": False}),
        ({"verify": "False"}, {"verify": False}),
        ({"verify_ssl": False}, {"verify": False}),
        ({"verify": "/etc/ca.pem"}, {"verify": "/etc/ca.pem"}),
        ({"proxies": {"http": "http://a:1", "https": "http://b:2"}}, {"proxy": "http://b:2"}),
        ({"proxies": {"all": "http://a:1"}}, {"proxy": "http://a:1"}),
        ({"proxies": {"http": "http://a:1"}}, {"proxy": None}),
        ({"proxy": "http://user:x@a:1"}, {"proxy": "http://user:x@a:1"}),
        ({"query": "?sig=a%20b"}, {"query": "sig=a%20b"}),
        ({"query": {"sig": "a b"}}, {"query": "sig=a+b"}),
        ({"allow_redirects": False, "max_redirects": 3, "trust_env": True, "srv_lookup": False}, {}),
        ({"verify": None, "headers": {}}, {}),
        (None, {}),
        ("", {}),
    ],
)
def test_settings(extra: Any, expected: dict[str, Any]) -> None:
    """The hook's settings mean the same here."""
    assert access_of(extra) == HttpAccess(**expected)


def test_options_come_first() -> None:
    """What the sensor says wins over what the connection says."""
    access = access_of({"timeout": 3, "verify": False}, options={"verify": True, "gone": "fail"})
    assert access == HttpAccess(verify=True, gone="fail", connect_timeout=3.0, read_timeout=3.0)


def test_nothing_secret_is_shown() -> None:
    """Neither a connection nor its access shows a secret."""
    extra = {"headers": {"X-Token": SECRET}, "query": f"sig={SECRET}", "proxy": f"http://u:{SECRET}@a:1"}
    known = known_of(extra, login=SECRET, password=SECRET, host="host.example")
    assert SECRET not in f"{known!r} {known} {http_access(known, 'https', {})!r}"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(["headers", "query", "verify", "timeout", "proxies", "X-A"]) | st.text(max_size=8)


@given(st.dictionaries(names, json_values, max_size=4), st.text(max_size=20), st.text(max_size=8))
def test_any_connection_is_read_or_refused(extra: dict[str, Any], host: str, schema: str) -> None:
    """Whatever stands in a connection, it makes an access or is refused with the one error for that."""
    try:
        access = access_of(extra, host=host, schema=schema)
    except InvalidAccess:
        return
    assert hash(access) == hash(access)
    assert all("\n" not in value for _name, value in access.headers)
