"""Calibrations: what is shipped, what users add, what is assumed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from airflow_landmark.capacity import InvalidPlan, Kind, Unreachable, calibration_text, load_calibrations

KIB = 1024
S3 = "airflow.providers.amazon.aws.triggers.s3.S3KeyTrigger"
GOOD = '[[kind]]\npath = "my.Trigger"\nmemory_kib = 64\ncheck_ms = 0.5\n'


def test_shipped_kinds_exist() -> None:
    """Every class path leads to a class of the installed Airflow and its providers, or of this package."""
    for path, kind in load_calibrations().kinds.items():
        module, _, name = path.rpartition(".")
        assert isinstance(getattr(import_module(module), name), type)
        assert kind.origin == "measured"
        assert kind.version
        assert kind.date
        assert kind.machine


def test_units() -> None:
    """KiB become bytes, milliseconds seconds."""
    found = load_calibrations().kind(S3)
    assert found.memory_bytes == pytest.approx(1.64 * KIB * KIB, rel=1e-3)
    assert (found.check_cpu, found.start_cpu) == (pytest.approx(0.0022), pytest.approx(0.057))


def test_kinds_by_likeness() -> None:
    """Other triggers of AWS are taken to be like that of S3, and all others to be expensive."""
    known = load_calibrations()
    like = known.kind("airflow.providers.amazon.aws.triggers.sqs.SqsSensorTrigger")
    unknown = known.kind("my.Trigger")
    assert (like.memory_bytes, like.origin) == (known.kind(S3).memory_bytes, "assumed")
    assert unknown.origin == "assumed"
    assert unknown.memory_bytes >= max(kind.memory_bytes for kind in known.kinds.values())


def test_class_names_are_enough() -> None:
    """In a plan, for kinds that are known."""
    known = load_calibrations()
    assert known.full_path("S3KeyTrigger") == S3
    assert known.full_path("MyTrigger") == "MyTrigger"


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """A measured kind survives its file, whatever its names hold."""
    kind = Kind(
        path="my.Trigger",
        memory_bytes=64.0 * KIB,
        check_cpu=0.0005,
        start_cpu=0.002,
        descriptors=2.0,
        lines=1.5,
        requests=0.5,
        poll_interval=30.0,
        origin="measured",
        version='1.0 "beta"\n',
        date="2026-03-02",
        machine="a\\b",
    )
    file = tmp_path / "own.toml"
    file.write_text(calibration_text([kind]))
    found = load_calibrations(file).kind("my.Trigger")
    assert found.version == '1.0 "beta"?'
    for field in (
        "memory_bytes",
        "check_cpu",
        "start_cpu",
        "descriptors",
        "lines",
        "requests",
        "machine",
        "date",
    ):
        assert getattr(found, field) == getattr(kind, field)


def test_own_figures_come_before_the_shipped(tmp_path: Path) -> None:
    """The last file wins."""
    first, second = tmp_path / "1.toml", tmp_path / "2.toml"
    first.write_text(f"version = 1\n{GOOD}".replace("my.Trigger", S3))
    second.write_text(f"version = 1\n{GOOD}".replace("my.Trigger", S3).replace("64", "128"))
    assert load_calibrations(first).kind(S3).memory_bytes == 64 * KIB
    assert load_calibrations(first, second).kind(S3).memory_bytes == 128 * KIB
    assert load_calibrations().kind(S3).memory_bytes > 1000 * KIB


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD, "version: expected 1"),
        ("version = 1\n", "expected [[kind]] tables"),
        (f"version = 1\n{GOOD}memory_mib = 3\n", "'memory_mib': there is no such field"),
        ('version = 1\n[[kind]]\npath = "a.B"\n', "memory_kib: missing"),
        ("version = 1\n[[kind]]\nmemory_kib = 3\n", "path: expected"),
        (f"version = 1\n{GOOD}lines = -1\n", "lines: expected a number from 0, found -1"),
        (f"version = 1\n{GOOD}poll_interval = 0\n", "poll_interval: expected"),
        (f"version = 1\n{GOOD}requests = nan\n", "requests: expected"),
        (f'version = 1\n{GOOD}origin = "guessed"\n', "origin: expected one of"),
        (f"version = 1\n{GOOD}date = 2026-03-02\n", "date: expected a text"),
        ("version =\n", "this is not TOML"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, said: str) -> None:
    """With the field, what was expected and what was found."""
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(InvalidPlan) as caught:
        load_calibrations(file)
    assert any(said in problem for problem in caught.value.problems), caught.value.problems


def test_file_that_is_not_there(tmp_path: Path) -> None:
    """It cannot be read."""
    with pytest.raises(Unreachable, match="No such file"):
        load_calibrations(tmp_path / "none.toml")
