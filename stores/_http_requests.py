"""What is sent: to which origin, with which credentials, and where a redirect may lead."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from urllib.parse import quote, urljoin, urlsplit

import anyio

from airflow_landmark.markers import show

from ._access import HttpAccess
from ._address import Address
from ._errors import InvalidAccess, InvalidAddress, LastingTrouble, PassingTrouble
from ._http_client import Headers, HttpAnswer, HttpClient, HttpFault
from ._http_credentials import headers_of, normalised, origin_of, query_of, trusted_origin
from ._http_errors import error_of_fault

__all__ = ["Ask", "Requests"]

_MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_LOCATION_CHARS = 8192


class Requests:
    """Sends requests as an access says.

    Its credentials (user, headers, query) go to its origin only; an address elsewhere is refused while
    there are any. Redirects are followed within the origin, at most five of them, and with the
    credentials; to another one, which the same host by TLS is too, never.

    :raises InvalidAccess: when the access cannot be used.
    """

    def __init__(self, access: HttpAccess, client: HttpClient) -> None:
        self._client = client
        self._origin = trusted_origin(access)
        self._secret = bool(access.headers or access.query or access.username is not None)
        if self._secret and self._origin is None:
            raise InvalidAccess(
                "the connection", "it has credentials but names no host, and they must not go to any other"
            )
        self._query = query_of(access)
        self._headers = headers_of(access)

    def ask(
        self,
        method: str,
        address: Address,
        headers: Sequence[tuple[str, str]] = (),
        *,
        within: float | None = None,
    ) -> Ask:
        """A request for the address: a context that gives the answer.

        :param within: seconds for the answer's head; ``None`` where the caller has set a limit.
        :raises InvalidAccess: when the credentials are for another origin.
        """
        origin = origin_of(address)
        if self._secret and origin != self._origin:
            raise InvalidAccess(
                address.uri,
                f"the connection is for {self._origin}: its credentials are not sent to {origin}",
            )
        host = (b"host", address.authority.encode("ascii"))
        sent = [host, *self._headers, *((name.encode(), value.encode("latin-1")) for name, value in headers)]
        return Ask(self._client, method, address, query=self._query, headers=sent, within=within)


class Ask:
    """One request, with the redirects that it leads to."""

    def __init__(
        self,
        client: HttpClient,
        method: str,
        address: Address,
        *,
        query: str,
        headers: Headers,
        within: float | None,
    ) -> None:
        self._client = client
        self._method = method
        self._place = address.uri
        self._query = query
        self._headers = headers
        self._within = within
        self._origin = origin_of(address)
        self._target = self._place[len(self._origin) :]
        self._sent: AbstractAsyncContextManager[HttpAnswer] | None = None

    async def __aenter__(self) -> HttpAnswer:
        """The answer that is no redirect.

        :raises PassingTrouble, LastingTrouble: when none comes.
        """
        if self._within is None:
            return await self._answer()
        with anyio.move_on_after(self._within):
            return await self._answer()
        raise PassingTrouble(self._place, f"no answer within {self._within:g} s")

    async def _answer(self) -> HttpAnswer:
        target = self._target
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                sent = self._client.send(self._method, self._origin, self._with_query(target), self._headers)
                answer = await sent.__aenter__()
            except HttpFault as fault:
                raise error_of_fault(fault, self._place) from None
            if answer.status not in _REDIRECTS:
                self._sent = sent
                return answer
            location = answer.header("location")
            await sent.__aexit__(None, None, None)
            target = self._redirected(target, location)
        raise LastingTrouble(self._place, f"it redirects more than {_MAX_REDIRECTS} times")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._sent is not None:
            await self._sent.__aexit__(kind, error, trace)
        if isinstance(error, HttpFault):
            raise error_of_fault(error, self._place) from None

    def _with_query(self, target: str) -> str:
        if not self._query or target.partition("?")[2] == self._query:
            return target
        return f"{target}{'&' if '?' in target else '?'}{self._query}"

    def _redirected(self, target: str, location: str | None) -> str:
        """The target that a redirect names.

        :raises LastingTrouble: when that is another origin, or nowhere.
        """
        if not location or len(location) > _MAX_LOCATION_CHARS:
            raise LastingTrouble(self._place, "it redirects without saying where to")
        try:
            parts = urlsplit(
                urljoin(self._origin + target, location.encode("latin-1").decode("utf-8", "replace"))
            )
            origin = normalised(f"{parts.scheme}://{parts.netloc}")
        except (ValueError, InvalidAddress):
            raise LastingTrouble(self._place, "it redirects to what is no URL of an HTTP origin") from None
        if origin != self._origin:
            text = f"it redirects to another origin, {show(origin)}: if that is right, write the URI there"
            raise LastingTrouble(self._place, text)
        path = quote(parts.path or "/", safe="/%~!$&'()*+,;=:@")
        query = quote(parts.query, safe="/%~!$&'()*+,;=:@?")
        return f"{path}?{query}" if query else path
