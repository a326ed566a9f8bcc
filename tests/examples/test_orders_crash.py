"""The orders pipeline killed at every point: the retry gives the day exactly once.

The points are not chosen: before each statement, before each commit, and after the work is done.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from orders_clean_up import clean_up

from ordering import (
    CORRECTED,
    GOOD,
    STEPS,
    Destination,
    at_points,
    delivered,
    dies,
    state_of,
    through,
)

Connect = Callable[[], Destination]
STEP = list(STEPS)


def points_of(name: str, delivery: Any, destination: Destination) -> int:
    """How many points a step has, counted by taking it to its end."""
    with at_points(destination, lambda _number, _text: None) as seen:
        STEPS[name](delivery=delivery, destination=destination)
    return len(seen)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", STEP)
def test_killed_at_every_point(connect: Connect, destination_url: str, tmp_path: Path, name: str) -> None:
    """Wherever a step is killed, readers see the old day or the new, and a retry gives the new once.

    Each point has a version of its own, so that it begins with the day of the point before.
    """
    destination = connect()
    before = STEP.index(name)
    through(delivered(tmp_path, GOOD), destination)
    trial = delivered(tmp_path, CORRECTED, version=2)
    if before:
        through(trial, destination, last=STEP[before - 1])
    points = points_of(name, trial, destination)
    through(trial, destination)
    assert points >= 3
    died = []
    for point in range(1, points + 2):
        version = point + 2
        orders = {f"o{version}": version, **CORRECTED}
        delivery = delivered(tmp_path, orders, version=version)
        if before:
            through(delivery, destination, last=STEP[before - 1])
        old = state_of(destination)
        died.append(dies(name, destination_url, delivery.to_xcom(), point))
        seen = state_of(destination)
        through(delivery, destination)
        new = state_of(destination)
        assert new["orders"] == orders
        assert new["published"] == (version, len(orders), sum(orders.values()))
        assert new["notices"] == version
        for key, value in seen.items():
            assert value in (old[key], new[key])
        assert (seen["version"], seen["orders"]) in [(d["version"], d["orders"]) for d in (old, new)]
    assert died == [True] * points + [False]
    assert clean_up(destination=destination)
