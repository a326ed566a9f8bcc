"""The documentation of the orders pipeline, run as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from email.message import EmailMessage
from pathlib import Path
from typing import Any, ClassVar

import pytest
from orders_notify import Notice

from ordering import ORDERS

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


def test_a_transport_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's mail carries the notice's identity, by which a receiver tells a repeat."""
    (code,) = [text for kind, text in BLOCKS if kind == "python"]
    names: dict[str, Any] = {}
    exec(compile(code, "orders.md", "exec"), names)  # noqa: S102 - that is the test
    monkeypatch.setattr("smtplib.SMTP", Server)
    names["by_mail"](None, Notice(identity="published.op_1", day="2026-05-01", text="Orders"))
    (mail,) = Server.sent
    assert (mail["Subject"], mail["Message-ID"]) == ("Orders", "<published.op_1@shop.example>")
