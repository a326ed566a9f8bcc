"""Sensors that may be called without a task runner, and time that is not slept through."""

from __future__ import annotations

import anyio
import pytest
from airflow.sdk.bases.operator import ExecutorSafeguard
from anyio.lowlevel import checkpoint


@pytest.fixture(autouse=True)
def called_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests call what only a task runner may call."""
    monkeypatch.setattr(ExecutorSafeguard, "test_mode", True)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let looks go out when they are due, and refusals last for two of them: waits of tests are short."""
    monkeypatch.setattr("airflow_landmark.deliveries._watch._TICK_SECONDS", 0.01)
    for module in ("_assess", "_wait"):
        monkeypatch.setattr(f"airflow_landmark.deliveries.{module}.LASTING_LOOKS", 2)


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look again at once where a worker would pause before it looks again."""

    async def sleep(_seconds: float) -> None:
        await checkpoint()

    monkeypatch.setattr(anyio, "sleep", sleep)
