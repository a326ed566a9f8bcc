"""Examples and documentation as their readers use them."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from airflow.sdk import DAG

ROOT = Path(__file__).resolve().parents[2]
DAGS = sorted(path for folder in ("dags", "formats") for path in (ROOT / "examples" / folder).glob("*.py"))
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str]]:
    """The Python blocks of the pages for Dag authors, each with its page's name."""
    names = ("backfill", "dags", "formats", "reliability", "stores", "testing")
    pages = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in names)]
    return [(page.name, code) for page in pages for code in PYTHON.findall(page.read_text())]


@pytest.mark.parametrize("path", DAGS, ids=lambda path: path.stem)
def test_example_is_a_dag(path: Path) -> None:
    """Each example defines one Dag of its file's name, with a wait in it."""
    found = [value for value in runpy.run_path(str(path)).values() if isinstance(value, DAG)]
    made = found or _dags_of(path)
    assert [dag.dag_id for dag in made] == [path.stem]
    assert any(task.task_type == "MarkerSensor" for task in made[0].tasks)


def _dags_of(path: Path) -> list[DAG]:
    """The Dags that a file defines without naming them."""
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(dag_folder=str(path), bundle_path=path.parent, bundle_name="examples")
    assert bag.import_errors == {}
    return list(bag.dags.values())


@pytest.mark.parametrize(("page", "code"), blocks())
def test_python_in_the_docs_runs(page: str, code: str) -> None:
    """Every Python block of the documentation runs as it stands."""
    exec(compile(code, page, "exec"), {"__name__": page})  # noqa: S102 - that is the test


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_demonstration_shows_everything_and_leaves_nothing() -> None:
    """`make demo` ends by itself, shows each refusal with its reason, and leaves no process."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")],
        env=environment, capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for text in (
        "wait_for_orders: deferred",
        "other interval: expected",
        "unreadable: expected a valid marker",
        "wait_for_orders: success, load: success",
        "orders.csv: 28 bytes, 3 rows",
        "corrupt: refunds.csv",
        "tries: 1",
    ):
        assert text in done.stdout
    folder = re.search(r"landmark-demo-\w+", done.stdout + done.stderr)
    assert folder is None  # the temporary folder's name would hide what matters
