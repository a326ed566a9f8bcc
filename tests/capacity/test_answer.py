"""The answer's laws: what may never fall, what must grow in step, what holds and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.capacity import (
    Cron,
    Dag,
    Duration,
    Estimate,
    Exponential,
    Fixed,
    Inputs,
    Partition,
    Platform,
    Pool,
    Rate,
    Scenario,
    ScenarioAnswer,
    Uniform,
    Verdict,
    Wait,
    check,
)
from airflow_landmark.capacity._model import USUAL
from sizing import (
    DAY,
    HOUR,
    HOURLY,
    MARKER,
    MIB,
    MINUTE,
    S3,
    WEEK,
    WORKFLOW,
    a_wait,
    modelled,
    only,
    sized,
    triggerers,
)

LATE = Scenario(name="late", kind="late", sources=("s0", "s1"), seconds=6 * HOUR)
EVERYTHING = Scenario(name="all", kind="all-late", seconds=DAY)
POOLS = {"p": Pool(name="p", slots=30, include_deferred=True)}


@st.composite
def waits(draw: st.DrawFn, *, name: str) -> Wait:
    """Return a wait of any kind, schedule, duration, source and pool."""
    kinds: list[Duration] = [Fixed(draw(st.integers(60, 9000))), Exponential(900.0), Uniform(0.0, 5000.0)]
    schedules = [Cron("0 0 * * *"), HOURLY, Cron("30 */6 * * *"), Rate(1 / 600)]
    number = draw(st.integers(0, 2))
    return a_wait(
        name=name,
        kind=draw(st.sampled_from([MARKER, S3, WORKFLOW])),
        arrivals=draw(st.sampled_from(schedules)),
        duration=draw(st.sampled_from(kinds)),
        width=Estimate(float(draw(st.integers(1, 60)))),
        timeout=draw(st.sampled_from([2 * HOUR, 12 * HOUR])),
        source=f"s{number}",
        dag=draw(st.sampled_from([None, "d"])),
        pool=draw(st.sampled_from(["default_pool", "p"])),
        poll_interval=draw(st.sampled_from([None, 5.0, 60.0])),
    )


def _scenarios(*some: Wait) -> list[ScenarioAnswer]:
    deployment = triggerers(3, memory_bytes=1024 * MIB, nofile=1024)
    model = modelled(some, deployment, pools=POOLS)
    return [model.answer(scenario, counts=True) for scenario in (USUAL, LATE, EVERYTHING)]


@pytest.mark.slow
@given(first=waits(name="first"), second=waits(name="second"))
@settings(max_examples=50)
def test_peak_is_at_least_the_mean(first: Wait, second: Wait) -> None:
    """In every scenario, and 99 of 100 peaks are not below what is expected."""
    for scenario in _scenarios(first, second):
        assert scenario.peak.expected.value >= scenario.peak.mean.value - 1e-6
        assert scenario.peak.likely.value >= scenario.peak.expected.value - 1e-6


@given(first=waits(name="first"), second=waits(name="second"), more=waits(name="more"))
@settings(max_examples=50)
def test_adding_a_wait_never_lowers_an_answer(first: Wait, second: Wait, more: Wait) -> None:
    """Neither a peak nor a limit's load nor the triggerers needed."""
    for before, after in zip(_scenarios(first, second), _scenarios(first, second, more), strict=True):
        assert after.needed >= before.needed
        assert after.peak.likely.value >= before.peak.likely.value - 1e-6
        for old, new in zip(before.limits, after.limits, strict=True):
            assert new.load >= old.load * (1 - 1e-6) - 1e-9


@given(wait=waits(name="w"), factor=st.integers(2, 9))
@settings(max_examples=50)
def test_scaling_everything_scales_the_answer(wait: Wait, factor: int) -> None:
    """K times the waits: k times what is expected, and no more than k times the triggerers."""
    wait = replace(wait, pool="default_pool", max_active_tis_per_dag=None)
    scaled = replace(wait, width=Estimate(wait.width.value * factor))
    one, many = (
        modelled([some], triggerers(1, capacity=40)).answer(USUAL, counts=True) for some in (wait, scaled)
    )
    assert many.peak.expected.value == pytest.approx(factor * one.peak.expected.value)
    assert many.peak.mean.value == pytest.approx(factor * one.peak.mean.value)
    assert one.needed <= many.needed <= factor * one.needed


@pytest.mark.parametrize(
    ("replicas", "verdict"),
    [(2, Verdict.DOES_NOT_HOLD), (3, Verdict.WITHOUT_SPARE), (4, Verdict.HOLDS), (9, Verdict.HOLDS)],
)
def test_verdict(replicas: int, verdict: Verdict) -> None:
    """Fewer than needed, just enough, enough with one lost."""
    answer = sized([a_wait(width=Estimate(2500))], triggerers(replicas))
    assert answer.verdict is only(answer).verdict is verdict


def test_scenarios_of_the_plan_count() -> None:
    """What the plan says may happen must hold; what is shown for information need not."""
    wait = a_wait(arrivals=HOURLY, width=Estimate(200), duration=Fixed(5 * MINUTE), timeout=WEEK, source="s")
    late = Scenario(name="late", kind="late", sources=("s",), seconds=12 * HOUR)
    quiet, stated = sized([wait], triggerers(2)), sized([wait], triggerers(2), scenarios=(late,))
    assert quiet.verdict is Verdict.HOLDS
    assert {scenario.name for scenario in only(quiet).scenarios if not scenario.counts} == {
        "worst source",
        "everything late",
    }
    assert stated.verdict is Verdict.DOES_NOT_HOLD
    assert only(stated).worst.name == "late"


def test_lost_triggerers() -> None:
    """Two of four lost leave two for what needs three."""
    lost = Scenario(name="two lost", kind="lost", count=2)
    rolling = Scenario(name="restart", kind="rolling")
    part = only(sized([a_wait(width=Estimate(2500))], triggerers(4), scenarios=(lost, rolling)))
    found = {scenario.name: (scenario.replicas, scenario.verdict) for scenario in part.scenarios}
    assert found["two lost"] == (2, Verdict.DOES_NOT_HOLD)
    assert found["restart"] == (3, Verdict.HOLDS)


def test_backfill_comes_on_top() -> None:
    """Its runs at once, each with what of a run can wait together."""
    first = a_wait(name="first", dag="d", width=Estimate(30))
    second = a_wait(name="second", dag="d", width=Estimate(50), after=("first",))
    backfill = Scenario(name="b", kind="backfill", dag="d", runs=90, at_once=6)
    part = only(sized([first, second], triggerers(2), scenarios=(backfill,), dags={"d": Dag(name="d")}))
    usual, with_backfill = part.scenarios[:2]
    assert with_backfill.peak.expected.value == usual.peak.expected.value + 6 * 50


def test_other_waits_stay_as_they_are_when_one_source_is_late() -> None:
    """Late waits replace their usual ones; the others keep their profile."""
    late_ones = a_wait(name="a", width=Estimate(100), source="a", timeout=DAY)
    others = a_wait(name="b", width=Estimate(10), source="b")
    scenario = Scenario(name="late", kind="late", sources=("a",), seconds=6 * HOUR)
    part = only(sized([late_ones, others], triggerers(2), scenarios=(scenario,)))
    assert part.scenarios[1].peak.expected.value == 110


def test_nobody_said_how_many_there_are() -> None:
    """Without a deployment there is a number and no verdict."""
    answer = sized([a_wait(width=Estimate(2500))])
    assert answer.verdict is Verdict.UNKNOWN
    assert only(answer).usual.with_spare == 4
    assert any("no deployment" in note for note in answer.notes)


def test_queue_that_nobody_serves() -> None:
    """Its waits need triggerers and have none."""
    answer = sized([a_wait(queue="q")], triggerers(2))
    verdicts = {part.partitions: part.verdict for part in answer.partitions}
    assert verdicts[Partition("q"),] is Verdict.DOES_NOT_HOLD
    assert answer.verdict is Verdict.DOES_NOT_HOLD


def test_queues_of_one_deployment_share_it() -> None:
    """600 and 600 on triggerers of capacity 1,000 that serve both queues are 1,200 for them."""
    both = triggerers(3, queues=("a", "b"))
    some = [a_wait(name=queue, queue=queue, width=Estimate(600)) for queue in "ab"]
    part = only(sized(some, both))
    assert part.usual.peak.expected.value == 1200
    assert part.partitions == (Partition("a"), Partition("b"))


def test_task_that_starts_in_the_triggerer_has_no_queue() -> None:
    """Whatever its operator says."""
    part = only(sized([a_wait(queue="q", from_trigger=True)], triggerers(2)))
    assert part.usual.peak.expected.value == 1


def test_limits_bind_by_kind() -> None:
    """A thousand waits on other Dags every 2 s saturate the supervisor long before the capacity."""
    wait = a_wait(kind=WORKFLOW, poll_interval=2.0, width=Estimate(1000))
    part = only(sized([wait], triggerers(2)))
    assert part.usual.binding == "requests"
    assert part.usual.needed == 12  # 1,000 / 2 s x 1.2 / 54 a second
    assert part.kinds[0].fits["requests"].value == 108


def test_one_triggerer_is_smaller_than_itself() -> None:
    """Less memory than a triggerer without triggers takes: no number suffices."""
    answer = sized([a_wait()], triggerers(5, memory_bytes=200 * MIB))
    assert only(answer).verdict is Verdict.DOES_NOT_HOLD
    assert only(answer).usual.binding == "memory"


def test_ten_waits_need_two() -> None:
    """One may be lost."""
    assert only(sized([a_wait(width=Estimate(10))], triggerers(2))).usual.with_spare == 2


def test_doubled_waits() -> None:
    """Which limit ends first, and at how many times these waits."""
    twice = only(sized([a_wait(width=Estimate(800))], triggerers(2))).doubling
    assert (twice.limit, twice.factor, twice.holds) == ("capacity", pytest.approx(2.5), True)


def test_origin_is_the_weakest() -> None:
    """One assumed duration makes the sum assumed."""
    measured = a_wait(name="a", duration=Fixed(600, "measured"), width=Estimate(1, "measured"))
    bounded = a_wait(name="b", duration=Fixed(600, "bounded"), width=Estimate(1, "measured"))
    assert only(sized([measured], triggerers(2))).usual.peak.expected.origin == "measured"
    assert only(sized([measured, bounded], triggerers(2))).usual.peak.expected.origin == "bounded"


def test_contributors_are_named() -> None:
    """Who waits at the peak, the most first, with their share."""
    some = [
        a_wait(name="a", width=Estimate(30), source="x"),
        a_wait(name="b", width=Estimate(70), source="y"),
    ]
    peak = only(sized(some, triggerers(2))).usual.peak
    assert [(one.name, one.waits, one.share) for one in peak.dags] == [("b", 70, 0.7), ("a", 30, 0.3)]
    assert [one.name for one in peak.sources] == ["y", "x"]


def test_nothing_waits() -> None:
    """No waits need no triggerers."""
    answer = sized([], triggerers(2))
    assert (answer.verdict, only(answer).usual.needed) == (Verdict.HOLDS, 0)


def test_progress_ends_with_all() -> None:
    """It is told of every step, in order, up to the last."""
    told: list[tuple[int, int]] = []
    inputs = Inputs(waits=(a_wait(), a_wait(name="q", queue="q")), deployments=(triggerers(2),))
    check(inputs, begin=0, seconds=DAY, tell=lambda done, whole: told.append((done, whole)))
    assert told == [(step, 8) for step in range(1, 9)]


def test_worker_slots_bound_the_resumes() -> None:
    """2,500 resumes of a second on 32 slots take 78 s."""
    platform = Platform(worker_slots=32, resume_seconds=1)
    inputs = Inputs(waits=(a_wait(width=Estimate(2500)),), deployments=(triggerers(3),), platform=platform)
    times = only(check(inputs, begin=0, seconds=DAY)).times
    assert times.resumed == pytest.approx(78.1, abs=0.1)
