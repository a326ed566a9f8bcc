"""One request to Airflow's REST API."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from ._errors import RequestRefused

__all__ = ["RestClient", "quoted"]

REQUEST_SECONDS = 60.0
"""How long one request may take: deleting a large run is slow."""


def quoted(name: str) -> str:
    """Quote a name for a path: run ids hold colons and plus signs."""
    return urllib.parse.quote(name, safe="")


class RestClient:
    """Sends JSON, with the token that an installation where all are administrators gives to anyone.

    :param url: the API server's address.
    """

    def __init__(self, *, url: str) -> None:
        self._url = url
        self._token: str | None = None
        # the server is on this machine, whatever proxy the surroundings ask for
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def call(
        self,
        *,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        """Send one request and return the answer's JSON; None when the answer is empty.

        :param path: below ``/api/v2/``, names in it quoted.
        :raises RequestRefused: for an answer of 400 and more.
        :raises OSError: when the server can't be reached.
        """
        address = f"api/v2/{path}"
        if query:
            address = f"{address}?{urllib.parse.urlencode(query)}"
        headers = {"Authorization": f"Bearer {self._valid_token()}"}
        return self._send(method=method, address=address, body=body, headers=headers)

    def health(self) -> dict[str, str]:
        """Return the status of each component that the API server knows; empty while it does not answer."""
        try:
            answer = self._send(method="GET", address="api/v2/monitor/health", body=None, headers={})
        except (OSError, ValueError, RequestRefused):
            return {}
        return {name: str(part["status"]) for name, part in answer.items()}

    def _valid_token(self) -> str:
        if self._token is None:
            answer = self._send(method="GET", address="auth/token", body=None, headers={})
            self._token = str(answer["access_token"])
        return self._token

    def _send(
        self, *, method: str, address: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> Any:
        request = urllib.request.Request(  # noqa: S310 - the address is ours
            f"{self._url}/{address}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Accept": "application/json", **headers},
        )
        try:
            with self._opener.open(request, timeout=REQUEST_SECONDS) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                told = error.read().decode(errors="replace")
            raise RequestRefused(request=f"{method} {address}", status=error.code, answer=told) from None
        return json.loads(text) if text else None
