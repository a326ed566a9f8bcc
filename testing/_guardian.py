"""Ends child processes when their owner is gone, however it went; runs as a program of its own.

Input is one line for each process: ``+ID`` for one that was started, ``-ID`` for one that has ended in
order. The input ends when the owner closes the pipe or dies, even by SIGKILL: then every process that is
left is killed with all its descendants. The kernel's parent-death signal would not do: it ends only the
first process, and Airflow's executor leaves its workers to no one.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress

import psutil

__all__ = ["kill_tree"]


def kill_tree(process: psutil.Process) -> None:
    """Kill a process and all its descendants, those in other sessions and process groups included."""
    # the list must be whole before the first one dies: a killed parent's children are nobody's children
    for member in list(_frozen(process)):
        with suppress(psutil.NoSuchProcess):
            member.kill()


def _frozen(process: psutil.Process) -> Iterator[psutil.Process]:
    """Stop each process before its children are listed, so that it cannot start another one meanwhile."""
    with suppress(psutil.NoSuchProcess):
        process.suspend()
        yield process
        for child in process.children():
            yield from _frozen(child)


def main() -> None:
    """Read process ids until the input ends, then kill what is left."""
    left: dict[int, psutil.Process] = {}
    for line in sys.stdin:
        number = int(line[1:])
        left.pop(number, None)
        if line.startswith("+"):
            with suppress(psutil.NoSuchProcess):
                left[number] = psutil.Process(number)
    for number, process in left.items():
        kill_tree(process)
        with suppress(ProcessLookupError):  # members of its group whose parent had died before
            os.killpg(number, signal.SIGKILL)


if __name__ == "__main__":
    main()
