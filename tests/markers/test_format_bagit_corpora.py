"""Bags of other projects, each with its verdict."""

from __future__ import annotations

from pathlib import Path

import bagit
import pytest

from airflow_landmark.markers import (
    UnreadableMarker,
)
from foreign import CORPORA, hold, read_folder

LOC = CORPORA / "bagit" / "loc-conformance"
OTHERS = CORPORA / "bagit"
KIND = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
OLD = b"BagIt-Version: 0.97\nTag-File-Character-Encoding: UTF-8\n"

OF_ANOTHER_SYSTEM = {
    "v0.97/warning/duplicate-file-with-different-case": (
        "repeated path",
        "lists hello.txt and HELLO.txt, which only a file system that folds case takes for one",
    ),
    "v0.97/warning/same-filename-listed-twice-with-different-normalization": (
        "repeated path",
        "lists a name in NFC and in NFD, which only a file system that normalises takes for one",
    ),
    "v0.97/warning/special-system-files": (
        "missing data/.DS_Store",
        "lists a file that only macOS makes, and that its publisher does not store either",
    ),
}
"""Bags of the verdict "warning" that cannot hold here: what is found, and why."""

INVALID = {
    "v0.97/invalid/baginfo-missing-encoding": "syntax",
    "v0.97/invalid/corrupt-data-file": "wrong totals",
    "v0.97/invalid/corrupt-tag-file": "corrupt",
    "v0.97/invalid/invalid-version-number": "syntax",
    "v0.97/invalid/missing-baginfo": "missing bag-info.txt",
    "v0.97/invalid/missing-bagit.txt": "missing",
    "v0.97/invalid/out-of-scope-file-paths-using-dot-notation": "invalid path",
    "v0.97/invalid/same-filename-listed-twice-with-different-hashes": "contradiction",
    "v0.97/linux-only/out-of-scope-file-paths-using-absolute-path-for-fetch": "invalid path",
    "v0.97/linux-only/out-of-scope-file-paths-using-shortcut": "invalid path",
    "v0.97/linux-only/out-of-scope-file-paths-using-shortcut-for-fetch": "invalid path",
    "v0.97/linux-only/out-of-scope-file-paths-using-shortcut-username": "invalid path",
    "v0.97/windows-only/out-of-scope-file-paths-using-absolute-path": "invalid path",
    "v0.97/windows-only/out-of-scope-file-paths-using-absolute-path-for-fetch": "invalid path",
    "v0.97/windows-only/out-of-scope-file-paths-using-shortcut": "invalid path",
    "v0.97/windows-only/out-of-scope-file-paths-using-shortcut-for-fetch": "invalid path",
    "v0.97/windows-only/out-of-scope-file-paths-using-unc-for-fetch": "invalid path",
    "v1.0/invalid/bagit-with-invalid-whitespace": "syntax",
    "v1.0/invalid/same-filename-listed-twice-with-different-hashes": "syntax",
    "v1.0/invalid/same-filename-listed-twice-with-the-same-hash": "repeated path",
}
"""Bags that must fail, on whatever system, and the first thing that is wrong with each."""

OTHER_BAGS = {
    "bagit-java/badPayloadOxumByteSize/bag": "corrupt",
    "bagit-java/corruptTagFile": "corrupt",
    "bagit-java/dotKeepExampleBag": "invalid path",
    "bagit-java/filesInManifestDontExist": "unexpected",
    "bagit-java/filesInPayloadDirAreNotInManifest": "unexpected",
    "bagit-java/linterTestBag": "syntax",
    "bagit-java/payloadManifestsDiffer": "missing data/bar.txt",
    "bagit-java/sha3Bag": "invalid digest",
    "bagittools/TestBadFilePathsBag": "invalid path",
    "go-bagit/malformed-checksum": "corrupt",
    "go-bagit/valid-with-multi-manifests": None,
}
"""Bags of other projects, and the first thing that is wrong with each."""

WRONG_ELSEWHERE = {
    "v0.97/windows-only/out-of-scope-file-paths-using-absolute-path-for-fetch",
    "v0.97/windows-only/out-of-scope-file-paths-using-shortcut-for-fetch",
    "v0.97/windows-only/out-of-scope-file-paths-using-unc-for-fetch",
    "v1.0/invalid/bagit-with-invalid-whitespace",
}
"""Bags that the PyPI package bagit takes, against RFC 8493: what is fetched has to be listed in a
manifest (2.2.3), which these three paths are not, and bagit.txt has no blank before a colon (2.1.1)."""


def verdict(folder: Path) -> list[str]:
    """What is wrong with a bag: problems of its documents, or else of its files."""
    try:
        marker = read_folder("bagit", folder / "bagit.txt")
    except UnreadableMarker as error:
        return [problem.kind for problem in error.problems]
    return hold(folder, marker)


def conformance() -> list[str]:
    """All bags of the conformance suite."""
    return sorted(folder.relative_to(LOC).as_posix() for folder in LOC.glob("*/*/*"))


def test_every_conformance_bag_is_covered() -> None:
    """The tables below and the folder names tell a verdict for each bag."""
    named = {*OF_ANOTHER_SYSTEM, *INVALID}
    good = {name for name in conformance() if "/valid/" in name or "/warning/" in name}
    assert named <= set(conformance())
    assert set(conformance()) == good | INVALID.keys()
    assert len(conformance()) == 45


@pytest.mark.parametrize("bag", conformance())
def test_conformance_bags(bag: str) -> None:
    """Each bag of the conformance suite has its published verdict, but for three that need another system."""
    found = verdict(LOC / bag)
    if bag in OF_ANOTHER_SYSTEM:
        assert found == [OF_ANOTHER_SYSTEM[bag][0]], OF_ANOTHER_SYSTEM[bag][1]
    elif bag in INVALID:
        assert found[0] == INVALID[bag]
    else:
        assert found == []


@pytest.mark.parametrize("bag", OTHER_BAGS)
def test_bags_of_other_projects(bag: str) -> None:
    """Each bag of other projects has the verdict of RFC 8493, with the reason."""
    assert [*verdict(OTHERS / bag), None][0] == OTHER_BAGS[bag]


@pytest.mark.parametrize("bag", conformance())
def test_a_second_opinion(bag: str) -> None:
    """The PyPI package bagit agrees on every bag of the suite but those where RFC 8493 decides."""
    try:
        second = bagit.Bag(str(LOC / bag)).is_valid()
    except bagit.BagError:
        second = False
    assert second == (verdict(LOC / bag) == [] or bag in WRONG_ELSEWHERE)
