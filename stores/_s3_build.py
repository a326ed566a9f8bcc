"""Building sessions and clients of S3. Importing this takes most of a second: do that in a thread, too."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import anyio
from aiobotocore.config import AioConfig
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.session import AioSession
from anyio import to_thread
from botocore import UNSIGNED
from botocore.exceptions import BotoCoreError
from botocore.handlers import add_expect_header

from ._access import S3Access
from ._errors import InvalidAccess, LastingTrouble

__all__ = ["creation", "renewed_in_threads"]

_POOL = 1_000
"""Connections of a client: requests are bounded elsewhere, and files that are open keep one each."""
_KEEP_SECONDS = 4.0
_MAX_ANSWER_BYTES = 32 << 20
"""The longest answer that is no object: a listing of 1,000 keys has at most some megabytes."""

_LOADERS: dict[str | None, Any] = {}
"""What has read the descriptions of services, by where else than in botocore they are looked for."""


def creation(access: S3Access) -> tuple[Any, Callable[[], Awaitable[Any]]]:
    """A new session, and what creates its client when awaited; both block.

    :raises InvalidAccess: when botocore takes no such settings.
    """
    config = _config(access)
    session = access.session() if access.session is not None else AioSession(profile=access.profile)
    _share_models(session)
    # LastModified is kept as text: making an instant of every line of a listing takes longer than the rest
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=str)
    # With it aiohttp waits for the server to ask for a body, without end where that does not know the header
    session.unregister("before-call.s3", add_expect_header)
    session.register("before-call.s3.HeadBucket", _answer_nothing)
    create = partial(
        session._create_client,  # noqa: SLF001 - create_client() would open it in the loop that builds it
        "s3",
        region_name=access.region,
        endpoint_url=access.endpoint_url,
        verify=None if access.verify is True else access.verify,  # None heeds AWS_CA_BUNDLE
        aws_access_key_id=access.access_key_id,
        aws_secret_access_key=access.secret_access_key,
        aws_session_token=access.session_token,
        config=config,
    )
    return session, create


def _answer_nothing(**_about: Any) -> tuple[Any, Mapping[str, Any]]:
    """Answer for a server that was to be asked for a bucket's region.

    botocore asks so after any redirect that does not name the region. S3's own redirects do; to those of
    other servers, such as from http to https, it would ask again and again, as deep as Python calls.
    """
    parsed = {"Error": {"Code": "404"}, "ResponseMetadata": {"HTTPStatusCode": 404, "HTTPHeaders": {}}}
    return SimpleNamespace(status_code=404), parsed


def _share_models(session: Any) -> None:
    """Let all sessions of the process read the service's description once: it takes most of a building."""
    path = session.get_config_variable("data_path")
    session.register_component("data_loader", _LOADERS.setdefault(path, session.get_component("data_loader")))


def _config(access: S3Access) -> AioConfig:
    given: dict[str, Any] = dict(access.client_config)
    s3 = {"addressing_style": access.addressing_style, **dict(given.pop("s3", None) or {})}
    settings = {
        "connect_timeout": access.connect_timeout,
        "read_timeout": access.read_timeout,
        "max_pool_connections": _POOL,
        "proxies": dict(access.proxies) or None,
        # One attempt: whoever asks backs off by himself, and a server in trouble is not asked twice as often
        "retries": {"total_max_attempts": 1, "mode": "standard"},
        # What is read is digested anyway, and servers that are not AWS often know no other checksums
        "request_checksum_calculation": "when_required",
        "response_checksum_validation": "when_required",
        **given,
        "s3": s3,
        "http_session_cls": BoundedSession,
        # Shorter than servers keep them, so that no request meets a connection that is just being closed
        "connector_args": {"keepalive_timeout": _KEEP_SECONDS},
    }
    if access.anonymous:
        settings["signature_version"] = UNSIGNED
    try:
        return AioConfig(**settings)
    except (TypeError, ValueError, BotoCoreError) as error:
        text = f"botocore takes no such client settings ({type(error).__name__}): check config_kwargs"
        raise InvalidAccess("S3", text) from None


class BoundedSession(AIOHTTPSession):  # type: ignore[misc] # it has no types
    """Reads short answers, errors above all, up to a bound: a server must not fill this process.

    Sends nothing twice of its own accord: when the answer to a conditional write is lost, the second
    attempt would be told that something lies there, and that something is our own. Follows no redirect:
    signatures and session tokens are for the endpoint, and botocore knows the ways between regions.
    """

    async def _get_session(self, proxy_url: str | None) -> Any:
        session = await super()._get_session(proxy_url)
        session._retry_connection = False  # noqa: SLF001 - aiohttp has no other switch
        return SimpleNamespace(request=partial(session.request, allow_redirects=False))

    async def send(self, request: Any) -> Any:
        """Send, and read the answer unless it is an object."""
        streams, request.stream_output = request.stream_output, True
        response = await super().send(request)
        if not streams or response.status_code >= 300:
            response._content = await _content(response.raw)  # noqa: SLF001 - where it looks first
        return response


async def _content(raw: Any) -> bytes:
    chunks, left = [], _MAX_ANSWER_BYTES
    while chunk := await raw.content.read(left + 1):
        chunks.append(chunk)
        left -= len(chunk)
        if left < 0:
            raw.close()
            raise LastingTrouble(str(raw.host), "an endless answer: check the endpoint's URL")
    return b"".join(chunks)


def renewed_in_threads(session: Any) -> None:
    """Let credentials that expire be renewed in a thread: that builds clients and reads files."""
    credentials = getattr(session, "_credentials", None)
    renew = getattr(credentials, "_refresh_using", None)
    if renew is None or not inspect.iscoroutinefunction(renew):
        return

    async def renewed() -> Any:
        return await to_thread.run_sync(partial(anyio.run, renew), abandon_on_cancel=True)

    credentials._refresh_using = renewed  # type: ignore[union-attr]  # noqa: SLF001 - there is no other way
