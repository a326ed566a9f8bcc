"""The files of other projects are those that were published."""

from __future__ import annotations

import csv
import hashlib

from foreign import CORPORA

OWN = {".gitattributes", "README.md", "PROVENANCE.tsv"}


def test_every_file_is_as_published() -> None:
    """Each file has a named source and licence, and the bytes that were taken from there."""
    with (CORPORA / "PROVENANCE.tsv").open(encoding="utf-8", newline="") as lines:
        rows = {row["file"]: row for row in csv.DictReader(lines, delimiter="\t")}
    names = {path.relative_to(CORPORA).as_posix() for path in CORPORA.rglob("*") if path.is_file()} - OWN
    assert len(names) >= 434
    assert names <= rows.keys()
    for name in names:
        row = rows[name]
        assert row["source_repository"]
        assert row["licence"]
        assert hashlib.sha256((CORPORA / name).read_bytes()).hexdigest() == row["sha256"], name
