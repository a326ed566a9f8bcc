"""Every lint on a configuration that deserves it, and none on one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_landmark.capacity import LINTS, Always, Estimate, Inputs, Pool, Retry, load_calibrations
from airflow_landmark.capacity._lints import lints_of
from sizing import HOUR, MIB, S3, WEEK, WORKFLOW, a_wait, triggerers

HEALTHY = triggerers(3, capacity=1000, memory_bytes=2048 * MIB)
QUEUED = triggerers(2, queues=("q",))
COUNTING = {"p": Pool(name="p", slots=2, include_deferred=True)}


def _codes(**inputs: Any) -> list[str]:
    return [lint.code for lint in lints_of(Inputs(**inputs), load_calibrations())]


def _waiting(**fields: Any) -> dict[str, Any]:
    return {"waits": (a_wait(**{"timeout": HOUR, **fields}),), "deployments": (HEALTHY,)}


CASES: dict[str, dict[str, Any]] = {
    "LC01": {"deployments": (triggerers(2, nofile=1023),)},
    "LC02": {**_waiting(kind=S3), "deployments": (triggerers(2, memory_bytes=1024 * MIB),)},
    "LC03": {**_waiting(), "deployments": (QUEUED,)},
    "LC04": _waiting(queue="nobody"),
    "LC05": _waiting(timeout=None),
    "LC06": _waiting(timeout=WEEK),
    "LC07": {"deployments": (triggerers(2, heartbeat=20.0),)},
    "LC08": _waiting(retry=Retry(retries=6, delay=30.0, longest=600.0, exponential=True)),
    "LC09": _waiting(pool="p", from_trigger=True) | {"pools": COUNTING},
    "LC10": _waiting(width=Estimate(1024.0, "bounded")),
    "LC11": {**_waiting(), "deployments": (triggerers(1, spare=0),)},
    "LC12": {"deployments": (triggerers(2, spare=2),)},
    "LC13": {"deployments": (triggerers(2, capacity=50),)},
    "LC14": {"deployments": (triggerers(2, cpu=0.5),)},
    "LC15": _waiting(kind=WORKFLOW, poll_interval=2.0),
}


def test_every_lint_has_a_case() -> None:
    """A code without a test here would be a code that nobody has seen."""
    assert set(CASES) == set(LINTS)


@pytest.mark.parametrize("code", CASES)
def test_lint_is_found(code: str) -> None:
    """And is the only one."""
    assert _codes(**CASES[code]) == [code]


def test_nothing_to_complain_of() -> None:
    """A healthy configuration, watchers of assets included."""
    waits = (a_wait(timeout=HOUR), a_wait(name="watchers", arrivals=Always(), timeout=None))
    assert _codes(waits=waits, deployments=(HEALTHY,)) == []


@pytest.mark.parametrize(
    "inputs",
    [
        {"deployments": (triggerers(2, nofile=1024),)},
        {"deployments": (triggerers(2, heartbeat=15.0),)},
        _waiting(retry=Retry(retries=2, delay=30.0, longest=600.0, exponential=True)),
        _waiting(retry=Retry(retries=6, delay=600.0)),
        _waiting(width=Estimate(1024.0, "bounded"), max_active_tis_per_dagrun=10),
        _waiting(kind=WORKFLOW, poll_interval=60.0),
        {**_waiting(queue="q"), "deployments": (QUEUED,)},
        {**_waiting(mode="reschedule", timeout=WEEK, queue="nobody")},
    ],
)
def test_just_within(inputs: dict[str, Any]) -> None:
    """On the right side of each border there is no lint."""
    assert _codes(**inputs) == []


def test_errors_come_first_and_say_where() -> None:
    """Triggerers that crash before triggerers that may."""
    deployment = triggerers(1, name="small", nofile=512, cpu=0.5, spare=0)
    found = lints_of(Inputs(waits=(a_wait(timeout=HOUR),), deployments=(deployment,)), load_calibrations())
    assert [lint.code for lint in found] == ["LC01", "LC11", "LC14"]
    assert [lint.level for lint in found] == ["error", "warning", "warning"]
    assert found[0].where == "small"
    assert "488" in found[0].text
