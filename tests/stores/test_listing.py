"""Names and sizes in a folder, by pattern or in the whole tree."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.stores import Absent, Address, Facts, LastingTrouble, LocalStore, StoreError
from airflow_landmark.stores._local_list import list_folder

At = Callable[[str], Address]


def fill(folder: Path, *names: str) -> None:
    """Make a file of three bytes under each name."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"123")


def _sizes(listing: Mapping[str, Facts]) -> dict[str, int]:
    return {name: facts.size for name, facts in listing.items()}


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("*.json", {"x.json", "part[1].json", "X.json"}),
        ("x.*", {"x.json", "x.json.tmp"}),
        ("?.json", {"x.json", "X.json"}),
        ("2024-05-0[1-3]*", {"2024-05-01 a", "2024-05-03"}),
        ("2024-05-0[!1-3]*", {"2024-05-04"}),
        ("part[[]1].json", {"part[1].json"}),
        ("part[1].json", set()),
        ("x", set()),
        ("[", set()),
        ("[z-a]*", set()),
    ],
)
async def test_a_pattern_matches_whole_names_with_their_case(
    store: LocalStore, at: At, tmp_path: Path, pattern: str, matches: set[str]
) -> None:
    """A pattern matches whole names directly in the folder, with their case, ranges included."""
    fill(
        tmp_path, "x.json", "X.json", "x.json.tmp", "part[1].json", "2024-05-01 a", "2024-05-03",
        "2024-05-04", "sub/x.json", "sub.json/y.json",
    )  # fmt: skip
    assert set(await store.listing(at(""), pattern=pattern)) == matches


async def test_without_a_pattern_the_whole_tree_is_listed(store: LocalStore, at: At, tmp_path: Path) -> None:
    """The tree's files are listed under their paths with their sizes; folders are not."""
    fill(tmp_path, "a", "b/c", "b/d/e", "b/d/f g")
    (tmp_path / "empty" / "er").mkdir(parents=True)
    (tmp_path / "a").write_bytes(b"12345")
    assert _sizes(await store.listing(at(""))) == {"a": 5, "b/c": 3, "b/d/e": 3, "b/d/f g": 3}


async def test_links_are_listed_and_not_followed(store: LocalStore, at: At, tmp_path: Path) -> None:
    """Links to files, to folders, to nothing and to themselves are listed as names of their own."""
    outside = tmp_path / "outside"
    fill(outside, "secret")
    here = tmp_path / "in"
    fill(here, "a")
    (here / "file").symlink_to("a")
    (here / "folder").symlink_to(outside)
    (here / "nothing").symlink_to("nowhere")
    (here / "self").symlink_to("self")
    (here / "up").symlink_to("..")
    folder = Address("file", "", str(here), "")
    expected = {"a", "file", "folder", "nothing", "self", "up"}
    assert set(await store.listing(folder)) == expected
    assert set(await store.listing(folder, pattern="*")) == expected


async def test_pipes_are_listed(store: LocalStore, at: At, tmp_path: Path) -> None:
    """What is neither file nor folder is listed, so that nobody overlooks it."""
    os.mkfifo(tmp_path / "pipe")
    assert set(await store.listing(at(""))) == {"pipe"}


@pytest.mark.parametrize("pattern", [None, "*"])
async def test_more_names_than_the_limit_are_an_error(
    store: LocalStore, at: At, tmp_path: Path, pattern: str | None, no_descriptor_left: None
) -> None:
    """Up to the limit a listing is whole; above it there is none."""
    fill(tmp_path, *(f"d{n % 3}/{n}" if pattern is None else str(n) for n in range(10)))
    assert len(await store.listing(at(""), pattern=pattern, limit=10)) == 10
    with pytest.raises(LastingTrouble, match="more than 9 names"):
        await store.listing(at(""), pattern=pattern, limit=9)


async def test_names_that_do_not_match_do_not_count(store: LocalStore, at: At, tmp_path: Path) -> None:
    """The limit is on matches."""
    fill(tmp_path, *(f"{n}.csv" for n in range(50)), "m.json")
    assert _sizes(await store.listing(at(""), pattern="*.json", limit=1)) == {"m.json": 3}


@pytest.mark.parametrize("pattern", [None, "*"])
async def test_an_absent_folder_is_absent(store: LocalStore, at: At, pattern: str | None) -> None:
    """A folder that does not exist has no listing."""
    with pytest.raises(Absent, match="the folder does not exist"):
        await store.listing(Address("file", "", f"{at('').folder}/none", ""), pattern=pattern)


@pytest.mark.parametrize("pattern", [None, "*"])
async def test_a_file_is_no_folder(store: LocalStore, at: At, tmp_path: Path, pattern: str | None) -> None:
    """A file where the folder should be is lasting trouble."""
    fill(tmp_path, "a")
    with pytest.raises(LastingTrouble, match="not a folder"):
        await store.listing(Address("file", "", f"{tmp_path}/a", ""), pattern=pattern)


@pytest.mark.parametrize("pattern", [None, "*"])
async def test_what_goes_meanwhile_is_left_out(
    store: LocalStore, at: At, tmp_path: Path, pattern: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A temporary name that is renamed while the folder is listed spoils no listing."""
    fill(tmp_path, "a", "b")
    really_scan, really_stat = os.scandir, os.stat

    class Gone:
        name = "gone"

        def is_dir(self, **_named: object) -> bool:
            return False

        def is_symlink(self) -> bool:
            return False

        def stat(self, **_named: object) -> os.stat_result:
            raise FileNotFoundError(2, "gone")

    class Scan:
        def __init__(self, where: object) -> None:
            with really_scan(where) as entries:  # type: ignore[arg-type]
                self._entries = iter([Gone(), *entries])

        def __enter__(self) -> Scan:
            return self

        def __exit__(self, *_error: object) -> None:
            self.close()

        def __iter__(self) -> object:
            return self._entries

        def close(self) -> None:
            """Nothing is open."""

    monkeypatch.setattr(os, "scandir", Scan)
    assert set(await store.listing(at(""), pattern=pattern)) == {"a", "b"}
    assert os.stat is really_stat


async def test_a_subfolder_that_goes_meanwhile_is_left_out(
    store: LocalStore, at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is removed while the tree is listed spoils no listing."""
    fill(tmp_path, "a", "b/c")
    really = os.open

    def opening(path: object, *rest: object, **named: object) -> int:
        if path == "b":
            raise FileNotFoundError(2, "gone")
        return really(path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", opening)
    assert set(await store.listing(at(""))) == {"a"}


async def test_a_closed_subfolder_spoils_the_listing(
    store: LocalStore, at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_descriptor_left: None
) -> None:
    """A tree that cannot be seen as a whole has no listing."""
    fill(tmp_path, "a", "b/c")
    really = os.open

    def opening(path: object, *rest: object, **named: object) -> int:
        if path == "b":
            raise PermissionError(13, "denied")
        return really(path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", opening)
    with pytest.raises(LastingTrouble, match="permission denied"):
        await store.listing(at(""))


def test_a_deep_tree_is_walked_or_refused(tmp_path: Path, no_descriptor_left: None) -> None:
    """Folders as deep as paths may be are walked; absurdly deep ones are trouble and no crash."""
    here = os.open(tmp_path, os.O_RDONLY)
    for depth in range(1, 1201):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
        if depth == 200:
            with os.fdopen(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=here), "wb") as file:
                file.write(b"x")
            found = list_folder(Address("file", "", str(tmp_path), ""), None, 10)
            assert _sizes(found) == {"d/" * 200 + "f": 1}
    os.close(here)
    try:
        list_folder(Address("file", "", str(tmp_path), ""), None, 10)
    except StoreError as error:
        assert error.place == f"{tmp_path}/"
    os.system(f"rm -rf {tmp_path}/d")  # noqa: S605 - shutil recurses


async def test_names_that_are_no_text_are_listed(store: LocalStore, at: At, tmp_path: Path) -> None:
    """A name in another encoding is listed in a form that is refused later, and not left out."""
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.json"))).touch()
    assert set(await store.listing(at(""), pattern="*.json")) == {"\udcff.json"}
    assert set(await store.listing(at(""))) == {"\udcff.json"}


@given(
    pattern=st.text(alphabet="ab*?[]!-^\\.", min_size=1, max_size=8),
    name=st.text(alphabet="ab[]!-^.\\", min_size=1),
)
def test_any_pattern_matches_as_fnmatch_says(
    tmp_path_factory: pytest.TempPathFactory, pattern: str, name: str
) -> None:
    """Whatever the pattern, it matches exactly the names that ``fnmatch`` matches."""
    if name in (".", ".."):
        return
    folder = tmp_path_factory.mktemp("p")
    (folder / name).touch()
    found = list_folder(Address("file", "", str(folder), ""), pattern, 10)
    assert (name in found) == fnmatch.fnmatchcase(name, pattern)
    (folder / name).unlink()
    folder.rmdir()
