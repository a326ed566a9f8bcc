"""The commands beside the orders Dag: what they make, and one line for whoever calls them wrongly."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from orders_errors import NotSetUp
from sqlalchemy import create_engine, inspect

from ordering import DAGS, DAY, Destination

AT_ONCE = 8
HIDDEN = "pw-EXAMPLE-2"
BAD = {
    "a missing folder": ("sqlite:////nowhere/orders.db", "/nowhere"),
    "no URL": (f"orders:{HIDDEN}", "ORDERS_DESTINATION: Could not parse"),
    "another database": (f"mysql://shop:{HIDDEN}@127.0.0.1/shop", "must be SQLite or PostgreSQL"),
    "an unknown driver": (
        f"postgresql+none://shop:{HIDDEN}@127.0.0.1/shop",
        "ORDERS_DESTINATION: Can't load",
    ),
    "no number": (f"postgresql://shop:{HIDDEN}@127.0.0.1:port/shop", "ORDERS_DESTINATION: invalid literal"),
    "nobody there": (
        f"postgresql+psycopg2://shop:{HIDDEN}@127.0.0.1:1/shop",
        "ORDERS_DESTINATION: connection to",
    ),
}


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    told: str


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Return a function that runs a command of the example: its name, its arguments, the destination."""

    def run(name: str, *arguments: str, url: str) -> Ended:
        monkeypatch.setenv("ORDERS_DESTINATION", url)
        monkeypatch.delenv("ORDERS_LEDGER", raising=False)
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
        code: object = 0
        try:
            importlib.import_module(name).main()
        except SystemExit as end:
            code = end.code
        out, told = capsys.readouterr()
        return Ended(1, out, f"{told}{code}\n") if isinstance(code, str) else Ended(int(f"{code}"), out, told)

    return run


@pytest.mark.parametrize(("name", "arguments"), [("orders_setup", []), ("orders_read", [DAY])])
@pytest.mark.parametrize(("url", "told"), BAD.values(), ids=BAD)
def test_a_bad_destination_is_one_line(
    command: Callable[..., Ended], name: str, arguments: list[str], url: str, told: str
) -> None:
    """What is wrong with the destination is told in one line, without its password."""
    ended = command(name, *arguments, url=url)
    assert (ended.code, ended.out) == (1, "")
    assert len(ended.told.splitlines()) == 1
    assert told in ended.told
    assert HIDDEN not in ended.told


@pytest.mark.parametrize("arguments", [["orders_setup.py"], ["orders_read.py", DAY]])
def test_python_prints_the_line(arguments: list[str]) -> None:
    """Called as documented, by the file's name, a command ends with that line and exit code 1."""
    script, *rest = arguments
    done = subprocess.run(
        [sys.executable, str(DAGS / script), *rest],
        env={**os.environ, "ORDERS_DESTINATION": "sqlite:////nowhere/orders.db"},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Destination('sqlite:////nowhere/orders.db')")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("orders_read", [], "the following arguments are required: DAY"),
        ("orders_read", ["1-may"], "argument DAY: '1-may' is no day such as 2026-05-01"),
        ("orders_read", ["2026-02-30"], "argument DAY: '2026-02-30' is no day such as 2026-05-01"),
        ("orders_setup", ["here"], "unrecognized arguments: here"),
    ],
)
def test_wrong_arguments(
    command: Callable[..., Ended], tmp_path: Path, name: str, arguments: list[str], told: str
) -> None:
    """A missing, wrong or superfluous argument gets the usage, and nothing is made."""
    ended = command(name, *arguments, url=f"sqlite:///{tmp_path}/orders.db")
    usage, error = ended.told.splitlines()
    assert (ended.code, ended.out) == (2, "")
    assert usage.startswith(f"usage: {name}.py")
    assert error == f"{name}.py: error: {told}"
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("missing", ["orders_days", "orders_outbox"])
def test_a_missing_table_is_named(
    command: Callable[..., Ended], connect: Callable[[], Destination], destination_url: str, missing: str
) -> None:
    """Whichever table is missing, the reader is told which, and by what it is made."""
    with connect().writing() as connection:
        connection.exec_driver_sql(f"DROP TABLE {missing}")
    ended = command("orders_read", DAY, url=destination_url)
    assert ended.code == 1
    assert f"has no {missing}: run `python orders_setup.py` once" in ended.told
    assert len(ended.told.splitlines()) == 1
    made = command("orders_setup", url=destination_url)
    assert made.out.splitlines()[0].endswith(f": made {missing}")


def test_set_ups_at_the_same_moment(destination_url: str) -> None:
    """Of several set-ups at once one makes the tables, and the others find them."""
    together = threading.Barrier(AT_ONCE)

    def set_up() -> list[str]:
        destination = Destination(destination_url)
        together.wait(60)
        return destination.set_up()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = sorted(future.result(100) for future in [pool.submit(set_up) for _ in range(AT_ONCE)])
    assert made[:-1] == [[]] * (AT_ONCE - 1)
    engine = create_engine(destination_url)
    assert made[-1] == sorted(inspect(engine).get_table_names())
    engine.dispose()


def test_the_set_up_makes_no_folder(tmp_path: Path) -> None:
    """A folder that is missing may be one that was not mounted: it is named, and not made."""
    destination = Destination(f"sqlite:///{tmp_path}/data/orders.db")
    with pytest.raises(NotSetUp, match="data is missing: make it first"):
        destination.set_up()
    assert [*tmp_path.iterdir()] == []
