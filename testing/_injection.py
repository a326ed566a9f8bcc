"""What is to go wrong in a task, as a plain value: written by a test, read in the task's process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Action", "Hold", "Injection", "Instead", "Kill", "Raise", "When", "named"]

When = Literal["before", "after"]

_NAMED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


@dataclass(frozen=True)
class Kill:
    """The process is killed (SIGKILL): nothing is cleaned up, nothing is reported."""


@dataclass(frozen=True)
class Hold:
    """The call stands still until the test lets it go on.

    :param seconds: at most so long; then the process is killed.
    """

    seconds: float = 300.0


@dataclass(frozen=True)
class Raise:
    """The call raises.

    :param exception: the exception's class as ``module:Class``.
    :param text: its text.
    """

    exception: str
    text: str = "injected"


@dataclass(frozen=True)
class Instead:
    """Another function is called in place of the target, with the same arguments.

    :param function: ``module:function``; the module must be importable in the task, from the Dags folder
        for instance.
    """

    function: str


Action = Kill | Hold | Raise | Instead
_ACTIONS: Mapping[str, type[Action]] = {"kill": Kill, "hold": Hold, "raise": Raise, "instead": Instead}


@dataclass(frozen=True, kw_only=True)
class Injection:
    """One thing that goes wrong at one point of some tasks.

    :param action: what happens there.
    :param target: the function at whose call it happens, as ``module:function`` or
        ``module:Class.method``, of a module that the Dag imports (a function in the Dag's own file has no
        name that can be imported); None: the task's whole work, ``execute`` or what follows a deferral.
    :param when: before the call or after it has returned; with :class:`Instead` it has no meaning.
    :param dag_id: pattern of the Dags that are meant, by the rules of ``fnmatch``.
    :param task_id: pattern of the tasks.
    :param run_id: pattern of the runs.
    :param tries: numbers of the tries, from 1; empty: all.
    :param resumed: True: only what follows a deferral; False: only what does not; None: both.
    :raises ValueError: when a name is not written as ``module:name``.
    """

    action: Action
    target: str | None = None
    when: When = "before"
    dag_id: str = "*"
    task_id: str = "*"
    run_id: str = "*"
    tries: tuple[int, ...] = (1,)
    resumed: bool | None = None

    def __post_init__(self) -> None:
        if self.target is not None:
            named(self.target)
        if isinstance(self.action, Instead):
            named(self.action.function)
            if self.target is None:
                raise ValueError("name the target that another function replaces")
        if isinstance(self.action, Raise):
            named(self.action.exception)
        if self.when not in ("before", "after"):
            raise ValueError(f"when is before or after, not {self.when!r}")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        word = next(word for word, kind in _ACTIONS.items() if isinstance(self.action, kind))
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return fields | {"action": {"do": word, **asdict(self.action)}, "tries": list(self.tries)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Injection:
        """Return the injection that ``to_json`` wrote.

        :raises ValueError, TypeError, KeyError: when it did not.
        """
        action = dict(document["action"])
        made = _ACTIONS[action.pop("do")](**action)
        return cls(**{**document, "action": made, "tries": tuple(document["tries"])})

    def __str__(self) -> str:
        word = type(self.action).__name__.lower()
        place = self.target or "the task's work"
        told = f"{word} {place}" if isinstance(self.action, Instead) else f"{word} {self.when} {place}"
        tries = f", try {'/'.join(map(str, self.tries))}" if self.tries else ""
        return f"{told} (Dag {self.dag_id}, task {self.task_id}, run {self.run_id}{tries})"


def named(text: str) -> tuple[str, list[str]]:
    """Return module and attributes of ``module:name.name``.

    :raises ValueError: when it is not written so.
    """
    if not _NAMED.fullmatch(text):
        raise ValueError(f"{text!r} names nothing: write module:function or module:Class.method")
    module, _, name = text.partition(":")
    return module, name.split(".")
