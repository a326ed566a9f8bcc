"""What is wrong with a plan: every problem with its line and field, all of them at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.capacity import Inputs, InvalidPlan, Unreachable, read_plan

DOCUMENTATION = (Path(__file__).parents[2] / "docs/capacity-plan.md").read_text()
LISTS = ("deployment", "dag", "wait", "pool", "scenario", "task")
TABLES = ["[platform]", *(f"[[{name}]]" for name in LISTS)]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Return where a plan is written."""
    return tmp_path / "plan.toml"


def _read(plan: Path, text: str) -> Inputs:
    plan.write_text(f"version = 1\n{text}")
    return read_plan(plan).inputs


def _problems(plan: Path, text: str) -> tuple[str, ...]:
    with pytest.raises(InvalidPlan) as caught:
        _read(plan, text)
    assert caught.value.place == str(plan)
    return caught.value.problems


def _wait(fields: str) -> str:
    return f'[[wait]]\nname = "w"\n{fields}\n'


PROBLEMS = [
    ("[[wait]]\n", "line 2, [wait], schedule: is missing; give one of schedule, every"),
    ("[[wait]]\nalways = true\n", "line 2, [wait], name: is missing"),
    (_wait('always = true\ntimeout = "4 hours"'), "line 5, [[wait]] 'w', timeout: expected a duration"),
    (_wait("always = true\ntimout = 3"), "line 5, [[wait]] 'w', timout: there is no such field"),
    (_wait("always = true\ncount = 0"), "line 5, [[wait]] 'w', count: expected a whole number from 1"),
    (_wait("always = true\ncount = true"), "found True"),
    (_wait("always = true\npoll_interval = 0"), "poll_interval: expected more than 0"),
    (_wait('schedule = "0 0 * *"'), "schedule: '0 0 * *' is not a cron expression"),
    (_wait('schedule = "@daily"\nevery = 60'), "every: schedule is given too"),
    (_wait("every = 0"), "every: expected at least 1 second"),
    (_wait('schedule = "@daily"\ntimezone = "Mars"'), "timezone: expected a time zone"),
    (_wait("always = true\nduration = { uniform = [5, 1] }"), "uniform: expected two durations"),
    (_wait("always = true\nduration = { exponential = 0 }"), "exponential: expected a mean above 0"),
    (_wait("always = true\nduration = { median = 9, p95 = 3 }"), "p95: expected more than the median"),
    (_wait("always = true\nduration = { p95 = 3 }"), "duration: expected one of fixed, uniform"),
    (_wait("always = true\nduration = { fixed = 3, mean = 4 }"), "there is no 'mean' beside fixed"),
    (_wait("always = true\nduration = { quantiles = { p50 = 3 } }"), "the longest is not known"),
    (_wait("always = true\nduration = { quantiles = { p50 = 9, p100 = 3 } }"), "quantiles grow"),
    (_wait("always = true\nduration = { quantiles = { half = 9 } }"), "'half' is not p0 to p100"),
    (_wait('always = true\nmode = "defer"'), "mode: expected one of deferrable, reschedule, poke"),
    (_wait('always = true\nafter = ["x"]'), "after: expected waits of the same dag, found 'x'"),
    (_wait('always = true\nafter = ["w"]'), "after: the wait comes after itself"),
    (_wait("always = true") + _wait("always = true"), "[[wait]] 'w': the name is taken"),
    ('[[scenario]]\nname = "s"\nby = 60\n', "sources: is missing"),
    ('[[scenario]]\nname = "s"\nsources = "x"\n', "by: is missing"),
    (
        _wait("always = true") + '[[scenario]]\nname = "s"\nsources = "x"\nby = 60\n',
        "no wait has the source 'x'",
    ),
    ('[[scenario]]\nname = "s"\nkind = "backfill"\ndag = "d"\nruns = 3\n', "no wait belongs to the dag 'd'"),
    ('[[scenario]]\nname = "s"\nkind = "backfill"\ndag = "d"\n', "expected runs, or from and to"),
    ('[[scenario]]\nname = "s"\nkind = "storm"\n', "kind: expected one of late, all-late"),
    ("[[deployment]]\nname = 3\n", "name: expected a text of 1 to 200 characters, found 3"),
    ('[[deployment]]\nname = "t"\nqueues = [1]\n', "queues: expected a list of texts"),
    ("[deployment]\nreplicas = 3\n", "deployment: expected tables [[deployment]]"),
    ("[[platform]]\nheadroom = 1\n", "platform: expected a table [platform]"),
    ("[platform]\nheadroom = -1\n", "headroom: expected a number from 0 to 10, found -1"),
    ("[surprise]\nx = 1\n", "'surprise': there is no such table or field"),
    ("wait = 3\n", "wait: expected tables [[wait]], found 3"),
]


@pytest.mark.parametrize(("text", "said"), PROBLEMS)
def test_problems_have_their_place(plan: Path, text: str, said: str) -> None:
    """Line, table, field; what was expected and what was found."""
    assert any(said in problem for problem in _problems(plan, text)), _problems(plan, text)


def test_all_problems_are_told_at_once(plan: Path) -> None:
    """In the order of the file's kinds of tables, and no more than a screen of them."""
    text = _wait('always = true\ntimeout = "x"\ncount = 0\npoll_interval = "y"')
    assert len(_problems(plan, text)) == 3
    many = "".join(f'[[wait]]\nname = "w{number}"\nevery = "x"\n' for number in range(50))
    problems = _problems(plan, many)
    assert len(problems) == 21
    assert problems[-1] == "and 30 more problems"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"version = 2\n", "version: expected 1, found 2"),
        (b"", "version: expected 1, found nothing"),
        (b"version = true\n", "version: expected 1, found True"),
        (b"= 3\n", "this is not TOML"),
        (b"a = 1\na = 2\n", "this is not TOML"),
        (b'x = "\xff"\n', "not UTF-8"),
        (b"x = " + b"[" * 5000 + b"]" * 5000, "too deeply"),
        (b"#" * 4_000_001, "more than 4,000,000 bytes"),
    ],
)
def test_files_that_are_no_plans(plan: Path, data: bytes, said: str) -> None:
    """Not TOML, not this version, too large, too deep."""
    plan.write_bytes(data)
    with pytest.raises(InvalidPlan, match=said):
        read_plan(plan)


def test_file_that_is_not_there(plan: Path) -> None:
    """It is said so; that is no problem of the plan."""
    with pytest.raises(Unreachable, match="No such file"):
        read_plan(plan)


def test_what_was_found_is_shown_harmlessly(plan: Path) -> None:
    """No control character reaches a terminal, and no long text."""
    text = _wait('always = true\nkind = "\\u001b[31m' + "x" * 500 + '"')
    (problem,) = _problems(plan, text)
    assert problem.isprintable()
    assert len(problem) < 250


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_is_a_plan_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str | bytes) -> None:
    """Nothing but InvalidPlan comes out."""
    file = tmp_path_factory.mktemp("plans") / "plan.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InvalidPlan):
        read_plan(file)


@pytest.mark.parametrize("table", TABLES)
def test_every_field_is_documented(plan: Path, table: str) -> None:
    """Each field that a table may have stands in its section of the documentation."""
    (told,) = [one for one in _problems(plan, f"{table}\nsurprise = 1\n") if "there is no such field" in one]
    section = DOCUMENTATION.split(f"## {table}\n")[1].split("\n## ")[0]
    for field in told.partition("there are ")[2].split(", "):
        assert f"`{field}" in section, field
