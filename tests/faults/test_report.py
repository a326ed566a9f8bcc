"""The table of docs/reliability.md: made from results, and nothing in it was lost, wrong or doubled."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faultlab import Record

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "reliability.md"
NAMED = (
    "supervisor", "runner", "whole triggerer", "SIGTERM", "SIGSTOP", "database", "api-server", "scheduler",
    "one marker", "source answers", "poisonous", "upgraded", "cleared", "marked failed", "marked success",
    "clock of the source", "frozen session", "all the other faults",
)  # fmt: skip


def _report() -> Any:
    spec = importlib.util.spec_from_file_location("report", HERE / "report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _record(**changes: Any) -> Record:
    given = {
        "fault": "f",
        "way": "workers",
        "waits": 100,
        "released": 17,
        "lost": 0,
        "wrong": 0,
        "doubled": 0,
    }
    return Record(**given | changes)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")[1:-1]]


REPORT = _report()


def test_trials_of_the_same_fault_are_one_row() -> None:
    """Flaws are added up, times are a span, and other numbers of waits are another row."""
    records = [
        _record(
            doubled=1,
            again=4,
            fired_again=6,
            running=5.2,
            written=9.0,
            memory=(100, 120),
            descriptors=(40, 41),
        ),
        _record(doubled=2, running=7.9, lost=3, memory=(90, 130), descriptors=(44, 40)),
        _record(waits=2000, way="parked"),
    ]
    assert REPORT.table(records).splitlines()[2:] == [
        "| f | 100 | 17 | 2 | 3 | 0 | 3 | 4 | 6 | 5 to 8 | 9 | 100 → 130 | 44 → 41 |",
        "| f | 2,000 parked | 17 | 1 | 0 | 0 | 0 | 0 | 0 |  |  |  |  |",
    ]


def test_only_the_table_changes(tmp_path: Path) -> None:
    """The command replaces what stands between the two marks, and nothing else."""
    page, results = tmp_path / "page.md", tmp_path / "results.jsonl"
    page.write_text(f"before\n{REPORT.BEGIN}\nold\n{REPORT.END}\nafter\n")
    _record().append_to(results)
    _record(waits=1).append_to(tmp_path / "more.jsonl")
    command = [sys.executable, str(HERE / "report.py"), str(results), str(tmp_path / "more.jsonl"), str(page)]
    subprocess.run(command, check=True, timeout=60)
    head, table, tail = re.split(f"{re.escape(REPORT.BEGIN)}|{re.escape(REPORT.END)}", page.read_text())
    assert (head, tail) == ("before\n", "\nafter\n")
    assert table.strip() == REPORT.table([_record(), _record(waits=1)])


def test_page_without_marks_is_refused() -> None:
    """A page that lost its marks is not written."""
    with pytest.raises(ValueError, match="expected"):
        REPORT.with_table("no marks", [])


def test_page_shows_every_fault_without_a_flaw() -> None:
    """Each fault stands in the documented table, and nothing there was lost, wrong or doubled."""
    table = PAGE.read_text().partition(REPORT.BEGIN)[2].partition(REPORT.END)[0]
    header, _, *rows = [_cells(line) for line in table.strip().splitlines()]
    assert tuple(header) == REPORT.COLUMNS
    for name in NAMED:
        assert any(name in row[0] for row in rows), name
    for row in rows:
        cells = dict(zip(REPORT.COLUMNS, row, strict=True))
        assert (cells["lost"], cells["wrong"], cells["doubled"]) == ("0", "0", "0"), row
        assert int(cells["tried"]) >= 1


def test_python_in_the_page_runs() -> None:
    """What the page advises runs as it stands."""
    [code] = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    exec(compile(code, PAGE.name, "exec"), {"__name__": PAGE.name})  # noqa: S102 - that is the test
