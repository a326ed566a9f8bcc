"""Accepting under trouble: a store that fails, files that may not be read, time that runs out."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.deliveries import Acceptance, AccessTrouble, Unavailable, accept

Make = Callable[..., Any]
AT_ONCE = Acceptance(again_seconds=())


@pytest.fixture
def terms(make_terms: Make, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that makes terms for the test's folder, at the level of digests."""
    return lambda **more: make_terms(f"{tmp_path}/", **{"verify": "digests", **more})


async def test_time_that_runs_out_names_the_file(
    deliver: Make, terms: Make, tmp_path: Path, entry: Make
) -> None:
    """Verifying that takes too long is passing trouble that says what it was at."""
    with (tmp_path / "huge.bin").open("wb") as file:
        file.truncate(1 << 40)
    deliver(files={}, entries=[entry("huge.bin", b"", size=1 << 40)])
    with pytest.raises(
        Unavailable, match=r"time ran out after 0.3 s while verifying 0 of 1 files, at huge.bin"
    ):
        await accept(terms(), replace(AT_ONCE, seconds=0.3))


@pytest.mark.parametrize(
    ("number", "name", "error"),
    [
        (errno.EACCES, "_delivery.json", AccessTrouble),
        (errno.EACCES, "a.csv", AccessTrouble),
        (errno.EIO, "_delivery.json", Unavailable),
        (errno.ESTALE, "a.csv", Unavailable),
    ],
)
async def test_trouble_of_the_store(
    deliver: Make,
    terms: Make,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    name: str,
    error: type[Exception],
) -> None:
    """Missing rights are trouble of access, a failing disk passing trouble; neither is a bad delivery."""
    deliver()
    really = os.open

    def opening(path: object, *rest: Any, **named: Any) -> int:
        if str(path).endswith(name):
            raise OSError(number, os.strerror(number))
        return really(path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", opening)
    with pytest.raises(error):
        await accept(terms(), AT_ONCE)


async def test_a_store_that_recovers(deliver: Make, terms: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passing trouble with the marker is looked at again before it is told."""
    deliver()
    really, left = os.open, [2]

    def opening(path: object, *rest: Any, **named: Any) -> int:
        if str(path).endswith("_delivery.json") and left[0]:
            left[0] -= 1
            raise OSError(errno.ESTALE, "stale")
        return really(path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", opening)
    assert (await accept(terms(), Acceptance(again_seconds=(0.01, 0.01)))).report.ok
