"""Programs in processes of their own, and how much memory they held at most."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

# The kernel counts ``ru_maxrss`` over an exec: a child of a large process would begin with its parent's peak.
# ``VmHWM`` belongs to the program that runs.
_TELL = """
import atexit, pathlib, sys
def tell(to=sys.argv.pop(1)):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    pathlib.Path(to).write_text(next(line.split()[1] for line in lines if line.startswith("VmHWM:")))
atexit.register(tell)
"""
_MODULE = "import runpy; sys.argv.pop(0); runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"


@dataclass(frozen=True)
class Measured:
    """How a program ended, what it printed, and the most memory it held, in bytes."""

    code: int
    output: str
    errors: str
    peak_bytes: int


def measured(code: str, *arguments: str) -> Measured:
    """Run Python code to its end; ``arguments`` are its ``sys.argv[1:]``."""
    with tempfile.NamedTemporaryFile(prefix="peak-") as peak:
        command = [sys.executable, "-c", _TELL + code, peak.name, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        told = Path(peak.name).read_text(encoding="ascii")
    return Measured(done.returncode, done.stdout, done.stderr, int(told) * 1024)


def measured_module(name: str, *arguments: str) -> Measured:
    """Run a module as ``python -m`` does."""
    return measured(_MODULE, name, *arguments)
