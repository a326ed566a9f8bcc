"""Memory and descriptors of the triggerers."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import psutil

from ._supervisor import Supervisor

__all__ = ["Usage", "usage"]


@dataclass(frozen=True)
class Usage:
    """Of the largest triggerer, all its processes together.

    :param memory: MiB, shared pages counted by their share.
    :param descriptors: open files and sockets.
    """

    memory: int
    descriptors: int


def usage(supervisor: Supervisor, names: tuple[str, ...]) -> Usage:
    """Measure these components."""
    found = [_of(supervisor.tree(name)) for name in names]
    return Usage(max(one.memory for one in found), max(one.descriptors for one in found))


def _of(processes: list[psutil.Process]) -> Usage:
    memory = descriptors = 0
    for process in processes:
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            memory += process.memory_full_info().pss
            descriptors += process.num_fds()
    return Usage(memory // 2**20, descriptors)
