"""The room's public names, and what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from airflow_landmark import markers

FOLDER = Path(markers.__file__).resolve().parent

SCRIPT = """
import sys
before = set(sys.modules)
import airflow_landmark.markers as markers
markers.marker_schema()
try:
    markers.read_marker(b"{")
except markers.UnreadableMarker:
    pass
names = {name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
print(sorted(name for name in names if not name.startswith("_sysconfigdata")))
"""


def test_all_is_sorted_and_there() -> None:
    """Every public name is listed once, in order, and can be imported."""
    names = markers.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))
    assert len(set(names)) == len(names)
    assert all(hasattr(markers, name) for name in names)


def test_nothing_else_is_public() -> None:
    """What stands in the room without an underscore is listed."""
    modules = {path.stem for path in FOLDER.glob("*.py")}
    public = {name for name in vars(markers) if not name.startswith("_")} - modules
    assert public == set(markers.__all__)


def test_modules_are_private() -> None:
    """Every module of the room starts with an underscore and lists its own names."""
    for path in FOLDER.glob("*.py"):
        assert path.stem.startswith("_")
        assert path.stem == "__init__" or "__all__ = [" in path.read_text(encoding="utf-8")


def test_standard_library_only(tmp_path: Path) -> None:
    """The room works, schema included, where nothing but the standard library is installed."""
    (tmp_path / "airflow_landmark").mkdir()
    (tmp_path / "airflow_landmark" / "markers").symlink_to(FOLDER, target_is_directory=True)
    script = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{SCRIPT}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("['airflow_landmark']", "")
