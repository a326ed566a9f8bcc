"""TOML, by whatever reads it here."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

__all__ = ["toml_of"]


def toml_of(text: str) -> dict[str, Any]:
    """The document that a text is.

    :raises ValueError: when it is not TOML; the text says where.
    :raises RecursionError: when it is nested too deeply.
    """
    parser = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    document: dict[str, Any] = parser.loads(text)
    return document
