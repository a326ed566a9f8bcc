"""Lists of sums."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_landmark.markers import (
    MAX_FILES,
    FileEntry,
    InvalidDeclaration,
    format_of,
    identity_of_document,
    identity_of_documents,
)
from foreign import ABOUT, CORPORA, hold, problems_of, read, read_folder

WHOLE = {**ABOUT, "complete": "rename"}
SHA256 = {**WHOLE, "algorithm": "sha256"}
SIDECAR = {**ABOUT, "algorithm": "sha256", "complete": "sidecar", "sidecar": "{name}.sha256"}
URI = "/in/SUMS"
A, B = "ab" * 32, "cd" * 32


def entries(text: str | bytes, declared: dict[str, str] = SHA256) -> list[FileEntry]:
    """The files of a list."""
    data = text.encode() if isinstance(text, str) else text
    return list(read("sums", {"SUMS": data}, uri=URI, declared=declared).manifest.files)


def problems(text: str | bytes, declared: dict[str, str] = SHA256) -> list[tuple[str, str]]:
    """What is wrong with a list."""
    data = text.encode() if isinstance(text, str) else text
    return problems_of("sums", {"SUMS": data}, uri=URI, declared=declared)


@pytest.mark.parametrize(
    ("file", "algorithm", "files", "why"),
    [
        ("bsd-tag-md5-dotslash.MD5SUMS", None, 41, "tags name the algorithm, ./ goes"),
        ("debian-10.6.0-armel.SHA256SUMS", "sha256", 14, "plain GNU lines"),
        ("gnu-sha256-with-comment.SHASUMS256.txt", "sha256", 276, "a line with ### is left out"),
        ("gnu-sha512.sha512sums", "sha512", 16, "the name stands before the hex"),
        ("freebsd-jq.distinfo", None, 1, "SIZE and TIMESTAMP lines"),
        ("openbsd-jq.distinfo", None, 1, "base64"),
    ],
)
def test_published_lists(file: str, algorithm: str | None, files: int, why: str) -> None:
    """Each published list is read whole."""
    declared = {**WHOLE, **({"algorithm": algorithm} if algorithm else {})}
    marker = read_folder("sums", CORPORA / "sums" / file, declared=declared)
    assert len(marker.manifest.files) == files, why
    assert marker.identity == identity_of_document((CORPORA / "sums" / file).read_bytes())


@pytest.mark.parametrize("file", ["debian-10.6.0-armel.SHA256SUMS", "gnu-sha512.sha512sums"])
def test_lists_that_do_not_name_their_algorithm(file: str) -> None:
    """No algorithm is guessed from the length of a digest, nor from the name of the list."""
    documents = {file: (CORPORA / "sums" / file).read_bytes()}
    found = problems_of("sums", documents, uri=f"/in/{file}", declared=WHOLE)
    assert {kind for kind, _ in found} == {"undeclared"}


def test_distinfo_tells_sizes_and_base64() -> None:
    """FreeBSD's hex and OpenBSD's base64 with its capitals become the same kind of entry."""
    folder = CORPORA / "sums"
    (free,) = read_folder("sums", folder / "freebsd-jq.distinfo", declared=WHOLE).manifest.files
    (opened,) = read_folder("sums", folder / "openbsd-jq.distinfo", declared=WHOLE).manifest.files
    assert (free.path, free.size) == ("stedolan-jq-jq-1.7_GH0.tar.gz", 1267139)
    raw = base64.b64decode("kYEVd/kdmmGV/1DCv/7JtyyEKdwF7D6gIv2VwG0rMZw=")
    assert opened == FileEntry("jq-1.8.0.tar.gz", size=1908285, digests={"sha256": raw.hex()})


def test_a_list_that_lists_itself() -> None:
    """A list cannot tell its own digest: refused, or left out where that is declared."""
    data = (CORPORA / "sums" / "bsd-tag-md5-dotslash.MD5SUMS").read_bytes()
    found = problems_of("sums", {"MD5SUMS": data}, uri="s3://b/in/MD5SUMS", declared=WHOLE)
    assert [kind for kind, _ in found] == ["invalid path"]
    declared = {**WHOLE, "itself": "ignore"}
    assert len(read("sums", {"MD5SUMS": data}, uri="s3://b/MD5SUMS", declared=declared).manifest.files) == 40


TOOLS: dict[str, tuple[list[str], dict[str, str]]] = {
    "sha256sum": (["sha256sum"], SHA256),
    "sha256sum --tag": (["sha256sum", "--tag"], WHOLE),
    "sha256sum -b": (["sha256sum", "-b"], SHA256),
    "md5sum --tag": (["md5sum", "--tag"], WHOLE),
    "b2sum --tag": (["b2sum", "--tag"], WHOLE),
    "openssl sha256": (["openssl", "dgst", "-sha256"], WHOLE),
    "openssl sha512": (["openssl", "dgst", "-sha512"], WHOLE),
    "openssl blake2b512": (["openssl", "dgst", "-blake2b512"], WHOLE),
    "openssl sha1 -r": (["openssl", "dgst", "-sha1", "-r"], {**WHOLE, "algorithm": "sha1"}),
    "shasum": (["shasum", "-a", "384"], {**WHOLE, "algorithm": "sha384"}),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_what_the_tools_write(tool: str, tmp_path: Path) -> None:
    """What the tools of this machine write is read, and holds for the files."""
    command, declared = TOOLS[tool]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    names = ["a.csv", "two words.csv", "part=1/äöü +%25.csv", ") = (.csv", "*.csv", "SHA256 (x) = y"]
    (tmp_path / "part=1").mkdir()
    for name in names:
        (tmp_path / name).write_text(name)
    done = subprocess.run([*command, *names], cwd=tmp_path, capture_output=True, check=True)
    (tmp_path / "SUMS").write_bytes(done.stdout)
    marker = read_folder("sums", tmp_path / "SUMS", declared=declared)
    assert [entry.path for entry in marker.manifest.files] == names
    assert all(entry.digests for entry in marker.manifest.files)
    assert hold(tmp_path, marker) == []


@pytest.mark.parametrize("tag", [[], ["--tag"]])
def test_escaped_names_are_unescaped_then_refused(tag: list[str], tmp_path: Path) -> None:
    """GNU escapes names with line breaks and backslashes; no such name is taken, and the rule is named."""
    if shutil.which("sha256sum") is None:
        pytest.skip("sha256sum is not installed")
    for name in ("back\\slash", "line\nbreak"):
        (tmp_path / name).write_text("x")
    command = ["sha256sum", *tag, "back\\slash", "line\nbreak"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    found = problems(done.stdout)
    assert found == [("invalid path", "line 1"), ("invalid path", "line 2")]


@pytest.mark.parametrize(
    ("line", "path", "algorithm"),
    [
        (f"{A}  x.csv", "x.csv", "sha256"),
        (f"{A} *x.csv", "x.csv", "sha256"),
        (f"{A} x.csv", "x.csv", "sha256"),
        (f"{A}  ./d/x.csv", "d/x.csv", "sha256"),
        (f"{A}  x.csv ", "x.csv ", "sha256"),
        (f"{A.upper()}  x.csv", "x.csv", "sha256"),
        (f"\\{A}  x.csv", "x.csv", "sha256"),
        (f"x y.csv  {A}", "x y.csv", "sha256"),
        (f"SHA256 (x.csv) = {A}", "x.csv", "sha256"),
        (f"SHA256 (x.csv) = {A.upper()} ", "x.csv", "sha256"),
        (f"SHA256(x.csv)= {A}", "x.csv", "sha256"),
        (f"SHA2-256(x.csv)= {A}", "x.csv", "sha256"),
        (f"sha256 (a (b) = c.csv) = {A}", "a (b) = c.csv", "sha256"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_forms_of_a_line(line: str, path: str, algorithm: str, end: str) -> None:
    """Every form gives the same entry, whatever the line's end; hex is folded."""
    assert entries(f"\ufeff# made by hand{end or chr(10)}{line}{end}") == [
        FileEntry(path, digests={algorithm: A})
    ]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("hello", "syntax"),
        (A, "syntax"),
        (f"{A}\tx.csv", "syntax"),
        (f"{A[:-1]}  x.csv", "invalid digest"),
        (f"{A}0  x.csv", "invalid digest"),
        (f"x.csv  {A}0", "invalid digest"),
        (f"SHA256 (x.csv) = {A[:-1]}g", "invalid digest"),
        (f"SHA256 (x.csv) = sha256:{A}", "invalid digest"),
        (f"SHA224 (x.csv) = {'ab' * 28}", "invalid digest"),
        ("SHA256 (x.csv) = kYEVd/kdmmGV/1DCv/7JtyyEKdwF7D6gIv2VwG0rMZw", "invalid digest"),
        ("SHA256 (x.csv) = kYEVd/kdmmGV/1DCv/7JtyyEKdwF7D6gIv2VwG0rMZx=", "invalid digest"),
        ("SIZE (x.csv) = 12x", "out of range"),
        ("SIZE (x.csv) = 9999999999999999", "out of range"),
        (f"{A}  ../x.csv", "invalid path"),
        (f"{A}  /etc/x", "invalid path"),
        (f"{A}  a/../../x", "invalid path"),
        (f"{A}  C:x", "invalid path"),
        (f"{A}  \\\\h\\s", "invalid path"),
        (f"{A}  x\0y", "invalid path"),
        (f"{A}  x\ry", "invalid path"),
        (f"{A}  SUMS", "invalid path"),
        (f"{A}  ././x", "invalid path"),
        (f"{A}  d/", "invalid path"),
        (f"{A}  {'x' * 5000}", "too large"),
    ],
)
def test_lines_that_are_refused(line: str, kind: str) -> None:
    """A wrong line is named by its number; the others are read on."""
    found = problems(f"{B}  good.csv\n\n{line}\n{A[:5]}  late.csv\n")
    assert found == [(kind, "line 3"), ("invalid digest", "line 4")]


def test_several_algorithms_merge() -> None:
    """One file with two algorithms and a size is one entry; the very same line twice says nothing new."""
    md5 = "12" * 16
    text = f"SHA256 (x) = {A}\nMD5 (x) = {md5}\nSIZE (x) = 7\nSHA256 (x) = {A.upper()}\nSIZE (x) = 7\n"
    assert entries(text) == [FileEntry("x", size=7, digests={"sha256": A, "md5": md5})]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{A}  x\n{B}  x\n", [("contradiction", "line 2")]),
        (f"{A}  x\nSIZE (x) = 1\nSIZE (x) = 2\n", [("contradiction", "line 3")]),
        (f"{A}  x\n{A}  X\n", [("repeated path", "line 2")]),
        (f"{A}  \u00e9\n{A}  e\u0301\n", [("repeated path", "line 2")]),
        (f"{A}  x\n{A}  x/y\n", [("repeated path", "line 2")]),
        ("SIZE (x) = 7\n", [("missing digest", "line 1")]),
        (f"MD5 (x) = {'12' * 16}\n", [("missing digest", "line 1")]),
    ],
)
def test_what_contradicts_itself(text: str, found: list[tuple[str, str]]) -> None:
    """Other digests or sizes of a file, two names for one file, and files without the declared algorithm."""
    assert problems(text) == found


@pytest.mark.parametrize("text", ["", "\n \r\n", "# nothing today\n"])
def test_an_empty_list_is_meant_or_refused(text: str) -> None:
    """A list of no files is refused unless it is declared to be a delivery."""
    assert problems(text) == [("empty", "document")]
    assert entries(text, {**SHA256, "allow_empty": "true"}) == []


@pytest.mark.parametrize("data", ["x".encode("utf-16"), b"\xff\xfe\x00", f"{A}  \xe9".encode("latin-1")])
def test_other_encodings_are_refused(data: bytes) -> None:
    """Names are UTF-8: a list in UTF-16, as some shells write it, or Latin-1 is refused."""
    assert [kind for kind, _ in problems(data)] == ["encoding"]


def sidecar_of(data: bytes, write: Callable[[str], str]) -> dict[str, bytes]:
    """A list with its sidecar."""
    return {"SUMS": data, "SUMS.sha256": write(hashlib.sha256(data).hexdigest()).encode()}


@pytest.mark.parametrize(
    "write",
    [
        lambda h: h,
        lambda h: f"{h.upper()}\n",
        lambda h: f"{h}  SUMS\r\n",
        lambda h: f"{h} *./SUMS\n",
        lambda h: f"# signed off\n{h}  /srv/out/SUMS\n",
        lambda h: f"SHA256 (SUMS) = {h}\n",
    ],
)
def test_a_sidecar_covers_the_list(write: Callable[[str], str]) -> None:
    """Bare hex or a line of sums: the list counts, and the identity is that of both documents."""
    assert format_of("sums").documents(URI, (), SIDECAR) == ("SUMS", "SUMS.sha256")
    documents = sidecar_of(f"{A}  x\n".encode(), write)
    marker = read("sums", documents, uri=URI, declared=SIDECAR)
    assert marker.identity == identity_of_documents(documents)
    assert [entry.path for entry in marker.manifest.files] == ["x"]


@pytest.mark.parametrize(
    ("sidecar", "kind"),
    [
        (None, "incomplete"),
        (b"00" * 32, "incomplete"),
        (b"", "syntax"),
        (b"\xff", "encoding"),
        (b"00\n00\n", "syntax"),
        (b"00" * 31, "invalid digest"),
        (hashlib.sha256(f"{A}  x\n".encode()).hexdigest().encode() + b"  OTHER", "syntax"),
    ],
)
def test_a_sidecar_that_does_not_cover_the_list(sidecar: bytes | None, kind: str) -> None:
    """Absent, of other bytes, or unreadable: the list does not count, and the sidecar is named."""
    documents = {"SUMS": f"{A}  x\n".encode()}
    if sidecar is not None:
        documents["SUMS.sha256"] = sidecar
    found = problems_of("sums", documents, uri=URI, declared=SIDECAR)
    assert found[0][0] == kind
    assert found[0][1].startswith("SUMS.sha256")


def test_the_sidecar_has_an_algorithm_of_its_own() -> None:
    """The lines name theirs, the sidecar's bare hex has the one that is declared for it."""
    declared = {**ABOUT, "complete": "sidecar", "sidecar": "ok/{name}.md5", "sidecar_algorithm": "md5"}
    data = f"SHA256 (x) = {A}\n".encode()
    digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
    documents = {"SUMS": data, "ok/SUMS.md5": digest.encode()}
    assert len(read("sums", documents, uri=URI, declared=declared).manifest.files) == 1
    listed = {"SUMS": data + f"SHA256 (ok/SUMS.md5) = {A}\n".encode(), "ok/SUMS.md5": digest.encode()}
    found = problems_of("sums", listed, uri=URI, declared=declared)
    assert found == [("invalid path", "line 2"), ("incomplete", "ok/SUMS.md5")]


def test_names_are_those_of_the_folder() -> None:
    """In a URL of an HTTP origin the name is percent-encoded, in a key of S3 it is not."""
    documents = format_of("sums").documents
    assert documents("https://h/in/my%20list", (), SHA256) == ("my list",)
    assert documents("s3://b/in/my%20list", (), SHA256) == ("my%20list",)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"complete": ""}, "complete must be text"),
        ({"complete": "later"}, "one of rename, sidecar"),
        ({"algorithm": "sha224"}, "algorithm must be one of sha256"),
        ({"complete": "sidecar"}, "go together"),
        ({"sidecar": "{name}.ok"}, "go together"),
        ({"complete": "sidecar", "sidecar": "../x"}, "a part that is"),
        ({"complete": "sidecar", "sidecar": "{name}"}, "another file than the list"),
        ({"complete": "sidecar", "sidecar": "{day}.ok"}, "another file than the list"),
        ({"complete": "sidecar", "sidecar": "x", "sidecar_algorithm": "crc32c"}, "one of sha256"),
        ({"allow_empty": "yes"}, "one of true, false"),
        ({"itself": "true"}, "one of refuse, ignore"),
        ({"sum": "x"}, "'sum' is not known"),
    ],
)
def test_declarations_that_are_refused(changes: dict[str, str], text: str) -> None:
    """What could never be read is refused when the Dag is parsed."""
    with pytest.raises(InvalidDeclaration, match=text):
        format_of("sums").check({**SHA256, **changes})


def test_what_is_missing_is_shown_with_an_example() -> None:
    """Completeness is not guessed: without it the error shows a right declaration, which is one."""
    form = format_of("sums")
    with pytest.raises(InvalidDeclaration, match="complete too: nothing is guessed; such as") as caught:
        form.check(ABOUT)
    example = str(caught.value).partition("such as ")[2]
    form.check(eval(example, {"__builtins__": {}}))  # noqa: S307 - the text is our own
    form.check({**SIDECAR, "sidecar": "{{ ds }}.sha256"})


def test_too_many_files() -> None:
    """More than 100,000 files are one problem."""
    text = "".join(f"{A} {n}\n" for n in range(MAX_FILES + 3))
    assert problems(text) == [("too large", f"line {MAX_FILES + 1}")]


def test_the_line_pattern_reads_a_comment() -> None:
    """Interval and version may stand in a comment of the list."""
    declared = {
        **SHA256,
        "line": r"^# day (?P<day>\S+) version (?P<v>\d+)",
        "interval": "{day}",
        "version": "{v}",
    }
    text = f"# shop\n# day 2024-10-02 version 7\n{A}  x\n"
    marker = read("sums", {"SUMS": text.encode()}, uri=URI, declared=declared)
    assert (str(marker.interval), marker.version) == ("2024-10-02T00:00:00Z/2024-10-03T00:00:00Z", 7)
