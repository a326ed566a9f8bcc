"""Requests to S3: through the shared client, within a time limit, with errors of this room only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

import anyio

from ._access import S3Access
from ._address import Address
from ._errors import Absent, InvalidAccess, LastingTrouble, StoreError
from ._s3_answer import Answer
from ._s3_errors import DENIED, EXPIRED, code_of, expired, sorted_error
from ._s3_lease import Built, Clients

__all__ = ["S3Connection", "check_extra"]

_ANSWER_SECONDS = 60.0
"""So long an answer that is no object may take beyond the timeouts for connecting and for silence."""
_BYTES_A_SECOND = 50_000
"""A server that takes a body more slowly is given up."""
_AT_ONCE = 16
"""Signing a request takes a millisecond: many at once would hold up the event loop."""


def check_extra() -> None:
    """Look for what the extra brings. Blocks.

    :raises InvalidAccess: saying what to install.
    """
    if find_spec("aiobotocore") is None:
        raise InvalidAccess("S3", "aiobotocore is not installed. Run:\npip install 'airflow-landmark[s3]'")


class S3Connection:
    """Asks S3.

    :param access: settings and credentials.
    :param renew_seconds: least time between two clients with fresh credentials.
    """

    def __init__(self, access: S3Access, *, renew_seconds: float = 15.0) -> None:
        self.access = access
        self._clients = Clients(access, renew_seconds=renew_seconds)
        self._slots = anyio.Semaphore(_AT_ONCE)

    async def call(
        self,
        operation: str,
        address: Address,
        parameters: Mapping[str, Any],
        *,
        accept: Collection[str] = (),
        sends_bytes: int = 0,
    ) -> Answer:
        """Ask for something that is answered shortly.

        :param operation: method of botocore's client, such as ``"head_object"``.
        :param parameters: of the operation; the bucket is added.
        :param accept: codes of errors that are returned as answers.
        :param sends_bytes: length of the body.
        :raises StoreError: sorted.
        """
        async with self._clients.leased(address) as built:
            return await self._ask(
                built, operation, address, parameters, accept=accept, sends_bytes=sends_bytes
            )

    @asynccontextmanager
    async def streamed(
        self, address: Address, parameters: Mapping[str, Any], *, accept: Collection[str] = ()
    ) -> AsyncIterator[Answer]:
        """Ask for an object; its ``Body`` is closed at the end.

        :raises StoreError: sorted, also for trouble with reading the body.
        """
        async with self._clients.leased(address) as built:
            answer = await self._ask(built, "get_object", address, parameters, accept=accept)
            try:
                yield answer
            except Exception as error:
                trouble = sorted_error(error, place=address.uri, operation="GetObject")
                if trouble is None or trouble is error:
                    raise
                raise trouble from None
            finally:
                if "Body" in answer:
                    answer["Body"].close()

    async def aclose(self) -> None:
        """Close the client."""
        await self._clients.aclose()

    async def _ask(
        self,
        built: Built,
        operation: str,
        address: Address,
        parameters: Mapping[str, Any],
        *,
        accept: Collection[str],
        sends_bytes: int = 0,
    ) -> Answer:
        method = getattr(built.client, operation)
        silence = self.access.connect_timeout + self.access.read_timeout
        limit = silence + _ANSWER_SECONDS + sends_bytes / _BYTES_A_SECOND
        try:
            async with self._slots:
                with anyio.fail_after(limit):
                    answer: Answer = await method(Bucket=address.authority, **parameters)
        except Exception as error:  # noqa: BLE001 - sorted, whatever it is
            if code_of(error) in accept:
                self._clients.accept(built)
                return error.response  # type: ignore[attr-defined,no-any-return]
            raise self._trouble(built, error, operation, address) from None
        self._clients.accept(built)
        return answer

    def _trouble(self, built: Built, error: Exception, operation: str, address: Address) -> StoreError:
        code = code_of(error)
        if expired(error):
            if built.unproven and code in EXPIRED and self.access.access_key_id is not None:
                text = "the connection's session token has expired: it needs a new one"
                return LastingTrouble(address.uri, text)
            self._clients.renew(built)
        elif code:
            self._clients.accept(built)
        if self.access.treat_403_as_missing and code in DENIED and operation in ("get_object", "head_object"):
            return Absent(address.uri, "no such object, or no right to see it: 403 counts as missing")
        name = "".join(part.capitalize() for part in operation.split("_"))
        # botocore trusts answers: a number that is none, or a deep document, makes it raise what it may
        text = f"the answer to {name} is none of S3 ({type(error).__name__}): check the endpoint's URL"
        trouble = sorted_error(error, place=address.uri, operation=name)
        return trouble or LastingTrouble(address.uri, text)
