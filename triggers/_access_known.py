"""What is known of a connection, and how its extras are read."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_landmark.markers import show
from airflow_landmark.stores import InvalidAccess, options_of

__all__ = ["Frozen", "Known", "frozen"]


@dataclass(frozen=True, slots=True)
class Known:
    """A connection, as Airflow holds it. Everything but its name and its type may be secret."""

    conn_id: str
    conn_type: str = ""
    host: str = field(default="", repr=False)
    schema: str = field(default="", repr=False)
    login: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    port: int | None = field(default=None, repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, connection: Any) -> Known:
        """What an Airflow connection says.

        :raises InvalidAccess: when its extra is no JSON object.
        """
        return cls(
            conn_id=connection.conn_id,
            conn_type=(connection.conn_type or "").lower(),
            host=(connection.host or "").strip(),
            schema=(connection.schema or "").strip(),
            login=connection.login or "",
            password=connection.password or "",
            port=connection.port,
            extra=_parsed(connection.conn_id, connection.extra),
        )

    def wrong(self, text: str) -> InvalidAccess:
        """The error that says what is wrong with it; the text must hold no value of it."""
        return _wrong(self.conn_id, text)

    def check_type(self, allowed: Collection[str], meant: str) -> None:
        """Refuse a connection to something else. Those without a type, or of the type generic, may be any.

        :raises InvalidAccess: naming the type.
        """
        if self.conn_type not in {"", "generic", *allowed}:
            raise self.wrong(f"it is of type {show(self.conn_type)}, and {meant} is wanted")

    def options(self, scheme: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings of the connection, checked as options are.

        :raises InvalidAccess: naming the setting and what it may be.
        """
        given = {name: value for name, value in settings.items() if value is not None}
        try:
            return options_of(scheme, given)
        except InvalidAccess as error:
            raise self.wrong(f"{error.place} {error.reason}") from None

    def flag(self, name: str) -> Any:
        """A flag, also as the text that connections in the form of a URI have; other values as they are."""
        value = self.extra.get(name)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        return value

    def mapping(self, name: str) -> Mapping[str, Any]:
        """A mapping in its extra; empty when it has none.

        :raises InvalidAccess: when it is another kind of value.
        """
        value = self.extra.get(name, {})
        if not isinstance(value, dict):
            raise self.wrong(f"its extra {name!r} must be an object, not {type(value).__name__}")
        return value


def _wrong(conn_id: str, text: str) -> InvalidAccess:
    return InvalidAccess(f"connection {show(conn_id)}", text)


def _parsed(conn_id: str, extra: str | None) -> Mapping[str, Any]:
    if not extra or not extra.strip():
        return {}
    try:
        document = json.loads(extra)
    except (ValueError, RecursionError):
        raise _wrong(conn_id, "its extra must be a JSON object, and is no JSON at all") from None
    if not isinstance(document, dict):
        raise _wrong(conn_id, f"its extra must be a JSON object, not {type(document).__name__}")
    return {name: value for name, value in document.items() if value not in (None, "", {}, [])}


class Frozen(dict[str, Any]):
    """A mapping that can be hashed, for settings that are compared; nobody changes it."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def frozen(value: Any) -> Any:
    """The same JSON value, in kinds that can be hashed."""
    if isinstance(value, dict):
        return Frozen({name: frozen(entry) for name, entry in value.items()})
    if isinstance(value, list):
        return tuple(frozen(entry) for entry in value)
    return value
