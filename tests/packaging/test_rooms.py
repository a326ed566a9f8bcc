"""Which room may import what: the arrows between the rooms point one way."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = "airflow_landmark"


@dataclass(frozen=True)
class Rule:
    """What a room may import: other rooms, and third-party packages at once or only when needed."""

    rooms: frozenset[str] = frozenset()
    at_once: frozenset[str] = frozenset()
    when_needed: frozenset[str] = frozenset()


def _rule(rooms: str = "", at_once: str = "", when_needed: str = "") -> Rule:
    return Rule(*(frozenset(names.split()) for names in (rooms, at_once, when_needed)))


RULES = {
    "markers": _rule(),
    "stores": _rule("markers", "anyio aiofiles aiobotocore botocore httpx", "aiohttp awscrt certifi"),
    "deliveries": _rule("markers stores", "anyio", "pyarrow sqlalchemy"),
    "triggers": _rule("markers stores deliveries", "anyio airflow"),
    "sensors": _rule("markers stores deliveries triggers", "anyio airflow"),
    # structlog and greenback come with Airflow: by them a triggerer logs, and triggers call it
    "capacity": _rule("", "", "airflow sqlalchemy tomli structlog greenback"),
    # opentelemetry comes with Airflow: by it the components send their metrics
    "testing": _rule(
        "markers stores deliveries triggers sensors", "psutil", "airflow sqlalchemy pytest opentelemetry"
    ),
    "cli": _rule(
        "markers stores deliveries triggers sensors capacity testing", "anyio click rich", "airflow"
    ),
}
NEED_AIRFLOW = {"triggers", "sensors", "testing"}


@dataclass(frozen=True)
class Import:
    """One import: what is imported, where, and whether it happens when the module is imported."""

    name: str
    place: str
    at_once: bool

    @property
    def room(self) -> str:
        """The room it imports from; empty: not from a room."""
        parts = self.name.split(".")
        return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else ""


def imports(*, folder: Path, package: str) -> Iterator[Import]:
    """Return all imports of a room, relative ones by their whole name, those for typing left out."""
    for path in sorted(folder.rglob("*.py")):
        inner = [package, *path.relative_to(folder).parts[:-1]]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node, at_once in _walk(tree, at_once=True):
            place = f"{path.relative_to(folder.parent)}:{node.lineno}"
            for name in _names(node, package=".".join(inner)):
                yield Import(name=name, place=place, at_once=at_once)


def _walk(node: ast.AST, *, at_once: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, at_once
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        else:
            function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            yield from _walk(child, at_once=at_once and not function)


def _names(node: ast.Import | ast.ImportFrom, *, package: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        above = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*above, *filter(None, [node.module])])
    # "from package import name": the name may be a module, and a private one
    return [f"{base}.{alias.name}" for alias in node.names]


@pytest.fixture(params=sorted(RULES))
def room(request: pytest.FixtureRequest) -> str:
    """Return the name of each room in turn."""
    return str(request.param)


@pytest.fixture
def found(room: str, root: Path) -> list[Import]:
    """Return all imports of the room."""
    return list(imports(folder=root / room, package=f"{PACKAGE}.{room}"))


def test_every_room_has_a_rule(packages: dict[str, Path]) -> None:
    """A new room must be given its place among the others."""
    assert {name.split(".")[1] for name in packages} == set(RULES)


def test_arrows(room: str, found: list[Import]) -> None:
    """A room imports only from rooms below it, at once or later."""
    allowed = RULES[room].rooms | {room, ""}
    assert [one for one in found if one.room not in allowed] == []


def test_private_modules_stay_private(room: str, found: list[Import]) -> None:
    """No room reaches into another one's modules: what it may use stands in that room's ``__init__``."""
    others = [one for one in found if one.room not in {room, ""}]
    assert [one for one in others if any(part.startswith("_") for part in one.name.split("."))] == []


def test_third_parties(room: str, found: list[Import]) -> None:
    """A room imports only the third-party packages that are its own business."""
    rule = RULES[room]
    known = {PACKAGE, *sys.stdlib_module_names}
    foreign = [one for one in found if one.name.split(".")[0] not in known]
    allowed = {True: rule.at_once, False: rule.at_once | rule.when_needed}
    assert [one for one in foreign if one.name.split(".")[0] not in allowed[one.at_once]] == []


def test_cli_starts_without_airflow(root: Path) -> None:
    """The command line imports a room that needs Airflow only in the command that needs it."""
    found = imports(folder=root / "cli", package=f"{PACKAGE}.cli")
    assert [one for one in found if one.at_once and one.room in NEED_AIRFLOW] == []


def test_public_names(room: str) -> None:
    """A room lists its public names in order, and each of them is there."""
    module = importlib.import_module(f"{PACKAGE}.{room}")
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert len(set(module.__all__)) == len(module.__all__)
    assert [name for name in module.__all__ if name.startswith("_")] == []


def test_no_public_name_is_unlisted(room: str, root: Path) -> None:
    """What a room's ``__init__`` imports for its users is listed."""
    module = importlib.import_module(f"{PACKAGE}.{room}")
    tree = ast.parse((root / room / "__init__.py").read_text(encoding="utf-8"))
    imported = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level]
    names = {alias.asname or alias.name for node in imported for alias in node.names}
    assert {name for name in names if not name.startswith("_")} - set(module.__all__) == set()
