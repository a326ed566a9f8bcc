"""What S3 and the way to it may answer, sorted: by code, status and class, never by a text."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
from botocore import exceptions as botocore
from botocore.parsers import ResponseParserError

from airflow_landmark.stores import (
    Absent,
    Address,
    Archived,
    Changed,
    LastingTrouble,
    Look,
    PassingTrouble,
    Store,
    StoreError,
)
from airflow_landmark.stores import _s3_read as reading
from airflow_landmark.stores._s3_errors import sorted_error
from faultproxy import FaultProxy
from s3server import AWS_ENVIRONMENT, Reply, S3Server, ScriptedS3, error, opened

THERE = Address("s3", "bucket", "in/", "m.json")

ANSWERS = [
    (404, "NoSuchKey", {}, Absent, "no such object"),
    (404, "NoSuchBucket", {}, LastingTrouble, "no such bucket"),
    (404, "NoSuchVersion", {}, Changed, "deleted"),
    (412, "PreconditionFailed", {}, Changed, "replaced"),
    (409, "ConditionalRequestConflict", {}, Changed, "replaced"),
    (403, "InvalidObjectState", {}, Archived, "restore"),
    (403, "AccessDenied", {}, LastingTrouble, "s3:ListBucket"),
    (403, "AllAccessDisabled", {}, LastingTrouble, "s3:GetObject"),
    (403, "InvalidAccessKeyId", {}, LastingTrouble, "access key"),
    (403, "SignatureDoesNotMatch", {}, LastingTrouble, "access key"),
    (403, "RequestTimeTooSkewed", {}, LastingTrouble, "clock"),
    (400, "KMS.DisabledException", {}, LastingTrouble, "KMS"),
    (400, "AuthorizationHeaderMalformed", {}, LastingTrouble, "another region"),
    (301, "PermanentRedirect", {}, LastingTrouble, "another region"),
    (400, "ExpiredToken", {}, PassingTrouble, "expired"),
    (400, "InvalidToken", {}, PassingTrouble, "expired"),
    (403, "ExpiredTokenException", {}, PassingTrouble, "expired"),
    (503, "SlowDown", {}, PassingTrouble, "busy"),
    (503, "ServiceUnavailable", {}, PassingTrouble, "busy"),
    (500, "InternalError", {}, PassingTrouble, "busy"),
    (400, "RequestTimeout", {}, PassingTrouble, "busy"),
    (429, "TooManyRequests", {}, PassingTrouble, "busy"),
    (502, "", {}, PassingTrouble, "busy"),
    (409, "OperationAborted", {}, PassingTrouble, "busy"),
    (501, "NotImplemented", {}, LastingTrouble, "does not know"),
    (400, "SomethingNew", {}, LastingTrouble, "refuses"),
    (418, "\u202eevil\n" + "x" * 500, {}, LastingTrouble, "refuses"),
]


@pytest.mark.parametrize(("status", "code", "headers", "kind", "words"), ANSWERS)
async def test_answers(
    aws_environment: None,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    code: str,
    headers: Mapping[str, str],
    kind: type[StoreError],
    words: str,
) -> None:
    """Each answer is the one class that says what to do, with words that say how."""
    monkeypatch.setattr(reading, "_ATTEMPTS", 0)
    with ScriptedS3(lambda request: error(status, code, headers)) as server:
        async with opened(server.url) as store:
            with pytest.raises(StoreError) as caught:
                async for _ in store.read(THERE):
                    pass
    assert type(caught.value) is kind
    assert words in caught.value.reason
    assert caught.value.place == "s3://bucket/in/m.json"
    told = str(caught.value)
    assert "SECRET-TEXT" not in told
    assert AWS_ENVIRONMENT["AWS_SECRET_ACCESS_KEY"] not in told
    assert "Signature=" not in told
    assert told.isprintable()
    assert len(told) < 600


@pytest.mark.parametrize("kind", ["SlowDown", "ExpiredToken", "AccessDenied", "InternalError"])
async def test_a_store_in_trouble_is_asked_once_a_look(aws_environment: None, kind: str) -> None:
    """Nothing beneath the store sends a request again."""
    with ScriptedS3(lambda request: error(503 if kind == "SlowDown" else 400, kind)) as server:
        async with opened(server.url) as store:
            with pytest.raises(StoreError):
                await store.look(THERE)
    assert len(server.requests) == 1


async def test_a_connection_that_breaks_is_asked_once_a_look(aws_environment: None) -> None:
    """A server that hangs up is not called again at once."""
    with ScriptedS3(lambda request: Reply(cut=True)) as server:
        async with opened(server.url) as store:
            with pytest.raises(PassingTrouble):
                await store.look(THERE)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("7", 7.0, 7.0),
        ("0", 0.0, 0.0),
        ("999999999999999999999999", 3_600.0, 3_600.0),
        ("in an hour", 3_500.0, 3_600.0),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0, 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3_600.0, 3_600.0),
    ],
)
async def test_retry_after(aws_environment: None, header: str, least: float, most: float) -> None:
    """Seconds or a date, within bounds."""
    if header == "in an hour":
        header = format_datetime(datetime.now(timezone.utc) + timedelta(hours=1), usegmt=True)
    with ScriptedS3(lambda request: error(503, "SlowDown", {"Retry-After": header})) as server:
        async with opened(server.url) as store:
            with pytest.raises(PassingTrouble) as caught:
                await store.look(THERE)
    assert caught.value.retry_after is not None
    assert least <= caught.value.retry_after <= most


@pytest.mark.parametrize("header", ["-7", "soon", "7.5", "1e9", "", "²"])
def test_retry_after_that_says_nothing(header: str) -> None:
    """Anything else is no wish."""
    response = {
        "Error": {"Code": "SlowDown"},
        "ResponseMetadata": {"HTTPStatusCode": 503, "HTTPHeaders": {"retry-after": header}},
    }
    sorted_ = sorted_error(botocore.ClientError(response, "GetObject"), place="s3://b/k", operation="x")
    assert isinstance(sorted_, PassingTrouble)
    assert sorted_.retry_after is None


EXCEPTIONS = [
    (botocore.NoCredentialsError(), LastingTrouble, "AWS_ACCESS_KEY_ID"),
    (botocore.PartialCredentialsError(provider="env", cred_var="x"), LastingTrouble, "no credentials"),
    (botocore.ProfileNotFound(profile="p"), LastingTrouble, "profile"),
    (botocore.ConfigParseError(path="p"), LastingTrouble, "profile"),
    (botocore.UnauthorizedSSOTokenError(), LastingTrouble, "aws sso login"),
    (botocore.SSLError(endpoint_url="https://x?sig=S", error="e"), LastingTrouble, "verify"),
    (botocore.ParamValidationError(report="secret"), LastingTrouble, "no such bucket or key"),
    (botocore.FlexibleChecksumError(error_msg="x"), PassingTrouble, "checksum"),
    (botocore.CredentialRetrievalError(provider="p", error_msg="secret"), PassingTrouble, "credentials"),
    (botocore.MetadataRetrievalError(error_msg="x"), PassingTrouble, "credentials"),
    (botocore.EndpointConnectionError(endpoint_url="https://x?sig=S"), PassingTrouble, "no answer"),
    (botocore.ConnectTimeoutError(endpoint_url="https://x?sig=S"), PassingTrouble, "no answer"),
    (botocore.ReadTimeoutError(endpoint_url="https://x?sig=S"), PassingTrouble, "no answer"),
    (botocore.ConnectionClosedError(endpoint_url="https://x?sig=S"), PassingTrouble, "no answer"),
    (botocore.ProxyConnectionError(proxy_url="http://u:secret@x"), PassingTrouble, "no answer"),
    (botocore.HTTPClientError(error="secret"), PassingTrouble, "no answer"),
    (botocore.ResponseStreamingError(error="secret"), PassingTrouble, "no answer"),
    (botocore.IncompleteReadError(actual_bytes=1, expected_bytes=2), PassingTrouble, "no answer"),
    (botocore.NoRegionError(), LastingTrouble, "settings"),
    (aiohttp.ClientPayloadError("secret"), PassingTrouble, "no answer"),
    (aiohttp.ServerTimeoutError("secret"), PassingTrouble, "no answer"),
    (asyncio.TimeoutError(), PassingTrouble, "no answer"),
    (ConnectionResetError("secret"), PassingTrouble, "no answer"),
    (ssl.SSLError("secret"), LastingTrouble, "TLS"),
    (ResponseParserError("secret"), LastingTrouble, "endpoint"),
]


@pytest.mark.parametrize(("found", "kind", "words"), EXCEPTIONS, ids=lambda value: type(value).__name__)
def test_exceptions(found: Exception, kind: type[StoreError], words: str) -> None:
    """What is raised without an answer is sorted by its class, and its text is not repeated."""
    sorted_ = sorted_error(found, place="s3://b/k", operation="GetObject")
    assert type(sorted_) is kind
    assert words in str(sorted_)
    assert "secret" not in str(sorted_)
    assert "sig=" not in str(sorted_)


def test_what_is_none_of_ours() -> None:
    """A defect is not dressed up as trouble of the store."""
    assert sorted_error(KeyError("x"), place="s3://b/k", operation="GetObject") is None
    mine = Absent("s3://b/k", "x")
    assert sorted_error(mine, place="other", operation="GetObject") is mine


def test_a_role_that_may_not_be_assumed() -> None:
    """A refusal by the service that gives credentials is not a refusal by the bucket."""
    response: Any = {"Error": {"Code": "AccessDenied"}, "ResponseMetadata": {"HTTPStatusCode": 403}}
    refused = botocore.ClientError(response, "AssumeRole")
    sorted_ = sorted_error(refused, place="s3://b/k", operation="GetObject")
    assert isinstance(sorted_, LastingTrouble)
    assert "AssumeRole was answered 403" in sorted_.reason
    assert "trust policy" in sorted_.reason


@pytest.mark.parametrize(
    ("operation", "right"), [("ListObjectsV2", "s3:ListBucket"), ("PutObject", "s3:PutObject")]
)
def test_the_right_that_is_missing(operation: str, right: str) -> None:
    """Each operation names its own."""
    response: Any = {"Error": {"Code": "AccessDenied"}, "ResponseMetadata": {"HTTPStatusCode": 403}}
    sorted_ = sorted_error(botocore.ClientError(response, operation), place="s3://b/k", operation=operation)
    assert isinstance(sorted_, LastingTrouble)
    assert right in sorted_.reason


async def test_a_wrong_region_is_named(aws_environment: None) -> None:
    """When the server says where the bucket is, the text does."""
    reply = error(301, "PermanentRedirect", {"x-amz-bucket-region": "ap-south-1"})
    with ScriptedS3(lambda request: reply) as server:
        async with opened(server.url) as store:
            with pytest.raises(LastingTrouble, match=r"region \('ap-south-1'\): set the option region"):
                await store.look(THERE)


async def test_a_redirect_to_somewhere_else(aws_environment: None) -> None:
    """A redirect that names no region, such as to https, is not followed and not asked about."""
    reply = Reply(301, b"", {"Location": "https://elsewhere.example/"})
    with ScriptedS3(lambda request: reply) as server:
        async with opened(server.url) as store:
            with pytest.raises(LastingTrouble, match="another region or at another URL"):
                await store.look(THERE)
    assert len(server.requests) == 1


async def test_nothing_listens(aws_environment: None) -> None:
    """A port where nothing listens is passing trouble."""
    with FaultProxy("127.0.0.1", 9) as proxy:
        port = proxy.port
    async with opened(f"http://127.0.0.1:{port}") as store:
        with pytest.raises(PassingTrouble, match="no answer to GetObject"):
            await store.look(THERE)


@pytest.mark.parametrize("mode", ["blackhole", "reset", "cut"])
async def test_a_way_that_fails(s3: S3Server, mode: str) -> None:
    """Silence, resets and broken answers are passing trouble; afterwards all is well."""
    there = Address("s3", s3.bucket(), "in/", "m.json")
    with FaultProxy("127.0.0.1", s3.port) as proxy:
        async with opened(f"http://127.0.0.1:{proxy.port}", read_timeout=0.3) as store:
            proxy.mode, proxy.after_bytes = mode, 20  # type: ignore[assignment]
            with pytest.raises(PassingTrouble):
                await store.look(there)
            proxy.mode = "pass"
            assert (await _patient_look(store, there)).sighting is None


async def _patient_look(store: Store, there: Address) -> Look:
    """A look, again where a busy machine takes longer than the short time limit."""
    for _ in range(19):
        with suppress(PassingTrouble):
            return await store.look(there)
    return await store.look(there)


async def test_no_credentials(aws_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any the text says where they are looked for, and nothing is sent."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with ScriptedS3(lambda request: error(404, "NoSuchKey")) as server:
        async with opened(server.url) as store:
            with pytest.raises(LastingTrouble, match=r"AWS_ACCESS_KEY_ID.*~/\.aws.*role"):
                await store.look(THERE)
        async with opened(server.url, anonymous=True) as store:
            assert (await store.look(THERE)).sighting is None
    assert len(server.requests) == 1
    assert "authorization" not in server.requests[0].headers


@contextmanager
def _with_tls(server: ScriptedS3, authority: trustme.CA) -> Iterator[str]:
    """Let the server speak TLS; gives its URL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    inner: ThreadingHTTPServer = server._server
    inner.socket = context.wrap_socket(inner.socket, server_side=True)
    inner.handle_error = lambda *_: None  # type: ignore[method-assign]
    with server:
        yield server.url.replace("http:", "https:")


async def test_tls(aws_environment: None, tmp_path: Path) -> None:
    """Unknown authorities are lasting trouble; one that is named is trusted; checking can be left off."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    with _with_tls(ScriptedS3(lambda request: error(404, "NoSuchKey")), authority) as url:
        async with opened(url) as store:
            with pytest.raises(LastingTrouble, match="option verify"):
                await store.look(THERE)
        for verify in (str(tmp_path / "ca.pem"), False):
            async with opened(url, verify=verify) as store:
                assert (await store.look(THERE)).sighting is None


async def test_a_bundle_that_is_not_there(aws_environment: None, tmp_path: Path) -> None:
    """A wrong path of a bundle is told, too."""
    async with opened("https://127.0.0.1:9", verify=str(tmp_path / "none.pem")) as store:
        with pytest.raises(StoreError):
            await store.look(THERE)


async def test_a_plain_server_behind_an_https_url(s3: S3Server) -> None:
    """A URL with the wrong scheme is told as what it is."""
    async with opened(s3.url.replace("http:", "https:")) as store:
        with pytest.raises(LastingTrouble, match="TLS"):
            await store.look(THERE)
