"""Which mount point a path lies on, told without touching the path."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_landmark.stores import LocalStore, parse_uri
from airflow_landmark.stores import _mounts as mounts
from airflow_landmark.stores._mounts import MountTable


def test_the_longest_mount_point_counts() -> None:
    """A path belongs to the longest mount point at or above it, by whole names."""
    table = MountTable(["/mnt", "/mnt/nfs", "/mnt/nfs/deep/er"])
    assert table.mount_of("/mnt/nfs/in/x") == "/mnt/nfs"
    assert table.mount_of("/mnt/nfs") == "/mnt/nfs"
    assert table.mount_of("/mnt/nfs2/x") == "/mnt"
    assert table.mount_of("/mnt/nfs/deep/er/x") == "/mnt/nfs/deep/er"
    assert table.mount_of("/home") == "/"
    assert table.mount_of("/") == "/"


def test_the_kernels_table_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Mount points are unescaped, and lines that make no sense are passed over."""
    table = tmp_path / "mountinfo"
    table.write_text(
        "36 35 98:0 / / rw - ext4 /dev/root rw\n"
        "37 36 0:1 / /mnt/a\\040b rw - nfs h:/x rw\n"
        "38 36 0:2 / /mnt/c\\134d\\011e rw - nfs h:/y rw\n"
        "no mount\n\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(mounts, "_TABLE", table)
    read = MountTable.read()
    assert read.mount_of("/mnt/a b/in") == "/mnt/a b"
    assert read.mount_of("/mnt/c\\d\te/in") == "/mnt/c\\d\te"
    assert read.mount_of("/mnt/other") == "/"


def test_a_backslash_before_digits_is_not_unescaped_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    r"""A folder named ``a\040`` is escaped as ``a\134040`` and read back as itself."""
    table = tmp_path / "mountinfo"
    table.write_text("37 36 0:1 / /mnt/a\\134040 rw - nfs h:/x rw\n", encoding="utf-8")
    monkeypatch.setattr(mounts, "_TABLE", table)
    assert MountTable.read().mount_of("/mnt/a\\040/in") == "/mnt/a\\040"


def test_without_a_table_the_root_is_the_only_mount(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Systems without the kernel's table have one mount."""
    monkeypatch.setattr(mounts, "_TABLE", tmp_path / "none")
    assert MountTable.read().mount_of("/a/b") == "/"


async def test_addresses_of_one_mount_share_a_fate(store: LocalStore, tmp_path: Path) -> None:
    """The group of an address is its mount point."""
    assert store.group(parse_uri("/proc/x/m.json")) == "/proc"
    assert store.group(parse_uri(f"{tmp_path}/a")) == store.group(parse_uri(f"{tmp_path}/b/c"))
