"""What reaches the disk, and when: seen in the system calls, since no kill can show it."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from checks import PYTHON, in_the_middle, succeeded
from cudaswitch import durable
from homes import Home
from shells.venvs import with_venv
from tools import as_plain_user, console_script, root_only
from traced import CALLS, FLUSHED, MADE, RENAMED, Call, injected, traced

REBUILT = ("store/requests", "store/auto", "store/shims", "home/xdg-cache", "store/.staging")
"""Where nothing has to last: it is worked out again, or checked on every reading."""


OTHER = 12345
"""A group that nobody has."""


def check_order(root: Path, calls: list[Call]) -> list[str]:
    """Check every rename of something that must last; return what was renamed, below `root`."""
    lasting = []
    told = max(call.begun for call in calls if call.text.startswith(("write(1<", "write(2<")))
    for call in calls:
        if call.name not in RENAMED:
            continue
        source, target = call.paths
        name = target.relative_to(root).as_posix() if target.is_relative_to(root) else ""
        if not name or name.startswith(REBUILT) or target.name.endswith(".tmp"):
            continue
        lasting.append(name)
        earlier = [one for one in calls if one.ended < call.begun]
        for path, changed in changes(source, earlier).items():
            flushed = [
                one for one in earlier
                if one.name in FLUSHED and one.paths == (path,) and one.begun > changed
            ]  # fmt: skip
            assert flushed, f"`{path}` was not flushed before `{name}`"
        after = [
            one for one in calls
            if one.name in FLUSHED and one.paths == (target.parent,) and one.begun > call.ended
        ]  # fmt: skip
        assert after, f"the name of `{name}` was not flushed"
        assert after[0].ended < told, f"success was told before `{name}` was flushed"
    return lasting


def check_folders(root: Path, calls: list[Call]) -> None:
    """Check that the names of new folders below `root` are on disk before success is told."""
    told = max(call.begun for call in calls if call.text.startswith(("write(1<", "write(2<")))
    for call in calls:
        folder = call.paths[-1] if call.name.startswith("mkdir") else root.parent
        if folder.is_relative_to(root) and not folder.is_relative_to(root / ".staging"):
            assert any(
                one.name in FLUSHED and one.paths == (folder.parent,)
                and call.ended < one.begun < told for one in calls
            ), f"the name of `{folder}` was not flushed"  # fmt: skip


def changes(source: Path, calls: list[Call]) -> dict[Path, int]:
    """Map `source` and all below it that changed, files and folders, to when it last did."""
    found: dict[Path, int] = {}
    for call in calls:
        for path in call.paths:
            if call.name in CALLS and (path == source or source in path.parents):
                found[path] = call.ended
        if call.name in MADE and call.paths:
            path = call.paths[-1]
            creates = call.name not in ("open", "openat") or "O_CREAT" in call.text
            if creates and source in path.parents:
                found[path.parent] = call.ended
                if call.name.startswith(("open", "creat")):
                    found[path] = call.ended
                if call.name.startswith("mkdir"):
                    found[path] = call.ended
        if call.name in RENAMED:
            for path in call.paths:
                if source in path.parents:
                    # The file was flushed under its temporary name; what changed now is its folder.
                    found.pop(path, None)
                    found[path.parent] = call.ended
    return found


def test_packages_and_toolkits_are_on_disk_before_they_appear(
    home: Home, tmp_path: Path, pair: list[Path]
) -> None:
    kits = [f"store/toolkits/{name}" for name in ("10.1.243", "10.1.243+cudnn7.6.5")]
    lasting = check_order(tmp_path, traced(home, "install", *pair, cwd=home.path))
    assert [name for name in lasting if name.startswith("store/toolkits")] == kits
    assert len([name for name in lasting if name.startswith("store/packages")]) == 2
    lasting = check_order(tmp_path, traced(home, "install", "--force", *pair, cwd=home.path))
    assert set(kits) <= set(lasting)


def test_new_folders_are_on_disk_before_it_is_told(
    home: Home, tmp_path: Path, pair: list[Path]
) -> None:
    for command, folder in (
        (["install", *pair], "store"),
        (["mirror", tmp_path / "tree/of/ours", pair[0]], "tree"),
        (["download", pair[0], "-d", tmp_path / "usb/of/ours"], "usb"),
    ):
        check_folders(tmp_path / folder, traced(home, *command, cwd=home.path))
        assert (tmp_path / folder).is_dir()


ASKED = (
    (["pin", "10.1", "-p", "ENV"], {"env/etc/cudaswitch/on.sh", "env/etc/cudaswitch/pin"}),
    (["pin", "10.1", "--dir", "ENV"], {"env/.cuda-version"}),
    (["pin", "10.1", "--global"], {"store/global"}),
    (["alias", "lab", "99"], {"store/aliases/lab"}),
    (["init", "--install", "bash", "--yes"], {"home/.bashrc", "store/init/bash"}),
)


def test_what_people_ask_for_is_on_disk_before_it_is_told(stocked: Home, tmp_path: Path) -> None:
    env = with_venv(tmp_path / "env")
    (stocked.path / ".bashrc").write_text("alias x=y\n")
    for command, expected in ASKED:
        arguments = [str(env) if word == "ENV" else word for word in command]
        lasting = check_order(tmp_path, traced(stocked, *arguments, cwd=stocked.path))
        assert expected <= set(lasting), command


def test_a_repair_is_on_disk_before_it_is_told(stocked: Home, tmp_path: Path) -> None:
    library = "packages/cudnn-7.6.5-cuda10.1_0/tree/lib/libcudnn.so.7.6.5"
    (stocked.store / library).unlink()
    lasting = check_order(tmp_path, traced(stocked, "verify", "--repair", cwd=stocked.path))
    assert f"store/{library}" in lasting


def test_the_check_of_the_order_sees_what_is_missing(
    home: Home, tmp_path: Path, pair: list[Path]
) -> None:
    calls = traced(home, "install", *pair, cwd=home.path)
    check_order(tmp_path, calls)
    names = (home.store / "packages",)
    unnamed = [call for call in calls if call.name not in FLUSHED or call.paths != names]
    with pytest.raises(AssertionError, match=r"the name of .* was not flushed"):
        check_order(tmp_path, unnamed)
    staged = [
        number for number, call in enumerate(calls)
        if call.name in FLUSHED and re.search(r"/\.staging/package-.*/tree/", str(call.paths[0]))
    ]  # fmt: skip
    assert len(staged) > 10
    with pytest.raises(AssertionError, match="was not flushed before"):
        check_order(tmp_path, calls[: staged[0]] + calls[staged[0] + 1 :])


def test_several_files_are_written_or_none(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "new/second"
    first.write_text("before")
    (tmp_path / "folder").mkdir()
    durable.write_all({first: "after", second: "x"})
    assert (first.read_text(), second.read_text()) == ("after", "x")
    with pytest.raises(OSError, match="folder") as caught:
        durable.write_all({first: "later", tmp_path / "other/third": "y", tmp_path / "folder": "z"})
    assert caught.value.filename == str(tmp_path / "folder")
    assert first.read_text() == "after"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "folder", "new"]
    durable.write_all({first: None, second: None, tmp_path / "nothing": None})
    assert not first.exists() and not second.exists()


@pytest.mark.parametrize("mode", [0o600, 0o755])
def test_a_file_hands_on_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "script"
    path.write_text("x")
    path.chmod(mode)
    durable.write_all({path: "y"}, kept=True)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("y", mode)


@root_only
def test_a_file_hands_on_its_group_where_that_may_be(tmp_path: Path) -> None:
    """A file keeps its group where its writer may set it; else the group gets what others have."""
    code = (
        "import sys; from pathlib import Path; from cudaswitch import durable\n"
        "durable.write_all({Path(at): 'y' for at in sys.argv[1:]}, kept=True)"
    )
    given, ours = f"0:{OTHER}", f"0:{os.getegid()}"
    for start, owner, expected in (
        ([], given, (0o2754, 0o640, 0o664, 0o606)),
        (as_plain_user(), ours, (0o744, 0o600, 0o644, 0o606)),
    ):
        paths = [tmp_path / str(number) for number in range(4)]
        for path, mode in zip(paths, (0o2754, 0o640, 0o664, 0o606), strict=True):
            path.write_text("x")
            os.chown(path, -1, OTHER)
            path.chmod(mode)
        subprocess.run([*start, PYTHON, "-c", code, *paths], check=True)
        found = [path.stat() for path in paths]
        assert {f"{one.st_uid}:{one.st_gid}" for one in found} == {owner}
        assert tuple(stat.S_IMODE(one.st_mode) for one in found) == expected
        assert {path.read_text() for path in paths} == {"y"}


def test_only_what_nobody_writes_is_swept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    left = tmp_path / ".file.0123abcd.tmp"
    others = tmp_path / ".other.0123abcd.tmp"
    for each in (left, others):
        each.write_text("x")
    code = (
        "import sys; from pathlib import Path; from cudaswitch import durable\n"
        "with durable._temporary(Path(sys.argv[1]), 'text', 0o644):\n"
        "    print(True, flush=True); input()"
    )
    with in_the_middle(code, path):
        [written] = set(tmp_path.glob(".file.*")) - {left}
        durable.write_atomically(path, "mine")
        assert not left.exists() and others.exists() and written.exists()
    durable.write_atomically(path, "again")
    assert sorted(each.name for each in tmp_path.iterdir()) == [others.name, "file"]


def test_what_a_kill_leaves_of_a_read_only_file_is_swept(home: Home) -> None:
    folder = Path(home.env["XDG_CONFIG_HOME"]) / "cudaswitch"
    folder.mkdir()
    file = folder / "config.toml"
    file.write_text("jobs = 2\n")
    file.chmod(0o444)
    command = injected("rename:signal=KILL", console_script(), "config", "set", "jobs", "3")
    subprocess.run(as_plain_user(*command), env=home.env, check=False)
    left = {path.stat().st_mode & 0o777 for path in folder.glob(".config.toml.????????.tmp")}
    assert left == {0o444}
    succeeded(home.run_plainly("config", "set", "jobs", "4"))
    assert list(folder.iterdir()) == [file]
