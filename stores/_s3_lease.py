"""The one client of an access and event loop: built off the loop, renewed when its credentials expire."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
from anyio import to_thread

from ._access import S3Access
from ._address import Address
from ._errors import LastingTrouble, PassingTrouble
from ._s3_errors import sorted_error

__all__ = ["Built", "Clients"]

_BUILD_SECONDS = 60.0
_MAX_RENEW_SECONDS = 300.0
"""Between renewals that do not help lie more and more seconds, up to these."""


class Built:
    """A client and how many use it.

    :ivar client: aiobotocore's.
    :ivar unproven: its credentials are fresh since the last ones had expired, and no server took them yet.
    """

    def __init__(self, client: Any, *, unproven: bool) -> None:
        self.client = client
        self.unproven = unproven
        self.users = 0
        self.retired = False


class Clients:
    """Hands out the client, and replaces it.

    :param access: settings and credentials.
    :param renew_seconds: least time between two clients with fresh credentials.
    """

    def __init__(self, access: S3Access, *, renew_seconds: float) -> None:
        self._access = access
        self._renew_seconds = renew_seconds
        self._built: Built | None = None
        self._lock = anyio.Lock()
        self._fruitless = 0
        self._renew_at = 0.0

    @asynccontextmanager
    async def leased(self, address: Address) -> AsyncIterator[Built]:
        """The client, kept open meanwhile; built when there is none.

        :param address: for which it is needed, for messages.
        :raises StoreError: when it cannot be built.
        """
        built = await self._current(address)
        built.users += 1
        try:
            yield built
        finally:
            built.users -= 1
            if built is not self._built and not built.users:
                await _close(built)

    def accept(self, built: Built) -> None:
        """Note that the server knows the credentials, whatever else it says."""
        built.unproven = False
        self._fruitless = 0

    def renew(self, built: Built) -> None:
        """Let the next request build a client with fresh credentials, unless that was tried just now."""
        now = time.monotonic()
        if self._built is built and not built.retired and now >= self._renew_at:
            built.retired = True
            self._renew_at = now + min(_MAX_RENEW_SECONDS, self._renew_seconds * 2**self._fruitless)
            self._fruitless = min(self._fruitless + 1, 10)

    async def aclose(self) -> None:
        """Close the client; one that is in use is closed by its last user."""
        async with self._lock:
            await self._replace(None)

    async def _current(self, address: Address) -> Built:
        built = self._built
        if built is not None and not built.retired:
            return built
        async with self._lock:
            if self._built is not None and not self._built.retired:
                return self._built
            fresh = Built(await self._build(address), unproven=self._built is not None)
            await self._replace(fresh)
            return fresh

    async def _replace(self, fresh: Built | None) -> None:
        old, self._built = self._built, fresh
        if old is not None and not old.users:
            await _close(old)

    async def _build(self, address: Address) -> Any:
        """A client. Files, models, processes that give credentials: all of it blocks or may hang."""
        try:
            with anyio.fail_after(_BUILD_SECONDS):
                session, create = await to_thread.run_sync(_creation, self._access, abandon_on_cancel=True)
                # In a loop of its own: this parses some megabytes, and awaits credentials.
                client = await to_thread.run_sync(partial(anyio.run, create), abandon_on_cancel=True)
                _renewed_in_threads(session)
                return await client.__aenter__()
        except TimeoutError:
            text = f"no credentials and no client within {_BUILD_SECONDS:g} s"
            raise PassingTrouble(address.uri, text) from None
        except Exception as error:  # noqa: BLE001 - foreign code builds the sessions of connections
            trouble = sorted_error(error, place=address.uri, operation="making a client")
            kind = type(error).__name__
            raise trouble or LastingTrouble(
                address.uri, f"no client for S3 can be made ({kind}): check its settings"
            ) from None


async def _close(built: Built) -> None:
    with anyio.CancelScope(shield=True):
        await built.client.close()


def _creation(access: S3Access) -> Any:
    from ._s3_build import creation  # noqa: PLC0415 - heavy, and part of an extra

    return creation(access)


def _renewed_in_threads(session: Any) -> None:
    from ._s3_build import renewed_in_threads  # noqa: PLC0415 - heavy, and part of an extra

    renewed_in_threads(session)
