"""The commands that read: what they print, and with which status they end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from airflow_landmark.capacity import load_calibrations
from airflow_landmark.cli import main
from metadata import NOW, Metadata

Run = Callable[..., Result]
SECRET = "s3cr3t-pass"  # noqa: S105
DAILY = {
    "__type": "airflow.timetables.trigger.CronTriggerTimetable",
    "__var": {"expression": "0 6 * * *", "timezone": "UTC", "interval": 0.0, "run_immediately": False},
}
PLAN = """
version = 1

[[deployment]]
name = "main"
replicas = 2

[[wait]]
name = "w"
kind = "FileTrigger"
count = 1500
schedule = "0 0 * * *"
duration = "20m"
"""


@pytest.fixture
def capacity(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return what runs ``landmark capacity`` with these arguments."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("LANDMARK_DB", raising=False)

    def run(*arguments: object) -> Result:
        words = ["capacity", *map(str, arguments)]
        return CliRunner().invoke(main, words, catch_exceptions=False)

    return run


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Return a plan for which two triggerers are enough, without spare."""
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def _document(dag_id: str, **task: Any) -> dict[str, Any]:
    module = "airflow.providers.standard.sensors.filesystem"
    sensor = {"task_id": "wait", "task_type": "FileSensor", "_task_module": module, "_is_sensor": True}
    tasks = [{"__type": "operator", "__var": {**sensor, **task}}]
    return {"__version": 3, "dag": {"dag_id": dag_id, "timetable": DAILY, "tasks": tasks}}


def test_check_reads_a_database(capacity: Run, metadata: Metadata) -> None:
    """Serialized Dags, a past, living triggerers: an answer with its notes."""
    metadata.dag(_document("d"))
    metadata.triggerer(heartbeat_age=1)
    metadata.triggerer(heartbeat_age=1)
    for at, event in ((-900, "deferred"), (-300, "running"), (-290, "success")):
        metadata.event(event, at)
    done = capacity("check", "--db", metadata.url, "--history", "366d", "--horizon", "1w")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("HOLDS: without a queue: 2 triggerers, 2 wanted with spare")
    assert "peak 1 at" in done.stdout
    assert "(measured)" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_check_html_is_the_page_alone(capacity: Run, plan: Path) -> None:
    """It can be sent into a file."""
    done = capacity("check", "--plan", plan, "--format", "html")
    assert done.exit_code == 4
    assert done.stdout.startswith("<!doctype html>")
    assert done.stdout.rstrip().endswith("</html>")


@pytest.mark.parametrize(
    ("command", "url", "text"),
    [
        (
            "check",
            "postgresql://u:s3cr3t-pass@127.0.0.1:9/a",
            "postgresql://127.0.0.1:9/a: connection to server",
        ),
        ("watch", "postgresql://u:s3cr3t-pass@127.0.0.1:9/a", "Connection refused"),
        ("check", "s3cr3t-pass", "is not an SQLAlchemy URL"),
        ("watch", "sqlite:////no/such.db", "no such file"),
    ],
)
def test_what_cannot_be_read(capacity: Run, command: str, url: str, text: str) -> None:
    """One line on stderr and status 3; with --json a document, too; never the password."""
    once = ["--once"] if command == "watch" else []
    done = capacity(command, "--db", url, *once)
    assert done.exit_code == 3
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
    assert SECRET not in done.output
    machine = capacity(command, "--db", url, *once, "--json")
    document = json.loads(machine.stdout)
    assert (machine.exit_code, document["ok"]) == (3, False)
    assert SECRET not in machine.output


def test_an_old_database(capacity: Run, tmp_path: Path) -> None:
    """Told with the revision, or as no Airflow at all."""
    other = Metadata(f"sqlite:///{tmp_path}/other.db")
    other.execute("CREATE TABLE alembic_version (version_num TEXT)")
    other.execute("INSERT INTO alembic_version VALUES ('abc123')")
    done = capacity("check", "--db", other.url)
    assert done.exit_code == 3
    assert "need Airflow 3.3 or newer (found schema revision abc123)" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["watch", "--once"],
        ["watch", "--db", "sqlite:///x", "--api", "http://h", "--once"],
        ["check", "--db", "sqlite:///x", "--api", "http://h"],
        ["check", "--plan", "{plan}", "--history", "30d"],
        ["emit", "helm"],
        ["emit", "alerts", "--plan", "{plan}", "--prefix", "a b"],
        ["backfill", "--dag", "d", "--from", "2026-01-01", "--to", "2026-01-02"],
        ["backfill", "--dag", "d", "--from", "yesterday", "--to", "2026-01-02", "--db", "sqlite:///x"],
        ["calibrate", "FileTrigger", "--kwargs", "[1]"],
        ["calibrate", "FileTrigger", "--kwargs", "{"],
    ],
)
def test_wrong_usage(capacity: Run, plan: Path, arguments: list[str]) -> None:
    """Status 2, and a line that says what to give."""
    done = capacity(*(word.replace("{plan}", str(plan)) for word in arguments))
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1


def test_watch_once(capacity: Run, metadata: Metadata) -> None:
    """0 when all is well, 4 with one triggerer, 1 when waits starve; starving waits stand first."""
    metadata.triggerer(heartbeat_age=1, host="one")
    assert capacity("watch", "--db", metadata.url, "--once").exit_code == 4
    owner = metadata.triggerer(heartbeat_age=1, host="two")
    metadata.trigger(owner=owner, classpath="pkg.Fine")
    fine = capacity("watch", "--db", metadata.url, "--once")
    assert fine.exit_code == 0
    assert fine.stdout.startswith("holds: 1 trigger, 0 without a triggerer")
    late = metadata.trigger(age=330, classpath="pkg.Late")
    metadata.instance(state="deferred", trigger_id=late)
    done = capacity("watch", "--db", metadata.url, "--once")
    assert done.exit_code == 1
    assert done.stdout.startswith("waits starve: waits without a triggerer: 1, the oldest for 3")
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines if "d.wait" in line] == [["d.wait", "Late"]]
    assert done.stdout.index("d.wait") < done.stdout.index("two")
    assert max(map(len, lines)) <= 100


def test_watch_for_machines(capacity: Run, metadata: Metadata) -> None:
    """One document with the status in words."""
    metadata.trigger(age=300)
    done = capacity("watch", "--db", metadata.url, "--once", "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["verdict"]) == (1, "does_not_hold")
    assert document["starving"]["late"] == 1
    patient = capacity("watch", "--db", metadata.url, "--once", "--json", "--grace", "1000")
    assert json.loads(patient.stdout)["starving"]["late"] == 0


def test_backfill(capacity: Run, metadata: Metadata) -> None:
    """Runs, dates without one, waits, waves and triggerers."""
    metadata.dag(_document("d", pool_slots=2))
    metadata.triggerer(heartbeat_age=1)
    metadata.run("d", NOW.replace(year=2025, hour=6), "success", started=NOW)
    words = ["--dag", "d", "--from", "2025-11-18", "--to", "2025-11-23", "--db", metadata.url]
    given = ["--max-active-runs", "3", "--task-time", "20m", "--open-slots", "8"]
    done = capacity("backfill", *words, *given)
    assert done.exit_code == 4, done.output
    assert done.stdout.startswith("would make: 4 runs of d, 2025-11-18 to 2025-11-23")
    assert "1  no run: there is one, and --reprocess does not ask for it again" in done.stdout
    assert "2025-11-20 06:00" in done.stdout
    assert "waits      at most 3 at once" in done.stdout
    assert "at once    3 tasks; wait takes 2 of 8 open slots of default_pool" in done.stdout
    document = json.loads(capacity("backfill", *words, *given, "--json").stdout)
    assert (document["made"], document["waves"], document["seconds"]) == (4, 2, 2_400)
    assert document["waits"]["most"] == 3
    assert document["triggerers"]["needed"] == 1
    arrived = capacity("backfill", *words, *given, "--arrived", "1")
    assert arrived.exit_code == 0
    assert "3 at once, 0 with what lies there already" in arrived.stdout


def test_a_backfill_of_a_paused_dag(capacity: Run, metadata: Metadata) -> None:
    """Its waits count, and it is said that no run starts before the Dag is unpaused."""
    metadata.dag(_document("d"), paused=True)
    metadata.triggerer(heartbeat_age=1)
    words = ["--dag", "d", "--from", "2025-11-18", "--to", "2025-11-23", "--db", metadata.url]
    done = capacity("backfill", *words, "--max-active-runs", "3", "--open-slots", "8")
    assert "waits      at most 3 at once" in done.stdout
    assert "paused     Airflow makes the runs, and starts none until the Dag is unpaused" in done.stdout
    assert json.loads(capacity("backfill", *words, "--json").stdout)["paused"] is True


@pytest.mark.parametrize(
    ("runs", "slots", "hours"),
    [(1, 8, 30.0), (3, 8, 10.0), (3, 6, 10.0), (6, 8, 7.7), (6, 6, 10.0), (6, 2, 30.0)],
)
def test_ninety_days(capacity: Run, metadata: Metadata, runs: int, slots: int, hours: float) -> None:
    """Ninety days of a 20-minute task of 2 slots: the published table."""
    metadata.dag(_document("d"))
    done = capacity(
        "backfill", "--dag", "d", "--from", "2025-06-01", "--to", "2025-08-30", "--db", metadata.url,
        "--max-active-runs", runs, "--open-slots", slots, "--slots", 2, "--task-time", "20m", "--json",
    )  # fmt: skip
    document = json.loads(done.stdout)
    assert document["made"] == 90
    assert round(document["seconds"] / 3_600, 1) == hours


def test_a_refused_backfill(capacity: Run, metadata: Metadata) -> None:
    """Status 1 with every reason."""
    metadata.dag(_document("d", depends_on_past=True))
    words = ["--dag", "d", "--from", "2025-11-18", "--to", "2025-11-23", "--db", metadata.url]
    done = capacity("backfill", *words, "--backwards")
    assert done.exit_code == 1
    assert done.stdout.startswith("Airflow would refuse: a backfill of d")
    assert "cannot run backwards" in done.stdout
    assert "--reprocess must be failed or completed" in done.stdout


def test_a_pool_without_open_slots(capacity: Run, metadata: Metadata) -> None:
    """The backfill would never run, and that is a no."""
    metadata.dag(_document("d"))
    words = ["--dag", "d", "--from", "2025-11-18", "--to", "2025-11-23", "--db", metadata.url]
    done = capacity("backfill", *words, "--open-slots", "1", "--slots", "2")
    assert done.exit_code == 1
    assert "never: the pool has not enough open slots" in done.stdout


@pytest.mark.parametrize(
    ("form", "word"), [("helm", "replicas: 3"), ("keda", "FROM trigger"), ("alerts", "groups:")]
)
def test_emit(capacity: Run, plan: Path, form: str, word: str) -> None:
    """YAML on stdout, and nothing else."""
    import yaml

    done = capacity("emit", form, "--plan", plan)
    assert done.exit_code == 0
    assert word in done.stdout
    assert list(yaml.safe_load_all(done.stdout))
    assert done.stderr == ""


@pytest.mark.slow
def test_calibrate(capacity: Run, tmp_path: Path) -> None:
    """Figures for people, and a file that the other commands read."""
    path = tmp_path / "own.toml"
    done = capacity("calibrate", "FileTrigger", "--count", "20", "--seconds", "5", "--output", path)
    assert done.exit_code == 0
    assert done.stdout.startswith("measured: airflow.providers.standard.triggers.file.FileTrigger")
    kind = load_calibrations(path).kind("airflow.providers.standard.triggers.file.FileTrigger")
    assert kind.origin == "measured"
    assert kind.date


def test_every_option_is_documented() -> None:
    """The page on capacity names every option of these commands."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "capacity.md").read_text(encoding="utf-8")
    group: Any = main.commands["capacity"]
    for name in ("check", "backfill", "watch", "calibrate", "emit"):
        assert f"landmark capacity {name}" in text
        command = group.get_command(None, name)
        options = [option for one in command.params for option in one.opts if option.startswith("-")]
        assert [option for option in options if option not in text] == []


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_watch_goes_on(
    capacity: Run, metadata: Metadata, monkeypatch: pytest.MonkeyPatch, form: list[str]
) -> None:
    """Look after look, one that fails among them, until interrupted; a line a look for machines."""
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            metadata.execute("ALTER TABLE callback RENAME TO gone")
        elif len(pauses) == 2:
            metadata.execute("ALTER TABLE gone RENAME TO callback")
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr("airflow_landmark.cli._capacity_watch.time.sleep", pause)
    done = capacity("watch", "--db", metadata.url, "--every", "7", *form)
    assert (done.exit_code, pauses) == (130, [7, 7, 7])
    if form:
        assert [json.loads(line)["verdict"] for line in done.stdout.splitlines()] == ["holds", "holds"]
        assert done.stderr.count("table callback has not the columns") == 1
    else:
        assert "default_pool" in done.stdout
