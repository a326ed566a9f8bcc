"""What stands for Airflow where a connection is resolved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from airflow_landmark.stores import Access, HttpAccess, S3Access

__all__ = ["SECRET", "Airflow"]

SECRET = "pw-EXAMPLE-1"  # noqa: S105 - what must not be seen anywhere


class Airflow:
    """Stands for Airflow: answers look-ups, and counts them.

    :ivar troubles: are raised by the next look-ups, one each.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        self.asked_at: list[float] = []
        self.now: Callable[[], float] = lambda: 0.0
        self.troubles: list[Exception] = []
        self.origin: str | None = None
        self.password = SECRET
        self.answers = asyncio.Event()
        self.answers.set()

    async def resolve(self, scheme: str, conn_id: str, options: Mapping[str, Any]) -> Access:
        """What the connection means."""
        self.asked.append((scheme, conn_id, dict(options)))
        self.asked_at.append(self.now())
        await self.answers.wait()
        if self.troubles:
            raise self.troubles.pop(0)
        if scheme == "s3":
            return S3Access(**options, access_key_id=conn_id, secret_access_key=self.password)
        return HttpAccess(**options, origin=self.origin, username=conn_id, password=self.password)
