"""Converting: our marker beside a foreign one, or nothing at all."""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from blockbuster import BlockBuster

from airflow_landmark.deliveries import (
    AccessTrouble,
    Announced,
    CannotDeliver,
    Form,
    Progress,
    check,
    convert,
    run,
)
from airflow_landmark.deliveries import _convert as converting
from airflow_landmark.markers import read_marker
from airflow_landmark.stores import LastingTrouble, LocalStore
from foreign import ABOUT, CORPORA

SUMS = Form.of("sums", {**ABOUT, "algorithm": "md5", "complete": "rename"})
LATER = Form.of("sums", {**ABOUT, "version": "4", "algorithm": "md5", "complete": "rename"})
SENTINEL = Form.of("sentinel", ABOUT)
CONTROL = Form.of(
    "control",
    {
        **ABOUT,
        "grammar": "key=value",
        "file": "a.csv",
        "field.records": "COUNT",
        "field.bytes": "SIZE",
        "header_rows": "1",
    },
)
FILES = {"a.csv": b"id\n1\n2\n", "sub/b c.csv": b"id\n3\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two files, one of them below, and a list of their MD5 sums."""
    (tmp_path / "sub").mkdir()
    for path, data in FILES.items():
        (tmp_path / path).write_bytes(data)
    lines = [f"{hashlib.md5(data, usedforsecurity=False).hexdigest()}  {p}\n" for p, data in FILES.items()]
    (tmp_path / "MD5SUMS").write_text("".join(lines))
    return tmp_path


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look again at once at what is missing or short."""

    async def sleep(_seconds: float) -> None:
        await checkpoint()

    monkeypatch.setattr(anyio, "sleep", sleep)


def names(folder: Path) -> set[str]:
    """All files of the folder, temporary ones too."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


async def refused(uri: str, form: Form, kind: str, error: type[Exception] = CannotDeliver) -> Any:
    """The refusal, of that kind, after which the folder holds what it held."""
    folder = Path(uri).parent
    before = {name: (folder / name).read_bytes() for name in names(folder)}
    with pytest.raises(error) as caught:
        await convert(uri, form=form)
    assert getattr(caught.value, "kind", "") == kind
    assert {name: (folder / name).read_bytes() for name in names(folder)} == before
    return caught.value


async def test_the_marker_beside(folder: Path) -> None:
    """The new marker lists the same files, each with size and sha256, and holds; the old one holds too."""
    announced = await convert(f"{folder}/MD5SUMS", form=SUMS, producer="Example Ltd")
    marker = read_marker((folder / "_delivery.json").read_bytes(), name="_delivery.json")
    assert (marker.dataset, marker.version, marker.producer) == ("shop/orders", 3, "Example Ltd")
    assert announced.stamp.sha256 == marker.identity
    told = {entry.path: (entry.size, dict(entry.digests)) for entry in marker.manifest.files}
    assert told == {
        path: (
            len(data),
            {
                "sha256": hashlib.sha256(data).hexdigest(),
                "md5": hashlib.md5(data, usedforsecurity=False).hexdigest(),
            },
        )
        for path, data in FILES.items()
    }
    found = await check(f"{folder}/")
    assert (found.verdict, found.report and dict(found.report.digests)) == ("holds", {"sha256": 2})
    assert (await check(f"{folder}/MD5SUMS", form=SUMS)).verdict == "holds"


async def test_a_sentinel_stays_the_same(folder: Path) -> None:
    """A marker beside a sentinel is no file of its delivery: converting again finds the same one."""
    (folder / "_SUCCESS").touch()
    before = await check(f"{folder}/", form=SENTINEL, level="files")
    await convert(f"{folder}/", form=SENTINEL)
    after = await check(f"{folder}/", form=SENTINEL, level="files")
    assert before.marker is not None
    assert before.marker == after.marker
    assert (await check(f"{folder}/")).verdict == "holds"
    assert (await refused(f"{folder}/_SUCCESS", SENTINEL, "version")).problems == ()


async def test_another_name(folder: Path) -> None:
    """The new marker's name may be another one."""
    await convert(f"{folder}/MD5SUMS", form=SUMS, name="orders.json")
    assert names(folder) == {*FILES, "MD5SUMS", "orders.json"}
    assert (await check(f"{folder}/orders.json")).verdict == "holds"


@pytest.mark.parametrize("bag", ["v1.0/valid/basicBag", "v0.97/valid/bag-in-a-bag"])
async def test_a_bag(tmp_path: Path, bag: str) -> None:
    """A bag gets a marker of its payload that holds, and stays a bag."""
    copy = shutil.copytree(CORPORA / "bagit" / "loc-conformance" / bag, tmp_path / "bag")
    form = Form.of("bagit", ABOUT)
    await convert(f"{copy}/", form=form)
    assert (await check(f"{copy}/")).verdict == "holds"
    assert (await check(f"{copy}/", form=form)).verdict == "holds"


async def test_every_corrupt_file_is_told(folder: Path) -> None:
    """All files whose bytes are other ones are told at once, and nothing is written."""
    for path, data in FILES.items():
        (folder / path).write_bytes(data.replace(b"id", b"ID"))
    error = await refused(f"{folder}/MD5SUMS", SUMS, "corrupt")
    assert [(problem.kind, problem.place) for problem in error.problems] == [
        ("corrupt", path) for path in FILES
    ]
    assert "2 corrupt among 2 files" in error.text


@pytest.mark.usefixtures("no_pauses")
async def test_a_missing_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not there is told, and no other file is hashed for nothing."""
    (folder / "a.csv").unlink()

    async def digest(*_arguments: Any, **_named: Any) -> Any:
        raise AssertionError("hashed")

    monkeypatch.setattr(LocalStore, "digest", digest)
    error = await refused(f"{folder}/MD5SUMS", SUMS, "missing")
    assert [problem.place for problem in error.problems] == ["a.csv"]


@pytest.mark.usefixtures("no_pauses")
async def test_a_short_file(folder: Path) -> None:
    """A size that the partner told is held against the file before it is hashed."""
    (folder / "a.ctl").write_text(f"COUNT=2\nSIZE={len(FILES['a.csv']) + 1}\n")
    error = await refused(f"{folder}/a.ctl", CONTROL, "incomplete")
    assert [problem.place for problem in error.problems] == ["a.csv"]


async def test_no_marker(folder: Path) -> None:
    """Where no foreign marker lies there is nothing to convert."""
    assert "no such file" in (await refused(f"{folder}/SHA256SUMS", SUMS, "absent")).text


async def test_an_unreadable_marker(folder: Path) -> None:
    """What is no marker of that format is refused with all its problems."""
    (folder / "MD5SUMS").write_text("x  a.csv\n../y  b\n")
    error = await refused(f"{folder}/MD5SUMS", SUMS, "unreadable")
    assert [problem.place for problem in error.problems] == ["line 1", "line 2"]


async def test_an_incomplete_marker(folder: Path) -> None:
    """A list that waits for its sidecar is not converted."""
    declared = {**ABOUT, "algorithm": "md5", "complete": "sidecar", "sidecar": "{name}.ok"}
    await refused(f"{folder}/MD5SUMS", Form.of("sums", declared), "unreadable")


async def test_files_elsewhere(folder: Path) -> None:
    """Files by full address cannot be named in a marker of their own folder: refused before any look."""
    (folder / "manifest").write_text(
        '{"entries": [{"url": "s3://lake/out/1", "meta": {"content_length": 1}}]}'
    )
    form = Form.of("redshift", {**ABOUT, "allow": "s3://lake/out/"})
    assert "s3://lake/out/1" in (await refused(f"{folder}/manifest", form, "elsewhere")).text


async def test_a_link_is_not_followed(folder: Path) -> None:
    """A file that is a link is refused."""
    (folder / "elsewhere").write_bytes(FILES["a.csv"])
    (folder / "a.csv").unlink()
    (folder / "a.csv").symlink_to("elsewhere")
    await refused(f"{folder}/MD5SUMS", SUMS, "refused")


async def test_a_file_that_may_not_be_read_leaves_it_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing rights are another matter than bad data."""

    async def facts_many(_store: LocalStore, addresses: Any, **_how: Any) -> Any:
        return {address: LastingTrouble(address.uri, "permission denied") for address in addresses}

    monkeypatch.setattr(LocalStore, "facts_many", facts_many)
    await refused(f"{folder}/MD5SUMS", SUMS, "no access", AccessTrouble)


async def test_versions_only_grow(folder: Path) -> None:
    """A marker of this version or a higher one stays; a higher version of the foreign one replaces it."""
    await convert(f"{folder}/MD5SUMS", form=LATER)
    assert "version 4 lies there" in (await refused(f"{folder}/MD5SUMS", SUMS, "version")).text
    assert "version 4 lies there" in (await refused(f"{folder}/MD5SUMS", LATER, "version")).text
    higher = Form.of("sums", {**dict(LATER.declared), "version": "5"})
    assert (await convert(f"{folder}/MD5SUMS", form=higher)).stamp.version == 5
    assert (await check(f"{folder}/", min_version=5)).verdict == "holds"


async def test_what_is_no_marker_is_not_replaced(folder: Path) -> None:
    """A file of the new marker's name that is none stays as it is."""
    (folder / "_delivery.json").write_text("precious")
    await refused(f"{folder}/MD5SUMS", SUMS, "unreadable")


async def test_rows_are_taken_over(folder: Path) -> None:
    """The partner's counts stand in the new marker, which can count them again."""
    (folder / "a.ctl").write_text(f"COUNT=2\nSIZE={len(FILES['a.csv'])}\n")
    await convert(f"{folder}/a.ctl", form=CONTROL)
    found = await check(f"{folder}/", level="rows")
    assert found.verdict == "holds"
    assert found.report is not None
    assert found.report.rows_counted == 1


@pytest.mark.parametrize("shape", [{"trailer_rows": "1"}, {"data_delimiter": ";"}])
async def test_rows_that_nobody_could_count_are_left_out(folder: Path, shape: dict[str, str]) -> None:
    """Our marker knows neither trailers nor other delimiters, so it claims no count with them."""
    (folder / "a.ctl").write_text(f"COUNT=1\nSIZE={len(FILES['a.csv'])}\n")
    form = Form.of("control", {**dict(CONTROL.declared), **shape})
    announced = await convert(f"{folder}/a.ctl", form=form)
    assert [entry.rows for entry in announced.marker.manifest.files] == [None]
    assert (await check(f"{folder}/", level="rows")).verdict == "holds"


async def test_a_marker_that_changes_meanwhile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that is replaced while its files are hashed announces nothing."""
    really, other = LocalStore.digest, f"# other\n{(folder / 'MD5SUMS').read_text()}"

    async def digest(self: LocalStore, *arguments: Any, **named: Any) -> Any:
        done = await really(self, *arguments, **named)
        await anyio.Path(folder / "MD5SUMS").write_text(other)
        return done

    monkeypatch.setattr(LocalStore, "digest", digest)
    with pytest.raises(CannotDeliver, match="start again") as caught:
        await convert(f"{folder}/MD5SUMS", form=SUMS)
    assert caught.value.kind == "changed"
    assert "_delivery.json" not in names(folder)


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch, loop_guard: BlockBuster) -> Iterator[None]:
    """Let two conversions come to the last step before either of them takes it."""
    loop_guard.deactivate()
    barrier, really = threading.Barrier(2, timeout=30), converting.put_marker

    async def put_marker(*arguments: Any, **named: Any) -> Any:
        await anyio.to_thread.run_sync(barrier.wait)
        return await really(*arguments, **named)

    monkeypatch.setattr(converting, "put_marker", put_marker)
    yield
    barrier.abort()


@pytest.mark.usefixtures("together")
def test_two_at_once(folder: Path) -> None:
    """Of two conversions at the same time one announces, and the other says that it did not."""
    ends: list[Announced | Exception] = []

    def work(producer: str) -> None:
        try:
            ends.append(run(lambda: convert(f"{folder}/MD5SUMS", form=SUMS, producer=producer)))
        except CannotDeliver as error:
            ends.append(error)

    threads = [threading.Thread(target=work, args=(producer,)) for producer in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    (won,) = (end for end in ends if isinstance(end, Announced))
    (lost,) = (end for end in ends if isinstance(end, CannotDeliver))
    assert lost.kind == "changed"
    assert read_marker((folder / "_delivery.json").read_bytes()).producer == won.marker.producer
    assert names(folder) == {*FILES, "MD5SUMS", "_delivery.json"}


async def test_progress_ends_with_everything(folder: Path) -> None:
    """The last progress tells all files and all bytes."""
    told: list[Progress] = []
    await convert(f"{folder}/MD5SUMS", form=SUMS, progress=told.append)
    size = sum(map(len, FILES.values()))
    assert told[-1] == Progress(2, 2, size, size)


async def test_a_store_that_cannot_be_written_to() -> None:
    """A web server takes no marker."""
    with pytest.raises(CannotDeliver, match="cannot be written to"):
        await convert("https://host.example/in/MD5SUMS", form=SUMS)
