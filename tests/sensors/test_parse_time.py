"""What is refused when the Dag is parsed, and what is left for the run."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from airflow.sdk import DAG, BaseOperator, literal
from airflow.sdk.definitions.xcom_arg import XComArg

from airflow_landmark.markers import Interval
from airflow_landmark.sensors import MarkerSensor
from parcels import DATASET, END, START

GOOD: dict[str, Any] = {"task_id": "wait", "uri": "/in/orders/_delivery.json", "dataset": DATASET}
START_AT = datetime(2024, 5, 1, tzinfo=timezone.utc)


class Upstream(BaseOperator):
    """A task whose result is waited with."""

    def execute(self, context: Any) -> Any:
        """Return where the delivery will lie."""


@pytest.mark.parametrize(
    "change",
    [
        {"verify": "all"},
        {"verify": None},
        {"verify": "{{ params.verify }}"},
        {"on_mismatch": "skip"},
        {"on_incomplete": "ignore"},
        {"on_replaced": "oldest"},
        {"on_unexpected": "delete"},
        {"on_taken": ["accept"]},
        {"mode": "reschedule"},
        {"mode": "sleep", "deferrable": False},
        {"exponential_backoff": True},
        {"max_wait": 60},
        {"max_wait": timedelta(seconds=60)},
        {"silent_fail": True},
        {"never_fail": True},
        {"soft_fail": True, "never_fail": True},
        {"uri": ""},
        {"uri": "orders/_delivery.json"},
        {"uri": "./_delivery.json"},
        {"uri": "/in/../_delivery.json"},
        {"uri": "ftp://host/_delivery.json"},
        {"uri": "file://host/in/_delivery.json"},
        {"uri": "/in/\x00"},
        {"pattern": ""},
        {"pattern": "a/*.json"},
        {"pattern": "\x1f*"},
        {"dataset": ""},
        {"dataset": "sales orders"},
        {"dataset": "orders\n"},
        {"dataset": "x" * 201},
        {"min_version": 0},
        {"min_version": -1},
        {"min_version": 1.0},
        {"min_version": True},
        {"min_version": math.nan},
        {"min_version": 2**53},
        {"min_version": "1.5"},
        {"min_version": "two"},
        {"min_version": None},
        {"min_version": [1]},
        {"poke_interval": 0},
        {"poke_interval": 0.05},
        {"poke_interval": -1},
        {"poke_interval": math.nan},
        {"poke_interval": 86_401},
        {"poke_interval": timedelta(days=2)},
        {"timeout": -1},
        {"timeout": math.nan},
        {"timeout": "1 hour"},
        {"deadline": "1 hour"},
        {"deadline": math.nan},
        {"deadline": math.inf},
        {"first_event_delay": -1},
        {"first_event_delay": 61},
        {"first_event_delay": math.nan},
        {"unreadable_looks": 0},
        {"unreadable_looks": 2.5},
        {"unreadable_looks": True},
        {"interval": "2024-05-01"},
        {"interval": "2024-05-01T00:00:00Z"},
        {"interval": f"{START}/{END}/{END}"},
        {"interval": "2024-05-01T00:00:00/2024-05-02T00:00:00"},
        {"interval": (START,)},
        {"interval": (START, END, END)},
        {"interval": (END, START)},
        {"interval": (START, START)},
        {"interval": (START_AT, START_AT)},
        {"interval": (START_AT.replace(tzinfo=None), END)},
        {"interval": timedelta(days=1)},
        {"interval": 1},
        {"interval": {"start": START, "end": END}},
        {"conn_id": "partner"},
        {"conn_id": "{{ params.partner }}"},
        {"options": {"region": "eu-west-3"}},
        {"options": "region"},
        {"options": ["region"]},
        {"uri": "s3://lake/in/", "conn_id": ""},
        {"uri": "s3://lake/in/", "conn_id": "a\nb"},
        {"uri": "s3://lake/in/", "options": {"gone": "fail"}},
        {"uri": "s3://lake/in/", "options": {"secret_access_key": "pw-EXAMPLE-1"}},
        {"uri": "s3://lake/in/", "options": {"region": 7}},
        {"uri": "s3://lake/in/{{ ds }}/", "options": {"gone": "fail"}},
        {"uri": "https://host.example/in/", "options": {"headers": {"Authorization": "Basic pw-EXAMPLE-1"}}},
        {"uri": "https://host.example/in/", "options": {"Authorization": "Basic pw-EXAMPLE-1"}},
        {"uri": "https://host.example/in/", "options": {"verify": 7}},
        {"uri": "https://user:pw-EXAMPLE-1@host.example/in/"},
        {"uri": "https://host.example/in/?sig=pw-EXAMPLE-1"},
        {"uri": "/in/{{ ds }}/", "conn_id": "partner"},
    ],
)
def test_arguments_that_cannot_work_are_refused(change: dict[str, Any]) -> None:
    """What no run could make right is refused when the Dag is parsed."""
    with pytest.raises(ValueError, match=r"\w") as caught:
        MarkerSensor(**GOOD | change)
    assert "pw-EXAMPLE-1" not in str(caught.value)


def test_secrets_are_told_where_they_belong() -> None:
    """An option that could be a secret is refused with the place for it."""
    for options in ({"token": "x"}, {"headers": {"Authorization": "x"}}, {"Authorization": "x"}):
        with pytest.raises(ValueError, match="secrets belong into a connection"):
            MarkerSensor(**GOOD | {"uri": "https://host.example/in/", "options": options})


@pytest.mark.parametrize("name", ["uri", "dataset", "pattern", "conn_id"])
@pytest.mark.parametrize(
    "value", [["/in/a"], ("/in/a",), {"/in/a"}, {"a": 1}, b"/in/a", lambda: "/in/a", 7, 1.5, object()]
)
def test_only_text_is_taken_for_text(name: str, value: Any) -> None:
    """A list, a function or anything else that is not one text is refused, and the argument named."""
    with pytest.raises(TypeError, match=f"^{name} must be"):
        MarkerSensor(**GOOD | {name: value})


@pytest.mark.parametrize("name", ["uri", "dataset"])
def test_place_and_dataset_are_needed(name: str) -> None:
    """None names no place and no dataset."""
    with pytest.raises(TypeError, match=f"^{name} must be text"):
        MarkerSensor(**GOOD | {name: None})


def test_a_function_is_told_why() -> None:
    """A function is refused with the reason: it cannot travel to the triggerer."""
    with pytest.raises(TypeError, match="cannot travel to the triggerer"):
        MarkerSensor(**GOOD | {"uri": lambda context: "/in/a"})


def test_a_list_is_told_what_to_do() -> None:
    """Several places are several tasks: the error names expand()."""
    with pytest.raises(TypeError, match=r"expand\(\)"):
        MarkerSensor(**GOOD | {"uri": ["/in/a", "/in/b"]})


@pytest.mark.parametrize("name", ["exponential_backoff", "max_wait", "silent_fail", "never_fail"])
def test_refusal_names_the_argument(name: str) -> None:
    """An argument that would not mean the same in every mode is refused by name, with the reason."""
    with pytest.raises(ValueError, match=f"^{name} is refused: "):
        MarkerSensor(**GOOD | {name: True})


@pytest.mark.parametrize(
    "change",
    [
        {"exponential_backoff": False, "max_wait": None, "silent_fail": False, "never_fail": False},
        {"uri": "{{ params.place }}"},
        {"uri": "{% if 1 %}relative{% endif %}"},
        {"uri": "/in/{{ ds }}/"},
        {"uri": "/in/{{ ds }}", "pattern": "*.json"},
        {"uri": "/in", "pattern": "{{ params.pattern }}"},
        {"dataset": "{{ params.dataset }}"},
        {"min_version": "{{ params.version }}"},
        {"min_version": "2"},
        {"interval": None},
        {"interval": "{{ data_interval_start }}/{{ data_interval_end }}"},
        {"interval": ("{{ data_interval_start }}", END)},
        {"interval": ["{{ data_interval_start }}", "{{ data_interval_end }}"]},
        {"interval": "{{ params.interval }}"},
        {
            "timeout": timedelta(hours=1),
            "deadline": timedelta(hours=-1),
            "poke_interval": timedelta(minutes=1),
        },
        {"deadline": 0},
        {"soft_fail": True},
        {"deferrable": False, "mode": "reschedule"},
        {"uri": literal("/in/a")},
        {"uri": "s3://lake/in/", "conn_id": "{{ params.partner }}", "options": {"region": "eu-west-3"}},
        {"uri": "{{ params.place }}", "conn_id": "partner", "options": {"gone": "fail"}},
        {"uri": "https://host.example/{{ ds }}/", "conn_id": "partner", "options": {"gone": "fail"}},
    ],
)
def test_templates_are_left_for_the_run(change: dict[str, Any]) -> None:
    """What is known only when the task runs is not judged before."""
    sensor = MarkerSensor(**GOOD | change)
    for name in ("uri", "dataset", "min_version"):
        assert getattr(sensor, name) == (GOOD | {"min_version": 1} | change)[name]


def test_results_of_other_tasks_are_left_for_the_run() -> None:
    """Every templated argument may be another task's result, which then comes first."""
    with DAG("orders", schedule=None):
        upstream = Upstream(task_id="upstream")
        names = MarkerSensor.template_fields
        sensor = MarkerSensor(task_id="wait", **{name: XComArg(upstream)[name] for name in names})
    assert sensor.upstream_task_ids == {"upstream"}


def test_results_inside_an_interval_are_left_for_the_run() -> None:
    """One end of the interval may be another task's result."""
    with DAG("orders", schedule=None):
        upstream = Upstream(task_id="upstream")
        sensor = MarkerSensor(**GOOD, interval=(upstream.output["start"], END))
    assert sensor.upstream_task_ids == {"upstream"}


@pytest.mark.parametrize(
    "path", [Path("/in/orders/_delivery.json"), PurePosixPath("/in/orders/_delivery.json")]
)
def test_paths_become_text(path: Any) -> None:
    """A path is as good as its text."""
    assert MarkerSensor(**GOOD | {"uri": path}).uri == "/in/orders/_delivery.json"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (Interval.parse(f"{START}/{END}"), (START, END)),
        (
            (START_AT, START_AT + timedelta(days=1)),
            ("2024-05-01T00:00:00+00:00", "2024-05-02T00:00:00+00:00"),
        ),
        ([START, END], (START, END)),
        (f"{START}/{END}", f"{START}/{END}"),
        (None, None),
    ],
)
def test_intervals_become_text(given: Any, kept: Any) -> None:
    """An interval is kept as text, which Airflow can show and render."""
    assert MarkerSensor(**GOOD, interval=given).interval == kept


def test_durations_may_be_timedeltas() -> None:
    """Seconds and timedeltas mean the same."""
    sensor = MarkerSensor(
        **GOOD, timeout=timedelta(hours=2), deadline=timedelta(hours=6), poke_interval=timedelta(minutes=1),
        first_event_delay=timedelta(seconds=3),
    )  # fmt: skip
    kept = sensor.timeout, sensor.deadline, sensor.poke_interval, sensor.first_event_delay
    assert kept == (7200.0, 21_600.0, 60.0, 3.0)


def test_timeout_without_a_value_is_the_one_of_the_configuration() -> None:
    """A sensor without a timeout has Airflow's default for sensors, never none at all."""
    assert MarkerSensor(**GOOD).timeout == timedelta(days=7).total_seconds()


def test_default_args_are_taken() -> None:
    """Arguments may come from the Dag's default_args, and are checked all the same."""
    with DAG("orders", schedule=None, default_args={"poke_interval": 5, "verify": "rows", "retries": 2}):
        sensor = MarkerSensor(**GOOD)
    assert (sensor.poke_interval, sensor.verify, sensor.retries) == (5.0, "rows", 2)
    with (
        DAG("orders", schedule=None, default_args={"verify": "x"}),
        pytest.raises(ValueError, match="verify"),
    ):
        MarkerSensor(**GOOD)


def test_wait_never_skips_the_worker() -> None:
    """The sensor does not start in the triggerer, where templates are not rendered."""
    assert not MarkerSensor(**GOOD).start_from_trigger
