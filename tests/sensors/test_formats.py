"""Markers of foreign formats: read, judged and verified alike in every mode."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.markers import identity_of_documents
from airflow_landmark.sensors import (
    Delivery,
    DeliveryNotInTime,
    DeliveryRefused,
)
from parcels import DATASET, marker_of, put
from sensing import MODES, context_of, deferral_of, fired, run_task, sensor_of

pytestmark = pytest.mark.usefixtures("no_pauses")

ABOUT = {"dataset": DATASET, "interval": "2024-05-01", "timezone": "UTC", "version": "1"}
DATA = b"id\n1\n"
OK = "sentinel", {**ABOUT, "path": r"/(?P<name>[^/]+)\.ok$", "files": "*.csv"}
DAY_OK = "sentinel", {**ABOUT, "path": r"/(?P<day>[0-9-]{10})\.ok$", "interval": "{day}"}
SUMS = "sums", {**ABOUT, "algorithm": "sha256", "complete": "rename"}
PAIR = "sums", {**ABOUT, "algorithm": "sha256", "complete": "sidecar", "sidecar": "{name}.sha256"}
CONTROL = "control", {
    **ABOUT, "grammar": "key=value", "file": "a.csv", "field.records": "COUNT", "header_rows": "1",
    "version": "{/SEQ}",
}  # fmt: skip
TRAILER = "trailer", {**ABOUT, "trailer": "^END;(?P<COUNT>[0-9]+);$", "field.records": "COUNT"}
BAG = "bagit", {**ABOUT, "interval": "{/External-Identifier}"}


def a_file(folder: Path) -> None:
    """The data."""
    put(folder / "a.csv", DATA)


def sentinel(folder: Path, name: str = "a.ok") -> None:
    """The data, and an empty file that says so."""
    a_file(folder)
    put(folder / name, b"")


def list_of(data: bytes = DATA) -> bytes:
    """A list of sums of the one file."""
    return f"{hashlib.sha256(data).hexdigest()}  a.csv\n".encode()


def sums(folder: Path, data: bytes = DATA) -> None:
    """The data and the list of its sums."""
    put(folder / "a.csv", data)
    put(folder / "SHA256SUMS", list_of())


def sidecar(folder: Path) -> None:
    """What is written after the list."""
    put(folder / "SHA256SUMS.sha256", hashlib.sha256(list_of()).hexdigest())


def control(folder: Path, *, count: int = 1, sequence: int = 1, name: str = "a.ctl") -> None:
    """The data and a control file that counts it."""
    a_file(folder)
    put(folder / name, f"COUNT={count:04d}\nSEQ={sequence}\n")


def bag(folder: Path) -> None:
    """A bag whose payload has yet to come."""
    (folder / "data").mkdir()
    put(folder / "bag-info.txt", "External-Identifier: 2024-05-01\nPayload-Oxum: 5.1\n")
    put(folder / "manifest-sha256.txt", f"{hashlib.sha256(DATA).hexdigest()}  data/a.csv\n")
    put(folder / "bagit.txt", "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n")


def event(folder: Path) -> None:
    """A marker of ours as the data of an event."""
    a_file(folder)
    document = {"specversion": "1.0", "id": "1", "source": "/x", "type": "y"}
    put(folder / "event.json", json.dumps(document | {"data": marker_of({"a.csv": DATA})}))


@dataclass
class Scenario:
    """What lies there, how it is read, and how the task ends.

    :param name: of the marker, in the folder.
    :param reads: format and declaration.
    :param prepare: what lies there when the task starts.
    :param ends: the version that is taken, or the kind of the refusal, or the class of the error.
    :param asks: further arguments of the sensor.
    :param comes: what the partner does 0.15 seconds later.
    :param says: what stands in the error.
    """

    name: str
    reads: tuple[str, dict[str, str]]
    prepare: Callable[[Path], Any]
    ends: Any
    asks: dict[str, Any] = field(default_factory=dict)
    comes: Callable[[Path], Any] | None = None
    says: str = ""


SOON = {"timeout": 0.2}
ROWS = {"verify": "rows"}
SCENARIOS = {
    "sentinel there": Scenario("a.ok", OK, sentinel, 1),
    "sentinel comes": Scenario("a.ok", OK, a_file, 1, comes=lambda f: put(f / "a.ok", b"")),
    "sentinel first, then the file": Scenario(
        "a.ok", OK, lambda f: put(f / "a.ok", b""), 1, {"unreadable_looks": 50}, comes=a_file
    ),
    "sentinel of no file": Scenario(
        "a.ok",
        OK,
        lambda f: put(f / "a.ok", b""),
        "unreadable",
        {"unreadable_looks": 2},
        says="at least one file",
    ),
    "sentinel that tells of failure": Scenario(
        "a.ok",
        OK,
        lambda f: (a_file(f), put(f / "a.ok", '{"success": false}')),
        "unreadable",
        {"unreadable_looks": 2},
        says="success",
    ),
    "day by path": Scenario("2024-05-01.ok", DAY_OK, lambda f: sentinel(f, "2024-05-01.ok"), 1),
    "other day by path": Scenario(
        "2024-04-30.ok",
        DAY_OK,
        lambda f: sentinel(f, "2024-04-30.ok"),
        DeliveryNotInTime,
        SOON,
        says="2024-04-30",
    ),
    "other day by path, not waited for": Scenario(
        "2024-04-30.ok",
        DAY_OK,
        lambda f: sentinel(f, "2024-04-30.ok"),
        "other interval",
        {"on_mismatch": "fail"},
    ),
    "list there": Scenario("SHA256SUMS", SUMS, sums, 1),
    "list by its folder": Scenario("", SUMS, sums, 1),
    "list comes": Scenario("SHA256SUMS", SUMS, a_file, 1, comes=sums),
    "list, corrupt": Scenario("SHA256SUMS", SUMS, lambda f: sums(f, b"id\n7\n"), "corrupt", says="a.csv"),
    "list, file missing": Scenario(
        "SHA256SUMS",
        SUMS,
        lambda f: put(f / "SHA256SUMS", list_of()),
        DeliveryNotInTime,
        SOON,
        says="a.csv",
    ),
    "list, file comes": Scenario(
        "SHA256SUMS", SUMS, lambda f: put(f / "SHA256SUMS", list_of()), 1, comes=a_file
    ),
    "list, cut": Scenario(
        "SHA256SUMS",
        SUMS,
        lambda f: put(f / "SHA256SUMS", list_of()[:20]),
        "unreadable",
        {"unreadable_looks": 2},
        says="line 1",
    ),
    "sidecar there": Scenario("SHA256SUMS", PAIR, lambda f: (sums(f), sidecar(f)), 1),
    "sidecar comes": Scenario("SHA256SUMS", PAIR, sums, 1, {"unreadable_looks": 1}, comes=sidecar),
    "sidecar never comes": Scenario(
        "SHA256SUMS", PAIR, sums, DeliveryNotInTime, SOON | {"unreadable_looks": 1}, says="SHA256SUMS.sha256"
    ),
    "control": Scenario("a.ctl", CONTROL, control, 1, ROWS),
    "control, wrong rows": Scenario(
        "a.ctl", CONTROL, lambda f: control(f, count=2), "rows", ROWS, says="2 rows"
    ),
    "control, older": Scenario(
        "a.ctl", CONTROL, control, DeliveryNotInTime, SOON | {"min_version": 2}, says="version 1"
    ),
    "controls by pattern": Scenario(
        "*.ctl", CONTROL, lambda f: [control(f, sequence=n, name=f"v{n}.ctl") for n in (2, 10, 9)], 10
    ),
    "trailer": Scenario("b.csv", TRAILER, lambda f: put(f / "b.csv", "1\n2\nEND;2;\n"), 1, ROWS),
    "trailer comes": Scenario(
        "b.csv",
        TRAILER,
        lambda f: put(f / "b.csv", "1\n"),
        1,
        {"unreadable_looks": 1},
        comes=lambda f: put(f / "b.csv", "1\n2\nEND;2;\n"),
    ),
    "bag whose payload comes": Scenario("bagit.txt", BAG, bag, 1, comes=lambda f: a_file(f / "data")),
    "event": Scenario("event.json", ("cloudevents", {}), event, 1),
}


def asked(folder: Path, scenario: Scenario) -> dict[str, Any]:
    """The arguments of the sensor."""
    name, declare = scenario.reads
    place = {"uri": f"{folder}/{scenario.name}"}
    if "*" in scenario.name:
        place = {"uri": str(folder), "pattern": scenario.name}
    return {**place, "format": name, "declare": declare or None, **scenario.asks}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str, mode: str, tmp_path: Path) -> None:
    """The same delivery and the same declaration end in the same way, however the task waits."""
    scenario = SCENARIOS[name]
    scenario.prepare(tmp_path)
    partner = threading.Timer(0.15, lambda: scenario.comes and scenario.comes(tmp_path))
    partner.start()
    if scenario.comes is None:
        partner.cancel()
    arguments = {"verify": "digests"} | asked(tmp_path, scenario)
    try:
        if isinstance(scenario.ends, int):
            document = run_task(mode, tmp_path, **arguments)
            assert (document["version"], document["dataset"]) == (scenario.ends, DATASET)
            assert document["format"] == {"name": scenario.reads[0], "declared": scenario.reads[1]}
            return
        raised = DeliveryRefused if isinstance(scenario.ends, str) else scenario.ends
        with pytest.raises(raised) as caught:
            run_task(mode, tmp_path, **arguments)
        assert scenario.says in str(caught.value)
        assert not isinstance(scenario.ends, str) or getattr(caught.value, "kind", "") == scenario.ends
    finally:
        partner.join()


@pytest.mark.parametrize("mode", MODES)
def test_documents_are_equal_in_every_mode(mode: str, tmp_path: Path) -> None:
    """What is returned does not tell how it was waited for."""
    sums(tmp_path)
    sidecar(tmp_path)
    arguments = asked(tmp_path, SCENARIOS["sidecar there"])
    assert run_task(mode, tmp_path, **arguments) == run_task("poke", tmp_path, **arguments)


def test_event_carries_the_identity_of_all_documents(tmp_path: Path) -> None:
    """The event names what was seen by one digest; arguments and event are plain JSON without a list."""
    arguments = asked(tmp_path, SCENARIOS["sidecar there"])
    deferral = deferral_of(sensor_of(tmp_path, **arguments))
    _, kwargs = deferral.trigger.serialize()
    assert json.loads(json.dumps(kwargs, allow_nan=False)) == kwargs
    assert (kwargs["format"], kwargs["declare"]) == PAIR
    sums(tmp_path)
    sidecar(tmp_path)
    payload = fired(deferral)
    documents = {name: (tmp_path / name).read_bytes() for name in ("SHA256SUMS", "SHA256SUMS.sha256")}
    assert payload["marker"]["sha256"] == identity_of_documents(documents)
    assert payload["manifest"]["files"] == 1
    assert "a.csv" not in json.dumps(payload)


def test_arguments_of_our_own_format_stay_as_they_were(tmp_path: Path) -> None:
    """A triggerer of an older release is told nothing of formats where none is asked for."""
    _, kwargs = deferral_of(sensor_of(tmp_path)).trigger.serialize()
    assert not {"format", "declare"} & kwargs.keys()


@pytest.mark.parametrize(
    ("name", "meanwhile", "kind"),
    [
        ("sidecar there", lambda f: put(f / "SHA256SUMS.sha256", f"{'0' * 64}"), "incomplete"),
        ("sidecar there", lambda f: (f / "SHA256SUMS.sha256").unlink(), "incomplete"),
        ("sidecar there", lambda f: put(f / "SHA256SUMS", b""), "unreadable"),
        ("list there", lambda f: put(f / "SHA256SUMS", b"# other\n" + list_of()), "reused version"),
        ("sentinel there", lambda f: put(f / "late.csv", b"id\n2\n"), "reused version"),
        ("sentinel there", lambda f: put(f / "a.csv", b"id\n1\n2\n"), "reused version"),
        ("sentinel there", lambda f: (f / "a.ok").unlink(), "gone"),
    ],
)
def test_the_worker_reads_everything_again(
    name: str, meanwhile: Callable[[Path], Any], kind: str, tmp_path: Path
) -> None:
    """A document, or a listing, that changed between event and resume is refused under the same version."""
    scenario = SCENARIOS[name]
    deferral = deferral_of(sensor_of(tmp_path, **asked(tmp_path, scenario)))
    scenario.prepare(tmp_path)
    payload = fired(deferral)
    assert payload["outcome"] == "arrived"
    meanwhile(tmp_path)
    sensor = sensor_of(tmp_path, **asked(tmp_path, scenario))
    with pytest.raises(DeliveryRefused) as caught:
        sensor.resume(context_of(), payload)
    assert caught.value.kind == kind


def test_a_higher_version_replaces_what_was_seen(tmp_path: Path) -> None:
    """A correction of a foreign format is taken as one of our own is."""
    scenario = SCENARIOS["control"]
    deferral = deferral_of(sensor_of(tmp_path, **asked(tmp_path, scenario)))
    control(tmp_path)
    payload = fired(deferral)
    control(tmp_path, sequence=2)
    sensor = sensor_of(tmp_path, **asked(tmp_path, scenario))
    assert sensor.resume(context_of(), payload)["version"] == 2


def test_a_long_list_is_read_again_from_the_document(tmp_path: Path) -> None:
    """A document that cannot carry its files loads them in the format it was read in, and opens them."""
    lines = []
    for number in range(400):
        data = f"{number}\n".encode()
        put(tmp_path / f"{number:03d}.csv", data)
        lines.append(f"{hashlib.sha256(data).hexdigest()}  {number:03d}.csv\n")
    put(tmp_path / "SHA256SUMS", "".join(lines))
    document = run_task("poke", tmp_path, **asked(tmp_path, SCENARIOS["list there"]))
    assert document["files"] is None
    delivery = Delivery.from_xcom(json.loads(json.dumps(document)))
    assert len(delivery.files()) == 400
    with delivery.open("399.csv") as stream:
        assert stream.read() == b"399\n"
