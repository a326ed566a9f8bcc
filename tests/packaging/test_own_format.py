"""A company's own format: the package of the documentation, installed and used."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SHOWN = re.compile(r"^```(?:toml|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DATA = b"id,amount\no1,10\no2,20\no3,5\n"
DIGEST = hashlib.sha256(DATA).hexdigest()
WAYBILL = f"WAYBILL;shop/orders;2024-10-01;3\nFILE;orders.csv;{len(DATA)};{DIGEST}\nEND;1\n"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, root: Path, uv: Callable[..., None]) -> Path:
    """Return the folder that the package is installed into, from a copy: a build leaves files behind."""
    source, target = tmp_path_factory.mktemp("own") / "source", tmp_path_factory.mktemp("installed")
    shutil.copytree(root / "examples" / "own_format", source)
    how = ("--offline", "--no-deps", "--no-build-isolation", "--python", sys.executable)
    uv("pip", "install", *how, "--target", target, source)
    return target


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs Python, in a folder of its own, where the package is installed."""
    environment = {**os.environ, "PYTHONPATH": str(installed), "COLUMNS": "80"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )

    return run


@pytest.fixture
def verify(run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> Callable[[str], str]:
    """Return a function that writes a waybill beside its data and returns what ``landmark verify`` says."""
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "orders.csv").write_bytes(DATA)

    def verify(text: str) -> str:
        (tmp_path / "orders" / "waybill.txt").write_text(text)
        command = ("verify", "orders", "--format", "waybill", "--declare", "timezone=UTC")
        done = run("-m", "airflow_landmark.cli", *command)
        assert done.stderr == ""
        assert done.returncode == (0 if done.stdout.startswith("HOLDS") else 1)
        return done.stdout.replace(str(tmp_path), "/srv")

    return verify


def test_the_documentation_shows_this_package(root: Path) -> None:
    """What the page shows as the whole package is the whole package, byte for byte."""
    shown = SHOWN.findall((root / "docs" / "formats.md").read_text(encoding="utf-8"))
    folder = root / "examples" / "own_format"
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".toml")]
    assert [path.relative_to(folder).as_posix() for path in files] == [
        "pyproject.toml",
        "src/acme_waybill/__init__.py",
    ]
    for path in files:
        assert shown.count(path.read_text(encoding="utf-8")) == 1


def test_it_is_found_by_its_name(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Where the package is installed its format is known, under the name of its entry point."""
    code = (
        "from airflow_landmark.markers import format_of, formats; print(formats().count('waybill'), "
        "format_of('waybill').default_name)"
    )
    done = run("-c", code)
    assert (done.stdout, done.stderr) == ("1 waybill.txt\n", "")


def test_a_delivery_holds(verify: Callable[[str], str], root: Path) -> None:
    """A waybill whose files are right holds, and says what the page says that it says."""
    told = verify(WAYBILL)
    assert told.startswith("HOLDS: version 3: no problems among 1 file\n")
    (shown,) = (
        block
        for block in SHOWN.findall((root / "docs" / "formats.md").read_text(encoding="utf-8"))
        if block.startswith("$ landmark verify orders --format waybill")
    )
    assert shown.partition("\n")[2] == told


def test_a_wrong_byte_is_found(verify: Callable[[str], str], tmp_path: Path) -> None:
    """The files are held against the digests of the waybill."""
    (tmp_path / "orders" / "orders.csv").write_bytes(DATA.replace(b"20", b"21"))
    assert "corrupt  orders.csv" in verify(WAYBILL)


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        (WAYBILL.partition("END")[0], "incomplete", "END"),
        (WAYBILL.replace("END;1", "END;2"), "incomplete", "END"),
        (WAYBILL.replace("orders.csv", "../orders.csv"), "invalid path", "line 2"),
        (WAYBILL.replace(DIGEST, DIGEST[:-1]), "invalid digest", "line 2"),
        (WAYBILL.replace(f";{len(DATA)};", ";many;"), "wrong type", "line 2"),
        (WAYBILL.replace("FILE", "PALLET"), "syntax", "line 2"),
        (WAYBILL.replace("2024-10-01", "2024-10-41"), "invalid interval", "interval"),
        (WAYBILL.replace("WAYBILL", "LETTER"), "undeclared", "line"),
        (f"{WAYBILL}{WAYBILL}", "syntax", "line 4"),
    ],
)
def test_what_is_wrong_is_told(verify: Callable[[str], str], text: str, kind: str, place: str) -> None:
    """A waybill that is not one is refused with the place of each problem."""
    told = verify(text)
    assert told.startswith("DOES NOT HOLD: not a valid marker")
    assert re.search(rf"^  {kind} +{place}$", told, re.MULTILINE)


def test_a_wrong_declaration_is_refused(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """The check of the package speaks before anything is looked at."""
    done = run("-m", "airflow_landmark.cli", "verify", "x", "--format", "waybill")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "declare timezone and nothing else" in done.stderr
