"""Numbers that say where they come from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["ONE", "Estimate", "Origin", "rounded_up", "weakest"]

Origin = Literal["measured", "bounded", "assumed"]
"""``measured``: seen or counted. ``bounded``: never above this. ``assumed``: stated, or a default."""

_ORDER: tuple[Origin, ...] = ("measured", "bounded", "assumed")
_SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its origin."""

    value: float
    origin: Origin = "assumed"

    def to_json(self) -> dict[str, Any]:
        """``{"value", "origin"}``; a value without a bound is null."""
        return {"value": round(self.value, 6) if math.isfinite(self.value) else None, "origin": self.origin}


ONE = Estimate(1.0, "measured")


def weakest(origins: Iterable[Origin]) -> Origin:
    """What a number is that was computed from numbers of these origins; of none: measured."""
    return max(origins, key=_ORDER.index, default="measured")


def rounded_up(value: float) -> int:
    """The next whole number, forgiving what sums of fractions add to one."""
    return math.ceil(value - _SLACK * max(1.0, abs(value)))
