"""AWS sessions as the Amazon provider builds them: assumed roles, web identities, profiles, own factories."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from anyio import to_thread

from ._access_known import Known

__all__ = ["AwsSession"]

_SECRET_NAME = re.compile(r"secret|token|password|key|session_kwargs", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AwsSession:
    """Builds sessions from a connection. Two are equal when equal content makes equal sessions.

    Everything in it blocks, the import of the provider for seconds: it belongs into a thread.

    :param conn_id: the connection's name.
    :param fingerprint: of the connection's content.
    """

    conn_id: str
    fingerprint: str = field(repr=False)
    _known: Known = field(compare=False, repr=False)

    @classmethod
    def of(cls, known: Known, *, region: str | None, profile: str | None) -> AwsSession:
        """The sessions of a connection.

        :param region: in place of the connection's; ``None`` keeps that.
        :param profile: in place of the connection's; ``None`` keeps that.
        """
        chosen = {"region_name": region, "profile_name": profile}
        extra = {**known.extra, **{name: value for name, value in chosen.items() if value is not None}}
        content = json.dumps([known.login, known.password, extra], sort_keys=True)
        return cls(known.conn_id, hashlib.sha256(content.encode()).hexdigest(), replace(known, extra=extra))

    def settings(self) -> dict[str, Any]:
        """Region and endpoint as the provider understands them; ``None`` for what is not set."""
        wrapper = self._wrapper()
        return {"region": wrapper.region_name, "endpoint_url": wrapper.get_service_endpoint_url("s3")}

    def __call__(self) -> Any:
        """A new aiobotocore session, with the credentials of now."""
        from airflow.providers.amazon.aws.hooks.base_aws import SessionFactory  # noqa: PLC0415

        wrapper = self._wrapper()
        factory = SessionFactory(
            conn=wrapper, region_name=wrapper.region_name, config=wrapper.botocore_config
        )
        return _renewed_in_threads(factory.create_session(deferrable=True))

    def told(self, error: Exception) -> str:
        """An error for people: foreign code may have put a secret into its text."""
        text = f"{type(error).__name__}: {error}"
        for secret in _secrets(self._known.extra):
            text = text.replace(secret, "***")
        password = self._known.password
        return text.replace(password, "***") if password else text

    def _wrapper(self) -> Any:
        from airflow.providers.amazon.aws.utils.connection_wrapper import (  # noqa: PLC0415
            AwsConnectionWrapper,
        )

        # From plain values: an Airflow connection would be read with synchronous accessors.
        known = self._known
        return AwsConnectionWrapper.from_connection_metadata(
            conn_id=known.conn_id, login=known.login, password=known.password, extra=dict(known.extra)
        )


def _secrets(value: Any, *, secret: bool = False) -> Iterator[str]:
    """The texts in an extra whose names sound secret."""
    if isinstance(value, dict):
        for name, entry in value.items():
            yield from _secrets(entry, secret=secret or _SECRET_NAME.search(name) is not None)
    elif isinstance(value, list):
        for entry in value:
            yield from _secrets(entry, secret=secret)
    elif secret and isinstance(value, str) and value:
        yield value


def _renewed_in_threads(session: Any) -> Any:
    """The same session; credentials that expire are renewed in a thread.

    The provider renews them with blocking requests, which aiobotocore would make on the event loop.
    """
    credentials = getattr(session, "_credentials", None)
    renew = getattr(credentials, "_refresh_using", None)
    if renew is None or inspect.iscoroutinefunction(renew):
        return session

    async def renewed() -> Any:
        return await to_thread.run_sync(renew)

    credentials._refresh_using = renewed  # type: ignore[union-attr]  # noqa: SLF001 - there is no other way
    return session
