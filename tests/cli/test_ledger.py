"""``landmark ledger``: what is taken and claimed, for people and machines; stuck claims are given back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from airflow_landmark.cli import _ledger_release
from airflow_landmark.cli._ledger import ledger as group
from airflow_landmark.deliveries import CreatableLedger, SqlLedger
from claimants import DATASET, DAY, stamp_of

Landmark = Callable[..., Result]
NAMED = ["--dataset", DATASET, "--interval", DAY]
OWNER = "orders/scheduled__2024-10-02T00:00:00+00:00/wait/-1"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of a ledger that is not made yet; commands find it in the environment."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    monkeypatch.setenv("LANDMARK_LEDGER", url)
    return url


@pytest.fixture
def ledger(url: str) -> CreatableLedger:
    """Return a ledger in which version 1 was taken and version 2 is claimed."""
    ledger = SqlLedger(url)
    ledger.create()
    ledger.claim(stamp_of(1), "orders/first/wait/-1")
    ledger.commit(stamp_of(1), "orders/first/wait/-1")
    ledger.claim(stamp_of(2, identity="b" * 64), OWNER)
    return ledger


def test_create(url: str, landmark: Landmark) -> None:
    """The tables are made by a command of their own; until then every command says which one."""
    done = landmark("ledger", "show")
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(" landmark ledger create --ledger URL\n")
    assert not Path(url.removeprefix("sqlite:///")).exists()
    done = landmark("ledger", "create")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"READY: {url}: made landmark_ledger and landmark_ledger_history\n"
    done = landmark("ledger", "create", "--json")
    assert json.loads(done.stdout)["text"].endswith("are there already")
    assert landmark("ledger", "show").stdout == f"LEDGER: {url}: 0 entries, 0 claimed\n"


def test_show(ledger: CreatableLedger, landmark: Landmark) -> None:
    """Each entry is shown with what was taken and what is claimed, by whom and since when."""
    done = landmark("ledger", "show")
    assert (done.exit_code, done.stderr) == (0, "")
    first, subject, taken, claimed, *more = done.stdout.splitlines()
    assert first == f"LEDGER: {ledger}: 1 entry, 1 claimed"
    assert subject == f"{DATASET}  {DAY}"
    assert taken.startswith("  taken      version 1 by orders/first/wait/-1 since 20")
    assert claimed.startswith(f"  claimed    version 2 by {OWNER}")
    assert "".join(more).strip().startswith("since 20")


def test_show_json(ledger: CreatableLedger, landmark: Landmark) -> None:
    """With ``--json`` everything that is held is told."""
    document = json.loads(landmark("ledger", "show", "--json").stdout)
    assert (document["ok"], document["ledger"]) == (True, str(ledger))
    (entry,) = document["entries"]
    assert entry["interval"] == {"start": DAY.split("/")[0], "end": DAY.split("/")[1]}
    assert (entry["taken"]["version"], entry["taken"]["identity"]) == (1, "a" * 64)
    assert (entry["claim"]["version"], entry["claim"]["owner"]) == (2, OWNER)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (["--dataset", DATASET], 1),
        (NAMED, 1),
        (["--dataset", DATASET, "--interval", "2024-10-01", "--timezone", "UTC"], 1),
        (["--dataset", DATASET, "--interval", "2024-10-01", "--timezone", "Europe/Berlin"], 0),
        (["--dataset", "sales"], 0),
    ],
)
def test_filters(ledger: CreatableLedger, landmark: Landmark, wanted: list[str], found: int) -> None:
    """A dataset and an interval choose entries; none of them is a no."""
    done = landmark("ledger", "show", *wanted, "--json")
    document = json.loads(done.stdout)
    assert (len(document["entries"]), document["ok"], done.exit_code) == (found, bool(found), 1 - found)
    done = landmark("ledger", "show", *wanted)
    assert done.stdout.startswith("LEDGER: " if found else f"NOT THERE: nothing of {wanted[1]}")
    assert found or done.stdout.endswith(f" in {ledger}\n")


def test_history(ledger: CreatableLedger, landmark: Landmark) -> None:
    """What happened is told in its order."""
    done = landmark("ledger", "history", *NAMED)
    first, *events = done.stdout.splitlines()
    assert (done.exit_code, first) == (0, f"HISTORY: {DATASET} for {DAY}: 3 events")
    assert [event.split()[1:4] for event in events] == [
        ["claimed", "version", "1"],
        ["taken", "version", "1"],
        ["claimed", "version", "2"],
    ]
    document = json.loads(landmark("ledger", "history", *NAMED, "--limit", 1, "--json").stdout)
    assert [(event["word"], event["owner"]) for event in document["events"]] == [("claimed", OWNER)]
    assert landmark("ledger", "history", "--dataset", "x", "--interval", DAY).exit_code == 1


def test_release(ledger: CreatableLedger, landmark: Landmark) -> None:
    """A claim is given back by naming its owner; what was taken stays taken."""
    done = landmark("ledger", "release", *NAMED, "--owner", OWNER)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"RELEASED: version 2 of {DATASET} for {DAY}"
    assert lines[1].startswith(f"  was held   version 2 by {OWNER} since 20")
    assert lines[2].startswith("  taken      version 1 by orders/first/wait/-1 since 20")
    interval = stamp_of().interval
    entry = ledger.entry(DATASET, interval)
    assert entry is not None
    assert (entry.taken and entry.taken.version, entry.claim) == (1, None)
    assert [event.word for event in ledger.history(DATASET, interval)][-1] == "released"
    ledger.claim(stamp_of(2, identity="b" * 64), "another run")


def test_release_json(ledger: CreatableLedger, landmark: Landmark) -> None:
    """Machines are told what was given back."""
    document = json.loads(landmark("ledger", "release", *NAMED, "--owner", OWNER, "--json").stdout)
    assert (document["ok"], document["released"]["version"], document["dataset"]) == (True, 2, DATASET)


def test_release_of_the_wrong_one(ledger: CreatableLedger, landmark: Landmark) -> None:
    """A claim of another owner, a version that was taken and an entry that is not there are left alone."""
    before = ledger.entries()
    done = landmark("ledger", "release", *NAMED, "--owner", "orders/first/wait/-1", "--json")
    assert (done.exit_code, json.loads(done.stdout)["error"]["kind"]) == (1, "other owner")
    assert OWNER in done.stderr
    done = landmark("ledger", "release", "--dataset", "x", "--interval", DAY, "--owner", OWNER, "--json")
    assert (done.exit_code, json.loads(done.stdout)["error"]["kind"]) == (1, "absent")
    assert ledger.entries() == before
    ledger.commit(stamp_of(2, identity="b" * 64), OWNER)
    done = landmark("ledger", "release", *NAMED, "--owner", OWNER)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "taken: version 2" in done.stderr
    taken = ledger.taken(DATASET, stamp_of().interval)
    assert taken is not None
    assert taken.version == 2


def test_release_that_came_too_late(
    ledger: CreatableLedger, landmark: Landmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim that is committed between the look and the release is not said to be released."""

    class Late(SqlLedger):
        def release(self, stamp: Any, owner: str) -> None:
            """Come after the commit."""
            self.commit(stamp, owner)
            super().release(stamp, owner)

    monkeypatch.setattr(_ledger_release, "ledger_at", lambda text, **_: Late(text))
    done = landmark("ledger", "release", *NAMED, "--owner", OWNER)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "committed at this moment" in done.stderr


def test_release_asks(ledger: CreatableLedger, landmark: Landmark, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an owner a script is told to name it, and a terminal is asked."""
    done = landmark("ledger", "release", *NAMED)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"--owner; claimed is version 2 by {OWNER}" in done.stderr
    asked: list[str] = []

    def answer(text: str, **_: object) -> bool:
        asked.append(text)
        return len(asked) > 1

    monkeypatch.setattr(_ledger_release.click, "confirm", answer)
    monkeypatch.setattr(_ledger_release, "_is_terminal", lambda: True)
    done = landmark("ledger", "release", *NAMED)
    assert (done.exit_code, done.stdout) == (1, "")
    assert OWNER in asked[0]
    assert landmark("ledger", "release", *NAMED).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["show", "--ledger", "/srv/ledger.db"], "sqlite:////PATH/ledger.db"),
        (["show", "--ledger", "/srv/ledger.db"], "airflow+https://HOST/?asset=NAME; found no scheme"),
        (["show", "--ledger", "mysql://user:SECRET@host/db"], "postgresql://HOST/NAME"),
        (["show", "--ledger", "mysql+pymysql://user:SECRET@host/db"], "found scheme 'mysql'"),
        (["show", "--ledger", "SECRET:SECRET@host/db"], "found no scheme"),
        (["show", "--ledger", "sqlite:////"], "this is a folder; name a file in it"),
        (["show", "--ledger", "postgresql+asyncpg://user:SECRET@host/db"], "asynchronous"),
        (["show", "--ledger", "postgresql://user:SECRET@host:port/db"], "is not an SQLAlchemy URL"),
        (["show", "--ledger", "sqlite:///ledger.db"], "absolute path"),
        (["show", "--ledger", "sqlite://"], "absolute path"),
        (["show", "--ledger", "s3://"], "bucket"),
        (["show", "--ledger", "s3://bucket/x", "--table", "t"], "has no table"),
        (["show", "--ledger", "s3://bucket/x", "--option", "colour=red"], "colour"),
        (["show", "--conn-id", "aws"], "by its URL alone"),
        (["show", "--option", "region=eu-west-3"], "--option is for a ledger in a bucket"),
        (["show", "--table", "a-b"], "table must be"),
        (["show", "--interval", DAY], "--dataset"),
        (["show", "--dataset", "orders", "--timezone", "UTC"], "--interval"),
        (["show", "--limit", "0"], "whole number from 1"),
        (["history", "--dataset", "orders"], "--interval"),
        (["release", "--dataset", "a b", "--interval", DAY], "A-Z"),
    ],
)
def test_wrong_usage(url: str, landmark: Landmark, arguments: list[str], word: str) -> None:
    """Wrong usage ends with 2, in one line; a password is never shown."""
    done = landmark("ledger", *arguments)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert word in done.stderr
    assert "SECRET" not in done.output


def test_no_ledger_named(landmark: Landmark, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which ledger it is has to be said."""
    monkeypatch.delenv("LANDMARK_LEDGER", raising=False)
    done = landmark("ledger", "show")
    text = "landmark ledger show: name the ledger: --ledger URL or LANDMARK_LEDGER (usage: "
    assert (done.exit_code, done.stdout, done.stderr.startswith(text)) == (2, "", True)
    assert landmark("ledger", "show", "--help").exit_code == 0


def test_missing_folder(landmark: Landmark, tmp_path: Path) -> None:
    """The folder of a file has to be there, and is named."""
    done = landmark("ledger", "create", "--ledger", f"sqlite:///{tmp_path}/none/ledger.db")
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr.endswith(f": folder {tmp_path}/none does not exist: make it first\n")


def test_interval_is_explained_whole(landmark: Landmark) -> None:
    """The help says both ways to name an interval."""
    for name in ("show", "history", "release"):
        words = " ".join(landmark("ledger", name, "--help").stdout.split())
        assert "two instants with a slash between them, or a day with --timezone." in words


def test_password_is_never_shown(landmark: Landmark, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password in the environment comes up neither in the help nor in an error."""
    monkeypatch.setenv("LANDMARK_LEDGER", "postgresql://user:SECRET@127.0.0.1:9/ledger")
    done = landmark("ledger", "show", "--json")
    assert done.exit_code == 3
    assert "postgresql://127.0.0.1:9/ledger" in done.stderr
    assert "SECRET" not in done.output + landmark("ledger", "show", "--help").output


def test_hostile_owner(ledger: CreatableLedger, landmark: Landmark) -> None:
    """What others have written into the ledger is never shown to a terminal as it is."""
    import sqlite3

    with sqlite3.connect(str(ledger).removeprefix("sqlite:///")) as file:
        file.execute("update landmark_ledger set claim_owner = ?", ("\x1b[2J",))
    file.close()
    done = landmark("ledger", "show")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert "was not written by landmark" in done.stderr
    assert "\x1b" not in done.output


def test_import_is_lazy() -> None:
    """The group is known without what its commands need."""
    import subprocess

    code = (
        "import sys, airflow_landmark.cli; print([n for n in sys.modules if 'ledger' in n or 'sqlal' in n])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['airflow_landmark.cli._ledger']"


def test_every_option_is_documented() -> None:
    """The page of the commands names every command of the group and every option."""
    import click

    text = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        assert f"`landmark ledger {name}`" in text
        options = [option for param in command.params for option in param.opts]
        assert [option for option in options if f"`{option}" not in text] == []
