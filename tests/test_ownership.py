"""Whose a store is: modes whatever the umask, everybody's folders, sudo, and other users' stores.

As root, the other user is root without its privileges, who then owns nothing of the store.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

import builders
from checks import PYTHON, refused, snapshot, succeeded
from homes import Home, make_home
from made_environments import Env
from shells.conda import conda_prefix
from stock import BARE
from tools import as_plain_user, console_script, root_only

OTHER = 12345
"""A user and group that nobody has."""


def with_umask(home: Home, umask: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", 'umask "$1"; shift; exec "$@"', "sh", umask, console_script(), *arguments],
        env=home.env, cwd=home.path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def unprivileged(home: Home, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program as a user for whom permissions hold, even where the tests run as root."""
    return subprocess.run(
        as_plain_user(*command),
        env=home.env, cwd=home.path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def given_away(folder: Path) -> None:
    """Give a folder to another user, or make it read-only if the tests are not run by root."""
    for path in (folder, *folder.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, OTHER, OTHER, follow_symlinks=False)
        elif not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)


def taken_back(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


def modes(folder: Path) -> dict[str, str]:
    """Map what is in a folder to its mode; notes of pins, which get new names, count as one."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        name = path.relative_to(folder)
        if not path.is_symlink():
            at = "pins/x" if name.parent.name == "pins" else str(name)
            found[at] = f"{path.lstat().st_mode:o}"
    return found


def fill(home: Home, pair: list[Path], umask: str) -> None:
    """Run all commands that write into a store."""
    environment = home.path / "env"
    if not environment.exists():
        (environment / "conda-meta").mkdir(parents=True)
    for words in (
        ["install", *pair],
        ["pin", "10.1", "-p", environment],
        ["pin", "10.1", "--global"],
        ["alias", "lab", "10.1"],
        ["shims", "install"],
        ["init", "--install", "bash"],
    ):
        succeeded(with_umask(home, umask, *words))


def test_modes_are_the_same_for_every_umask(tmp_path: Path, pair: list[Path]) -> None:
    found = {}
    for umask in ("000", "022", "077"):
        home = make_home(tmp_path / umask)
        fill(home, pair, umask)
        found[umask] = modes(home.store)
        cache = home.path / "xdg-cache" / "cudaswitch"
        assert stat.S_IMODE(cache.stat().st_mode) & 0o077 == 0, "downloads are the person's alone"
    assert found["000"] == found["022"] == found["077"]
    assert not [at for at, mode in found["000"].items() if int(mode, 8) & 0o7022]


def test_a_groups_store_stays_the_groups(home: Home, pair: list[Path]) -> None:
    """In a store whose folder a group may write, the group may write what is made there, too."""
    home.store.mkdir()
    home.store.chmod(0o775)
    fill(home, pair, "077")
    for name in ("packages", "toolkits", "requests", ".staging", "locks", "pins"):
        assert stat.S_IMODE((home.store / name).stat().st_mode) == 0o775, name
    assert {at.stat().st_mode & 0o7777 for at in home.store.glob("packages/**/")} == {0o775}
    assert not [at for at, mode in modes(home.store).items() if int(mode, 8) & 0o7002]


def test_a_groups_store_leaves_environments_and_directories_their_owners(
    home: Home, pair: list[Path]
) -> None:
    """A store's group may not write environments, where its scripts would run in others' shells."""
    home.store.mkdir()
    home.store.chmod(0o775)
    fill(home, pair, "002")
    environment, tree = home.path / "env", home.path / "tree"
    tree.mkdir()
    succeeded(with_umask(home, "002", "pin", "10.1", "--dir", tree))
    shared = home.path / ".cuda-version"
    shared.write_text("10\n")
    shared.chmod(0o664)
    succeeded(with_umask(home, "022", "pin", "10.1", "--dir", home.path))
    assert stat.S_IMODE(shared.stat().st_mode) == 0o664, "who made it shared it"
    written = [environment / "etc", *(environment / "etc").rglob("*"), tree / ".cuda-version"]
    assert any(path.parent.name == "activate.d" for path in written)
    assert not [str(path) for path in written if path.stat().st_mode & 0o022]


@root_only
def test_what_was_anothers_is_ours_once_it_is_written(home: Home, pair: list[Path]) -> None:
    """`pin` makes another user's version file ours, and `unpin` removes it; both say so."""
    succeeded(home.run("install", *pair))
    file = home.path / ".cuda-version"
    file.write_text("11\n")
    os.chown(file, OTHER, OTHER)
    file.chmod(0o666)
    said = home.run("pin", "10.1", "--dir", home.path).stderr
    assert f"`{file}` belonged to another user, and is now yours" in said
    assert (file.stat().st_uid, stat.S_IMODE(file.stat().st_mode)) == (0, 0o644)
    os.chown(file, OTHER, OTHER)
    said = home.run("unpin", "--dir", home.path).stderr
    assert said == f"cudaswitch: `{file}` belonged to another user\ncudaswitch: removed `{file}`\n"


def test_what_everybody_may_write_is_no_store(home: Home, pair: list[Path]) -> None:
    succeeded(home.run("install", *pair))
    home.store.chmod(0o777)
    before = snapshot(home.store)
    for words in (
        ["install", pair[0]],
        ["alias", "lab", "10.1"],
        ["exec", "10.1", "--", "true"],
        ["env", "10.1", "--shell", "bash"],
        ["pin", "10.1", "--dir", home.path],
    ):
        done = home.run(*words)
        refused(done, "is writable by everyone", f"`{home.store}`", hint=f"chmod o-w {home.store},")
    assert snapshot(home.store) == before
    assert not (home.path / ".cuda-version").exists()
    # Looking at the store does no harm.
    assert "10.1.243" in home.run("list").stdout
    home.store.chmod(0o755)
    succeeded(home.run("exec", "10.1", "--", "true"))


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_a_folder_above_is_told_of_unless_it_is_sticky(
    tmp_path: Path, pair: list[Path], mode: int
) -> None:
    home = make_home(tmp_path / "my data" / "person")
    (tmp_path / "my data").chmod(mode)
    done = home.run("install", *pair)
    succeeded(done)
    told = f"`{tmp_path}/my data` is writable by everyone, who could thus replace the store"
    assert done.stderr.count(told) == (mode == 0o777)
    assert f"chmod o-w '{tmp_path}/my data'," in done.stderr or mode != 0o777
    done = home.run("exec", "10.1", "--", "true")
    succeeded(done)
    assert done.stderr == ""


def test_a_shared_store_that_everybody_may_write(
    tmp_path: Path, stocked: Home, pair: list[Path]
) -> None:
    person = make_home(tmp_path / "person")
    stocked.store.chmod(0o777)
    done = person.run("exec", "10.1", "--", "true", CUDASWITCH_STORES=str(stocked.store))
    refused(done, "is writable by everyone", str(stocked.store), hint="chmod o-w")
    stocked.store.chmod(0o755)
    done = person.run("exec", "10.1", "--", "true", CUDASWITCH_STORES=str(stocked.store))
    succeeded(done)


def test_what_frameworks_need_comes_from_no_store_that_everybody_may_write(
    tmp_path: Path, stocked: Home
) -> None:
    person = make_home(tmp_path / "person")
    env = Env(tmp_path / "env")
    env.write("pyvenv.cfg", "home = /usr/bin\n")
    env.dist("cupy-cuda101", "7.8.0")
    shared = {"CUDASWITCH_STORES": str(stocked.store), "VIRTUAL_ENV": str(env.prefix)}
    show = ["exec", "--", "sh", "-c", 'echo "$CUDA_HOME"']
    succeeded(person.run("alias", "lab", "10.1"))  # a store of their own, which keeps answers
    stocked.store.chmod(0o777)
    for words in (
        ["exec", "auto", "--", "true"],
        ["env", "auto", "--shell", "bash"],
        ["pin", "auto", "-p", env.prefix],
        ["want", "--environment", env.prefix],
    ):
        done = person.run(*words, **shared)
        refused(done, "is writable by everyone", f"`{stocked.store}`", hint="chmod o-w")
    assert succeeded(person.run(*show, **shared)) == [""]
    stocked.store.chmod(0o755)
    assert succeeded(person.run(*show, **shared)) == [
        f"{stocked.store}/toolkits/10.1.243+cudnn7.6.5"
    ]


@pytest.mark.parametrize("own", [True, False])
def test_another_persons_store(tmp_path: Path, stocked: Home, own: bool) -> None:
    """Every command that only reads works in another user's store, and leaves nothing in it."""
    person = make_home(tmp_path / "person")
    variable = "CUDASWITCH_HOME" if own else "CUDASWITCH_STORES"
    person = Home(person.path, person.store, person.env | {variable: str(stocked.store)})
    environment = person.path / "env"
    (environment / "conda-meta").mkdir(parents=True)
    given_away(stocked.store)
    before, inodes = snapshot(stocked.store), modes(stocked.store)
    script = (
        'eval "$(cudaswitch init bash)"; cudaswitch use 10.1 || exit; echo $CUDA_HOME;'
        " cudaswitch off; echo $CUDA_HOME"
    )
    try:
        kit = f"{stocked.store}/toolkits/10.1.243+cudnn7.6.5"
        for words, answer in (
            (["list"], None),
            (["current"], None),
            (["exec", "10.1", "--", "printenv", "CUDA_HOME"], [kit]),
            (["env", "10.1", "--shell", "bash"], None),
            (["which", "nvcc"], None),
            (["resolve", "-p", environment], None),
            (["verify"], None),
            (["doctor"], None),
            (["gc", "--dry-run"], None),
        ):
            done = unprivileged(person, console_script(), *words)
            assert "Traceback" not in done.stderr
            assert "cannot write" not in done.stderr, (words, done.stderr)
            if words[0] not in ("which", "resolve", "doctor"):
                assert done.returncode == 0, (words, done.stderr)
            assert answer is None or done.stdout.splitlines() == answer
        done = unprivileged(person, "bash", "-c", script)
        assert done.stdout.splitlines() == [kit, ""], done.stderr
        if own:
            done = unprivileged(person, console_script(), "alias", "lab", "10.1")
            refused(done, "cannot write", hint="CUDASWITCH_HOME")
        else:
            # The user's own store takes what is written.
            for words in (["pin", "10.1", "-p", environment], ["alias", "lab", "10.1"]):
                succeeded(unprivileged(person, console_script(), *words))
            switch = (
                f'eval "$(cudaswitch init bash)"; CONDA_PREFIX={environment}; export CONDA_PREFIX;'
            )
            switch += f" . {environment}/etc/conda/activate.d/*cudaswitch*.sh; echo $CUDA_HOME"
            done = unprivileged(person, "bash", "-c", switch)
            assert done.stdout.splitlines() == [kit], done.stderr
        assert snapshot(stocked.store) == before
        assert modes(stocked.store) == inodes
    finally:
        if os.geteuid():
            taken_back(stocked.store)


@root_only
def test_sudo_leaves_nothing_in_its_callers_folders(
    tmp_path: Path, home: Home, pair: list[Path]
) -> None:
    """`sudo` is refused with its caller's HOME; with root's own (`sudo -H`) it works as usual."""
    succeeded(home.run("install", pair[0]))
    environment = home.path / "env"
    (environment / "conda-meta").mkdir(parents=True)
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, OTHER, OTHER, follow_symlinks=False)
    for path in pair:
        os.chown(path, 0, 0)
    called = {"SUDO_UID": str(OTHER), "SUDO_USER": "somebody"}
    before = snapshot(home.path), snapshot(home.store)
    for words in (
        ["install", *pair],
        ["pin", "10.1", "-p", environment],
        ["pin", "10.1", "--dir", home.path],
        ["pin", "10.1", "--global"],
        ["alias", "lab", "10.1"],
        ["config", "set", "jobs", "2"],
        ["shims", "install"],
        ["remove", "10.1"],
        ["gc"],
        ["install", "10.1", "--from", "conda", "--channel", home.path / "none"],
    ):
        refused(home.run(*words, **called), "`sudo` would leave root's files", hint=None)
    assert (snapshot(home.path), snapshot(home.store)) == before
    left = [path for path in tmp_path.rglob("*") if path.lstat().st_uid == 0]
    assert sorted(left) == sorted(pair)
    succeeded(home.run("list", **called))
    roots = make_home(tmp_path / "roots")
    for path in ((tmp_path / "roots"), *(tmp_path / "roots").rglob("*")):
        os.chown(path, 0, 0)
    os.chown(tmp_path, 0, 0)
    succeeded(roots.run("install", *pair, **called))
    refused(roots.run("pin", "10.1", "-p", environment, **called), hint="run it without sudo")
    assert snapshot(home.path) == before[0]
    package = builders.cudnn_archive(tmp_path / "files", "7.2-8.3.0", "7.5.0.56", "10.1")
    succeeded(roots.run("install", package, SUDO_UID="0"))


NOT_FOLLOWED = "belongs to another user and is not followed"


@root_only
def test_a_version_file_of_who_called_sudo_is_followed(stocked: Home) -> None:
    """A version file of sudo's caller is followed, as by git: `sudo make` takes the tree's CUDA."""
    file = stocked.path / ".cuda-version"
    file.write_text("10.1\n")
    os.chown(file, OTHER, OTHER)
    for words in (["exec", "--", "true"], ["current"], ["want", "--file", file]):
        succeeded(stocked.run(*words, SUDO_UID=str(OTHER)))
        for caller in ("", "0", "54321", f"{OTHER}x", f"-{OTHER}", "\u0661", "9" * 30, None):
            done = stocked.run(*words, **({} if caller is None else {"SUDO_UID": caller}))
            refused(done, NOT_FOLLOWED, hint="CUDASWITCH_VERSION=10.1")
    link = stocked.path / "below" / ".cuda-version"
    link.parent.mkdir()
    link.symlink_to(file)
    os.chown(link, 54321, 54321, follow_symlinks=False)
    refused(stocked.run("current", cwd=link.parent, SUDO_UID=str(OTHER)), NOT_FOLLOWED)


_READ_AS = """import os, sys, shlex
from cudaswitch.environments import read_request
os.setresuid(54321, 54321, 54321)
print(read_request(".cuda-version").text)
"""


@root_only
def test_nobody_but_root_is_called_by_sudo(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    file = tmp_path / ".cuda-version"
    file.write_text("10.1\n")
    for owner in (OTHER, 54321):
        os.chown(file, owner, owner)
        done = subprocess.run(
            [PYTHON, "-c", _READ_AS], cwd=tmp_path, env=os.environ | {"SUDO_UID": str(OTHER)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.stdout == "10.1\n") == (owner == 54321)
        assert (NOT_FOLLOWED in done.stderr) == (owner == OTHER)


@root_only
@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("cuda 10.1 # ours\ncudnn = 7.6\n", "10.1+cudnn7.6"),
        (">=10, <12\n", "'>=10,<12'"),
        ("$(id)\n", "VERSION"),
        ("10.1\n" + "#" * 5000, "VERSION"),
    ],
)
def test_the_hint_has_what_another_s_file_asks_for(stocked: Home, text: str, version: str) -> None:
    file = stocked.path / ".cuda-version"
    file.write_text(text)
    os.chown(file, OTHER, OTHER)
    refused(stocked.run("current"), NOT_FOLLOWED)
    hint = stocked.run("current").stderr.splitlines()[1]
    assert hint.endswith(f"CUDASWITCH_VERSION={version} for exec and shims")
    assert hint.startswith(f"hint: if you trust it, run cudaswitch use {version}, or ")


@root_only
def test_what_another_s_link_leads_to_is_not_shown(stocked: Home) -> None:
    """The content of a file behind another user's link stays hidden: they may not read it."""
    secret, file = stocked.path / "secret", stocked.path / ".cuda-version"
    secret.write_text("hunter2\n")
    file.symlink_to(secret)
    os.chown(file, OTHER, OTHER, follow_symlinks=False)
    done = stocked.run("current")
    refused(done, NOT_FOLLOWED, hint="CUDASWITCH_VERSION=VERSION")
    assert "hunter2" not in done.stderr


@root_only
def test_root_leaves_no_answer_in_somebody_s_store(stocked: Home, tmp_path: Path) -> None:
    """Root, as by `sudo -E make`, leaves no answer in a store whose owner could not change it."""
    env = Env(tmp_path / "env")
    env.write("pyvenv.cfg", "home = /usr/bin\n")
    env.dist("cupy-cuda101", "7.8.0")
    for owner, answers in ((OTHER, 0), (0, 1)):
        os.chown(stocked.store, owner, -1)
        succeeded(stocked.run("exec", "--", "true", VIRTUAL_ENV=str(env.prefix)))
        assert len(list(stocked.store.glob("auto/*"))) == answers


@root_only
@pytest.mark.parametrize("noted", [False, True], ids=["found", "pinned once"])
def test_nothing_is_written_through_somebody_else_s_links(
    stocked: Home, tmp_path: Path, noted: bool
) -> None:
    """Another user's environment, which conda knows and which links into ours, is not written."""
    ours, theirs = (conda_prefix(tmp_path / name) for name in ("ours", "theirs"))
    succeeded(stocked.run("pin", BARE, "--cudnn", "none", "-p", ours))
    if noted:
        succeeded(stocked.run("pin", "10.1", "-p", theirs))
    shutil.rmtree(theirs / "etc")
    (theirs / "etc/cudaswitch").mkdir(parents=True)
    (theirs / "etc/conda").symlink_to(ours / "etc/conda")
    (theirs / "etc/cudaswitch/want").write_bytes((ours / "etc/cudaswitch/want").read_bytes())
    for path in (theirs, *theirs.rglob("*")):
        os.chown(path, OTHER, OTHER, follow_symlinks=False)
    # A pin of ours may have stayed there, or be a second name of another file of ours.
    (stocked.path / "wants").write_text("10.1\n")
    (theirs / "etc/cudaswitch/pin").hardlink_to(stocked.path / "wants")
    (stocked.path / ".conda").mkdir()
    (stocked.path / ".conda/environments.txt").write_text(f"{ours}\n{theirs}\n")
    before = snapshot(ours)
    archive = builders.cudnn_archive(tmp_path, "7.2-8.3.0", "7.5.0.56", "10.1")
    succeeded(stocked.run("install", archive))
    assert snapshot(ours) == before
    held = json.loads("\n".join(succeeded(stocked.run("list", "--json"))))["toolkits"]
    assert (str(theirs) in {who for kit in held for who in kit["pinned_by"]}) == noted


@root_only
def test_doctor_leaves_somebody_s_pin_to_them(tmp_path: Path, pair: list[Path]) -> None:
    """`doctor` has no advice on another user's hooks, which only they can mend."""
    theirs, person = make_home(tmp_path / "theirs"), make_home(tmp_path / "person")
    environment = tmp_path / "env"
    (environment / "conda-meta").mkdir(parents=True)
    for home in (theirs, person):
        succeeded(home.run("install", *pair))
    succeeded(theirs.run("pin", "10.1", "-p", environment))
    given_away(environment)
    theirs.store.rename(tmp_path / "elsewhere")
    active = {"CONDA_PREFIX": str(environment), "PATH": f"{environment}/bin:{person.env['PATH']}"}
    inside = Home(person.path, person.store, person.env | active)
    found = json.loads(unprivileged(inside, console_script(), "doctor", "--json").stdout)
    # Only the environment's variables are set: none of its scripts has run.
    assert {one["code"] for one in found["findings"] if one["code"][:4] == "CS07"} == {"CS076"}
