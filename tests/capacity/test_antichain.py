"""The heaviest antichain against trying all sets of tasks."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.capacity import Estimate, Wait, heaviest_antichain
from sizing import a_wait

EDGES = st.lists(st.tuples(st.integers(0, 3), st.integers(3, 7)), max_size=14)


def _dag(widths: list[int], edges: list[tuple[int, int]]) -> list[Wait]:
    """Tasks whose edges lead from lower to higher numbers."""
    count = len(widths)
    pairs = {(min(edge), max(edge)) for edge in edges if edge[0] != edge[1] and max(edge) < count}
    return [
        a_wait(
            name=str(number),
            dag="d",
            width=Estimate(float(width)),
            after=tuple(str(a) for a, b in sorted(pairs) if b == number),
        )
        for number, width in enumerate(widths)
    ]


def _heaviest_by_trying(waits: list[Wait]) -> float:
    before: dict[str, set[str]] = {}
    for wait in waits:  # edges lead upwards, so the earlier ones are complete
        before[wait.name] = {*wait.after, *(name for one in wait.after for name in before[one])}
    best = 0.0
    for size in range(1, len(waits) + 1):
        for chosen in combinations(waits, size):
            if not any(a.name in before[b.name] for a in chosen for b in chosen):
                best = max(best, sum(wait.width.value for wait in chosen))
    return best


@settings(max_examples=300)
@given(widths=st.lists(st.integers(1, 9), min_size=6, max_size=8), edges=EDGES)
def test_heaviest_set_of_independent_tasks(widths: list[int], edges: list[tuple[int, int]]) -> None:
    """The flow finds what trying everything finds."""
    waits = _dag(widths, edges)
    assert heaviest_antichain(waits) == pytest.approx(_heaviest_by_trying(waits))


def test_order_goes_through_tasks_in_between() -> None:
    """first, second, third in a row: one of them waits, though the first and third have no edge."""
    assert heaviest_antichain(_dag([4, 1, 4], [(0, 1), (1, 2)])) == 4


def test_limit_a_run_counts() -> None:
    """A mapped task weighs at most what one run may have of it."""
    wait = a_wait(width=Estimate(100.0), max_active_tis_per_dagrun=10)
    assert heaviest_antichain([wait]) == 10
