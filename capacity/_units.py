"""Numbers in words that people read: sizes, spans, amounts of a limit's unit. Pure."""

from __future__ import annotations

import math

__all__ = ["amount", "span"]

_MIB = 2**20
_GIB = 2**30


def span(seconds: float) -> str:
    """A duration with two figures that matter: ``0.4 s``, ``17 s``, ``7.6 min``, ``13 h``, ``3.5 d``."""
    if math.isinf(seconds):
        return "for ever"
    for size, name in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{_short(seconds / size)} {name}"
    return f"{_short(seconds)} s"


def amount(value: float, unit: str) -> str:
    """A value of a limit: bytes by MiB and GiB, others by their unit's name."""
    if math.isinf(value):
        return "without end"
    if unit == "bytes":
        return f"{value / _GIB:,.1f} GiB" if abs(value) >= _GIB else f"{value / _MIB:,.0f} MiB"
    return f"{_short(value)} {unit}"


def _short(value: float) -> str:
    if value == 0 or abs(value) >= 10:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2g}"
