"""What one trigger of a kind costs the triggerer that runs it, and what a triggerer has to give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._origin import Origin

__all__ = ["Budget", "Kind"]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a kind of trigger costs.

    :ivar path: the class path.
    :ivar memory_bytes: memory of one trigger that waits.
    :ivar check_cpu: CPU seconds of one check.
    :ivar start_cpu: CPU seconds until the first check.
    :ivar descriptors: open files and sockets of one trigger in the runner process.
    :ivar lines: log lines a check.
    :ivar requests: requests to Airflow a check, all through the one supervisor.
    :ivar poll_interval: seconds between checks when the wait does not say.
    :ivar origin: measured by ``landmark capacity calibrate`` or assumed for a class nobody measured.
    :ivar version: of what was measured, such as ``apache-airflow-providers-amazon 9.39.0``.
    :ivar date: when, ISO 8601.
    :ivar machine: on what.
    """

    path: str
    memory_bytes: float
    check_cpu: float
    start_cpu: float = 0.0
    descriptors: float = 0.0
    lines: float = 0.0
    requests: float = 0.0
    poll_interval: float = 60.0
    origin: Origin = "assumed"
    version: str = ""
    date: str = ""
    machine: str = ""

    @property
    def label(self) -> str:
        """The class's name."""
        return self.path.rpartition(".")[2]

    def to_json(self) -> dict[str, Any]:
        """All fields, in their units."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What one triggerer of Airflow 3.3 has before it runs a trigger, and how fast its parts are.

    :ivar memory_bytes: memory of supervisor and runner without triggers.
    :ivar requests_memory_bytes: what comes on top when a trigger asks Airflow for something.
    :ivar descriptors: open files of a process without triggers.
    :ivar load: the part of a core that checks may take before the loop lags.
    :ivar requests: requests to Airflow that the supervisor answers a second.
    :ivar first_request: seconds for which the first of them stalls the supervisor.
    :ivar events: events that it writes a second.
    :ivar loops: how often a quiet supervisor looks for new triggers, a second.
    :ivar most_loops: how often a busy one does at most.
    :ivar statements: SQL statements a loop.
    :ivar check_every: seconds between two searches of the scheduler for waits that timed out.
    """

    memory_bytes: float
    requests_memory_bytes: float
    descriptors: float
    load: float
    requests: float
    first_request: float
    events: float
    loops: float
    most_loops: float
    statements: float
    check_every: float
    origin: Origin = "measured"
    version: str = ""
    date: str = ""
    machine: str = ""
