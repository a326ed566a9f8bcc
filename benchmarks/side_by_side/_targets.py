"""What our side has to reach, beside the peer and the idle loop of the same run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "HELD", "HTTP", "ONE_REQUEST", "ON_TIME", "PATIENT", "QUIET", "S3", "STARTS",
    "AtMost", "OfPeer", "OverIdle", "Target", "Verdict",
]  # fmt: skip

Verdict = Literal["met", "MISSED", "unknown"]
_Flat = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Target:
    """A figure of ours that must not be above a limit.

    :param figure: its name.
    :param limit: in the figure's unit, or as a share of the peer's.
    """

    figure: str
    limit: float

    @property
    def text(self) -> str:
        """The limit, for the table."""
        return f"<= {self.limit:g}"

    def ceiling(self, peer: _Flat, idle: _Flat) -> float | None:
        """The limit in the figure's unit; ``None`` when what it hangs on was not measured."""
        raise NotImplementedError

    def verdict(self, ours: _Flat, peer: _Flat, idle: _Flat) -> Verdict:
        """Whether ours reaches it."""
        found, ceiling = ours.get(self.figure), self.ceiling(peer, idle)
        if found is None or ceiling is None:
            return "unknown"
        return "met" if found <= ceiling else "MISSED"

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {"figure": self.figure, "limit": self.limit, "of": type(self).__name__}


class AtMost(Target):
    """The limit stands for itself."""

    __slots__ = ()

    def ceiling(self, peer: _Flat, idle: _Flat) -> float | None:  # noqa: ARG002
        """The limit."""
        return self.limit


class OfPeer(Target):
    """The limit is a share of the peer's figure."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """The share."""
        return f"<= 1/{1 / self.limit:.0f} peer" if self.limit < 0.4 else f"<= {self.limit:g} peer"

    def ceiling(self, peer: _Flat, idle: _Flat) -> float | None:  # noqa: ARG002
        """The share of the peer's figure."""
        found = peer.get(self.figure)
        return None if found is None else self.limit * found


class OverIdle(Target):
    """The limit is added to what the idle loop shows as its steady state."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """What may be added."""
        return f"idle+{self.limit:g}"

    def ceiling(self, peer: _Flat, idle: _Flat) -> float | None:  # noqa: ARG002
        """The idle loop's figure and the limit."""
        found = idle.get("steady_" + self.figure.split("_", 1)[1])
        return None if found is None else found + self.limit


QUIET = AtMost("lines", 0)
ON_TIME = AtMost("latest_poll_s", 1)
ONE_REQUEST = AtMost("requests_per_poll", 1)
PATIENT = AtMost("requests_per_poll", 1)
HELD = OverIdle("steady_p99_ms", 100)
STARTS: Mapping[int, tuple[Target, ...]] = {
    1000: (OverIdle("start_p99_ms", 50), OverIdle("start_max_ms", 200)),
}
"""While so many waits start."""
S3 = (OfPeer("requests", 1 / 50), OfPeer("cpu", 1 / 20), OfPeer("memory", 1 / 50), AtMost("first_looks_s", 5))
HTTP = (
    OfPeer("cpu", 0.8),
    OfPeer("memory_over_bare", 1 / 4),
    AtMost("sockets", 32),
    AtMost("connections_per_request", 0.1),
)
