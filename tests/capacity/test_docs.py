"""The examples of the page on capacity that need no running Airflow print what the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_landmark.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "capacity.md").read_text(encoding="utf-8")
PLAN = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
EXAMPLES = re.findall(r"^```console\n\$ landmark ([^\n]*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command, with the plan of the page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (plan,) = PLAN
    Path("plan.toml").write_text(plan, encoding="utf-8")
    command, shown = EXAMPLES[number]
    done = CliRunner().invoke(main, shlex.split(command), catch_exceptions=False)
    assert done.stdout.strip() == shown.strip()


def test_there_are_examples() -> None:
    """The patterns above find them."""
    assert [command.split()[1] for command, _ in EXAMPLES] == ["check", "emit", "cost"]


def test_links_lead_somewhere() -> None:
    """Pages and pictures that the page names are there."""
    targets = re.findall(r"\]\(([^)#]+)\)", TEXT)
    assert len(targets) >= 3
    assert [target for target in targets if not (DOCS / target).exists()] == []
