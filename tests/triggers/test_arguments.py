"""The trigger's arguments: stored and handed on, never judged where that could end the triggerer."""

from __future__ import annotations

import enum
import json
import math
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from airflow.sdk.module_loading import import_string
from blockbuster import BlockBuster
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from airflow_landmark.markers import Interval
from airflow_landmark.stores import InvalidAccess, InvalidAddress, options_of, parse_uri
from airflow_landmark.triggers import MarkerTrigger
from parcels import DATASET, END, START

Drain = Callable[..., Awaitable[list[Any]]]
CLASSPATH = "airflow_landmark.triggers.MarkerTrigger"
NOON = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)
ALL: dict[str, Any] = {
    "uri": "/in/_delivery.json",
    "dataset": DATASET,
    "interval": f"{START}/{END}",
    "min_version": 2,
    "pattern": None,
    "verify": "files",
    "poll_interval": 5.0,
    "deadline": "2024-05-03T00:00:00Z",
    "not_before": "2024-05-02T00:00:06Z",
    "on_mismatch": "fail",
    "on_incomplete": "fail",
    "on_taken": "skip",
    "taken": {"version": 1, "identity": "ab" * 32},
    "unreadable_looks": 3,
}
WAY = {"conn_id", "options", "format", "declare"}
"""Kept when they are given only."""


class Colour(str, enum.Enum):
    """Text that is a member of an enumeration."""

    RED = "red"


class Number(enum.IntEnum):
    """A whole number that is a member of an enumeration."""

    SEVEN = 7


class Awkward(str):
    """Text that fails when it is shown."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no")


class AwkwardDict(dict[str, Any]):
    """A mapping that fails when read."""

    def items(self) -> Any:  # noqa: D102
        raise OSError("no")


ENDLESS: dict[str, Any] = {}
ENDLESS["again"] = ENDLESS

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.binary()
    | st.datetimes(timezones=st.none() | st.just(timezone.utc) | st.just(timezone(timedelta(hours=-12))))
    | st.timedeltas()
    | st.dates()
    | st.decimals()
    | st.complex_numbers()
    | st.sampled_from(
        [
            10**4200, -(2**64), math.nan, math.inf, Path("/x"), Awkward("x"), AwkwardDict(a=1), ENDLESS,
            Colour.RED, Number.SEVEN, print, object(), int, ..., datetime.max.replace(tzinfo=timezone.utc),
        ]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from([*ALL, *WAY]) | st.text(max_size=8), anything, max_size=8))
def test_constructor_takes_anything(given_arguments: dict[str, Any]) -> None:
    """Whatever the arguments, known or not, constructing never raises, and what is kept is plain JSON."""
    given_arguments.pop("self", None)
    _, kept = MarkerTrigger(**given_arguments).serialize()
    assert set(kept) - WAY == set(ALL)
    assert json.loads(json.dumps(kept, allow_nan=False)) == kept


uris = st.from_regex(r"(s3|https?|file):/{0,2}[a-z.@:/?#%\ud800é-]{0,20}", fullmatch=True)


@given(st.dictionaries(st.sampled_from([*ALL, *WAY]), anything, max_size=8), st.none() | uris)
def test_serialize_is_stable(given_arguments: dict[str, Any], uri: str | None) -> None:
    """A trigger made from what another one serialized serializes to the same."""
    given_arguments |= {} if uri is None else {"uri": uri}
    classpath, kept = MarkerTrigger(**given_arguments).serialize()
    again = json.loads(json.dumps(kept, allow_nan=False))
    assert MarkerTrigger(**again).serialize() == (classpath, kept)


def test_all_arguments_are_serialized_as_given() -> None:
    """Every argument comes back, under a class path that users can import."""
    classpath, kept = MarkerTrigger(**ALL).serialize()
    assert (classpath, kept) == (CLASSPATH, ALL)
    assert import_string(classpath) is MarkerTrigger


@given(uris, st.dictionaries(st.sampled_from(["region", "verify", "gone", "headers"]), anything, max_size=3))
def test_what_is_refused_stays_refused(uri: str, options: dict[str, Any]) -> None:
    """What is not kept of a URI or of options leaves something that no wait takes for good."""
    kept = MarkerTrigger(uri=uri, options=options).serialize()[1]
    try:
        scheme = parse_uri(uri).scheme
    except InvalidAddress:
        with pytest.raises(InvalidAddress):
            parse_uri(kept["uri"])
        return
    assert kept["uri"] == uri
    try:
        good = options_of(scheme, options)
    except InvalidAccess:
        with pytest.raises(InvalidAccess):
            options_of(scheme, kept["options"])
        return
    assert options_of(scheme, kept["options"]) == good


def test_class_path_imports_in_a_fresh_interpreter() -> None:
    """A triggerer finds the class by its path alone."""
    code = f"from airflow.sdk.module_loading import import_string as i; print(i({CLASSPATH!r}).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "MarkerTrigger"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (Path("/in/_delivery.json"), "/in/_delivery.json"),
        (PurePosixPath("/in/x"), "/in/x"),
        (timedelta(minutes=1, milliseconds=500), 60.5),
        (datetime(2024, 5, 1, 2, tzinfo=timezone(timedelta(hours=2))), START),
        (Interval.parse(f"{START}/{END}"), f"{START}/{END}"),
        (Colour.RED, "red"),
        (Number.SEVEN, 7),
        ({"version": Number.SEVEN, "identity": Colour.RED}, {"version": 7, "identity": "red"}),
    ],
)
def test_convenient_values_are_converted(value: Any, kept: Any) -> None:
    """What people hand over for text and numbers is converted at once."""
    (found,) = {type(v): v for k, v in MarkerTrigger(uri=value).serialize()[1].items() if k == "uri"}.items()
    assert found == (type(kept), kept)


@pytest.mark.parametrize(
    "value",
    [
        b"x",
        print,
        {1, 2},
        [1],
        math.nan,
        math.inf,
        2**53,
        Decimal(1),
        date(2024, 5, 1),
        NOON.replace(tzinfo=None),
    ],
)
def test_other_values_become_a_note(value: Any) -> None:
    """What is not plain is not kept, only its kind."""
    kept = MarkerTrigger(uri=value).serialize()[1]["uri"]
    assert kept == f"<{type(value).__name__}: not a plain value>"


def test_serialized_arguments_are_a_copy() -> None:
    """Changing what was serialized does not change the trigger."""
    trigger = MarkerTrigger(**ALL)
    trigger.serialize()[1]["uri"] = "/elsewhere"
    assert trigger.serialize()[1]["uri"] == ALL["uri"]


async def test_constructor_does_no_io(loop_guard: BlockBuster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Constructing opens, lists and asks nothing, so that it can be done on the loop."""
    for name in ("open", "stat", "lstat", "scandir", "listdir"):
        monkeypatch.setattr(os, name, None)
    trigger = MarkerTrigger(**ALL)
    monkeypatch.undo()
    assert trigger.serialize()[1] == ALL


@pytest.mark.parametrize(
    "change",
    [
        {"uri": ""},
        {"uri": "relative/_delivery.json"},
        {"uri": "s4://bucket/key"},
        {"uri": None},
        {"uri": 7},
        {"uri": {"a": 1}},
        {"uri": "/in/\ud800"},
        {"dataset": ""},
        {"dataset": "no spaces"},
        {"dataset": None},
        {"dataset": ["orders"]},
        {"interval": ""},
        {"interval": "2024-05-01"},
        {"interval": f"{END}/{START}"},
        {"interval": f"{START}/{START}"},
        {"interval": "2024-05-01T00:00:00/2024-05-02T00:00:00"},
        {"interval": None},
        {"interval": 7},
        {"min_version": 0},
        {"min_version": "2"},
        {"min_version": None},
        {"pattern": ""},
        {"pattern": "a/b"},
        {"pattern": 7},
        {"pattern": "\ud800*"},
        {"verify": "everything"},
        {"verify": None},
        {"verify": ["digests"]},
        {"poll_interval": 0},
        {"poll_interval": -1},
        {"poll_interval": 1e9},
        {"poll_interval": math.nan},
        {"poll_interval": "often"},
        {"poll_interval": None},
        {"deadline": "tomorrow"},
        {"deadline": 7},
        {"on_mismatch": "panic"},
        {"on_incomplete": None},
        {"on_taken": {"a": "fail"}},
        {"taken": "yes"},
        {"taken": {}},
        {"taken": {"version": "x", "identity": "y"}},
        {"taken": {"version": None, "identity": "y"}},
        {"unreadable_looks": 0},
        {"unreadable_looks": "x"},
        {"unreadable_looks": None},
        {"not_before": "x", "uri": ""},
        {"not_before": 7, "uri": ""},
    ],
)
async def test_bad_arguments_fire_one_event(
    change: dict[str, Any], arguments: dict[str, Any], drain: Drain
) -> None:
    """Arguments that cannot be waited for give one event that says so, at once."""
    (event,) = await drain(MarkerTrigger(**arguments | change))
    assert (event["outcome"], event["error"]["kind"]) == ("failed", "configuration")
    assert event["error"]["text"]


async def test_arguments_of_a_newer_release_are_passed_over(arguments: dict[str, Any], drain: Drain) -> None:
    """A triggerer that is older than its workers goes on, and warns once."""
    trigger = MarkerTrigger(**arguments, partner="tills", __type=1, deadline=START)
    with capture_logs() as lines:
        (event,) = await drain(trigger)
    assert event["outcome"] == "deadline"
    (warning,) = [line for line in lines if line["log_level"] == "warning"]
    assert "__type, partner" in str(warning)


def test_repr_shows_no_value_of_unknown_arguments() -> None:
    """What a newer release may hand over is shown by nobody, since nobody knows what it is."""
    trigger = MarkerTrigger(**ALL, partner={"token": "pw-EXAMPLE-1"})
    assert "pw-EXAMPLE-1" not in f"{trigger!r} {trigger} {trigger.serialize()}"


async def test_secret_in_a_uri_does_not_reach_the_event(arguments: dict[str, Any], drain: Drain) -> None:
    """A URI that is refused is told without user, password and query."""
    uri = "https://user:pw-EXAMPLE-1@host.example/m.json?sig=abc123"
    with capture_logs() as lines:
        (event,) = await drain(MarkerTrigger(**arguments | {"uri": uri}))
    for secret in ("pw-EXAMPLE-1", "abc123"):
        assert secret not in json.dumps(event)
        assert secret not in str(lines)
