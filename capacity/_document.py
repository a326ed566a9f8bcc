"""The answer as a JSON document; ``check.schema.json`` beside this file says what is in it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timezone
from importlib.resources import files
from typing import Any

from ._origin import Estimate
from ._results import Answer, Verdict

__all__ = ["VERDICTS", "answer_document", "answer_schema", "plain"]

VERDICTS: Mapping[Verdict, str] = {
    Verdict.HOLDS: "holds",
    Verdict.WITHOUT_SPARE: "holds without spare",
    Verdict.UNKNOWN: "unknown",
    Verdict.DOES_NOT_HOLD: "does not hold",
}
_VERSION = 1
_INSTANTS = frozenset({"at", "begin", "end", "start"})


def answer_document(answer: Answer) -> dict[str, Any]:
    """The answer in plain JSON types, with the format's version."""
    document = plain(answer)
    holds = answer.verdict in (Verdict.HOLDS, Verdict.WITHOUT_SPARE)
    return {"landmark_capacity": _VERSION, "ok": holds, **document}


def answer_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the document."""
    text = files(__package__).joinpath("check.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def plain(value: Any) -> Any:
    """A frozen value in plain JSON types: instants as RFC 3339 texts in UTC, no bound as null."""
    if isinstance(value, Estimate):
        return value.to_json()
    if isinstance(value, Verdict):
        return VERDICTS[value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _field(field.name, getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value


def _field(name: str, value: Any) -> Any:
    if name in _INSTANTS and isinstance(value, float):
        return f"{datetime.fromtimestamp(value, tz=timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    return plain(value)
