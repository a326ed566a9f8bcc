"""Injections as values, the plan's folder, and what is refused."""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.testing import Hold, Injection, Injections, Instead, Kill, NotExercised, Raise
from airflow_landmark.testing._plan_folder import Event, PlanFolder

NAMES = st.sampled_from(["orders:write", "a.b.c:Class.method", "_m:_f"])
ACTIONS = st.one_of(
    st.just(Kill()),
    st.builds(Hold, st.floats(0.1, 1e6)),
    st.builds(Raise, NAMES, st.text(max_size=20)),
    st.builds(Instead, NAMES),
)
INJECTIONS = st.builds(
    Injection,
    action=ACTIONS,
    target=NAMES,
    when=st.sampled_from(["before", "after"]),
    dag_id=st.text(max_size=10),
    tries=st.lists(st.integers(1, 9)).map(tuple),
    resumed=st.sampled_from([None, True, False]),
)


def event(key: str, number: int) -> Event:
    """An event of some task."""
    return Event(
        key=key, word="reached", pid=number, dag_id="d", run_id="r", task_id="t", map_index=-1, try_number=1
    )


@given(plan=st.dictionaries(st.text("abc", min_size=1, max_size=4), INJECTIONS, max_size=4))
def test_plan_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, plan: dict[str, Injection]
) -> None:
    """What a test plans is what the task's process reads."""
    folder = PlanFolder(tmp_path_factory.mktemp("plan"))
    assert folder.plan() == {}
    folder.write_plan(plan)
    assert folder.plan() == plan


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Injection(action=Kill(), target="orders.replace"), "names nothing: write module:function"),
        (lambda: Injection(action=Kill(), target="orders:a b"), "names nothing"),
        (lambda: Injection(action=Raise("ValueError")), "names nothing"),
        (lambda: Injection(action=Instead("m:f")), "name the target that another function replaces"),
        (lambda: Injection(action=Kill(), target="m:f", when="around"), "before or after, not 'around'"),  # type: ignore[arg-type]
    ],
    ids=["no module", "no name", "exception", "no target", "when"],
)
def test_wrong_injections_are_refused_at_once(make: object, text: str) -> None:
    """An injection that names nothing is refused by the test that makes it, not in the task."""
    with pytest.raises(ValueError, match=re.escape(text)):
        make()  # type: ignore[operator]


def test_events_of_many_processes_do_not_mix(tmp_path: Path) -> None:
    """Events that are noted at the same moment are all there, each whole."""
    folder = PlanFolder(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: folder.note(event("1", number)), range(400)))
    assert sorted(one.pid for one in folder.events()) == list(range(400))


@pytest.mark.skipif(sys.platform == "win32", reason="rights are those of POSIX")
def test_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """What lies in a folder that others may write to is never done."""
    tmp_path.chmod(0o777)
    with pytest.raises(PermissionError, match="must be this user's, and writable by no other"):
        PlanFolder(tmp_path)


def test_environment_keeps_the_path(tmp_path: Path) -> None:
    """A component finds the plugin after its own paths, and the folder by the variable."""
    injections = Injections(folder=tmp_path / "injections")
    made = injections.environment({"PYTHONPATH": "/dags"})
    assert made["LANDMARK_INJECTIONS"] == str(tmp_path / "injections")
    assert made["PYTHONPATH"].split(os.pathsep) == ["/dags", str(tmp_path / "injections" / "plugin")]


def test_planned_is_in_force_within_its_block(tmp_path: Path) -> None:
    """An injection is in the plan within its block only, and what is held is killed at its end."""
    injections = Injections(folder=tmp_path)
    folder = PlanFolder(tmp_path)
    with injections.planned(Injection(action=Hold(), target="m:f")) as planned:
        assert folder.plan() == {planned.key: planned.injection}
        assert folder.released(planned.key) is None
    assert folder.plan() == {}
    assert folder.released(planned.key) == "kill"


def test_what_did_not_happen_is_told(tmp_path: Path) -> None:
    """A test whose injection did not happen fails with what the tasks have told."""
    injections = Injections(folder=tmp_path)
    with injections.planned(Injection(action=Kill(), target="m:f", when="after")) as planned:
        with pytest.raises(NotExercised, match=r"kill after m:f .* happened 0 times.*nothing: no such task"):
            planned.check_reached()
        with pytest.raises(NotExercised, match="reached: not within 0 s; the tasks tell: nothing"):
            planned.wait(seconds=0)
        planned.folder.note(event(planned.key, 7))
        planned.check_reached(times=1)
        assert planned.wait(seconds=0).pid == 7
        with pytest.raises(
            NotExercised, match="happened 1 times, expected 2; the tasks tell: t try 1 reached"
        ):
            planned.check_reached(times=2)
