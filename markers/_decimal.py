"""Decimal numbers as partners write them: exact, bounded, and without anything to guess."""

from __future__ import annotations

import re
from decimal import Decimal

__all__ = ["MAX_DECIMAL_CHARS", "exact_decimal"]

MAX_DECIMAL_CHARS = 64
"""The longest number, in characters."""

_PATTERNS = {
    mark: re.compile(rf"[+-]?(?:[0-9]+(?:{re.escape(mark)}[0-9]*)?|{re.escape(mark)}[0-9]+)", re.ASCII)
    for mark in (".", ",")
}


def exact_decimal(text: str, *, mark: str = ".") -> Decimal | None:
    """The number that a text is; ``None`` when it is none.

    Marks between thousands, exponents, and a sign at the end are refused, whatever they may stand for:
    ``1,234.50`` is no number, and neither is ``1,234`` unless the comma is declared to be the mark.

    :param mark: before the decimals, ``.`` or ``,``.
    """
    if len(text) > MAX_DECIMAL_CHARS or not _PATTERNS[mark].fullmatch(text):
        return None
    return Decimal(text.replace(",", "."))
