"""The formats that are known by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.markers import LANDMARK, Format, InvalidDeclaration, format_of, formats
from airflow_landmark.markers import _registry as registry

OWN = [
    "bagit",
    "cloudevents",
    "control",
    "datapackage",
    "landmark",
    "redshift",
    "s3-inventory",
    "sentinel",
    "sums",
    "trailer",
]
MODULE = """
from airflow_landmark.markers import LANDMARK, Format

EDI = Format(name="edi", documents=LANDMARK.documents, read=LANDMARK.read)

def make():
    return EDI

def fail():
    raise RuntimeError("no licence")

NOTHING = 7
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install packages that bring formats, each as pip leaves it."""
    registry._loaded.cache_clear()
    (tmp_path / "partner_formats.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)

    def put(*, package: str = "partner", **entries: str) -> None:
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in entries.items()]
        (info / "entry_points.txt").write_text("\n".join(["[airflow_landmark.formats]", *lines, ""]))

    yield put
    registry._loaded.cache_clear()


def test_own_formats() -> None:
    """Every format of this package is listed, and loads under its name."""
    assert formats() == OWN
    for name in OWN:
        form = format_of(name)
        assert isinstance(form, Format)
        assert form.name == name
    assert format_of("landmark") is LANDMARK


@pytest.mark.parametrize("value", ["partner_formats:EDI", "partner_formats:make"])
def test_a_format_of_another_package(install: Install, value: str) -> None:
    """An installed package brings a format, or a function that makes one."""
    install(edi=value)
    assert formats() == sorted([*OWN, "edi"])
    form = format_of("edi")
    assert form.name == "edi"
    assert format_of("edi") is form


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("edi", "partner_formats:fail", r"format edi: partner_formats:fail cannot be loaded: .*no licence"),
        ("edi", "partner_formats:GONE", r"format edi: partner_formats:GONE cannot be loaded"),
        ("edi", "not_installed:X", r"format edi: not_installed:X cannot be loaded: .*ModuleNotFoundError"),
        ("edi", "partner_formats:NOTHING", "format edi: partner_formats:NOTHING is no Format of that name"),
        ("other", "partner_formats:EDI", "format other: partner_formats:EDI is no Format of that name"),
    ],
)
def test_a_broken_package_is_named(install: Install, name: str, value: str, text: str) -> None:
    """What another package fails to bring is refused with its name; other formats are not hindered."""
    install(**{name: value})
    with pytest.raises(InvalidDeclaration, match=text):
        format_of(name)
    assert name in formats()
    assert format_of("sums").name == "sums"


def test_own_names_cannot_be_taken(install: Install) -> None:
    """A package that brings a format of a name of ours is not asked."""
    install(sums="partner_formats:fail", landmark="partner_formats:fail")
    assert format_of("sums").default_name == "SHA256SUMS"
    assert format_of("landmark") is LANDMARK
    assert formats() == OWN


def test_two_packages_of_one_name(install: Install) -> None:
    """Which of two packages is meant is not guessed."""
    install(edi="partner_formats:EDI")
    install(package="second", edi="partner_formats:make")
    with pytest.raises(
        InvalidDeclaration, match="brought by partner_formats:EDI and by partner_formats:make"
    ):
        format_of("edi")


@pytest.mark.parametrize("name", ["", "SUMS", "bag-it", "no such\n", "_format_sums:SUMS"])
def test_unknown_names(name: str) -> None:
    """An unknown name is refused with those that are known."""
    with pytest.raises(InvalidDeclaration, match=r"no format '.*' \(known: bagit, cloudevents, control"):
        format_of(name)


@pytest.mark.parametrize("name", [None, 7, ["sums"]])
def test_names_are_text(name: Any) -> None:
    """Anything but text is refused."""
    with pytest.raises(InvalidDeclaration, match="format must be a name, not"):
        format_of(name)
