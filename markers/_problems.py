"""One problem of a marker or of a delivery, and how foreign values are shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["MAX_PROBLEMS", "Problem", "show"]

MAX_PROBLEMS = 50
"""How many problems a report names; the rest is counted."""

_MAX_SHOWN_BITS = 4096  # Python refuses to spell out numbers of 4,300 digits and more


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, where, and what was expected instead.

    :param kind: a stable word to decide by, such as ``"missing"`` or ``"corrupt"``.
    :param place: the field of the marker (``files[3].size``), the file's path, or ``line 3, column 7``.
    :param expected: what the rule asks for.
    :param found: what is there, printable ASCII and bounded.
    """

    kind: str
    place: str
    expected: str
    found: str

    @property
    def text(self) -> str:
        """One sentence for people."""
        return f"{self.place}: expected {self.expected}, found {self.found}"

    def to_json(self) -> dict[str, str]:
        """The four fields, as plain JSON."""
        return asdict(self)


def show(value: Any, *, limit: int = 80) -> str:
    """A foreign value as printable ASCII of at most ``limit`` characters."""
    if isinstance(value, dict):
        return f"an object with {len(value)} members"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and value.bit_length() > _MAX_SHOWN_BITS:
        return f"a whole number of {value.bit_length()} bits"
    text = ascii(value[: limit + 1]) if isinstance(value, str) else ascii(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
