"""From what a process measured to the figures of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._plan import Case

__all__ = ["FIGURES", "Floors", "flat"]

FIGURES = (
    "requests", "requests_per_poll", "latest_poll_s", "connections_per_request", "sockets",
    "cpu", "start_cpu_s", "memory", "memory_over_bare", "base_mib", "first_looks_s", "lines",
    "start_p50_ms", "start_p99_ms", "start_max_ms", "start_max_busy_ms",
    "steady_p50_ms", "steady_p99_ms", "steady_max_ms", "steady_max_busy_ms",
    "delay_mean_ms", "delay_max_ms", "missed",
)  # fmt: skip
"""Every case has all of them; ``None`` where one means nothing.

``cpu`` is in milliseconds a wait-minute (one wait waiting one minute) above the idle loop, ``memory`` in
KiB of resident memory a wait, ``requests`` a wait-minute, ``lines`` of log a minute; ``start`` and
``steady`` tell how late the loop serves a task that wants to run every 10 ms.
"""


@dataclass(frozen=True, slots=True)
class Floors:
    """What the same run measured without our trigger and without the peer's.

    :param idle_share: CPU seconds a second of a loop on which only the measuring runs.
    :param bare_memory: KiB of a task that only waits, as the triggerer makes tasks.
    :param idle: the figures of the idle loop.
    """

    idle_share: float = 0.0
    bare_memory: float = 0.0
    idle: Mapping[str, float | None] | None = None


def flat(case: Case, measured: Mapping[str, Any], floors: Floors) -> dict[str, float | None]:
    """The figures of a case, all of ``FIGURES``."""
    lag = measured["lag"]
    found = dict(measured) | {
        f"{phase}_{name}": value for phase in ("start", "steady") for name, value in lag[phase].items()
    }
    if case.waits:
        above = max(0.0, measured["busy_share"] - floors.idle_share)
        found["cpu"] = above / case.waits * 60_000
        found["memory_over_bare"] = max(0.0, measured["memory"] - floors.bare_memory)
    return {name: found.get(name) for name in FIGURES}
