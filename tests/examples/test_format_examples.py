"""What the examples of foreign formats declare, held against deliveries as their partners write them."""

from __future__ import annotations

import hashlib
import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.deliveries import Form, check
from airflow_landmark.markers import Interval
from airflow_landmark.sensors import MarkerSensor
from remote import Remote

FORMATS = Path(__file__).resolve().parents[2] / "examples" / "formats"
DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
DATA = b"id;amount\n1;1.25\n2;2.25\nEND;2\n"
RENDERED = {"ds": "2024-10-01", "ds_nodash": "20241001", "params": {"version": 1}}


def put(path: Path, data: bytes | str) -> bytes:
    """Write a file, and return its bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path.read_bytes()


def sum_of(data: bytes) -> str:
    """Its sha256."""
    return hashlib.sha256(data).hexdigest()


def success_file(folder: Path) -> None:
    """What Spark leaves."""
    put(folder / "part-0.parquet", DATA)
    put(folder / "_SUCCESS", b"")


def bag(folder: Path) -> None:
    """A bag."""
    put(folder / "data" / "scan.csv", DATA)
    put(folder / "bag-info.txt", f"External-Identifier: 2024-10-01\nPayload-Oxum: {len(DATA)}.1\n")
    put(folder / "manifest-sha256.txt", f"{sum_of(DATA)}  data/scan.csv\n")
    put(folder / "bagit.txt", "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n")


def checksum_list(folder: Path) -> None:
    """A list and its sidecar."""
    put(folder / "prices.csv", DATA)
    sums = put(folder / "SHA256SUMS", f"{sum_of(DATA)}  prices.csv\n")
    put(folder / "SHA256SUMS.sha256", f"{sum_of(sums)}  SHA256SUMS\n")


def control_file(folder: Path) -> None:
    """A mainframe's extract."""
    put(folder / "orders.csv", DATA)
    put(folder / "orders.ctl", "BUSINESS_DATE=20241001\nSEQ=000007\nRECCOUNT=0002\nAMOUNT=3.50\n")


LOCAL: list[Callable[[Path], None]] = [success_file, bag, checksum_list, control_file]


def sensor_of(name: str) -> MarkerSensor:
    """The sensor of an example, its templates rendered for a day."""
    found = runpy.run_path(str(FORMATS / f"{name}.py")).values()
    (sensor,) = (value for value in found if isinstance(value, MarkerSensor))
    sensor.render_template_fields(RENDERED)  # type: ignore[arg-type]
    return sensor


async def verdict_of(sensor: MarkerSensor, uri: str) -> Any:
    """The check that the sensor's worker makes."""
    form = Form.of(sensor.format, sensor.declare)
    return await check(
        uri,
        dataset=sensor.dataset,
        interval=DAY,
        min_version=int(sensor.min_version),
        level=sensor.verify,
        on_unexpected=sensor.on_unexpected,
        form=form,
    )


def test_every_example_is_held_against_a_delivery() -> None:
    """No example of this folder is left out here."""
    names = {write.__name__ for write in LOCAL} | {"redshift_unload"}
    assert {path.stem for path in FORMATS.glob("*.py")} == names


@pytest.mark.parametrize("write", LOCAL, ids=lambda write: write.__name__)
async def test_local_examples(write: Callable[[Path], None], tmp_path: Path) -> None:
    """A delivery as the example describes it holds; one more byte in its data does not."""
    sensor = sensor_of(write.__name__)
    uri = f"{tmp_path}{sensor.uri}"
    folder = Path(uri if uri.endswith("/") else uri.rpartition("/")[0])
    write(folder)
    found = await verdict_of(sensor, uri)
    assert (found.verdict, found.text) == ("holds", found.text)
    (data,) = (path for path in folder.rglob("*") if path.is_file() and path.read_bytes() == DATA)
    put(data, DATA.replace(b"2.25", b"2.26"))
    told = "holds" if sensor.verify == "files" else "does not hold"  # presence and size are all it can prove
    assert (await verdict_of(sensor, uri)).verdict in (told, "unreadable")


async def test_a_bucket_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest whose files lie where the example allows them holds; one that points elsewhere does not."""
    sensor = sensor_of("redshift_unload")
    remote = Remote().install(monkeypatch)
    part = f"{sensor.uri.rpartition('/')[0]}/0000_part_00"
    remote.files[part] = DATA
    entry = {"url": part, "mandatory": True, "meta": {"content_length": len(DATA)}}
    remote.files[sensor.uri] = json.dumps({"entries": [entry]}).encode()
    assert (await verdict_of(sensor, sensor.uri)).verdict == "holds"
    entry["url"] = "s3://acme-unload/orders/2024-10-02/0000_part_00"
    remote.files[sensor.uri] = json.dumps({"entries": [entry]}).encode()
    found = await verdict_of(sensor, sensor.uri)
    assert [(problem.kind, problem.place) for problem in found.problems] == [
        ("not allowed", "entries[0].url")
    ]
