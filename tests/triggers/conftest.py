"""The arguments of a wait, and what a wait fires."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.triggers import MarkerTrigger
from parcels import DATASET, END, START


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let looks go out when they are due, and refusals last for three of them: waits of tests are short."""
    monkeypatch.setattr("airflow_landmark.deliveries._watch._TICK_SECONDS", 0.01)
    for module in ("_assess", "_wait"):
        monkeypatch.setattr(f"airflow_landmark.deliveries.{module}.LASTING_LOOKS", 3)


@pytest.fixture
def arguments(tmp_path: Path) -> dict[str, Any]:
    """The arguments of a wait for the marker in tmp_path, ten looks a second."""
    return {
        "uri": f"{tmp_path}/_delivery.json",
        "dataset": DATASET,
        "interval": f"{START}/{END}",
        "poll_interval": 0.1,
    }


@pytest.fixture
def drain() -> Callable[..., Awaitable[list[Any]]]:
    """Run a trigger to its end, a few seconds at most, and return the payloads of its events."""

    async def payloads(trigger: MarkerTrigger, *, seconds: float = 10.0) -> list[Any]:
        async def all_events() -> list[Any]:
            return [event.payload async for event in trigger.run()]

        return await asyncio.wait_for(all_events(), seconds)

    return payloads
