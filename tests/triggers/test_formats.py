"""A trigger that waits for a marker of a foreign format."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.triggers import MarkerTrigger
from parcels import DATASET, put

Drain = Callable[..., Awaitable[list[Any]]]
DECLARE = {
    "dataset": DATASET,
    "interval": "2024-05-01",
    "timezone": "UTC",
    "version": "3",
    "algorithm": "sha256",
    "complete": "rename",
}


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """The list of sums of one file, and how it is read."""
    put(tmp_path / "a.csv", "id\n")
    put(tmp_path / "SHA256SUMS", f"{hashlib.sha256(b'id' + bytes([10])).hexdigest()}  a.csv\n")
    return {"uri": f"{tmp_path}/SHA256SUMS", "format": "sums", "declare": DECLARE}


async def test_event(arguments: dict[str, Any], place: dict[str, Any], drain: Drain, tmp_path: Path) -> None:
    """The event is the one of any marker; what was seen is told by its identity."""
    (event,) = await drain(MarkerTrigger(**arguments | place))
    assert (event["outcome"], event["version"], event["manifest"]["files"]) == ("arrived", 3, 1)
    assert event["marker"]["uri"] == place["uri"]
    assert event["marker"]["sha256"] == hashlib.sha256((tmp_path / "SHA256SUMS").read_bytes()).hexdigest()
    assert json.loads(json.dumps(event, allow_nan=False)) == event


def test_arguments_are_kept(arguments: dict[str, Any], place: dict[str, Any]) -> None:
    """Format and declaration are kept as plain JSON, when there are any."""
    classpath, kept = MarkerTrigger(**arguments | place).serialize()
    assert (kept["format"], kept["declare"]) == ("sums", DECLARE)
    assert MarkerTrigger(**json.loads(json.dumps(kept))).serialize() == (classpath, kept)
    assert not {"format", "declare"} & MarkerTrigger(**arguments).serialize()[1].keys()
    assert MarkerTrigger(**arguments, format="cloudevents").serialize()[1]["declare"] == {}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"format": "summs"}, "no format 'summs'"),
        ({"format": 7}, "format must be a name"),
        ({"format": ["sums"]}, "no format '<list"),
        ({"declare": None}, "declare dataset"),
        ({"declare": "version=1"}, "declare must be keys and texts"),
        ({"declare": {**DECLARE, "version": 3}}, "version must be text"),
        ({"declare": {**DECLARE, "interval": "yesterday"}}, "interval"),
        ({"declare": {**DECLARE, "path": "("}}, "regular expression"),
        ({"format": "control"}, "is not known"),
    ],
)
async def test_bad_arguments_fire_one_event(
    arguments: dict[str, Any], place: dict[str, Any], drain: Drain, change: dict[str, Any], text: str
) -> None:
    """A form that cannot be read gives one event that says so, and never raises in the constructor."""
    (event,) = await drain(MarkerTrigger(**arguments | place | change))
    assert (event["outcome"], event["error"]["kind"]) == ("failed", "configuration")
    assert text in event["error"]["text"]
