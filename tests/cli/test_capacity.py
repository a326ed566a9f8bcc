"""``landmark capacity`` on plans: check, cost, pools; the others have tests of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator

from airflow_landmark.capacity import answer_schema

Landmark = Callable[..., Result]
EXAMPLE = Path(__file__).parents[2] / "examples/capacity/plan.toml"
SMALL = """
version = 1
[[deployment]]
name = "triggerer"
replicas = {replicas}
[[wait]]
name = "orders"
count = 2500
schedule = "0 0 * * *"
duration = {{ exponential = "20m" }}
timeout = "4h"
source = "partner"
"""
NOW = ("--from", "2026-03-02", "--horizon", "1d")


@pytest.fixture
def plan(tmp_path: Path) -> Callable[[str], Path]:
    """Return what writes a plan."""

    def write(text: str) -> Path:
        file = tmp_path / "plan.toml"
        file.write_text(text)
        return file

    return write


@pytest.mark.parametrize(
    ("replicas", "status", "word"),
    [(2, 1, "DOES NOT HOLD"), (3, 4, "HOLDS WITHOUT SPARE"), (4, 0, "HOLDS")],
)
def test_status_says_whether_it_holds(
    landmark: Landmark, plan: Callable[[str], Path], replicas: int, status: int, word: str
) -> None:
    """0 holds, 1 does not, 4 holds without spare."""
    done = landmark("capacity", "check", "--plan", plan(SMALL.format(replicas=replicas)), *NOW)
    assert done.exit_code == status
    first = done.stdout.splitlines()[0]
    assert first == f"{word}: without a queue: {replicas} triggerers, 4 wanted with spare"


def test_the_answer_for_people(landmark: Landmark, plan: Callable[[str], Path]) -> None:
    """The numbers of the worked example, within 100 columns."""
    done = landmark("capacity", "check", "--plan", plan(SMALL.format(replicas=3)), *NOW)
    text = " ".join(done.stdout.split())
    assert "mean 34.7, peak 2,500 at Mon 2026-03-02 00:00Z" in text
    assert "2,500 waits start together; the last one runs after 18 s" in text
    assert "a dead triggerer is noticed within 30 s, its 833 waits run again after 39 s" in text
    assert "capacity ends first, at 1.2 times these waits; twice as many need 6 triggerers" in text
    assert "spread the starts of orders over an hour" in text
    assert "memory not stated" in text
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_the_example_fits_100_columns(landmark: Landmark) -> None:
    """And has all its scenarios, lints and queues."""
    done = landmark("capacity", "check", "--plan", EXAMPLE, "--from", "2026-03-02", "--horizon", "1d")
    assert done.exit_code == 4
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert done.stdout.splitlines()[0] == (
        "HOLDS WITHOUT SPARE: without a queue: 2 triggerers, 3 wanted with spare; queue dags: 2, 2 wanted"
    )
    for word in (
        "Queue dags",
        "ledger backfill",
        "shop late over a weekend",
        "LC02",
        "SnowflakeSqlApiTrigger",
    ):
        assert word in done.stdout


@pytest.mark.parametrize("form", [("--format", "json"), ("--json",), ("--format=json",)])
def test_the_answer_for_machines(
    landmark: Landmark, plan: Callable[[str], Path], form: tuple[str, ...]
) -> None:
    """One document that fits the schema, and nothing on stderr."""
    done = landmark("capacity", "check", "--plan", plan(SMALL.format(replicas=3)), *NOW, *form)
    document = json.loads(done.stdout)
    Draft202012Validator(answer_schema()).validate(document)
    assert (done.exit_code, done.stderr, document["verdict"]) == (4, "", "holds without spare")


def test_html_is_one_file(landmark: Landmark, plan: Callable[[str], Path]) -> None:
    """That asks no server for anything."""
    done = landmark("capacity", "check", "--plan", plan(SMALL.format(replicas=3)), *NOW, "--format", "html")
    assert done.stdout.startswith("<!doctype html>")
    assert "<svg" in done.stdout
    assert "http://" not in done.stdout.replace("http://www.w3.org/", "")


def test_nothing_to_hold(landmark: Landmark, plan: Callable[[str], Path]) -> None:
    """Without a deployment there is a number, and status 3 with its reason."""
    text = SMALL.format(replicas=3).replace("[[deployment]]", "").replace('name = "triggerer"', "")
    done = landmark("capacity", "check", "--plan", plan(text.replace("replicas = 3", "")), *NOW)
    assert done.exit_code == 3
    assert "without a queue: no triggerer, 4 wanted with spare" in done.stdout
    assert "no deployment is stated" in done.stderr


def test_nothing_waits(landmark: Landmark, plan: Callable[[str], Path]) -> None:
    """A plan without waits cannot tell."""
    done = landmark("capacity", "check", "--plan", plan("version = 1\n"), *NOW)
    assert done.exit_code == 3
    assert "nothing that waits was found" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("check", "--plan", "nowhere.toml"),
        ("check", "--plan", EXAMPLE, "--history", "30d"),
        ("check", "--plan", EXAMPLE, "--horizon", "soon"),
        ("check", "--plan", EXAMPLE, "--horizon", "5m"),
        ("check", "--plan", EXAMPLE, "--from", "yesterday"),
        ("check", "--plan", EXAMPLE, "--format", "pdf"),
        ("check", "--plan", EXAMPLE, "--db", "sqlite:///x", "--api", "http://x"),
        ("cost",),
        ("cost", "--within", "90m", "--after", "60"),
        ("cost", "--within", "90m", "--wait", "orders"),
        ("cost", "--plan", EXAMPLE, "--wait", "nobody"),
        ("cost", "--within", "90m", "--poll", "0"),
        ("pools",),
        ("fly",),
    ],
)
def test_wrong_usage(landmark: Landmark, arguments: tuple[object, ...]) -> None:
    """Status 2, one line, and where help is."""
    done = landmark("capacity", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--help" in done.stderr
    assert done.stderr.count("\n") == 1


def test_wrong_plan(landmark: Landmark, plan: Callable[[str], Path]) -> None:
    """Status 2; every problem in a line of its own, with its place."""
    file = plan('version = 1\n[[wait]]\nname = "w"\nevery = 60\ncount = 0\ntimeout = "x"\n')
    done = landmark("capacity", "check", "--plan", file)
    lines = done.stderr.splitlines()
    assert (done.exit_code, done.stdout) == (2, "")
    assert lines[0].endswith(f"{file}: 2 problems")
    assert [line.split(":")[0] for line in lines[1:]] == [
        "  line 6, [[wait]] 'w', timeout",
        "  line 5, [[wait]] 'w', count",
    ]


def test_wrong_plan_for_machines(landmark: Landmark, plan: Callable[[str], Path]) -> None:
    """The problems stand in the document."""
    done = landmark("capacity", "check", "--format", "json", "--plan", plan("version = 2\n"))
    document = json.loads(done.stdout)
    assert (done.exit_code, document["ok"], document["error"]["kind"]) == (2, False, "plan")
    assert document["details"] == ["line 1, version: expected 1, found 2"]


def test_cost_of_one_wait(landmark: Landmark) -> None:
    """The published table, by the closed form with the draws beside it."""
    done = landmark("capacity", "cost", "--within", "90m", "--start", "20", "--poll", "60", "--poll", "300")
    text = done.stdout
    assert done.exit_code == 0
    for words in (
        ["poke", "2,730", "30.0", "45.5"],
        ["reschedule", "200", "150.0", "9.5"],
        ["deferrable", "41"],
    ):
        assert any(line.split()[: len(words)] == words for line in text.splitlines())
    for drawn in ("2,718, 29.9", "951, 29.9", "199, 150.2", "41, 150.2"):
        assert drawn in text
    assert max(map(len, text.splitlines())) <= 100


def test_cost_of_a_plan(landmark: Landmark) -> None:
    """The waits that end, with a recommendation; with a price, the money."""
    asked = ("--wait", "sftp drops", "--wait", "asset watchers", "--price", "0.4", "--json")
    document = json.loads(landmark("capacity", "cost", "--plan", EXAMPLE, *asked).stdout)
    (drops,) = document["waits"]
    assert drops["name"] == "sftp drops"
    assert drops["poll_interval"] == 300
    assert drops["modes"]["poke"]["requests_cost"] == pytest.approx(9.5 * 0.0004, rel=1e-3)
    assert drops["recommended"]["mode"] == "deferrable"


def test_pools_of_the_example(landmark: Landmark) -> None:
    """The small tasks pass the big one by."""
    done = landmark("capacity", "pools", "--plan", EXAMPLE)
    assert done.exit_code == 0
    assert done.stdout.startswith("ADMITTED: 6 tasks now\n")
    assert "  - rebuild_mart: asks for 8 slots, 6 are open" in done.stdout


def test_a_task_that_is_never_let_in(landmark: Landmark, plan: Callable[[str], Path]) -> None:
    """It is named, with status 1."""
    pool = '[[pool]]\nname = "p"\nslots = 8\n'
    file = plan(f'version = 1\n{pool}[[task]]\nname = "giant"\npool = "p"\nslots = 9\n')
    done = landmark("capacity", "pools", "--plan", file)
    assert done.exit_code == 1
    assert done.stdout.startswith("NEVER ADMITTED: giant: asks for 9 slots, pool p has 8 in all\n")
    document = json.loads(landmark("capacity", "pools", "--plan", file, "--json").stdout)
    assert (document["ok"], document["refused"][0]["never"]) == (False, True)


def test_plan_without_tasks(landmark: Landmark, plan: Callable[[str], Path]) -> None:
    """``pools`` says what it needs."""
    done = landmark("capacity", "pools", "--plan", plan("version = 1\n"))
    assert done.exit_code == 2
    assert "has no [[task]]" in done.stderr


@pytest.mark.parametrize("command", ["backfill", "calibrate", "check", "cost", "emit", "pools", "watch"])
def test_every_command_has_help(landmark: Landmark, command: str) -> None:
    """Within 80 columns."""
    done = landmark("capacity", command, "--help")
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_names_from_a_plan_are_harmless(landmark: Landmark, plan: Callable[[str], Path]) -> None:
    """No long name breaks the page, no bidirectional override reaches the terminal."""
    long_name = "x" * 200
    file = plan(SMALL.format(replicas=3).replace("orders", long_name).replace("partner", "a\\u00e9 b"))
    done = landmark("capacity", "check", "--plan", file, *NOW)
    assert done.exit_code == 4
    assert max(map(len, done.stdout.splitlines())) <= 100
