"""The list of checksums beside our marker."""

from __future__ import annotations

import shutil
from pathlib import Path

import anyio
import pytest

from airflow_landmark.deliveries import Announcement, announce, check
from airflow_landmark.markers import Expectation, Interval, read_marker

DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
FIRST = Announcement(Expectation("sales/orders", DAY, 1), also=["sums"])
NAMES = ["a.csv", "sub/b c.csv", "sub/'quoted' \u00fc *.csv"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with files whose names are not plain."""
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    for name in NAMES:
        (folder / name).write_text(name)
    return folder


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs GNU coreutils")
@pytest.mark.parametrize("carried", [False, True])
async def test_the_common_tool_takes_it(folder: Path, tmp_path: Path, carried: bool) -> None:
    """``sha256sum --check`` finds every file right, whatever its name; the marker lists none of this."""
    place = tmp_path / "drop" if carried else folder
    await announce(str(place), FIRST, source=str(folder) if carried else None)
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    done = await anyio.run_process(command, cwd=place, check=False)
    assert (done.returncode, done.stderr, done.stdout.count(b": OK\n")) == (0, b"", len(NAMES))
    marker = read_marker((place / "_delivery.json").read_bytes())
    assert sorted(entry.path for entry in marker.manifest.files) == sorted(NAMES)


async def test_it_is_no_unexpected_file(folder: Path) -> None:
    """A reader that refuses unlisted files takes a delivery with its list."""
    await announce(str(folder), FIRST)
    found = await check(f"{folder}/", on_unexpected="fail")
    assert (found.verdict, found.problems) == ("holds", ())


@pytest.mark.parametrize("change", ["another digest", "one file less", "another order", "nothing", "a link"])
async def test_one_that_says_something_else_is(folder: Path, change: str) -> None:
    """A list that is left from before, or was made by somebody else, is a file that nobody promised."""
    await announce(str(folder), FIRST)
    sums = folder / "SHA256SUMS"
    lines = sums.read_text().splitlines(keepends=True)
    digit = "1" if lines[0][0] == "0" else "0"
    changed = {
        "another digest": [digit + lines[0][1:], *lines[1:]],
        "one file less": lines[1:],
        "another order": lines[::-1],
        "nothing": [],
        "a link": lines,
    }
    sums.unlink()
    target = folder.parent / "SHA256SUMS" if change == "a link" else sums
    target.write_text("".join(changed[change]))
    if change == "a link":
        sums.symlink_to(target)
    found = await check(f"{folder}/", on_unexpected="fail")
    assert [(problem.kind, problem.place) for problem in found.problems] == [("unexpected", "SHA256SUMS")]


async def test_a_correction_brings_its_own(folder: Path) -> None:
    """A higher version replaces the list, so that both speak of the same bytes."""
    await announce(str(folder), FIRST)
    (folder / "a.csv").write_text("corrected")
    await announce(str(folder), Announcement(Expectation("sales/orders", DAY, 2), also=["sums"]))
    assert (await check(f"{folder}/", on_unexpected="fail")).verdict == "holds"
