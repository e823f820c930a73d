"""Archives: what must be refused, in one clear line, with nothing written outside."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import raw_archives as raw
from cudaswitch.archives import unpacking
from cudaswitch.archives.members import Member
from cudaswitch.archives.placing import Placing
from cudaswitch.archives.writing import Writers
from cudaswitch.errors import ArchiveError
from hostile_packages import PACKAGES
from hostile_tars import TARS


class Sandbox:
    """Folders to unpack into, with a canary beside them that must stay untouched."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.tree, self.info = base / "tree", base / "info"
        self.canary = base / "canary"
        self.canary.write_text("alive")
        self.tree.mkdir()
        self.info.mkdir()

    def write(self, data: bytes, name: str = "package") -> Path:
        path = self.base / name
        path.write_bytes(data)
        return path

    def check_unharmed(self) -> None:
        assert self.canary.read_text() == "alive"
        assert {path.name for path in self.base.iterdir()} <= {"tree", "info", "canary", "package"}
        for path in [*self.tree.rglob("*"), *self.info.rglob("*")]:
            assert path.resolve().is_relative_to(self.base)
            mode = path.lstat().st_mode
            assert stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(ArchiveError) as caught:
        call()
    message = caught.value.message
    assert message.isprintable(), "one line that cannot drive a terminal"
    assert not message.endswith(".")
    assert len(message) < 1_000
    return message


@pytest.mark.parametrize(
    ("reason", "data"),
    [
        pytest.param(reason, data, id=case)
        for table in (TARS, PACKAGES)
        for reason, cases in table.items()
        for case, data in cases.items()
    ],
)
def test_refused(sandbox: Sandbox, reason: str, data: Callable[[], bytes]) -> None:
    path = sandbox.write(data())
    message = refusal(lambda: unpacking.unpack(path, sandbox.tree, sandbox.info))
    assert f"`{path}`" in message
    assert reason in message
    sandbox.check_unharmed()
    with suppress(ArchiveError):  # the fault may come after what tells the identity
        unpacking.identify(path)


@pytest.mark.parametrize("form", ["bz2", "gz", "xz", "conda"])
@pytest.mark.parametrize("case", ["../canary", "/canary", "a//b", "a\nb"])
def test_names_are_checked_in_every_format(sandbox: Sandbox, form: str, case: str) -> None:
    bad = raw.member(case, b"x")
    data = {
        "bz2": lambda: raw.tar_bz2(bad),
        "gz": lambda: gzip.compress(raw.cudnn_tar(bad)),
        "xz": lambda: lzma.compress(raw.cudnn_tar(bad)),
        "conda": lambda: raw.conda_zip(raw.member(raw.LIBRARY, b"cudart") + bad),
    }[form]()
    refusal(lambda: unpacking.unpack(sandbox.write(data), sandbox.tree, sandbox.info))
    sandbox.check_unharmed()


@pytest.mark.parametrize("what", ["missing", "folder", "fifo", "device", "socket", "dangling"])
@pytest.mark.parametrize("function", ["identify", "unpack", "sha256_of"])
def test_only_regular_files(sandbox: Sandbox, what: str, function: str) -> None:
    path = sandbox.base / "package"
    if what == "folder":
        path.mkdir()
    elif what == "fifo":
        os.mkfifo(path)
    elif what == "device":
        path = Path("/dev/zero")
    elif what == "socket":
        import socket

        with socket.socket(socket.AF_UNIX) as listener:
            # Relative, because the path of a socket has to be short.
            listener.bind(os.path.relpath(path))
    elif what == "dangling":
        path.symlink_to("nowhere")
    arguments = (sandbox.tree, sandbox.info) if function == "unpack" else ()
    message = refusal(lambda: getattr(unpacking, function)(path, *arguments))
    assert ("does not exist" in message) == (what in ("missing", "dangling"))


def test_the_folder_must_be_empty(sandbox: Sandbox) -> None:
    path = sandbox.write(raw.tar_bz2())
    (sandbox.tree / "mine").write_text("mine")
    assert "not empty" in refusal(lambda: unpacking.unpack(path, sandbox.tree, sandbox.info))
    assert (sandbox.tree / "mine").read_text() == "mine"


def test_a_folder_swapped_for_a_link(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that another process swaps for a link while we unpack leads nothing outside."""
    folders = [raw.folder(f"d{number}") for number in range(100)]
    data = raw.member("lib/first", b"x") + b"".join(folders) + raw.member("lib/second", b"x")
    path = sandbox.write(bz2.compress(data + raw.conda_tar()))
    lib = sandbox.tree / "lib"
    swapped = []

    put = Placing.put

    def swap(placing: Placing, member: Member, executable: bool) -> None:
        if lib.is_dir() and not swapped:
            lib.rename(sandbox.tree / "moved")
            lib.symlink_to(sandbox.base)
            swapped.append(True)
        put(placing, member, executable)

    monkeypatch.setattr(Placing, "put", swap)
    refusal(lambda: unpacking.unpack(path, sandbox.tree, sandbox.info))
    assert swapped
    sandbox.check_unharmed()


def test_bytes_are_limited_before_they_are_written(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sandbox.write(raw.tar_bz2(raw.member("big", bytes(1 << 20))))
    monkeypatch.setenv("CUDASWITCH_MAX_UNPACK_BYTES", "100000")
    assert "limit" in refusal(lambda: unpacking.unpack(path, sandbox.tree, sandbox.info))
    assert not (sandbox.tree / "big").exists()
    monkeypatch.setenv("CUDASWITCH_MAX_UNPACK_BYTES", str(2 << 20))
    unpacking.unpack(path, *_fresh(sandbox))


def test_a_file_list_behind_the_files_is_read_before_them(sandbox: Sandbox) -> None:
    small = raw.paths_member(raw.record(raw.LIBRARY, b"cudart"))
    path = sandbox.write(raw.conda_zip(raw.member(raw.LIBRARY, bytes(1 << 20)), small))
    assert "size" in refusal(lambda: unpacking.unpack(path, sandbox.tree, sandbox.info))
    assert not list(sandbox.tree.iterdir())


def test_the_limit_holds_for_a_glance(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    big = raw.member("a", bytes(1 << 20))
    path = sandbox.write(bz2.compress(big + raw.conda_tar()))
    monkeypatch.setenv("CUDASWITCH_MAX_UNPACK_BYTES", "100000")
    assert "limit" in refusal(lambda: unpacking.identify(path))


def test_no_variable_raises_the_limit(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sandbox.write(raw.tar_bz2(raw.header("a", b"\x80" + bytes(5) + b"\1" * 6)))
    monkeypatch.setenv("CUDASWITCH_MAX_UNPACK_BYTES", "9" * 30)
    assert "limit" in refusal(
        lambda: unpacking.identify(path) and unpacking.unpack(path, sandbox.tree, sandbox.info)
    )


def test_members_are_limited(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sandbox.write(raw.tar_bz2(*[raw.folder(f"d{i}") for i in range(20)]))
    monkeypatch.setenv("CUDASWITCH_MAX_MEMBERS", "10")
    assert "members" in refusal(lambda: unpacking.unpack(path, sandbox.tree, sandbox.info))
    extended = sandbox.write(raw.tar_bz2(*[raw.pax({"comment": "x"}, b"g")] * 20))
    assert "members" in refusal(lambda: unpacking.unpack(extended, *_fresh(sandbox)))


@pytest.mark.parametrize("variable", ["CUDASWITCH_MAX_MEMBERS", "CUDASWITCH_MAX_UNPACK_BYTES"])
def test_a_limit_that_is_no_number(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "lots")
    path = sandbox.write(raw.tar_bz2())
    assert variable in refusal(lambda: unpacking.unpack(path, sandbox.tree, sandbox.info))


def test_a_full_disk_is_one_line(sandbox: Sandbox) -> None:
    """RLIMIT_FSIZE stands in for a full disk: the write itself fails."""
    import resource
    import signal

    path = sandbox.write(raw.tar_bz2(raw.member("big", bytes(1 << 20))))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        message = refusal(lambda: unpacking.unpack(path, sandbox.tree, sandbox.info))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    assert "File too large" in message


def test_a_file_that_cannot_be_closed(tmp_path: Path) -> None:
    """An error that shows only at the end of a file, as a quota's on a file server, is raised."""
    descriptor = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    told: list[int | None] = []

    def ask() -> None:
        try:
            file.sha256()
        except OSError as error:
            told.append(error.errno)

    with Writers() as writers:
        file = writers.file(descriptor, 0o644)
        os.close(descriptor)
        file.close()
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(10)
    assert told == [errno.EBADF]


def _fresh(sandbox: Sandbox) -> tuple[Path, Path]:
    tree, info = sandbox.base / "other-tree", sandbox.base / "other-info"
    tree.mkdir()
    info.mkdir()
    return tree, info


_MORE = raw.member("cuda/bin/tool", b"tool" * 50, mode=0o755) + raw.hard(
    "cuda/bin/same", "cuda/bin/tool"
)
_FILES = raw.paths_member(raw.record(raw.LIBRARY, b"cudart"), raw.record("lib/more", b"more" * 50))
_MORE_FILE = raw.member("lib/more", b"more" * 50)
SMALL = {
    "tar.bz2": raw.tar_bz2(_FILES, _MORE_FILE),
    "tgz": gzip.compress(raw.cudnn_tar(_MORE)),
    "tar.xz": lzma.compress(raw.cudnn_tar(_MORE)),
    "conda": raw.conda_zip(raw.member(raw.LIBRARY, b"cudart") + _MORE_FILE, _FILES),
    "whl": raw.wheel_of(),
}


def contents(data: bytes, base: Path) -> object:
    """Unpack and return what is on disk; None if the archive is refused."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(dir=base))
    try:
        (folder / "tree").mkdir()
        (folder / "info").mkdir()
        (folder / "package").write_bytes(data)
        package = unpacking.unpack(folder / "package", folder / "tree", folder / "info")
        # A zip directory has no checksum: a flipped mode bit is the one fault that goes unnoticed.
        return package.id, [
            (entry.path, entry.target or (folder / "tree" / entry.path).read_bytes())
            for entry in package.entries
        ]
    except ArchiveError as error:
        assert error.message.isprintable()
        return None
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("form", SMALL)
def test_small_archives_are_whole(form: str, tmp_path: Path) -> None:
    assert contents(SMALL[form], tmp_path) is not None


@pytest.mark.parametrize("form", SMALL)
def test_every_truncation_is_refused(form: str, tmp_path: Path) -> None:
    data = SMALL[form]
    lengths = {*range(0, len(data), 11), *range(len(data) - 40, len(data))}
    assert [length for length in sorted(lengths) if contents(data[:length], tmp_path)] == []


@pytest.mark.parametrize("form", SMALL)
@settings(
    max_examples=120,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(draw=st.data())
def test_no_damage_goes_unseen(form: str, tmp_path: Path, draw: st.DataObject) -> None:
    data = bytearray(SMALL[form])
    for _ in range(draw.draw(st.integers(1, 3))):
        at = draw.draw(st.integers(0, len(data) - 1))
        data[at] ^= draw.draw(st.integers(1, 255))
    assert contents(bytes(data), tmp_path) in (None, contents(SMALL[form], tmp_path))
