"""Bags, packages and lists on disk, checked as the commands and tasks do: documents, files, digests."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from airflow_landmark.deliveries import Form, check
from foreign import ABOUT, CORPORA

BAGS = CORPORA / "bagit" / "loc-conformance"
OF_ANOTHER_SYSTEM = {
    "duplicate-file-with-different-case": "unreadable",
    "same-filename-listed-twice-with-different-normalization": "unreadable",
    "special-system-files": "does not hold",
}
"""Bags that cannot hold on a file system that tells case and normal forms apart, or without macOS's files."""

MISSING = {"missing-baginfo"}
BAG = Form.of("bagit", ABOUT)
WACZ = Form.of("datapackage", {**ABOUT, "complete": "digest"})
LIST = Form.of("sums", {**ABOUT, "algorithm": "sha256", "complete": "sidecar", "sidecar": "{name}.ok"})
MD5 = Form.of("sums", {**ABOUT, "algorithm": "md5", "complete": "rename"})


def expected_of(folder: Path) -> str:
    """The verdict of a bag of the conformance suite."""
    if folder.name in OF_ANOTHER_SYSTEM:
        return OF_ANOTHER_SYSTEM[folder.name]
    if folder.parent.name in ("valid", "warning"):
        return "holds"
    if folder.name == "missing-bagit.txt":
        return "absent"
    return "does not hold" if folder.name in MISSING else "unreadable"


@pytest.mark.parametrize("bag", sorted(path.relative_to(BAGS).as_posix() for path in BAGS.glob("*/*/*")))
async def test_conformance_bags(bag: str) -> None:
    """A bag's folder with its slash names its marker; each bag has its verdict, unlisted files included."""
    folder = BAGS / bag
    found = await check(f"{folder}/", form=BAG)
    assert found.verdict == expected_of(folder), found.text


@pytest.mark.parametrize("verdict", ["holds", "does not hold"])
async def test_a_bag_that_loses_a_file(tmp_path: Path, verdict: str) -> None:
    """A file of the payload that is absent is missing, as one that has yet to be fetched is."""
    bag = shutil.copytree(BAGS / "v0.97/valid/holey-bag", tmp_path / "bag")
    if verdict == "does not hold":
        (bag / "data" / "test 1.txt").unlink()
    found = await check(f"{bag}/", form=BAG)
    assert found.verdict == verdict
    kinds = [(problem.kind, problem.place) for problem in found.problems]
    assert kinds == ([("missing", "data/test 1.txt")] if verdict != "holds" else [])


@pytest.mark.parametrize("package", ["wacz-valid_example_2", "wacz-valid_signed_example_1"])
async def test_packages(package: str) -> None:
    """A published package holds, with its digest document as the sign that it is whole."""
    found = await check(f"{CORPORA / 'datapackage' / package}/", form=WACZ, on_unexpected="fail")
    assert found.verdict == "holds", found.problems


async def test_a_list_and_its_sidecar(tmp_path: Path) -> None:
    """A list holds once its sidecar covers it; another byte in a file is told by its name."""
    (tmp_path / "a b.csv").write_text("a")
    data = f"{hashlib.sha256(b'a').hexdigest()}  a b.csv\n".encode()
    (tmp_path / "SHA256SUMS").write_bytes(data)
    found = await check(f"{tmp_path}/", form=LIST)
    assert (found.verdict, found.problems[0].kind) == ("unreadable", "incomplete")
    (tmp_path / "SHA256SUMS.ok").write_text(hashlib.sha256(data).hexdigest())
    assert (await check(f"{tmp_path}/", form=LIST, on_unexpected="fail")).verdict == "holds"
    (tmp_path / "a b.csv").write_text("b")
    found = await check(f"{tmp_path}/", form=LIST)
    assert [(problem.kind, problem.place) for problem in found.problems] == [("corrupt", "a b.csv")]


async def test_a_damage_check_is_told_as_such(tmp_path: Path) -> None:
    """MD5 alone holds, with a note that it proves no content."""
    (tmp_path / "a.csv").write_text("a")
    (tmp_path / "MD5SUMS").write_text("0cc175b9c0f1b6a831c399e269772661  a.csv\n")
    found = await check(f"{tmp_path}/MD5SUMS", form=MD5)
    assert found.verdict == "holds"
    assert found.report is not None
    assert found.report.notes == ["a.csv: md5 shows damage only, it proves no content"]
