"""The documentation of the orders pipeline, run as it stands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from email.message import EmailMessage
from pathlib import Path
from typing import Any, ClassVar

import orders_settings
import pytest
from airflow.dag_processing.dagbag import DagBag
from orders_operation import Operation
from orders_retry import OrdersRetryPolicy

from ordering import DAGS, DAY, GOOD, ORDERS, Destination, delivered, through

IGNORE_FILE = pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")
"""Airflow's reader of ``.airflowignore`` calls what its own dependency has deprecated."""
ROOT = ORDERS.parents[1]
PAGE = (ROOT / "docs" / "orders.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(PAGE)


def test_commands_print_what_the_page_says(tmp_path: Path) -> None:
    """The console block, typed in its order, prints what stands below each command."""
    (block,) = [text for kind, text in BLOCKS if kind == "console"]
    typed = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    shown = [line for line in block.splitlines() if not line.startswith("$ ")]
    script = "set -e\n" + "\n".join(typed).replace("/srv", str(tmp_path))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env={**os.environ, "PATH": path},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace(str(tmp_path), "/srv").splitlines() == shown


class Server:
    """A mail server that keeps what it is given."""

    sent: ClassVar[list[EmailMessage]] = []

    def __init__(self, *_where: object, **_how: object) -> None:
        """Connect to nothing."""

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_error: object) -> None:
        """Disconnect."""

    def send_message(self, mail: EmailMessage) -> None:
        """Keep a mail."""
        self.sent.append(mail)


@IGNORE_FILE
def test_a_transport_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The page's mail, put in as the page says, is sent once, and carries the notice's identity."""
    (module,) = [text for kind, text in BLOCKS if kind == "python"]
    (line,) = [text for kind, text in BLOCKS if kind == "text" and "orders_notify.notify" in text]
    dags = shutil.copytree(DAGS, tmp_path / "dags")
    (dags / "orders_mail.py").write_text(module)
    old = (dags / "orders.py").read_text()
    new = old.replace("import orders_notify\n", "import orders_mail\nimport orders_notify\n")
    new = new.replace("        return orders_notify.notify(**inputs(document))\n", line)
    assert new.count("orders_mail") == 2
    (dags / "orders.py").write_text(new)
    monkeypatch.syspath_prepend(str(dags))
    monkeypatch.setenv("ORDERS_DESTINATION", f"sqlite:///{tmp_path}/orders.db")
    monkeypatch.setattr("smtplib.SMTP", Server)

    bag = DagBag(dag_folder=str(dags), bundle_path=dags, bundle_name="orders")
    assert bag.import_errors == {}
    notify: Any = bag.dags["orders"].get_task("notify")
    destination, delivery = Destination.from_settings(), delivered(tmp_path, GOOD)
    destination.set_up()
    through(delivery, destination, last="publish")
    answers = [notify.python_callable(delivery.to_xcom()) for _ in range(2)]
    assert answers == ["sent", "already sent"]
    (mail,) = Server.sent
    identity = f"<published.{Operation.of(delivery).name}@shop.example>"
    assert (mail["Subject"], mail["Message-ID"]) == (f"Orders of {DAY}: 3 orders, 60 cents", identity)


def test_how_long_a_held_delivery_is_tried() -> None:
    """The retries of a task last as long as the page says."""
    policy = OrdersRetryPolicy(first=orders_settings.retry_first())
    whole = sum(min(policy.longest, policy.first * 2**retry) for retry in range(3))
    assert f"({whole / 60:g} minutes here)" in PAGE
