"""In a task's process: makes what the plan says happen at the named points.

Airflow loads :class:`InjectionPlugin` as a plugin, from an entry point that only the environment of
:class:`Injections` offers. Its listener is called in the task's process after the Dag was read and before
the task's work begins, which is when functions that the Dag's modules hold can be replaced by wrapped ones.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from ._injection import Hold, Injection, Instead, Kill, Raise, named
from ._plan_folder import VARIABLE, Event, PlanFolder, Word

__all__ = ["apply_plan"]

_TEXT = 500
_POLL_SECONDS = 0.05


def __getattr__(name: str) -> Any:
    if name == "InjectionPlugin":
        return _plugin()
    raise AttributeError(name)


@functools.cache
def _plugin() -> type:
    """The plugin's class, made where Airflow has been imported already."""
    from airflow.listeners import hookimpl  # noqa: PLC0415 - Airflow is not imported with the room
    from airflow.plugins_manager import AirflowPlugin  # noqa: PLC0415 - as above

    class Listener:
        @hookimpl
        def on_task_instance_running(self, task_instance: Any) -> None:
            apply_plan(task_instance)

    class InjectionPlugin(AirflowPlugin):
        name = "landmark_injections"
        listeners = [Listener()] if VARIABLE in os.environ else []

    return InjectionPlugin


def apply_plan(task_instance: Any) -> None:
    """Prepare the points of the injections that are meant for this task.

    Does nothing where the environment names no plan.

    :param task_instance: Airflow's, of the task that is about to run in this process.
    :raises PermissionError: when the plan's folder is not this user's alone.
    """
    if VARIABLE not in os.environ:
        return
    folder = PlanFolder(Path(os.environ[VARIABLE]))
    # A replacement comes first: what happens around the call then happens around the replacement's.
    plan = sorted(folder.plan().items(), key=lambda item: not isinstance(item[1].action, Instead))
    for key, injection in plan:
        if _is_meant(injection, task_instance):
            _Point(folder, key, injection, task_instance).arm()


def _is_meant(injection: Injection, task_instance: Any) -> bool:
    return (
        fnmatchcase(task_instance.dag_id, injection.dag_id)
        and fnmatchcase(task_instance.task_id, injection.task_id)
        and fnmatchcase(task_instance.run_id, injection.run_id)
        and (not injection.tries or task_instance.try_number in injection.tries)
        and injection.resumed in (None, _is_resumed(task_instance))
    )


def _is_resumed(task_instance: Any) -> bool:
    told = getattr(task_instance, "_ti_context_from_server", None)
    return bool(told is not None and told.next_method)


@dataclass(frozen=True)
class _Point:
    """One injection in one task."""

    folder: PlanFolder
    key: str
    injection: Injection
    task_instance: Any

    def arm(self) -> None:
        """Wrap the target, or tell why it cannot be."""
        try:
            if self.injection.target is None:
                self._wrap_work()
            else:
                self._wrap_target(self.injection.target)
        except Exception as error:  # noqa: BLE001 - Airflow only logs it: the test would wait in vain
            self._note("trouble", f"{type(error).__name__}: {error}")
        else:
            self._note("armed")

    def _wrap_work(self) -> None:
        task = self.task_instance.task
        name = "resume_execution" if _is_resumed(self.task_instance) else "execute"
        # Airflow's operators look at what is set on them, for templates and dependencies
        object.__setattr__(task, name, self._wrapped(getattr(task, name)))

    def _wrap_target(self, target: str) -> None:
        owner, name = _owner(target)
        found = inspect.getattr_static(owner, name)
        kind = type(found) if isinstance(found, (staticmethod, classmethod)) else None
        function = found.__func__ if kind else found
        if not isinstance(function, FunctionType):
            raise TypeError(
                f"{target} is a {type(function).__name__}; it must be a Python function or method"
            )
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{target} is a generator: its work is done after the call; name its caller")
        wrapped = self._wrapped(function)
        setattr(owner, name, kind(wrapped) if kind else wrapped)
        self._rebind(function, wrapped)

    def _rebind(self, function: FunctionType, wrapped: Callable[..., Any]) -> None:
        """Put the wrapped function where modules have imported the function by name.

        A replacement's own module keeps the original: it may call what it replaces.
        """
        action = self.injection.action
        spared = named(action.function)[0] if isinstance(action, Instead) else ""
        for module in [found for found in sys.modules.values() if isinstance(found, ModuleType)]:
            if module.__name__ == spared:
                continue
            for name in [name for name, value in vars(module).items() if value is function]:
                setattr(module, name, wrapped)
        task = self.task_instance.task
        if getattr(task, "python_callable", None) is function:
            object.__setattr__(task, "python_callable", wrapped)

    def _wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        action, after = self.injection.action, self.injection.when == "after"
        if isinstance(action, Instead):
            owner, name = _owner(action.function)
            function = getattr(owner, name)
            after = False

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            self._begin(after)
            with _Ending(self, after):
                return function(*args, **kwargs)

        @functools.wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            self._begin(after)
            with _Ending(self, after):
                return await function(*args, **kwargs)

        return call_async if inspect.iscoroutinefunction(function) else call

    def _begin(self, after: bool) -> None:
        if not after:
            self._act()

    def _act(self) -> None:
        self._note("reached")
        action = self.injection.action
        if isinstance(action, Kill):
            _die()
        if isinstance(action, Hold):
            self._hold(action.seconds)
        if isinstance(action, Raise):
            owner, name = _owner(action.exception)
            raise getattr(owner, name)(action.text)

    def _hold(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        released = self.folder.released(self.key)
        while released is None and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
            released = self.folder.released(self.key)
        if released != "go":
            _die()

    def _note(self, word: Word, text: str = "") -> None:
        task = self.task_instance
        self.folder.note(
            Event(
                key=self.key,
                word=word,
                pid=os.getpid(),
                dag_id=task.dag_id,
                run_id=task.run_id,
                task_id=task.task_id,
                map_index=-1 if task.map_index is None else task.map_index,
                try_number=task.try_number,
                text=text[:_TEXT],
            )
        )


@dataclass(frozen=True)
class _Ending:
    """Tells how the target's call ended, and acts after it."""

    point: _Point
    after: bool

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if kind is not None:
            self.point._note("raised", f"{kind.__name__}: {error}")  # noqa: SLF001 - the same thing
            return
        self.point._note("returned")  # noqa: SLF001 - as above
        if self.after:
            self.point._act()  # noqa: SLF001 - as above


def _owner(name: str) -> tuple[Any, str]:
    """The module or class that holds what is named, and the last name."""
    module, attributes = named(name)
    owner: Any = importlib.import_module(module)
    for attribute in attributes[:-1]:
        owner = getattr(owner, attribute)
    if not hasattr(owner, attributes[-1]):
        raise AttributeError(f"{name}: {module} has no such name")
    return owner, attributes[-1]


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)  # the signal comes between two instructions, not always at once
