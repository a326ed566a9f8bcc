"""AWS connections: what they mean to the Amazon provider, and what is left of that without it."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import Connection

from airflow_landmark.stores import InvalidAccess, S3Access
from airflow_landmark.triggers import _access_s3 as module
from airflow_landmark.triggers._access_aws import AwsSession, _renewed_in_threads
from airflow_landmark.triggers._access_known import Known

SECRET = "pw-EXAMPLE-1"  # noqa: S105 - what must not be seen anywhere
ROLE = {"role_arn": "arn:aws:iam::123456789012:role/reader"}
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Amazon provider is not installed."""
    monkeypatch.setattr(module, "_has_provider", lambda: False)


@pytest.fixture(autouse=True)
def no_aws_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Keep the developer's own AWS settings out."""
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/credentials")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)


def known_of(extra: Any = None, **fields: Any) -> Known:
    """What is known of a connection with a key pair and this extra."""
    fields = {"conn_type": "aws", "login": "AKIA", "password": SECRET, **fields}
    return Known.of(Connection(conn_id="lake", **fields, extra=None if extra is None else json.dumps(extra)))


def access_of(extra: Any = None, options: Any = None, **fields: Any) -> S3Access:
    """The access that such a connection means."""
    return module.s3_access(known_of(extra, **fields), options or {})


SETTINGS = [
    ({}, {}),
    ({"region_name": "eu-west-3"}, {"region": "eu-west-3"}),
    ({"endpoint_url": "http://127.0.0.1:9000"}, {"endpoint_url": "http://127.0.0.1:9000"}),
    ({"host": "http://127.0.0.1:9000"}, {"endpoint_url": "http://127.0.0.1:9000"}),
    ({"verify": False}, {"verify": False}),
    ({"verify": "False"}, {"verify": False}),
    ({"verify": "/etc/ca.pem"}, {"verify": "/etc/ca.pem"}),
    ({"profile_name": "reader"}, {"profile": "reader"}),
    (
        {"config_kwargs": {"connect_timeout": 3, "read_timeout": 9}},
        {"connect_timeout": 3.0, "read_timeout": 9.0},
    ),
    ({"config_kwargs": {"region_name": "eu-west-3"}}, {"region": "eu-west-3"}),
    ({"config_kwargs": {"s3": {"addressing_style": "path"}}}, {"addressing_style": "path"}),
    (
        {"config_kwargs": {"s3": {"addressing_style": "path", "us_east_1_regional_endpoint": "legacy"}}},
        {"addressing_style": "path", "client_config": (("s3", {"us_east_1_regional_endpoint": "legacy"}),)},
    ),
    (
        {"config_kwargs": {"retries": {"max_attempts": 3}, "signature_version": "s3v4"}},
        {"client_config": (("retries", {"max_attempts": 3}), ("signature_version", "s3v4"))},
    ),
    ({"config_kwargs": {"proxies": {"https": "http://a:1"}}}, {"proxies": (("https", "http://a:1"),)}),
]


@pytest.mark.parametrize(("extra", "expected"), SETTINGS)
def test_settings_with_the_provider(extra: dict[str, Any], expected: dict[str, Any]) -> None:
    """Region, endpoint, verification and the client's settings come from the connection."""
    access = access_of(extra)
    assert isinstance(access.session, AwsSession)
    assert access == S3Access(**expected, session=access.session)
    assert hash(access) == hash(access_of(extra))


@pytest.mark.parametrize(("extra", "expected"), SETTINGS)
def test_settings_without_the_provider(
    no_provider: None, extra: dict[str, Any], expected: dict[str, Any]
) -> None:
    """The same settings mean the same without the provider; login and password are the key pair."""
    assert access_of(extra) == S3Access(**expected, access_key_id="AKIA", secret_access_key=SECRET)


def test_the_provider_knows_the_endpoint_of_the_service() -> None:
    """A service's own endpoint wins, as with the provider's hooks."""
    extra = {
        "endpoint_url": "http://all.example",
        "service_config": {"s3": {"endpoint_url": "http://s3.example"}},
    }
    assert access_of(extra).endpoint_url == "http://s3.example"


def test_options_come_first() -> None:
    """What the sensor says wins over what the connection says, for the session too."""
    extra = {"region_name": "eu-west-3", "verify": False, "config_kwargs": {"connect_timeout": 3}}
    access = access_of(extra, {"region": "us-east-2", "connect_timeout": 7, "treat_403_as_missing": True})
    assert (access.region, access.verify, access.connect_timeout) == ("us-east-2", False, 7.0)
    assert access.treat_403_as_missing
    assert access.session is not None
    assert access.session().get_config_variable("region") == "us-east-2"


def test_keys_in_the_extra(no_provider: None) -> None:
    """A key pair may stand in the extra, with a session token; login and password win."""
    extra = {"aws_access_key_id": "ASIA", "aws_secret_access_key": "other", "aws_session_token": "token"}
    access = access_of(extra, login=None, password=None)
    assert (access.access_key_id, access.secret_access_key, access.session_token) == (
        "ASIA",
        "other",
        "token",
    )
    assert access_of(extra).access_key_id == "AKIA"
    assert access_of({}, login=None, password=None).access_key_id is None


@pytest.mark.parametrize("extra", [{"config_kwargs": {"signature_version": "unsigned"}}, None])
@pytest.mark.parametrize("has_provider", [True, False])
def test_anonymous(monkeypatch: pytest.MonkeyPatch, extra: Any, has_provider: bool) -> None:
    """Requests without a signature are asked for by the connection or by an option."""
    monkeypatch.setattr(module, "_has_provider", lambda: has_provider)
    access = access_of(extra, None if extra else {"anonymous": True})
    assert access.anonymous
    assert (access.session, access.client_config) == (None, ())


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        (ROLE, "role_arn"),
        ({"assume_role_kwargs": {"ExternalId": SECRET}, **ROLE}, "assume_role_kwargs, role_arn"),
        ({"service_config": {"s3": {}}}, "service_config"),
        ({"config_kwargs": {"sigv4a_signing_region_set": "*"}}, "config_kwargs.sigv4a_signing_region_set"),
    ],
)
def test_what_needs_the_provider(no_provider: None, extra: dict[str, Any], named: str) -> None:
    """What only the provider can do is named, with the line that installs it."""
    with pytest.raises(InvalidAccess) as caught:
        access_of(extra)
    assert f"its extra {named} needs the Amazon provider" in str(caught.value)
    assert "pip install apache-airflow-providers-amazon" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("has_provider", [True, False])
@pytest.mark.parametrize(
    ("extra", "fields", "says"),
    [
        ({}, {"conn_type": "postgres"}, "it is of type 'postgres', and an AWS connection is wanted"),
        ({}, {"conn_type": "http"}, "it is of type 'http'"),
        ({"region_name": 7}, {}, "region must be text"),
        ({"endpoint_url": f"http://user:{SECRET}@host"}, {}, "endpoint_url must be"),
        ({"config_kwargs": "x"}, {}, "'config_kwargs' must be an object|provider refuses it"),
        ({"config_kwargs": {"connect_timeout": 0}}, {}, "connect_timeout must be"),
        ({"config_kwargs": {"proxies": {"https": 7}}}, {}, "proxies"),
        ({"config_kwargs": {"s3": {"addressing_style": "odd"}}}, {}, "addressing_style|S3Addressing"),
    ],
)
def test_connections_that_do_not_fit(
    monkeypatch: pytest.MonkeyPatch, has_provider: bool, extra: Any, fields: dict[str, Any], says: str
) -> None:
    """A connection to something else, or one with a wrong setting, is refused by its name."""
    monkeypatch.setattr(module, "_has_provider", lambda: has_provider)
    with pytest.raises(InvalidAccess, match=says) as caught:
        access_of(extra, **fields)
    assert str(caught.value).startswith("connection 'lake': ")
    assert SECRET not in str(caught.value)


def test_what_the_provider_refuses() -> None:
    """What the provider objects to is told by the connection's name, without secrets."""
    for extra in ({**ROLE, "assume_role_method": SECRET}, {"config_kwargs": {"no_such_setting": 1}}):
        with pytest.raises(InvalidAccess, match="the Amazon provider refuses it") as caught:
            access_of(extra)
        assert SECRET not in str(caught.value)


def test_sessions_are_equal_by_content() -> None:
    """Waits share a client while the connection says the same, and not longer."""
    same, again = access_of({"region_name": "eu-west-3"}), access_of({"region_name": "eu-west-3"})
    assert (same, hash(same)) == (again, hash(again))
    assert access_of({"region_name": "eu-west-3"}, password="changed") != same  # noqa: S106 - none
    assert access_of({"region_name": "eu-west-3", **ROLE}) != same
    assert access_of({"region_name": "eu-west-3"}, {"profile": "x"}) != same


def test_nothing_secret_is_shown() -> None:
    """Neither the access nor its session shows a secret."""
    access = access_of(
        {"aws_session_token": SECRET, "config_kwargs": {"proxies": {"https": f"http://u:{SECRET}@a"}}}
    )
    assert SECRET not in f"{access!r} {access.session!r} {access.session}"


async def test_the_session_has_the_credentials(loop_guard: Any) -> None:
    """The session is aiobotocore's, with the connection's key pair and region."""
    access = await asyncio.to_thread(access_of, {"region_name": "eu-west-3", "aws_session_token": "token"})
    assert access.session is not None
    session = await asyncio.to_thread(access.session)
    frozen = await (await session.get_credentials()).get_frozen_credentials()
    assert (frozen.access_key, frozen.secret_key, frozen.token) == ("AKIA", SECRET, "token")
    assert session.get_config_variable("region") == "eu-west-3"


async def test_assumed_roles_are_renewed_off_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider assumes the role; credentials that expire are renewed in a thread, as often as needed."""
    from airflow.providers.amazon.aws.hooks.base_aws import BaseSessionFactory

    renewed_in: list[threading.Thread] = []

    def assume_role(_factory: Any, _sts_client: Any = None, **_kwargs: Any) -> dict[str, Any]:
        renewed_in.append(threading.current_thread())
        expires = datetime.now(tz=timezone.utc) + timedelta(minutes=1)  # so soon that it has to be renewed
        credentials = {
            "AccessKeyId": f"ASIA{len(renewed_in)}", "SecretAccessKey": SECRET, "SessionToken": "token",
            "Expiration": expires,
        }  # fmt: skip
        return {"Credentials": credentials, "ResponseMetadata": {"HTTPStatusCode": 200}}

    monkeypatch.setattr(BaseSessionFactory, "_assume_role", assume_role)
    access = await asyncio.to_thread(access_of, {"region_name": "eu-west-3", **ROLE})
    assert access.session is not None
    session = await asyncio.to_thread(access.session)
    credentials = await session.get_credentials()
    for turn in (2, 3):
        frozen = await credentials.get_frozen_credentials()
        assert (frozen.access_key, frozen.secret_key) == (f"ASIA{turn}", SECRET)
    assert threading.main_thread() not in renewed_in


async def test_credentials_that_are_renewed_asynchronously_stay_so() -> None:
    """A session factory of somebody's own may renew on the loop by itself."""

    async def renew() -> None:
        """Ask somebody."""

    for session in (SimpleNamespace(), SimpleNamespace(_credentials=SimpleNamespace(_refresh_using=renew))):
        before = dict(vars(session))
        assert vars(_renewed_in_threads(session)) == before
    assert session._credentials._refresh_using is renew
