"""The JSON Schema of the marker document, for partners who check before they deliver."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["marker_schema"]

_NAME = "landmark-1.schema.json"


def marker_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of ``landmark/1``: a new dict at each call.

    It says what a schema can say; its description names the rules that only the reader checks.
    """
    # Costs more at import than the rest of this room.
    from importlib.resources import files  # noqa: PLC0415

    schema: dict[str, Any] = json.loads(files(__package__).joinpath(_NAME).read_text(encoding="utf-8"))
    return schema
