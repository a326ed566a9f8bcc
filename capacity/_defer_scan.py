"""What an operator's class says about deferring, read from its compiled methods: no source needed.

Classes that always defer have no attribute that says so; their code calls ``self.defer``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import NamedTuple

__all__ = ["ClassFacts", "class_facts"]

# Airflow's own base classes: what they define says nothing about an operator.
_BASES = ("airflow.sdk.", "airflow.models.", "builtins", "abc")
# Approvals by people wait without a trigger since Airflow 3.3.
_NO_TRIGGER = frozenset({"airflow.providers.standard.triggers.hitl.HITLTrigger"})


class ClassFacts(NamedTuple):
    """What the code of an operator's class shows.

    :ivar defers: some method calls ``defer`` or raises ``TaskDeferred``.
    :ivar switchable: it has a parameter ``deferrable``, so that ``defers`` alone decides nothing.
    :ivar triggers: class paths of the triggers that its methods name, in the order of the methods.
    :ivar limits: the deferral is given a ``timeout``; without one it may last for ever.
    """

    defers: bool
    switchable: bool
    triggers: tuple[str, ...]
    limits: bool


def class_facts(operator: type) -> ClassFacts:
    """The facts of one operator class."""
    functions = list(_functions(operator))
    deferring = [one for one in functions if _names(one.__code__) & {"defer", "TaskDeferred"}]
    near, far = _triggers(deferring), _triggers(functions)
    found = tuple(dict.fromkeys([*near, *far]))
    triggers = tuple(one for one in found if one not in _NO_TRIGGER)
    return ClassFacts(
        defers=bool(deferring) and (not found or bool(triggers)),
        switchable="deferrable" in inspect.signature(operator).parameters,
        triggers=triggers,
        limits=any(_passes_timeout(one.__code__) for one in deferring),
    )


def _functions(operator: type) -> Iterator[FunctionType]:
    """The methods that the class and its ancestors define, Airflow's base classes left out."""
    for owner in operator.__mro__:
        if owner.__module__.startswith(_BASES):
            continue
        for member in vars(owner).values():
            raw = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
            raw = raw.fget if isinstance(raw, property) else raw
            function = inspect.unwrap(raw) if callable(raw) else None
            if isinstance(function, FunctionType):
                yield function


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType) -> set[str]:
    return {name for one in _codes(code) for name in one.co_names}


def _triggers(functions: list[FunctionType]) -> list[str]:
    """The trigger classes that functions name, by the modules in which they are defined."""
    named = [
        function.__globals__.get(name)
        for function in functions
        for code in _codes(function.__code__)
        for name in code.co_names
    ]
    return [_public_path(one) for one in named if isinstance(one, type) and _is_trigger(one)]


def _public_path(trigger: type) -> str:
    """Where users import the class from: private modules are left out when the package has it too."""
    package, _, module = trigger.__module__.rpartition(".")
    public = module.startswith("_") and getattr(sys.modules.get(package), trigger.__name__, None) is trigger
    return f"{package if public else trigger.__module__}.{trigger.__qualname__}"


def _is_trigger(candidate: type) -> bool:
    names = {f"{owner.__module__}.{owner.__qualname__}" for owner in candidate.__mro__[1:]}
    return "airflow.triggers.base.BaseTrigger" in names


def _passes_timeout(code: CodeType) -> bool:
    """Whether a call in it has keyword arguments both of a deferral and for its timeout."""
    constants = [one for part in _codes(code) for one in part.co_consts if isinstance(one, tuple)]
    return any({"trigger", "timeout"} <= {str(name) for name in names} for names in constants)
