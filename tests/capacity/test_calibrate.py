"""What a kind of trigger costs, measured."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request

import pytest

from airflow_landmark.capacity import CannotTell, calibrate, calibration_text, load_calibrations
from airflow_landmark.capacity._calibrate import KNOWN, _filled
from airflow_landmark.capacity._calibrate_child import Meter
from airflow_landmark.capacity._stub import running_stub


def test_arguments_are_filled_in_at_any_depth() -> None:
    """Numbers, folders and moments, in lists and objects, too."""
    given = {"a": "{n}", "b": ["x-{n}", {"c": "{far}/{n}"}], "d": 5, "e": None}
    assert _filled(given, {"n": "7", "far": "later"}) == {
        "a": "7",
        "b": ["x-7", {"c": "later/7"}],
        "d": 5,
        "e": None,
    }


def test_an_unknown_trigger_needs_its_arguments() -> None:
    """Told with those that do not."""
    with pytest.raises(CannotTell, match=r"give them as JSON .* Known without: .*S3KeyTrigger"):
        calibrate("package.module.Mine")
    with pytest.raises(CannotTell, match="no class path"):
        calibrate("Mine")


def test_the_stub_has_nothing() -> None:
    """404 to everything, and it counts."""
    with running_stub() as stub:
        for _ in range(3):
            with pytest.raises(urllib.error.HTTPError, match="404") as caught:
                urllib.request.urlopen(f"{stub.url}/x")  # noqa: S310
            caught.value.close()
        assert stub.requests == 3


async def test_the_meter_counts_sleeps_by_task() -> None:
    """A turn of a poll loop is one sleep; giving way is none."""
    meter = Meter()

    async def loop(turns: int) -> None:
        for _ in range(turns):
            await meter.sleep(0.05)
            await meter.sleep(0)

    tasks = [asyncio.create_task(loop(turns)) for turns in (1, 3)]
    await asyncio.gather(*tasks)
    assert [meter.sleeps[task] for task in tasks] == [1, 3]


@pytest.mark.slow
def test_a_bare_trigger() -> None:
    """A file trigger: a few KiB and some microseconds, no sockets, no lines, no requests."""
    kind = calibrate("FileTrigger", count=50, window=6.0)
    assert kind.path == "airflow.providers.standard.triggers.file.FileTrigger"
    assert 0 <= kind.memory_bytes < 200 * 1024
    assert 0 <= kind.check_cpu < 0.01
    assert (kind.descriptors, kind.lines, kind.requests) == (0, 0, 0)
    assert (kind.poll_interval, kind.origin) == (5.0, "measured")
    assert kind.version.startswith("apache-airflow-providers-standard ")


@pytest.mark.slow
def test_a_trigger_that_asks_airflow() -> None:
    """Each check is one request to the supervisor, and one log line."""
    kind = calibrate("WorkflowTrigger", count=10, window=6.0)
    assert kind.requests == pytest.approx(1, abs=0.3)
    assert kind.lines == pytest.approx(1, abs=0.3)


@pytest.mark.slow
def test_a_trigger_with_a_client(tmp_path: object) -> None:
    """An S3 trigger holds two orders of magnitude more than a bare one; its figures can be read back."""
    kind = calibrate("S3KeyTrigger", count=10, window=6.0)
    assert 500 * 1024 < kind.memory_bytes < 5 * 2**20
    assert kind.lines == pytest.approx(2, abs=0.5)
    assert kind.check_cpu > 1e-4
    from pathlib import Path

    path = Path(str(tmp_path)) / "own.toml"
    path.write_text(calibration_text([kind]))
    read = load_calibrations(path).kind(kind.path)
    assert (read.origin, read.date, read.machine) == ("measured", kind.date, kind.machine)
    assert read.memory_bytes == pytest.approx(kind.memory_bytes, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trigger", "kwargs", "text"),
    [
        ("no.such.Thing", {}, "could not be run: ModuleNotFoundError"),
        ("airflow.providers.standard.triggers.file.FileTrigger", {"wrong": 1}, "could not be run: TypeError"),
        (
            "airflow.providers.standard.triggers.temporal.DateTimeTrigger",
            {"moment": {"instant": "2020-01-01T00:00:00+00:00"}},
            "copies did not wait: RuntimeError: the trigger fired",
        ),
    ],
)
def test_triggers_that_cannot_be_measured(trigger: str, kwargs: dict[str, object], text: str) -> None:
    """Each is told in one line."""
    with pytest.raises(CannotTell, match=text):
        calibrate(trigger, kwargs=kwargs, count=2, window=1.0)


def test_known_triggers_exist() -> None:
    """The table names classes that are there, and arguments that they take."""
    import importlib
    import inspect

    for path, kwargs in KNOWN.items():
        module, _, name = path.rpartition(".")
        trigger = getattr(importlib.import_module(module), name)
        parameters = inspect.signature(trigger).parameters
        missing = set(kwargs) - set(parameters)
        assert not missing or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
