"""Removing, naming and listing what is installed, and what pins see of it."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import builders
from checks import PYTHON, refused, snapshot, succeeded
from homes import Home
from preloaded import preloaded
from shells.conda import conda_prefix
from tools import as_plain_user, console_script

BARE, FULL = "10.1.243", "10.1.243+cudnn7.6.5"


def toolkit(folder: Path, version: str) -> Path:
    """Return a cudatoolkit of that version with one library."""
    soname = ".".join(version.split(".")[:2])
    library = builders.elf_bytes(f"libcudart.so.{soname}", {"cudaRuntimeGetVersion": 1})
    tree = builders.versioned("lib", "libcudart", soname, version, library)
    return builders.conda_package(folder, "cudatoolkit", version, "h_0", "linux-64", tree)


def stored(home: Home) -> dict[str, list[str]]:
    return {
        kind: sorted(path.name for path in (home.store / kind).glob("[!.]*"))
        for kind in ("packages", "toolkits", "requests")
    }


def answers(home: Home) -> dict[str, str]:
    """Map each ready answer to the name of its toolkit."""
    return {
        path.name: Path(path.read_text().rstrip("\n")).name
        for path in (home.store / "requests").glob("[!.]*")
    }


def test_what_others_use_stays(stocked: Home) -> None:
    done = stocked.run("remove", BARE)
    assert (succeeded(done), done.stderr) == ([], f"cudaswitch: removed {BARE}\n")
    assert stored(stocked)["toolkits"] == [FULL]
    assert len(stored(stocked)["packages"]) == 2
    succeeded(stocked.run("exec", "10.1", "--", "true"))
    succeeded(stocked.run("remove", FULL))
    assert stored(stocked) == {"packages": [], "toolkits": [], "requests": []}


def test_a_cudnn_of_two_toolkits_goes_with_the_last(stocked: Home, tmp_path: Path) -> None:
    newer = "10.1.300+cudnn7.6.5"
    assert succeeded(stocked.run("install", toolkit(tmp_path, "10.1.300"))) == ["10.1.300", newer]
    succeeded(stocked.run("remove", FULL, BARE))
    assert stored(stocked)["packages"] == ["cudatoolkit-10.1.300-h_0", "cudnn-7.6.5-cuda10.1_0"]
    succeeded(stocked.run("remove", newer))
    assert stored(stocked)["packages"] == ["cudatoolkit-10.1.300-h_0"]


def test_answers_follow(stocked: Home, tmp_path: Path) -> None:
    both = {"10", "10.1", "10.1.243", "latest"}
    with_cudnn = {f"{version}+cudnn{cudnn}" for version in both for cudnn in ("7", "7.6", "7.6.5")}
    assert answers(stocked) == (
        dict.fromkeys(both | with_cudnn, FULL) | {f"{version}+cudnnnone": BARE for version in both}
    )
    succeeded(stocked.run("install", toolkit(tmp_path, "10.2.89")))
    assert (answers(stocked)["10"], answers(stocked)["10.1"]) == ("10.2.89", FULL)
    succeeded(stocked.run("remove", "10.2"))
    assert answers(stocked)["10"] == FULL
    succeeded(stocked.run("remove", FULL))
    assert answers(stocked) == {
        f"{version}{cudnn}": BARE for version in both for cudnn in ("", "+cudnnnone")
    }


def test_versions_are_compared_as_numbers(home: Home, tmp_path: Path) -> None:
    for version in ("10.1.99", "10.1.243", "10.10.1"):
        succeeded(home.run("install", toolkit(tmp_path, version)))
    assert (answers(home)["10.1"], answers(home)["10"]) == ("10.1.243", "10.10.1")
    done = home.run("exec", "10.1", "--", "printenv", "CUDA_HOME")
    assert succeeded(done)[0].endswith("/10.1.243")


REFUSALS = {
    "unknown": (["9.0"], "no toolkit `9.0` is installed"),
    "ambiguous": (["10.1"], f"`10.1` names 2 toolkits: {BARE}, {FULL}"),
    "one unknown": ([BARE, "9.0"], "no toolkit `9.0` is installed"),
    "no name": (["../../etc"], "`../../etc` is not a CUDA version"),
    "alias of nothing": (["lab"], "no alias `lab`"),
    "auto": (["auto"], "no toolkit `auto` is installed"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_names_that_name_nothing(stocked: Home, case: str) -> None:
    arguments, message = REFUSALS[case]
    before = snapshot(stocked.store)
    refused(stocked.run("remove", *arguments), message)
    refused(stocked.run("remove", "--force", *arguments), message)
    assert snapshot(stocked.store) == before


def test_what_others_keep_is_told_to_be_theirs(stocked: Home, tmp_path: Path) -> None:
    mine = {"CUDASWITCH_HOME": str(tmp_path / "mine"), "CUDASWITCH_STORES": str(stocked.store)}
    before = snapshot(stocked.store)
    for command in ("remove", "verify"):
        for name in (BARE, "10.1"):
            done = stocked.run(command, name, **mine)
            refused(done, "shared store", str(stocked.store), hint="CUDASWITCH_HOME")
    refused(stocked.run("remove", "9.0", **mine), "no toolkit `9.0`")
    assert snapshot(stocked.store) == before


def test_what_is_in_two_stores_is_pinned_where_it_is_used(
    stocked: Home, pair: list[Path], tmp_path: Path
) -> None:
    both = {"CUDASWITCH_HOME": str(tmp_path / "mine"), "CUDASWITCH_STORES": str(stocked.store)}
    succeeded(stocked.run("pin", BARE, "--cudnn", "none", "--dir", stocked.path, **both))
    succeeded(stocked.run("install", pair[0], CUDASWITCH_HOME=both["CUDASWITCH_HOME"]))
    rows = json.loads("\n".join(succeeded(stocked.run("list", "--json", **both))))["toolkits"]
    kept = {row["path"]: row["pinned_by"] for row in rows if row["name"] == BARE}
    assert kept == {
        str(tmp_path / "mine" / "toolkits" / BARE): [str(stocked.path / ".cuda-version")],
        str(stocked.store / "toolkits" / BARE): [],
    }


def test_a_store_that_is_named_again_is_one(stocked: Home, tmp_path: Path) -> None:
    once = succeeded(stocked.run("list"))
    lab = tmp_path / "lab"
    lab.symlink_to(stocked.store)
    again = f"{stocked.store}:{stocked.store}/:{lab}"
    assert succeeded(stocked.run("list", CUDASWITCH_STORES=again)) == once
    mine = {"CUDASWITCH_HOME": str(tmp_path / "mine"), "CUDASWITCH_STORES": again}
    assert succeeded(stocked.run("list", **mine)) == once


def test_names_that_name_one(stocked: Home) -> None:
    succeeded(stocked.run("alias", "thesis", "10.1+cudnn7.6"))
    succeeded(stocked.run("remove", "thesis", "thesis", FULL))
    assert stored(stocked)["toolkits"] == [BARE]
    succeeded(stocked.run("remove", "10"))
    assert stored(stocked)["toolkits"] == []


def test_what_is_pinned_stays_unless_forced(stocked: Home, tmp_path: Path) -> None:
    prefix, project = conda_prefix(tmp_path / "env"), tmp_path / "project"
    project.mkdir()
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    succeeded(stocked.run("pin", "10.1", "--cudnn", "none", "--dir", project))
    succeeded(stocked.run("pin", BARE, "--cudnn", "7", "--global"))
    before = snapshot(stocked.store)
    message = refused(stocked.run("remove", FULL), str(prefix), "--global", hint="--force")
    assert str(project) not in message
    refused(stocked.run("remove", BARE), f"pinned by {project}/.cuda-version")
    assert snapshot(stocked.store) == before
    rows = json.loads(stocked.run("list", "--json").stdout)["toolkits"]
    assert {row["name"]: row["pinned_by"] for row in rows} == {
        BARE: [f"{project}/.cuda-version"],
        FULL: sorted(rows[1]["pinned_by"]) and rows[1]["pinned_by"],
    }
    assert set(rows[1]["pinned_by"]) == {str(prefix), "you (--global)"}
    succeeded(stocked.run("unpin", "--dir", project))
    succeeded(stocked.run("remove", BARE))
    succeeded(stocked.run("remove", "--force", FULL))
    assert stored(stocked)["toolkits"] == []


def test_who_is_gone_pins_nothing(stocked: Home, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    prefix.rename(tmp_path / "moved")
    succeeded(stocked.run("remove", FULL))


@pytest.mark.parametrize("text", ["99.9\n", "$(id)\n"])
def test_a_pin_without_an_answer_holds_nothing(stocked: Home, tmp_path: Path, text: str) -> None:
    succeeded(stocked.run("pin", "10.1", "--dir", tmp_path))
    (tmp_path / ".cuda-version").write_text(text)
    kits = json.loads("\n".join(succeeded(stocked.run("list", "--json"))))["toolkits"]
    assert [kit["pinned_by"] for kit in kits] == [[], []]


def test_damaged_notes_about_pins_do_no_harm(stocked: Home, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    for number, text in enumerate(("", "{", "[]", '{"path": 1}', "\udcff", "[" * 2_000)):
        path = stocked.store / "pins" / f"{number}.tmp"
        path.write_text(text, errors="surrogateescape")
    refused(stocked.run("remove", FULL), str(prefix))
    assert stocked.run("list").returncode == 0
    assert stocked.run("gc").returncode == 0


@pytest.fixture
def busy(stocked: Home) -> Iterator[subprocess.Popen[str]]:
    """A process that has loaded the runtime of the toolkit with cuDNN."""
    program = "import ctypes, sys; ctypes.CDLL('libcudart.so.10.1'); print('up'); input()"
    child = subprocess.Popen(
        [console_script(), "exec", FULL, "--", PYTHON, "-uc", program],
        env=stocked.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout and child.stdout.readline() == "up\n"
    yield child
    child.kill()
    child.wait()


def test_what_runs_stays_unless_forced(stocked: Home, busy: subprocess.Popen[str]) -> None:
    before = snapshot(stocked.store)
    refused(stocked.run("remove", FULL), "in use by", f"(process {busy.pid})", hint="--force")
    refused(stocked.run("remove", BARE, FULL), f"(process {busy.pid})", hint=f"{BARE} {FULL}")
    assert snapshot(stocked.store) == before
    succeeded(stocked.run("remove", BARE))
    succeeded(stocked.run("remove", "--force", FULL))
    assert stored(stocked) == {"packages": [], "toolkits": [], "requests": []}
    assert busy.poll() is None


def test_a_program_that_ended_holds_nothing(stocked: Home, busy: subprocess.Popen[str]) -> None:
    busy.communicate("\n")
    succeeded(stocked.run("remove", FULL))


def test_pins_follow_what_is_installed(stocked: Home, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "env")
    hook = prefix / "etc/conda/activate.d/~~cudaswitch.sh"

    def switched_to() -> str:
        script = f'CONDA_PREFIX={prefix}; . "{hook}"; printenv CUDA_HOME'
        done = subprocess.run(
            ["sh", "-c", script], env=stocked.env | {"CONDA_PREFIX": str(prefix)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return Path(done.stdout.strip()).name

    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    assert switched_to() == FULL
    succeeded(stocked.run("install", toolkit(tmp_path, "10.1.300")))
    assert switched_to() == "10.1.300+cudnn7.6.5"
    succeeded(stocked.run("remove", "--force", "10.1.300+cudnn7.6.5"))
    assert switched_to() == "10.1.300"
    succeeded(stocked.run("remove", "--force", "10.1.300"))
    assert switched_to() == FULL


@pytest.mark.parametrize("closed", [False, True], ids=["open", "read-only"])
def test_hooks_follow_an_update_of_cudaswitch(stocked: Home, tmp_path: Path, closed: bool) -> None:
    """An older one wrote other texts, and fewer; these do where others cannot be written."""
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    folder = prefix / "etc" / "cudaswitch"
    now = snapshot(prefix)
    (folder / "core.sh").write_text("older\n")
    (folder / "copies.csh").unlink()
    before = snapshot(prefix)
    folder.chmod(0o555 if closed else 0o755)
    command = as_plain_user(str(console_script()), "install", str(toolkit(tmp_path, "10.2.89")))
    done = subprocess.run(command, env=stocked.env, capture_output=True, text=True, check=False)
    folder.chmod(0o755)
    assert (succeeded(done), done.stderr) == (["10.2.89"], "")
    assert snapshot(prefix) == (before if closed else now)


def test_a_pinned_directory_is_one_however_it_is_written(stocked: Home) -> None:
    (stocked.path / "sub").mkdir()
    for folder in (".", "sub/..", stocked.path):
        succeeded(stocked.run("pin", "10.1", "--dir", folder))
    kits = json.loads(stocked.run("list", "--json").stdout)["toolkits"]
    assert [kit["pinned_by"] for kit in kits if kit["name"] == FULL] == [
        [str(stocked.path / ".cuda-version")]
    ]


def test_environments_follow_an_alias(stocked: Home, tmp_path: Path) -> None:
    """As directories, the user and shells do."""
    succeeded(stocked.run("install", toolkit(tmp_path, "12.4.1")))
    succeeded(stocked.run("alias", "work", "10.1"))
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "work", "-p", prefix))
    succeeded(stocked.run("alias", "work", "12.4"))
    hook = (prefix / "etc/conda/activate.d/~~cudaswitch.sh").read_text().replace("''", "")
    assert "12.4.1" in hook
    assert "10.1" not in hook
    kits = {
        kit["name"]: kit for kit in json.loads(stocked.run("list", "--json").stdout)["toolkits"]
    }
    assert kits["12.4.1"]["pinned_by"] == [str(prefix)]


def test_aliases(stocked: Home, tmp_path: Path) -> None:
    done = stocked.run("alias", "thesis", "10.1")
    assert (succeeded(done), done.stderr) == ([], "")
    assert answers(stocked)["thesis"] == FULL
    assert succeeded(stocked.run("alias")) == ["thesis  10.1"]
    for arguments, value in ((["thesis"], FULL), (["thesis", "--cudnn", "none"], BARE)):
        done = stocked.run("exec", *arguments, "--", "printenv", "CUDA_HOME")
        assert Path(succeeded(done)[0]).name == value
    early = stocked.run("alias", "next", "14")
    assert succeeded(early) == []
    assert early.stderr.splitlines() == [
        "cudaswitch: CUDA 14 is not installed yet",
        "hint: cudaswitch install 14",
    ]
    assert "next" not in answers(stocked)
    succeeded(stocked.run("install", toolkit(tmp_path, "14.0.1")))
    assert answers(stocked)["next"] == "14.0.1"
    succeeded(stocked.run("alias", "--delete", "thesis"))
    assert succeeded(stocked.run("alias")) == ["next  14"]
    assert "thesis" not in answers(stocked)
    refused(stocked.run("alias", "--delete", "thesis"), "no alias `thesis`")
    refused(stocked.run("alias", "--delete"), "name the alias", code=2)
    refused(stocked.run("alias", "latest", "10.1"), "`latest` means something already")


@pytest.mark.parametrize(
    ("name", "request_text"),
    [
        ("10", "10.1"), ("../x", "10.1"), ("latest", "10.1"), ("auto", "10.1"), ("a b", "10.1"),
        ("x", "thesis"), ("x", "auto"), ("x", "$(id)"), ("x", "10.1+nccl2"), ("", "10.1"),
    ],
)  # fmt: skip
def test_odd_aliases(stocked: Home, name: str, request_text: str) -> None:
    before = snapshot(stocked.store)
    refused(stocked.run("alias", name, request_text), "`")
    assert snapshot(stocked.store) == before


def test_list(stocked: Home) -> None:
    lines = [line.split() for line in succeeded(stocked.run("list"))]
    folder = stocked.store / "toolkits"
    assert lines == [[name, "file", str(folder / name)] for name in (BARE, FULL)]
    active = succeeded(stocked.run("exec", FULL, "--", "cudaswitch", "list"))
    assert [line[0] for line in active] == [" ", "*"]
    bare = ["exec", BARE, "--cudnn", "none"]
    done = stocked.run(*bare, "--", "cudaswitch", "list", "--json")
    data = json.loads("\n".join(succeeded(done)))
    assert data["toolkits"][1] == {
        "name": FULL,
        "version": "10.1.243",
        "cudnn": "7.6.5",
        "path": str(folder / FULL),
        "source": "file",
        "platform": "linux-64",
        "packages": ["cudatoolkit-10.1.243-h6bb024c_0", "cudnn-7.6.5-cuda10.1_0"],
        "base": None,
        "active": False,
        "pinned_by": [],
    }
    assert data["toolkits"][0]["active"] is True
    package = data["packages"][1]
    assert len(package.pop("sha256")) == 64
    assert package.pop("size") > 0
    assert Path(package.pop("origin")).name == "cudnn-7.6.5-cuda10.1_0.tar.bz2"
    assert package == {
        "name": "cudnn",
        "version": "7.6.5",
        "build": "cuda10.1_0",
        "component": "cudnn",
        "platform": "linux-64",
        "source": "file",
    }


def opened(home: Home, *arguments: str) -> Counter[str]:
    """Run a command in an interpreter that notes which records of the store it opens."""
    noted = (
        "import sys, atexit; seen = []\n"
        "def note(event, args): event == 'open' and seen.append(str(args[0]))\n"
        "sys.addaudithook(note)\n"
        "atexit.register(lambda: print(*seen, sep='\\n', file=sys.stderr))\n"
        "from cudaswitch.__main__ import main; sys.argv[0] = 'cudaswitch'; sys.exit(main())"
    )
    done = home.run("exec", "--", sys.executable, "-c", noted, *arguments)
    succeeded(done)
    found = (Path(line) for line in done.stderr.splitlines() if line.startswith("/"))
    records = [path for path in found if path.name == "cudaswitch.json"]
    assert records
    return Counter(str(path.parent.relative_to(home.store)) for path in records)


def test_list_reads_no_more_for_more_pins_and_no_packages(stocked: Home, tmp_path: Path) -> None:
    before = opened(stocked, "list")
    for number in range(3):
        environment = conda_prefix(tmp_path / f"env{number}")
        succeeded(stocked.run("pin", "10.1", "--prefix", environment))
    after = opened(stocked, "list")
    assert set(after) == {f"toolkits/{name}" for name in (BARE, FULL)}
    assert after == before
    packages = [name for name in opened(stocked, "list", "--json") if name.startswith("packages/")]
    assert len(packages) == 2


def test_removing_reads_the_packages_that_go(stocked: Home) -> None:
    reads = opened(stocked, "remove", BARE)
    assert not [name for name in reads if name.startswith("packages/")]


def test_list_of_nothing(home: Home, pair: list[Path]) -> None:
    done = home.run("list")
    assert succeeded(done) == []
    told = "cudaswitch: no toolkit is installed\nhint: cudaswitch install"
    assert done.stderr.startswith(told)
    done = home.run("list", "--json")
    assert json.loads("\n".join(succeeded(done))) == {"toolkits": [], "packages": []}
    assert not home.store.exists()
    # A cuDNN that waits for its toolkit is something, and no toolkit.
    succeeded(home.run("install", pair[1]))
    assert home.run("list").stderr.startswith(told)


def test_a_killed_removal_ends_right(stocked: Home, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        stocked.run("remove", FULL, **preloaded(tmp_path, "kill", "rename", number))
        assert stocked.run("list").returncode == 0
        files = sorted((tmp_path / "files").iterdir())
        assert succeeded(stocked.run("install", *files)) == [BARE, FULL]
    stocked.run("remove", FULL, **preloaded(tmp_path, "kill", "unlink", 5))
    stocked.run("remove", FULL)
    succeeded(stocked.run("remove", BARE))
    assert stored(stocked)["toolkits"] == []
    assert stored(stocked)["packages"] in ([], ["cudnn-7.6.5-cuda10.1_0"])


def test_folders_that_cannot_be_renamed_go_too(stocked: Home, tmp_path: Path) -> None:
    """As in a container, where the store came with the image."""
    crossing = preloaded(tmp_path, "fail", "rename", number=errno.EXDEV)
    for name in (BARE, FULL):
        succeeded(stocked.run("remove", name, **crossing))
    assert stored(stocked) == {"packages": [], "toolkits": [], "requests": []}


def test_an_adopted_one_that_was_deleted_is_passed_over(home: Home, tmp_path: Path) -> None:
    """By prefixes and ranges; where nothing else fits, it is told what mends it."""
    for version in ("12.4.1", "12.7.0"):
        folder = tmp_path / version
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "nvcc").touch(0o755)
        (folder / "version.json").write_text(json.dumps({"cuda": {"version": version}}))
        assert succeeded(home.run("adopt", folder))[0].split() == [version, str(folder)]
    prefix = conda_prefix(tmp_path / "env")
    succeeded(home.run("pin", "12", "--prefix", prefix))
    (tmp_path / "12.7.0").rename(tmp_path / "elsewhere")
    for request in ("12", "latest", ">=12", "12.4"):
        done = home.run("exec", request, "--", "printenv", "CUDA_HOME")
        assert succeeded(done) == [str(tmp_path / "12.4.1")], request
    why = f"toolkit `{tmp_path / '12.7.0'}` is gone"
    assert why in refused(home.run("exec", "12.7", "--", "true"))
    assert "cudaswitch remove 12.7.0" in home.run("exec", "12.7", "--", "true").stderr
    # The next change tells everybody: ready answers, hooks.
    succeeded(home.run("alias", "mine", "12"))
    assert answers(home)["12"] == "12.4.1"
    (tmp_path / "elsewhere").rename(tmp_path / "12.7.0")
    assert succeeded(home.run("exec", "12", "--", "printenv", "CUDA_HOME")) == [
        str(tmp_path / "12.7.0")
    ]


def test_a_clone_of_a_pinned_environment_pins_too(home: Home, tmp_path: Path) -> None:
    """conda knows it, by its list; of ours it has the pin and the hooks, and no note."""
    for version in ("12.7.0", "12.7.1"):
        folder = tmp_path / version
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "nvcc").touch(0o755)
        (folder / "version.json").write_text(json.dumps({"cuda": {"version": version}}))
    succeeded(home.run("adopt", tmp_path / "12.7.0"))
    original, clone = conda_prefix(tmp_path / "original"), tmp_path / "clone"
    succeeded(home.run("pin", "12.7", "--prefix", original))
    shutil.copytree(original, clone)
    shutil.rmtree(original)
    (home.path / ".conda").mkdir()
    (home.path / ".conda" / "environments.txt").write_text(f"{original}\n{clone}\n")
    [kit] = json.loads(home.run("list", "--json").stdout)["toolkits"]
    assert kit["pinned_by"] == [str(clone)]
    assert f"pinned by {clone}" in refused(home.run("remove", "12.7.0"))
    succeeded(home.run("adopt", tmp_path / "12.7.1"))
    kits = json.loads(home.run("list", "--json").stdout)["toolkits"]
    assert [kit["pinned_by"] for kit in kits] == [[], [str(clone)]]
    hook = (clone / "etc/conda/activate.d/~~cudaswitch.sh").read_text()
    assert "12.7.1" in hook
    succeeded(home.run("unpin", "--prefix", clone))
    succeeded(home.run("remove", "12.7.1"))


def test_what_may_not_be_looked_at_pins_nothing(stocked: Home, tmp_path: Path) -> None:
    """conda's list may name environments of others; a link is no second environment."""
    closed = conda_prefix(tmp_path / "closed" / "env")
    half = conda_prefix(tmp_path / "half")
    (half / "etc" / "cudaswitch").mkdir()
    mine = conda_prefix(tmp_path / "mine")
    (tmp_path / "link").symlink_to(mine)
    succeeded(stocked.run("pin", "10.1", "--prefix", mine))
    lines = [closed, half, mine, tmp_path / "link", "no/such\0thing", tmp_path / "nowhere"]
    (stocked.path / ".conda" / "envs").mkdir(parents=True)
    (stocked.path / ".conda" / "environments.txt").write_text("\n".join(map(str, lines)))
    shut = [closed.parent, half / "etc" / "cudaswitch", stocked.path / ".conda" / "envs"]
    for folder in shut:
        folder.chmod(0)
    try:
        command = as_plain_user(str(console_script()), "list", "--json")
        done = subprocess.run(command, env=stocked.env, capture_output=True, text=True, check=False)
        kits = {kit["name"]: kit for kit in json.loads("".join(succeeded(done)))["toolkits"]}
        assert kits[FULL]["pinned_by"] == [str(mine)]
        (stocked.path / ".conda" / "environments.txt").chmod(0)
        done = subprocess.run(command, env=stocked.env, capture_output=True, text=True, check=False)
        assert succeeded(done)
    finally:
        for folder in shut:
            folder.chmod(0o755)
