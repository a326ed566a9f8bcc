"""Options of foreign formats whose values are few: checked when the Dag is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ._errors import InvalidDeclaration
from ._problems import show

__all__ = ["check_choice", "check_count", "wants"]

_COUNT = re.compile(r"[0-9]{1,9}", re.ASCII)


def check_choice(declared: Mapping[str, str], key: str, choices: Iterable[str] = ("true", "false")) -> None:
    """Refuse another value of a key than the choices.

    :raises InvalidDeclaration: naming them.
    """
    if key in declared and declared[key] not in choices:
        raise InvalidDeclaration(f"{key} must be one of {', '.join(choices)}, not {show(declared[key])}")


def check_count(declared: Mapping[str, str], key: str, *, least: int = 0, most: int) -> None:
    """Refuse another value of a key than a whole number in this range.

    :raises InvalidDeclaration: naming the range.
    """
    text = declared.get(key)
    if text is not None and not (_COUNT.fullmatch(text) and least <= int(text) <= most):
        raise InvalidDeclaration(f"{key} must be a whole number from {least} to {most}, not {show(text)}")


def wants(declared: Mapping[str, str], key: str) -> bool:
    """Whether a key is declared ``"true"``."""
    return declared.get(key) == "true"
