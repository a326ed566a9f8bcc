"""The errors of this room."""

from __future__ import annotations

__all__ = ["InvalidEvent"]


class InvalidEvent(ValueError):
    """Raised when a payload is not an event of this package's trigger."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"not a valid event: {reason}")
