"""Shims: real processes that must become the right tool, without Python, everywhere."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adoptable import toolkit
from builders import HELLO_CU, real_toolkit, runtime_number
from checks import refused
from cudaswitch import shims
from cudaswitch.adopting import adopt
from cudaswitch.automatic import recall
from cudaswitch.changing import own_store
from cudaswitch.decision import decide
from cudaswitch.environments import environment_at
from cudaswitch.versions import Version
from homes import HOSTILE_NAME, Home
from made_environments import Env
from shim_places import Place, echoing, environment
from tools import console_script, executable, require, root_only


def test_it_decides_as_the_command_does(place: Place, tmp_path: Path) -> None:
    """A shim decides as the command does, for every mixture and each order of what may ask."""
    system = echoing(tmp_path / "system" / "nvcc")
    old, new = "11.8\n", "cuda = 12.4 # newest\nlibraries never\n"
    environments = {
        (kind, pin): str(environment(tmp_path / f"{kind}-{len(pin or '')}", kind, pin))
        for kind in "VC"
        for pin in (None, old, new)
    }
    # Python is asked once about frameworks in these environments; the shims read its answer.
    for kind in "VC":
        recall(environment_at(Path(environments[kind, None])))
    below = place.home.path / HOSTILE_NAME / "below"
    below.mkdir(parents=True)
    (below.parent / ".cuda-version").write_text(new)
    pin = place.home.store / "global"
    seen = set()
    for shell, version, venv, conda, swapped, directory, for_user in itertools.product(
        ("", f"{place.old}:lib=never", "system"),
        ("", "12"),
        (None, *[environments["V", pin] for pin in (None, old, new)], str(tmp_path / "gone")),
        (None, *[environments["C", pin] for pin in (None, old, new)]),
        (False, True),
        (place.home.path, below),
        (False, True),
    ):
        folders = [f"{prefix}/bin" for prefix in (venv, conda) if prefix]
        variables = {
            "PATH": ":".join([*(folders[::-1] if swapped else folders), str(system.parent)]),
            "_CUDASWITCH_U": shell,
            "CUDASWITCH_VERSION": version,
            "VIRTUAL_ENV": venv or "",
            "CONDA_PREFIX": conda or "",
        }
        pin.write_text(old) if for_user else pin.unlink(missing_ok=True)
        done = place.call("nvcc", cwd=directory, **variables)
        chosen = decide(place.env(**variables), directory).want.home
        expected = str(system) if chosen == "system" else f"{chosen}/bin/nvcc"
        assert (done.returncode, done.stdout) == (0, f"{expected}\0"), (variables, done.stderr)
        seen.add(expected)
    assert len(seen) == 3
    assert not place.python_was_asked


def test_a_layer_of_uv_counts_as_what_is_below(place: Place, tmp_path: Path) -> None:
    """An environment of `uv run --with` counts as the one below it, which its pyvenv.cfg names."""
    project = environment(tmp_path / "project", "V", "11.8\n")
    layer = environment(tmp_path / "layer", "V", None)
    config = f"home = /usr/bin\nversion_info = 3.11.2\nextends-environment = {project}\n"
    (layer / "pyvenv.cfg").write_text(config)
    path = f"{layer}/bin:{project}/bin:{place.home.env['PATH']}"
    done = place.call("nvcc", VIRTUAL_ENV=str(layer), PATH=path)
    assert done.stdout.split("\0")[0] == f"{place.old}/bin/nvcc"
    assert not place.python_was_asked


def test_a_framework_s_toolkit_that_is_not_installed_stops_nobody(
    place: Place, tmp_path: Path
) -> None:
    """A missing toolkit that only a framework needs is reported once, and stops nothing on PATH."""
    system = echoing(tmp_path / "system" / "nvcc")
    env = Env(environment(tmp_path / "env", "V", None))
    env.dist("cupy-cuda101", "7.8.0")
    path = f"{env.prefix}/bin:{system.parent}:{place.home.env['PATH']}"
    for told in (["needs CUDA 10.1", "cudaswitch install 10.1"], []):
        done = place.call("nvcc", VIRTUAL_ENV=str(env.prefix), PATH=path)
        assert (done.returncode, done.stdout) == (0, f"{system}\0")
        lines = done.stderr.splitlines()
        assert len(lines) == len(told)
        assert all(part in line for part, line in zip(told, lines, strict=True))


def test_a_framework_s_toolkit_that_is_gone_stops_nobody(place: Place, tmp_path: Path) -> None:
    """A toolkit of a framework stops nobody when it is gone, though the kept answer names it."""
    system = echoing(tmp_path / "system" / "nvcc")
    env = Env(environment(tmp_path / "env", "V", None))
    env.dist("cupy-cuda11x", "11.0.0")
    variables = {"VIRTUAL_ENV": str(env.prefix)}
    variables["PATH"] = f"{env.prefix}/bin:{system.parent}:{place.home.env['PATH']}"
    assert place.call("nvcc", **variables).stdout == f"{place.old}/bin/nvcc\0"
    shutil.rmtree(place.old)
    done = place.call("nvcc", **variables)
    assert (done.returncode, done.stdout) == (0, f"{system}\0"), done.stderr


def test_a_question_that_was_ended_is_no_answer(place: Place, tmp_path: Path) -> None:
    """Ctrl-C, or a system without memory, ends the shim, and does not bring another nvcc."""
    system = echoing(tmp_path / "system" / "nvcc")
    executable(place.home.path.parent / "it's" / "cudaswitch", "#!/bin/sh\nkill -KILL $$\n")
    env = environment(tmp_path / "env", "V", None)
    path = f"{env}/bin:{system.parent}:{place.home.env['PATH']}"
    done = place.call("nvcc", VIRTUAL_ENV=str(env), PATH=path)
    assert (done.returncode, done.stdout) == (128 + signal.SIGKILL, "")


def test_an_environment_without_a_whole_path_is_none(place: Place, tmp_path: Path) -> None:
    """An environment with a relative path is none, lest any working directory bring a pin along."""
    environment(tmp_path / "env", "V", "12.4\n")
    (tmp_path / ".cuda-version").write_text("11.8\n")
    for variables in ({"VIRTUAL_ENV": "env"}, {"CONDA_PREFIX": "env"}):
        done = place.call("nvcc", cwd=tmp_path, **variables)
        assert (done.returncode, done.stdout) == (0, f"{place.old}/bin/nvcc\0"), done.stderr


@pytest.mark.parametrize("text", [">=11,<12", "# why\n11 # old\n", "cuda\t11.8\n", "cuda=11"])
def test_what_has_no_ready_answer_is_asked_for(place: Place, text: str) -> None:
    (place.home.path / ".cuda-version").write_text(text)
    done = place.call("nvcc", CUDASWITCH_HOME="/nowhere")
    assert (done.returncode, done.stdout) == (0, f"{place.old}/bin/nvcc\0"), done.stderr
    assert place.python_was_asked == ("<" in text)


def test_a_file_that_cannot_decide_lets_no_weaker_one_decide(place: Place) -> None:
    (place.home.store / "global").write_text("11.8\n")
    file = place.home.path / ".cuda-version"
    for text, message in (("9.2", "CUDA 9.2 is not installed"), ("$(id)", "is not a CUDA version")):
        file.write_text(text)
        done = place.call("nvcc")
        assert (done.returncode, done.stdout) == (1, "")
        assert message in done.stderr
        assert "./.cuda-version:1" in done.stderr
    done = place.call("nvcc", CUDASWITCH_VERSION="9.2")
    assert (done.returncode, done.stdout) == (1, "")
    assert "asked for by CUDASWITCH_VERSION" in done.stderr


@root_only
def test_another_users_file_is_not_followed(place: Place) -> None:
    file = place.home.path / ".cuda-version"
    file.write_text("11.8")
    os.chown(file, 12345, 12345)
    done = place.call("nvcc")
    assert (done.returncode, done.stdout) == (1, "")
    assert "belongs to another user" in done.stderr
    assert "CUDASWITCH_VERSION=11.8 for exec and shims" in done.stderr
    # The file is followed for the user who called root by `sudo`.
    assert place.call("nvcc", SUDO_UID="12345").stdout == f"{place.old}/bin/nvcc\0"


def test_arguments_arrive_as_they_were(place: Place) -> None:
    arguments = ["", "a b", "*", "-n", HOSTILE_NAME, "line\nbreak", "\\", "$HOME"]
    done = place.call("nvcc", *arguments, _CUDASWITCH_U=str(place.new))
    assert done.stdout.split("\0")[:-1] == [f"{place.new}/bin/nvcc", *arguments]


@pytest.mark.parametrize("owner", ["shell", "variable", "environment", "directory", "nobody"])
def test_the_environment_arrives_as_it_was(place: Place, owner: str, tmp_path: Path) -> None:
    """The tool gets every variable unchanged, even one with the name of a variable in the shim."""
    words = set(shims.text("nvcc", own_store().home).replace("=", " ").split())
    names = {word for word in words if word.isidentifier() and word.islower()}
    assert {"store", "kit", "_csw_dir", "_csw_cuda"} <= names
    asking = {
        "shell": {"_CUDASWITCH_U": str(place.new)},
        "variable": {"CUDASWITCH_VERSION": "12"},
        "environment": {"VIRTUAL_ENV": str(environment(tmp_path / "venv", "V", "12.4\n"))},
    }
    if owner == "directory":
        (place.home.path / ".cuda-version").write_text("cuda = 12.4\nlibraries never\n")
    theirs = dict.fromkeys(names, "theirs") | {"LINES2": "a\nb"}
    system = tmp_path / "system"
    variables = place.env(**theirs, **asking.get(owner, {}))
    variables["PATH"] = f"{place.home.store}/shims:{system}:/usr/bin:/bin"
    text = f"#!{sys.executable} -ISE\n{_SHOW_ENVIRONMENT}"
    executable((system if owner == "nobody" else place.new / "bin") / "nvcc", text)
    shown = subprocess.run(
        [place.home.store / "shims" / "nvcc"],
        env=variables,
        cwd=place.home.path,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    found = dict(item.split("=", 1) for item in shown.decode().split("\0") if item)
    assert found.pop("_CUDASWITCH_SHIMS").startswith("1:")
    changed = {name for name in found | variables if found.get(name) != variables.get(name)}
    strange = {name for name in changed if not name.startswith(("__csw", "_cudaswitch_"))}
    assert strange <= {"PWD", "OLDPWD", "SHLVL", "_"}


@pytest.mark.parametrize("owner", ["shell", "variable"])
def test_what_asks_aloud_needs_none_of_the_rest(place: Place, owner: str) -> None:
    """With an explicit request a shim becomes the tool before the shell has read its functions."""
    shim = place.home.store / "shims" / "nvcc"
    said, rest = shim.read_text().split("__cudaswitch_newer()")
    assert len(said) < 2 * len(rest) / 7
    executable(shim, f"{said}exit 3\n")
    asking = {"shell": {"_CUDASWITCH_U": f"{place.new}:lib=never"}}
    done = place.call("nvcc", **asking.get(owner, {"CUDASWITCH_VERSION": "12"}))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{place.new}/bin/nvcc\0", "")


_SHOW_ENVIRONMENT = """import os, sys
sys.stdout.write("".join(f"{name}={value}\\0" for name, value in os.environ.items()))
"""


def test_it_becomes_the_tool(place: Place) -> None:
    """A shim becomes the tool: exit code, signals and standard input are the tool's own."""
    executable(place.new / "bin" / "nvcc", "#!/bin/sh\nread -r line; echo $$ $line; exit 42\n")
    start = [place.home.store / "shims" / "nvcc"]
    env = place.env(CUDASWITCH_VERSION="12.4")
    with subprocess.Popen(
        start, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        out, _ = process.communicate("hello\n", timeout=60)
        assert out == f"{process.pid} hello\n"
        assert process.returncode == 42
    executable(place.new / "bin" / "nvcc", "#!/bin/sh\necho up; exec sleep 60\n")
    with subprocess.Popen(start, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == -signal.SIGTERM


def test_it_never_calls_itself(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shim runs no other shim, be it another store's, a link or one by a relative folder."""
    monkeypatch.setenv("CUDASWITCH_HOME", str(tmp_path / "other"))
    adopt(own_store(), place.old, Version("11.8"))
    shims.install()
    link = tmp_path / "links" / "nvcc"
    link.parent.mkdir()
    link.symlink_to(place.home.store / "shims" / "nvcc")
    echoing(place.home.path / "nvcc")
    system = echoing(tmp_path / "system" / "nvcc")
    folders = [str(link.parent), str(place.home.store / "shims"), str(tmp_path / "other" / "shims")]
    path = ":".join([*folders, "", ".", *folders, str(system.parent)])
    for start in folders:
        done = subprocess.run(
            [f"{start}/nvcc"],
            env=place.env(PATH=path),
            cwd=place.home.path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout == f"{system}\0", done.stderr


def wrapper(folder: Path, how: str) -> Path:
    """Stand in for nvcc as ccache does, and start the first other nvcc on PATH."""
    return executable(
        folder / "nvcc",
        "#!/bin/sh\nIFS=:\nfor folder in $PATH; do\n"
        'if [ -x "$folder/nvcc" ] && ! [ "$folder/nvcc" -ef "$0" ]; then\n'
        f'{how} "$folder/nvcc" "$@"; exit\nfi\ndone\n',
    )


@pytest.mark.parametrize("how", ["exec", "command"])
@pytest.mark.parametrize(
    "order",
    ["cache shims system", "shims cache system", "shims one two system", "shims cache link system"],
)
def test_the_compiler_behind_a_wrapper_runs(
    place: Place, tmp_path: Path, order: str, how: str
) -> None:
    """Where nothing asks for a toolkit, a wrapper runs the compiler that it runs without shims."""
    system = echoing(tmp_path / "system/nvcc")
    folders = {"shims": place.home.store / "shims", "system": system.parent}
    for name in {"cache", "one", "two"} & set(order.split()):
        folders[name] = wrapper(tmp_path / name, how).parent
    if "link" in order:
        folders["link"] = tmp_path / "link"
        folders["link"].mkdir()
        (folders["link"] / "nvcc").symlink_to(tmp_path / "cache/nvcc")
    path = ":".join(str(folders[name]) for name in order.split())
    done = place.call("nvcc", "a b", PATH=f"{path}:/usr/bin:/bin")
    assert (done.stdout, done.stderr) == (f"{system}\0a b\0", "")


def test_the_next_is_the_one_behind_it(place: Place, tmp_path: Path) -> None:
    before, behind = (echoing(tmp_path / name / "nvcc") for name in ("before", "behind"))
    path = f"{before.parent}:{place.home.store}/shims"
    assert place.call("nvcc", PATH=f"{path}:{behind.parent}:/usr/bin").stdout == f"{behind}\0"
    assert place.call("nvcc", PATH=f"{path}:/usr/bin").stdout == f"{before}\0"


@pytest.mark.parametrize(
    ("call", "behind"), [("nvcc again", False), ('sh -c "nvcc again; :"', True)]
)
def test_a_tool_that_starts_itself_anew_finds_the_first(
    place: Place, tmp_path: Path, call: str, behind: bool
) -> None:
    """A tool that starts itself anew finds the first: what it ran in between is no wrapper."""
    first = executable(
        tmp_path / "first/nvcc",
        f"#!/bin/sh\ncase $1 in again) echo first ;; *) {call}; exit ;; esac\n",
    )
    path = f"{place.home.store}/shims:{first.parent}:/usr/bin:/bin"
    if behind:
        path += f":{echoing(tmp_path / 'second/nvcc').parent}"
    assert place.call("nvcc", PATH=path).stdout == "first\n"


def test_wrappers_that_call_the_shim_without_end_are_stopped(place: Place, tmp_path: Path) -> None:
    one, two = (wrapper(tmp_path / name, "exec").parent for name in ("one", "two"))
    path = f"{place.home.store}/shims:{one}"
    for folders in (path, f"{path}:{two}"):
        done = place.call("nvcc", PATH=f"{folders}:/usr/bin:/bin")
        assert done.returncode == 127
        assert done.stderr == (
            "cudaswitch: `nvcc` on PATH keeps calling its own shim\nhint: cudaswitch which nvcc\n"
        )
    for foreign in ("x", "08", "1+1", "a[$(id)]", "99999", ":", "1:$(id):/x"):
        done = place.call("nvcc", CUDASWITCH_VERSION="12", _CUDASWITCH_SHIMS=foreign)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_any_sh_runs_it(place: Place, shell: str) -> None:
    """Any sh runs it, also with the options that an exported SHELLOPTS sets in bash."""
    start = {"busybox": ["busybox", "sh"], "bash": ["bash", "--posix"]}.get(shell, [shell])
    (place.home.path / ".cuda-version").write_text("cuda latest\ncudnn none\n")
    done = subprocess.run(
        [require(start[0]), *start[1:], "-eu", str(place.home.store / "shims" / "nvcc"), "a b"],
        env=place.env(),
        cwd=place.home.path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == (f"{place.new}/bin/nvcc\0a b\0", "")
    assert not place.python_was_asked


def tools_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_shims_follow_what_is_installed(home: Home, tmp_path: Path) -> None:
    folder = home.store / "shims"
    assert home.run("shims", "path").stdout == f"{folder}\n"
    done = home.run("shims", "refresh")
    assert done.returncode == 1
    assert done.stderr.startswith("cudaswitch: no shims are installed\n")
    echoing(tmp_path / "one" / "bin" / "nvcc")
    assert home.run("adopt", tmp_path / "one", "--as", "11.8").returncode == 0
    assert not folder.exists()
    assert home.run("shims", "install").stdout == "nvcc\n"
    echoing(folder / "theirs")
    for tool in ("nvcc", "nsys", "cuda-gdb-python3.10-tui"):
        echoing(tmp_path / "two" / "bin" / tool)
    assert home.run("adopt", tmp_path / "two", "--as", "12.4").returncode == 0
    assert tools_in(folder) == ["cuda-gdb-python3.10-tui", "nsys", "nvcc", "theirs"]
    assert all(os.access(folder / tool, os.X_OK) for tool in tools_in(folder))
    before = (folder / "nvcc").stat().st_mtime_ns
    assert home.run("remove", "12.4").returncode == 0
    assert tools_in(folder) == ["nvcc", "theirs"]
    assert (folder / "nvcc").stat().st_mtime_ns == before
    assert home.run("shims", "refresh").stdout == "nvcc\n"


@pytest.mark.toolkit
def test_the_real_nvcc_compiles_through_its_shim(home: Home, tmp_path: Path) -> None:
    """The real nvcc, which finds its profile and libraries by its path, works through its shim."""
    require("gcc")
    assert home.run("adopt", real_toolkit()).returncode == 0
    assert home.run("shims", "install").returncode == 0
    assert home.run("pin", "latest", "--global").returncode == 0
    (tmp_path / "hello.cu").write_text(HELLO_CU)
    env = home.env | {"PATH": f"{home.store}/shims:{home.env['PATH']}"}
    nvcc = shutil.which("nvcc", path=env["PATH"])
    assert nvcc == f"{home.store}/shims/nvcc"
    subprocess.run(["nvcc", "hello.cu", "-o", "hello"], cwd=tmp_path, env=env, check=True)
    shown = subprocess.run([tmp_path / "hello"], capture_output=True, text=True, check=True).stdout
    assert str(runtime_number()) in shown


def test_what_cannot_be_written_leaves_no_mark(stocked: Home, tmp_path: Path) -> None:
    """A failed `shims install` leaves no mark, or `refresh` would renew shims that nobody has."""
    assert stocked.run("adopt", toolkit(tmp_path / "cuda-11.2")).returncode == 0
    command = ["sh", "-c", 'ulimit -f 0; exec "$1" shims install', "sh", console_script()]
    done = subprocess.run(
        command, env=stocked.env, capture_output=True, text=True, check=False, timeout=60
    )
    refused(done, "File too large", hint=None)
    assert list((stocked.store / "shims").iterdir()) == []
    refused(stocked.run("shims", "refresh"), "no shims are installed")
