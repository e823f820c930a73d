"""What `list` shows, and what it reads for that."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from checks import succeeded
from homes import Home, make_home
from shells.conda import conda_prefix
from stock import BARE, FULL, kit
from tools import executable


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


def test_a_store_that_links_lead_to_comes_once(stocked: Home, tmp_path: Path) -> None:
    link, above = tmp_path / "link", tmp_path / "above"
    link.symlink_to(stocked.store)
    above.symlink_to(tmp_path)
    stores = f"{link}:{stocked.store}:{above / stocked.store.name}"
    lines = succeeded(stocked.run("list", CUDASWITCH_STORES=stores))
    assert lines == succeeded(stocked.run("list"))
    person = make_home(tmp_path / "person")
    lines = succeeded(person.run("list", CUDASWITCH_STORES=stores))
    assert [line.split()[0] for line in lines] == [BARE, FULL]


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
    assert json.loads("\n".join(succeeded(done))) == {
        key: [] for key in ("toolkits", "packages", "pins")
    }
    assert not home.store.exists()
    # A cuDNN that waits for its toolkit is installed, but is no toolkit.
    succeeded(home.run("install", pair[1]))
    assert home.run("list").stderr.startswith(told)


def test_what_list_calls_active_current_does_too(stocked: Home, tmp_path: Path) -> None:
    """Only what the shell has is active, not a toolkit that was just asked for or changed later."""
    other = executable(tmp_path / "other/bin/nvcc").parent
    nvcc = executable(kit(stocked, BARE) / "bin/nvcc")
    bare = ("exec", BARE, "--cudnn", "none", "--gpus", "0", "--")
    again = f"hint: cudaswitch use {BARE} --gpus 0 --cudnn none"

    def told(*before: str, **more: str) -> tuple[list[str], list[str]]:
        more = {"SHELL": "/bin/bash", **more}
        lines = succeeded(stocked.run(*before, "cudaswitch", "list", cwd=tmp_path, **more))
        current = stocked.run(*before, "cudaswitch", "current", cwd=tmp_path, **more)
        succeeded(current)
        return [line.split()[1] for line in lines if line[0] == "*"], current.stderr.splitlines()

    assert told(*bare) == ([BARE], [])
    assert told(*bare, "env", "CUDA_HOME=/x") == (
        [],
        ["cudaswitch: this shell has CUDA_HOME=/x", again],
    )
    path = f"PATH={other}:{nvcc.parent}:{stocked.env['PATH']}"
    has = f"cudaswitch: this shell has {other}/nvcc first on PATH"
    assert told(*bare, "env", path) == ([], [has, again])
    has = f"cudaswitch: this shell has no CUDA_HOME and no {nvcc.parent}/ on PATH"
    without = (*bare, "env", "-u", "CUDA_HOME", f"PATH={Path(sys.executable).parent}")
    assert told(*without) == ([], [has, again])
    (tmp_path / ".cuda-version").write_text("10.1\n")
    assert told("exec", "system", "--", "env", "-u", "_CUDASWITCH_U") == (
        [],
        ["cudaswitch: this shell has no toolkit", "hint: cudaswitch init --install bash"],
    )
    assert told("exec", FULL, "--", "env", "-u", "_CUDASWITCH_U") == ([FULL], [])
    (tmp_path / ".cuda-version").write_text("10.1\ncudnn none\n")
    assert told("exec", FULL, "--", "env", "-u", "_CUDASWITCH_U") == (
        [FULL],
        [
            f"cudaswitch: this shell has {kit(stocked)}",
            "hint: cudaswitch init --install bash",
        ],
    )
    gone = f"_CUDASWITCH_U={tmp_path}/gone"
    assert told("exec", "system", "--", "env", gone) == (
        [],
        ["cudaswitch: that is gone", "hint: cudaswitch off"],
    )
    succeeded(stocked.run("shims", "install"))
    shims = stocked.store / "shims"
    assert told(*bare, "env", f"PATH={shims}:{nvcc.parent}:{stocked.env['PATH']}") == ([BARE], [])


@pytest.mark.parametrize("end", ["", "/"])
def test_a_link_to_a_toolkit_is_that_toolkit(stocked: Home, tmp_path: Path, end: str) -> None:
    """A link to a toolkit, as /usr/local/cuda is in a startup file, counts as that toolkit."""
    link = tmp_path / "cuda"
    link.symlink_to(kit(stocked, BARE))
    succeeded(stocked.run("pin", BARE, "--cudnn", "none", "--global"))
    mine = {"CUDA_HOME": f"{link}{end}", "PATH": f"{link}/bin{end}:{stocked.env['PATH']}"}
    done = stocked.run("current", **mine)
    assert (succeeded(done)[0].split()[0], done.stderr) == (BARE, "")
    starred = [line.split()[1] for line in succeeded(stocked.run("list", **mine)) if line[0] == "*"]
    assert starred == [BARE]
    assert "CS076" not in stocked.run("doctor", **mine).stdout
    link.unlink()
    link.symlink_to(kit(stocked, FULL))
    assert "this shell has" in stocked.run("current", **mine).stderr
    assert "CS076" in stocked.run("doctor", **mine).stdout
