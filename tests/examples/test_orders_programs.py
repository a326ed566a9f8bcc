"""The short programs beside the orders pipeline: each figure of their tables, from a real run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

PROGRAMS = Path(__file__).resolve().parents[2] / "examples" / "orders" / "programs"
FAST, IN_AIRFLOW = ("overlap", "races", "write_patterns"), ("retries", "waiting")
in_airflow = [pytest.mark.slow, pytest.mark.timeout(900)]


@cache
def output_of(name: str) -> str:
    """What a program prints; it is run once.

    It has a home and a temporary folder of its own, and must leave both empty.
    """
    outside = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")}
    with TemporaryDirectory() as home, TemporaryDirectory() as temporary:
        done = subprocess.run(
            [sys.executable, "-W", "error::ResourceWarning", str(PROGRAMS / f"{name}.py")],
            env=outside | {"HOME": home, "TMPDIR": temporary, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True, text=True, timeout=880, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        assert [*Path(home).iterdir(), *Path(temporary).iterdir()] == []
    return done.stdout


def tables_of(name: str) -> list[list[list[str]]]:
    """The tables that a program prints: rows of cells, without the heading."""
    tables: list[list[list[str]]] = []
    for block in re.split(r"\n\n", output_of(name)):
        lines = block.splitlines()
        if len(lines) > 2 and set(lines[1]) == {"-", " "}:
            tables.append([re.split(r"\s{2,}", line) for line in lines[2:]])
    return tables


def test_every_program_is_run_and_named() -> None:
    """No program is left out here or in the page beside them."""
    found = {path.stem for path in PROGRAMS.glob("[a-z]*.py")}
    assert found == {*FAST, *IN_AIRFLOW}
    page = (PROGRAMS / "README.md").read_text()
    assert set(re.findall(r"^\| `(\w+)\.py` \|", page, re.MULTILINE)) == found


def test_page_shows_what_is_printed() -> None:
    """The output on the page is that of the program."""
    pattern = re.compile(r"^```console\n\$ python (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    shown = pattern.findall((PROGRAMS / "README.md").read_text())
    assert [(Path(path).stem, text) for path, text in shown] == [("overlap", output_of("overlap"))]


@pytest.mark.parametrize("name", [*FAST, *(pytest.param(name, marks=in_airflow) for name in IN_AIRFLOW)])
def test_lines_fit_a_wide_terminal(name: str) -> None:
    """Tables are read in a terminal: no row of one is wider than 160 characters."""
    rows = [line for line in output_of(name).splitlines() if re.search(r"\S {2,}\S", line)]
    assert rows
    assert max(map(len, rows)) <= 160


def test_write_patterns() -> None:
    """Only a replaced partition and a swapped pointer are right under every repeat, and never empty."""
    (table,) = tables_of("write_patterns")
    same, corrected = "3 rows, sum 60: right", "2 rows, sum 35: right"
    doubled, mixed, kept = "6 rows, sum 120: WRONG", "5 rows, sum 95: WRONG", "3 rows, sum 65: WRONG"
    old, nothing = "sum 60, then sum 60", "sum 0, then sum 0"
    assert table == [
        ["append", doubled, mixed, old, mixed],
        ["upsert by (day, order)", same, kept, old, kept],
        ["replace the partition, one transaction", same, corrected, old, corrected],
        ["delete, then insert, two commits", same, corrected, nothing, corrected],
        ["stage under the attempt, swap the pointer", same, corrected, old, corrected],
    ]


def test_overlap() -> None:
    """A late attempt is refused only where the comparison shares the write's transaction."""
    (table,) = tables_of("overlap")
    assert table == [
        ["none", "written", "written", "3", "60", "WRONG: stale"],
        ["version, compared before the write", "written", "written", "3", "60", "WRONG: stale"],
        ["version, compared in the write's transaction", "written", "refused", "2", "35", "right"],
    ]


def test_races() -> None:
    """A swap on version and revision keeps stale candidates out; only reconciling knows its own success."""
    (table,) = tables_of("races")
    assert [row[2:] for row in table] == [
        ["live published, backfill published", "(v3-backfill, 2)", "WRONG: the live correction is lost"],
        ["live published, backfill refused", "(v2-live, 1)", "right"],
        ["stale candidate published", "(v3-from-stale-input, 3)", "WRONG: made from what was taken back"],
        ["stale candidate refused", "(v1, 2)", "right"],
        ["retry: conflict", "(v2-2024-10-01, 1)", "WRONG: it was our own"],
        ["retry: already published", "(v2-2024-10-01, 1)", "right"],
    ]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_retried_tasks() -> None:
    """What passes is retried until it has passed, what lasts is not; without a policy every retry is used."""
    table = tables_of("retries")[0]
    assert table == [
        ["ConnectionError, twice", "LandmarkRetryPolicy", "success", "3", "3"],
        ["PermissionError, always", "LandmarkRetryPolicy", "failed", "1", "1"],
        ["PermissionError, always", "none", "failed", "4", "4"],
    ]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_delays() -> None:
    """Airflow's spread ends at the longest delay, where all tasks return together; the policy's does not."""
    table = [[row[0], *map(int, row[1:])] for row in tables_of("retries")[1]]
    backoff = "retry_delay=30 s, retry_exponential_backoff=2"
    assert table[:4] == [
        ["retry_delay=30 s", 1, 30, 30, 1, 200],
        [backoff, 1, 30, 59, 30, 72],
        [backoff, 4, 242, 478, 135, 14],
        [backoff, 6, 600, 600, 1, 200],
    ]
    ours = [row[1:] for row in table[4:]]
    assert [(after, distinct) for after, _, _, distinct, _ in ours] == [(1, 200), (4, 200), (6, 200)]
    for (_, shortest, longest, _, _), whole in zip(ours, (30, 240, 600), strict=True):
        assert whole / 2 <= shortest < 0.55 * whole
        assert 0.95 * whole < longest <= whole
    assert ours[-1][-1] < 20
    assert "35, 69, 187, 403, 558, 600 s" in output_of("retries")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_waiting() -> None:
    """A resumed instance has what the Dag gave it and nothing that execute set, within the first try."""
    (table,) = tables_of("waiting")
    assert table == [
        ["deferred", "2", "gone", "there", "1", "0", "success"],
        ["deferred, a stale marker comes", "2", "gone", "there", "1", "0", "failed"],
        ["deferred, stale before the resume", "2", "gone", "there", "1", "0", "failed"],
        ["rescheduled, three looks", "3", "gone", "there", "1", "2", "success"],
    ]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_markers_of_the_wait() -> None:
    """The right marker is handed on with its version, a stale one is refused with both intervals."""
    told = dict(line.split(": ", 1) for line in output_of("waiting").split("\n\n")[-1].splitlines())
    right = "version 7 is handed on"
    assert (told["deferred"], told["rescheduled, three looks"]) == (right, right)
    for name in ("deferred, a stale marker comes", "deferred, stale before the resume"):
        assert "expected interval 2024-10-01T00:00:00Z/2024-10-02T00:00:00Z" in told[name]
        assert "found interval 2024-09-30T00:00:00Z/2024-10-01T00:00:00Z" in told[name]
