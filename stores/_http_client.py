"""The seam behind which an HTTP client stands: another one, or a script of a test, may fill it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec
from typing import Protocol

from anyio import to_thread

from ._access import HttpAccess
from ._errors import LastingTrouble

__all__ = ["Headers", "HttpAnswer", "HttpClient", "HttpFault", "open_client"]

Headers = Sequence[tuple[bytes, bytes]]
"""Names in lower case, and values, as they are sent."""


class HttpFault(Exception):
    """Raised by a client when no answer came, or only a part of one.

    :ivar reason: what happened, for people.
    :ivar lasting: whether a person has to mend it.
    """

    def __init__(self, reason: str, *, lasting: bool = False) -> None:
        self.reason = reason
        self.lasting = lasting
        super().__init__(reason)


class HttpAnswer(Protocol):
    """The head of an answer, and its body as it comes."""

    status: int

    def header(self, name: str) -> str | None:
        """The value of a header, of several lines joined by commas; ``None`` when it did not come.

        :param name: in lower case.
        """

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it was sent: without chunking, but in its content coding.

        :raises HttpFault: when it does not come to its end.
        """


class HttpClient(Protocol):
    """Sends requests without bodies; it follows no redirects and decodes nothing."""

    def send(
        self, method: str, origin: str, target: str, headers: Headers
    ) -> AbstractAsyncContextManager[HttpAnswer]:
        """Send a request; the answer's connection is free again when the context ends.

        :param origin: ``scheme://host[:port]``, lower case, without the default port.
        :param target: path and query, as they are sent.
        :raises HttpFault: when no answer came.
        :raises LastingTrouble: when the access cannot be used.
        """

    async def aclose(self) -> None:
        """Close every connection."""


async def open_client(access: HttpAccess) -> HttpClient:
    """The client of an access. It is imported and built in a thread: that takes longer than a loop may stop.

    :raises LastingTrouble: when httpx is not installed.
    """
    return await to_thread.run_sync(_build, access)


def _build(access: HttpAccess) -> HttpClient:
    if find_spec("httpx") is None:
        raise LastingTrouble(
            access.origin or "http(s)://",
            "HTTP needs httpx, which is not installed: pip install 'airflow-landmark[http]'",
        )
    from ._http_httpx import HttpxClient  # noqa: PLC0415 - heavy, and part of an extra

    return HttpxClient(access)
