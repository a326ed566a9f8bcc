"""The examples of the documentation, run in their order and compared with what they are said to print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_landmark.cli import main
from airflow_landmark.markers import read_marker

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```(console|python|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS_AIRFLOW = re.compile(r"\bairflow(?!_landmark\.(?:deliveries|markers|stores)\b)")
PLACE = "/srv"
VARYING = [
    (re.compile(r"\b[0-9a-f]{64}\b"), "<sha256>"),
    (re.compile(r'"(inode|modified|changed)": "[0-9:]+"'), r'"\1": "<pin>"'),
    (re.compile(r'"created_at": "[^"]+"'), '"created_at": "<now>"'),
    (re.compile(r"\b(since|at) \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), r"\1 <now>"),
    (re.compile(r"^  \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  ", re.MULTILINE), "  <now>  "),
    (re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", re.MULTILINE), "<now> "),
]


def _plain(text: str, *, place: Path | None = None) -> str:
    """Return the text without what differs from run to run."""
    if place is not None:
        text = text.replace(str(place), PLACE)
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text.strip()


def _steps(block: str) -> list[tuple[str, str]]:
    """Return the commands of a console block with their output; a backslash continues a command."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    steps = [re.match(r"((?:[^\n]*\\\n)*[^\n]*\n)(.*)", part, re.DOTALL) for part in parts]
    return [(step[1].strip(), step[2]) for step in steps if step]


def _environment(folder: Path) -> dict[str, str]:
    tool = folder / "landmark"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m airflow_landmark.cli "$@"\n')
    tool.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "COLUMNS": "80", "LC_ALL": "C.UTF-8"}


class Shell:
    """Runs the examples of one document in one folder."""

    def __init__(self, tmp_path: Path) -> None:
        self.place = tmp_path / "place"
        self.place.mkdir()
        (tmp_path / "bin").mkdir()
        self._environment = _environment(tmp_path / "bin")
        self._status = 0

    def run(self, command: str) -> str:
        """Return what a terminal would show."""
        done = subprocess.run(
            ["bash", "-c", f"(exit {self._status})\n{command}"],
            cwd=self.place,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        self._status = done.returncode
        return done.stdout

    def run_python(self, code: str) -> None:
        """Run a script."""
        subprocess.run([sys.executable, "-c", code], cwd=self.place, check=True, timeout=60)


@pytest.mark.parametrize(
    "name",
    [
        "cli.md",
        pytest.param("formats.md", marks=pytest.mark.slow),
        "ledger.md",
        "partners.md",
        "../README.md",
    ],
)
def test_examples(name: str, tmp_path: Path) -> None:
    """Every example of a document does what the document says, one after another."""
    shell = Shell(tmp_path)
    for kind, block in BLOCK.findall((DOCS / name).read_text(encoding="utf-8")):
        if kind == "python":
            if not NEEDS_AIRFLOW.search(block):  # Dags are loaded where Airflow is
                shell.run_python(block)
        elif kind == "json":
            assert read_marker(block.encode(), name="_delivery.json").version
        else:
            for command, expected in _steps(block):
                shown = _plain(shell.run(command), place=shell.place)
                assert (command, shown) == (command, _plain(expected))


def test_every_option_is_documented() -> None:
    """The page of the commands names every command and every option."""
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    for name, command in main.commands.items():
        assert f"landmark {name}" in text
        missing = [option for param in command.params for option in param.opts if option not in text]
        assert [option for option in missing if option.startswith("-")] == []


def test_every_field_is_documented() -> None:
    """The page for partners names every field of the marker."""
    from airflow_landmark.markers import marker_schema

    text = (DOCS / "partners.md").read_text(encoding="utf-8")
    schema = marker_schema()
    fields = {*schema["properties"], *schema["$defs"]["file"]["properties"], "start", "end", "timezone"}
    assert [field for field in sorted(fields) if f"`{field}`" not in text] == []
