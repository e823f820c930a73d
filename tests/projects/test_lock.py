"""Projects: locked on one machine, made so on others, with and without a network."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import pytest

import builders
from checks import refused, snapshot, succeeded
from cudaswitch.lockfile import read_lock
from folder_server import FolderServer
from homes import Home
from preloaded import preloaded
from projects.stored import KIT, manifests
from stock import component
from tools import console_script


def damaged(file: Path) -> bytes:
    """Return a file's content with another last byte."""
    *content, last = file.read_bytes()
    return bytes([*content, last ^ 1])


def test_lock_downloads_nothing_and_says_it_the_same_again(
    machines: list[Home], project: Path, channel: FolderServer, pair: list[Path]
) -> None:
    before = snapshot(project)
    options = ("lock", "--channel", f"{channel.url}/lab")
    done = machines[0].run(*options, cwd=project)
    assert succeeded(done) == []
    told = f"`{project / 'cuda.lock'}`: CUDA 10.1 with cuDNN 7.6 for linux-64: 2 packages"
    assert f"cudaswitch: {told}\n" in done.stderr
    assert not [path for path, _ in channel.asked if path.endswith(".tar.bz2")]
    [kit] = read_lock(project / "cuda.lock")
    assert [(row.name, row.version) for row in kit.packages] == [
        ("cudatoolkit", "10.1.243"),
        ("cudnn", "7.6.5"),
    ]
    for row, path in zip(kit.packages, pair, strict=True):
        assert row.url == f"{channel.url}/lab/linux-64/{path.name}"
        assert row.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert row.size == path.stat().st_size
    text = (project / "cuda.lock").read_text()
    below = project / "src"
    below.mkdir()
    succeeded(machines[1].run(*options, cwd=below))
    assert (project / "cuda.lock").read_text() == text, "beside .cuda-version, on any machine"
    assert snapshot(project).keys() - before.keys() == {"cuda.lock", "src"}


OFFLINE = {
    "lock": ["lock", "--channel", "URL"],
    "lock of a file": ["lock", "URL/linux-64/FILE"],
    "sync": ["sync", "--lock", "cuda.lock"],
    "download": ["download", "--lock", "cuda.lock"],
    "download of a version": ["download", "10.1", "--channel", "URL"],
    "mirror": ["mirror", "tree", "--lock", "cuda.lock"],
    "verify": ["verify", "--repair"],
}


@pytest.mark.parametrize("how", ["option", "variable"])
@pytest.mark.parametrize("command", OFFLINE)
def test_nothing_is_asked_for_offline(
    machines: list[Home],
    locked: Path,
    channel: FolderServer,
    pair: list[Path],
    command: str,
    how: str,
) -> None:
    home = machines[0]
    if command == "verify":
        succeeded(home.run("sync", cwd=locked.parent))
        [package] = (home.store / "packages").glob("cudnn-*")
        shutil.rmtree(package)
    for cached in home.path.glob("xdg-cache/**/*"):
        if cached.is_file():
            cached.unlink()
    asked = len(channel.asked)
    words = [
        word.replace("URL", f"{channel.url}/lab").replace("FILE", pair[0].name)
        for word in OFFLINE[command]
    ]
    option = ["--offline"] if how == "option" else []
    variables = {} if option else {"CUDASWITCH_OFFLINE": "1"}
    assert home.run(*words, *option, cwd=locked.parent, **variables).returncode == 1
    assert len(channel.asked) == asked
    if command != "verify":
        succeeded(home.run(*words, cwd=locked.parent))
        assert len(channel.asked) > asked


def test_one_package_and_none(home: Home, tmp_path: Path, pair: list[Path]) -> None:
    done = home.run("lock", pair[0], "-o", tmp_path / "cuda.lock")
    assert succeeded(done) == []
    assert done.stderr.rstrip().endswith(": 1 package")
    (tmp_path / "cuda.lock").write_text("version = 1\n")
    refused(home.run("sync", cwd=tmp_path), "lists no toolkits", hint="cudaswitch lock")


def test_what_cannot_be_locked(home: Home, tmp_path: Path, project: Path) -> None:
    refused(home.run("lock", cwd=tmp_path), "create a `.cuda-version`", hint="cudaswitch pin")
    (project / ".cuda-version").write_text("auto\n")
    refused(home.run("lock", cwd=project), "`auto`", hint="name a version")
    assert not (project / "cuda.lock").exists()


def test_sync_is_the_same_on_two_machines(
    machines: list[Home], locked: Path, project: Path, channel: FolderServer
) -> None:
    for home in machines:
        assert succeeded(home.run("sync", cwd=project)) == [KIT]
        succeeded(home.run("verify"))
        assert not list((home.store / "pins").iterdir()), "nothing is pinned"
    first, second = map(manifests, machines)
    assert first.keys() == {"10.1.243", KIT}
    assert first == second
    asked = len(channel.asked)
    before = snapshot(machines[0].store)
    assert succeeded(machines[0].run("sync", cwd=project)) == [KIT]
    assert snapshot(machines[0].store) == before
    assert len(channel.asked) == asked, "what is there is not asked for"


def test_sync_takes_no_other_bytes(
    machines: list[Home], locked: Path, project: Path, channel: FolderServer, pair: list[Path]
) -> None:
    path = f"/lab/linux-64/{pair[1].name}"
    channel.instead[path] = damaged(pair[1])
    done = machines[0].run("sync", cwd=project)
    assert done.returncode == 1
    assert "sha256" in done.stderr
    assert not list((machines[0].store / "toolkits").glob("*"))
    text = locked.read_text().replace("linux-64", "win-64")
    locked.write_text(text)
    refused(machines[0].run("sync", cwd=project), "for win-64", hint="--platform")


def test_sync_makes_exactly_that(
    machines: list[Home], locked: Path, project: Path, tmp_path: Path
) -> None:
    """Another package has the toolkit's name: nothing is mixed, and nothing taken from anybody."""
    tree = {"lib/libcudart.so.10.1": b"another one"}
    other = builders.conda_package(tmp_path, "cudatoolkit", "10.1.243", "h_9", "linux-64", tree)
    home = machines[0]
    succeeded(home.run("install", other))
    before = snapshot(home.store)
    refused(home.run("sync", cwd=project), "10.1.243 is already installed", hint="--force")
    assert snapshot(home.store) == before
    assert succeeded(home.run("sync", "--force", cwd=project)) == [KIT]
    succeeded(machines[1].run("sync", cwd=project))
    assert manifests(home) == manifests(machines[1])
    succeeded(home.run("verify"))


def test_sync_names_what_is_in_the_way(
    machines: list[Home], locked: Path, project: Path, tmp_path: Path, pair: list[Path]
) -> None:
    """Also one with cuDNN, beside one of that version for another platform."""
    home, tree = machines[0], {"lib/libcudart.so.10.1": b"another one"}
    other = builders.conda_package(tmp_path, "cudatoolkit", "10.1.243", "h_9", "linux-64", tree)
    succeeded(home.run("install", other, pair[1]))
    windows = builders.cudatoolkit_10_1(tmp_path, "win-64")
    succeeded(home.run("install", windows, "--platform", "win-64"))
    both = f"cudaswitch remove 10.1.243 {KIT}, or use --force"
    said = f"toolkits 10.1.243, {KIT} are already installed"
    refused(home.run("sync", cwd=project), said, hint=both)
    succeeded(home.run("remove", "10.1.243"))
    rest = f"hint: cudaswitch remove {KIT}, or use --force"
    refused(home.run("sync", cwd=project), f"toolkit {KIT} is already installed", hint=rest)
    succeeded(home.run("remove", KIT))
    assert succeeded(home.run("sync", cwd=project)) == [KIT]


def test_from_a_folder_without_network(
    machines: list[Home], locked: Path, project: Path, channel: FolderServer, tmp_path: Path
) -> None:
    usb = tmp_path / "usb stick"
    online, offline = machines
    lines = succeeded(online.run("download", "-d", usb, cwd=project))
    assert sorted(lines) == sorted(str(path) for path in usb.glob("*.bz2"))
    channel.__exit__()
    locked.unlink()
    refused(offline.run("sync", "--offline", cwd=project), "no cuda.lock")
    sync = ("sync", "--offline", "--from-dir", usb)
    assert succeeded(offline.run(*sync, cwd=project)) == [KIT]
    succeeded(offline.run("verify"))
    shutil.rmtree(offline.store)
    [library] = usb.glob("cudnn*")
    library.write_bytes(damaged(library))
    for said in (
        f"`{library}` is not the file that was locked",
        f"{library.name} is neither in `{usb}` nor in the cache",
    ):
        refused(
            offline.run(*sync, cwd=project),
            said,
            "and nothing is downloaded offline",
            f"(listed in `{usb}/cuda.lock`)",
            hint="download",
        )
        library.unlink(missing_ok=True)
    assert succeeded(online.run("sync", "--offline", "--lock", usb / "cuda.lock")) == [KIT]


def test_a_folder_is_no_lock_file(home: Home, tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    file = f"--lock '{tmp_path}/a b/cuda.lock'"
    for command in (("sync",), ("download",), ("mirror", tmp_path / "www")):
        refused(home.run(*command, "--lock", tmp_path / "a b"), "Is a directory", hint=file)


def test_a_file_has_one_url_however_its_folder_was_named(
    home: Home, tmp_path: Path, pair: list[Path]
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "link").symlink_to(pair[0].parent)
    for spelled in (pair[0], Path("../link", pair[0].name)):
        succeeded(home.run("lock", spelled, cwd=tmp_path / "work"))
        [kit] = read_lock(tmp_path / "work/cuda.lock")
        assert [row.url for row in kit.packages] == [pair[0].resolve().as_uri()]


def test_download_of_a_file_and_a_url(home: Home, tmp_path: Path, pair: list[Path]) -> None:
    with FolderServer(pair[0].parent) as server:
        what = (pair[0], f"{server.url}/{pair[1].name}")
        succeeded(home.run("download", *what, "-d", tmp_path / "d"))
    [kit] = read_lock(tmp_path / "d/cuda.lock")
    assert [row.url for row in kit.packages] == [pair[0].as_uri(), what[1]]
    for path in pair:
        assert (tmp_path / "d" / path.name).read_bytes() == path.read_bytes()
        path.unlink()
    sync = home.run("sync", "--offline", "--from-dir", tmp_path / "d", cwd=tmp_path)
    assert succeeded(sync) == [KIT]


@pytest.mark.parametrize("command", ["lock", "download"])
def test_files_are_looked_at_before_anything_is_written(
    home: Home, tmp_path: Path, pair: list[Path], command: str
) -> None:
    other = tmp_path / "notes.tar.bz2"
    other.write_bytes(b"no package")
    for platform, file, said in (
        ("linux-64", other, "notes.tar.bz2"),
        ("win-64", pair[0], "not for win-64"),
    ):
        refused(home.run(command, "--platform", platform, file, cwd=tmp_path), said)
    assert not (tmp_path / "cuda.lock").exists()


@pytest.mark.parametrize("step", ["rename", "link", "mkdir"])
def test_killed_while_syncing_the_next_run_ends_right(
    machines: list[Home], locked: Path, project: Path, tmp_path: Path, step: str
) -> None:
    succeeded(machines[1].run("sync", cwd=project))
    home, kills = machines[0], 0
    for number in (1, 4):
        kill = preloaded(tmp_path, "kill", step, number)
        kills += home.run("sync", cwd=project, **kill).returncode == -signal.SIGKILL
        assert home.run("list").returncode == 0
        assert succeeded(home.run("sync", cwd=project)) == [KIT]
        succeeded(home.run("verify"))
        assert manifests(home) == manifests(machines[1])
        shutil.rmtree(home.store)
    assert kills, f"no call of {step}"


def test_sync_joins_no_pieces(home: Home, tmp_path: Path) -> None:
    """`install` adds pieces to a toolkit that is there; what is locked is all that there is."""
    pieces = [("cuda_nvcc", "12.4.131"), ("cuda_cudart", "12.4.127"), ("cuda_cccl", "12.4.127")]
    files = [component(tmp_path, *piece) for piece in pieces]
    lock = tmp_path / "cuda.lock"
    succeeded(home.run("lock", *files[:2], "-o", lock))
    [name] = succeeded(home.run("install", *files))
    before = snapshot(home.store)
    refused(home.run("sync", "--lock", lock), f"{name} is already installed", "cuda_cccl")
    assert snapshot(home.store) == before
    succeeded(home.run("remove", name))
    assert succeeded(home.run("sync", "--lock", lock)) == [name]
    assert succeeded(home.run("sync", "--lock", lock)) == [name]


def test_lock_writes_where_a_link_leads(home: Home, tmp_path: Path, pair: list[Path]) -> None:
    """As dotfiles and shared folders have it; the file keeps its mode."""
    shared = tmp_path / "shared/cuda.lock"
    shared.parent.mkdir()
    shared.write_text("version = 1\n")
    shared.chmod(0o640)
    for name, target in (("link", shared), ("dangling", tmp_path / "shared/other")):
        link = tmp_path / name
        link.symlink_to(target)
        assert succeeded(home.run("lock", pair[0], "-o", link)) == []
        assert link.readlink() == target
        assert len(read_lock(target)) == 1
    assert shared.stat().st_mode & 0o777 == 0o640


def test_lock_writes_into_what_is_no_file(home: Home, tmp_path: Path, pair: list[Path]) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with open(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)) as reader:
        succeeded(home.run("lock", pair[0], "-o", fifo, timeout=60))
        assert stat.S_ISFIFO(fifo.stat().st_mode)
        text = reader.read()
    (tmp_path / "link").symlink_to("/proc/self/fd/2")
    done = home.run("lock", pair[0], "-o", tmp_path / "link")
    assert succeeded(done) == []
    assert done.stderr.startswith(text)
    assert text.startswith("# The exact packages")


@pytest.mark.parametrize("name", ["-", "/proc/self/fd/1"])
def test_lock_on_stdout(home: Home, tmp_path: Path, pair: list[Path], name: str) -> None:
    done = home.run("lock", pair[0], "-o", name, cwd=tmp_path)
    succeeded(done)
    (tmp_path / "kept.lock").write_text(done.stdout)
    assert len(read_lock(tmp_path / "kept.lock")) == 1
    assert done.stderr == "cudaswitch: on stdout: files for linux-64: 1 package\n"
    # A file that others write into as well.
    script = f'{{ "$1" lock "$2" -o {name}; echo end; }} > out'
    words = ["sh", "-c", script, "sh", console_script(), pair[0]]
    subprocess.run(words, cwd=tmp_path, env=home.env, check=True, capture_output=True)
    assert (tmp_path / "out").read_text() == done.stdout + "end\n"
    assert not (tmp_path / "-").exists()


def test_where_lock_cannot_write(home: Home, tmp_path: Path, channel: FolderServer) -> None:
    """It is told before anybody is asked."""
    words = ("lock", "10.1", "--channel", f"{channel.url}/lab", "-o")
    for name, said, hint in (
        (".", "`.` is a folder", "-o ./cuda.lock"),
        (f"{tmp_path}/a b/", f"`{tmp_path}/a b/` is a folder", f"-o '{tmp_path}/a b/cuda.lock'"),
    ):
        refused(home.run(*words, name), said, hint=hint)
    assert channel.asked == []


def test_what_a_project_has_in_place_of_a_lock_file(
    machines: list[Home], project: Path, channel: FolderServer
) -> None:
    """Nothing of the person's is overwritten through it, and nothing is waited for."""
    words = ("lock", "--channel", f"{channel.url}/lab")
    lock, precious = project / "cuda.lock", project.parent / "precious"
    precious.write_text("mine\n")
    lock.symlink_to(precious)
    refused(machines[0].run(*words, cwd=project), f"`{lock}` is not a lock file", hint="-o FILE")
    assert precious.read_text() == "mine\n"
    lock.unlink()
    os.mkfifo(lock)
    refused(machines[0].run(*words, cwd=project, timeout=60), f"`{lock}` is not a lock file")
    assert channel.asked == []
    lock.unlink()
    lock.symlink_to("locks-cuda.lock")
    succeeded(machines[0].run(*words, cwd=project))
    assert len(read_lock(project / "locks-cuda.lock")) == 1


def test_a_query_is_not_recorded_and_said_to_be_missing(
    machines: list[Home], tmp_path: Path, pair: list[Path]
) -> None:
    """It may be a signature: what needs it is not asked for without."""
    home, other = machines
    with FolderServer(pair[0].parent) as server:
        url = f"{server.url}/{pair[0].name}"
        done = home.run("lock", f"{url}?signature=SECRET", cwd=tmp_path)
        assert succeeded(done) == []
        said = f"cudaswitch: `{url}?***`: its query may be secret, so sync cannot download it"
        assert said in done.stderr.splitlines()
        asked = len(server.asked)
        hint = "install it from its full URL, or sync with --from-dir DIR"
        refused(other.run("sync", cwd=tmp_path), "its query may be secret", hint=hint)
        assert len(server.asked) == asked
        succeeded(home.run("download", "-d", tmp_path / "usb", cwd=tmp_path))
        sync = ("sync", "--from-dir", tmp_path / "usb")
        assert succeeded(other.run(*sync, cwd=tmp_path)) == ["10.1.243"]
    assert "SECRET" not in (tmp_path / "cuda.lock").read_text()


@pytest.mark.parametrize("folder", [b"t/data", b"d\xe9"])
def test_a_folder_of_any_name(home: Home, tmp_path: Path, pair: list[Path], folder: bytes) -> None:
    """`/t/NAME/` is conda's token in a URL of a server, and a folder's name need be no UTF-8."""
    place = tmp_path / os.fsdecode(folder)
    place.mkdir(parents=True)
    file = shutil.copy(pair[0], place)
    succeeded(home.run("lock", file, cwd=tmp_path))
    shutil.rmtree(home.path / "xdg-cache")
    assert succeeded(home.run("sync", cwd=tmp_path)) == ["10.1.243"]


def test_a_local_file_that_is_gone_is_named_offline_too(
    home: Home, tmp_path: Path, pair: list[Path]
) -> None:
    succeeded(home.run("lock", pair[0], cwd=tmp_path))
    shutil.rmtree(home.path / "xdg-cache")
    pair[0].unlink()
    refused(home.run("sync", "--offline", cwd=tmp_path), f"there is no file `{pair[0]}`")


def test_cudnn_alone_is_said_to_be_no_toolkit(home: Home, tmp_path: Path, pair: list[Path]) -> None:
    succeeded(home.run("lock", pair[1], cwd=tmp_path))
    done = home.run("sync", cwd=tmp_path)
    assert succeeded(done) == []
    assert "installed, but no installed toolkit goes with it yet" in done.stderr


def test_a_folder_that_is_filled_in_two_steps(
    machines: list[Home], tmp_path: Path, pair: list[Path]
) -> None:
    home, other = machines
    for path in pair:
        succeeded(home.run("download", path, "-d", tmp_path / "usb"))
    [kit] = read_lock(tmp_path / "usb/cuda.lock")
    assert [row.file for row in kit.packages] == [path.name for path in pair]
    sync = ("sync", "--offline", "--from-dir", tmp_path / "usb")
    assert KIT in succeeded(other.run(*sync, cwd=tmp_path))
    before = (tmp_path / "usb/cuda.lock").read_bytes()
    succeeded(home.run("download", pair[1], "-d", tmp_path / "usb"))
    assert (tmp_path / "usb/cuda.lock").read_bytes() == before
    (tmp_path / "usb/cuda.lock").write_text("somebody's own\n")
    done = home.run("download", pair[1], "-d", tmp_path / "usb")
    refused(done, "it is not valid TOML")
    assert (tmp_path / "usb/cuda.lock").read_text() == "somebody's own\n"


def test_nobody_reads_what_was_downloaded(home: Home, tmp_path: Path, pair: list[Path]) -> None:
    command = [console_script(), "download", *pair, "-d", tmp_path / "d"]
    reader, writer = os.pipe()
    os.close(reader)
    subprocess.run(command, env=home.env, stdout=writer, timeout=60, check=True)
    os.close(writer)
    assert {path.name for path in (tmp_path / "d").iterdir()} == {
        "cuda.lock",
        *(path.name for path in pair),
    }
