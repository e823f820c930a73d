"""Every command as a user or a script meets it: help, exit codes, streams, formats."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import builders
from checks import refused, succeeded
from cudaswitch.cli import COMMANDS
from homes import Home
from shells.conda import conda_prefix
from stock import FULL, kit
from tools import console_script

SHOWN = [name for name, (_, line) in COMMANDS.items() if line]


@pytest.mark.parametrize("command", SHOWN)
def test_help_shows_an_example(home: Home, command: str) -> None:
    done = home.run(command, "--help")
    text = "\n".join(succeeded(done))
    assert text.startswith("Usage: cudaswitch ")
    first, *further = text.partition("Example: ")[2].splitlines()
    # Each example is whole, on a line of its own.
    for example in (first, *further):
        assert re.match(
            r'(cudaswitch|eval "\$\(cudaswitch|source <\(cudaswitch) ', example.strip()
        ), text
    assert done.stderr == ""
    assert home.run(command, "-h").stdout == done.stdout
    assert not home.store.exists()


@pytest.mark.parametrize("command", SHOWN)
def test_help_waits_for_nothing_that_only_the_work_needs(home: Home, command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", console_script(), command, "--help"],
        env=home.env | {"COLUMNS": "60"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"click", "cudaswitch.cli"} <= loaded
    heavy = {"requests", "urllib3", "asyncio", "yaml", "msgpack", "isal", "packaging.markers"}
    assert not loaded & (heavy | {"rattler", "conda_package_streaming", "cudaswitch.archives.zips"})


def test_help_lists_every_command(home: Home) -> None:
    text = "\n".join(succeeded(home.run("--help")))
    for command in SHOWN:
        assert re.search(rf"^  {command} +\S", text, re.MULTILINE), command
    assert max(map(len, text.splitlines())) <= 100
    for group in ("shims", "config"):
        listed = home.run(group, "--help").stdout.partition("Commands:")[2].partition("\n\n")[0]
        assert [line for line in listed.splitlines() if line.endswith(".")] == [], group


WRONG = {
    "no such command": ["instal"],
    "no such option": ["list", "--jsn"],
    "nothing to install": ["install"],
    "nothing to remove": ["remove"],
    "too much": ["current", "10.1"],
    "an odd choice": ["install", "x.conda", "--platform", "amiga"],
    "an odd source": ["install", "13.0", "--from", "apt"],
    "no command behind exec": ["exec", "10.1"],
    "nothing behind --": ["exec", "10.1", "--"],
    "two requests": ["exec", "10.1", "10.2", "--", "true"],
    "cuDNN for what is active": ["exec", "--cudnn", "7.6", "--", "true"],
    "two places": ["pin", "10.1", "--global", "--dir", "."],
    "two environments": ["resolve", "-n", "a", "-p", "b"],
    "two spellings": ["env", "10.1", "--shell", "bash", "--format", "json"],
    "no value": ["install", "x.conda", "--sha256"],
    "a hash of a version": ["install", "13.0", "--sha256", "0" * 64],
    "cuDNN by version with a file": ["install", "./x.conda", "--cudnn", "7.6"],
    "half an alias": ["alias", "lab"],
    "agreeing to adopt one": ["adopt", "/usr/local/cuda", "--yes"],
    "agreeing to findings": ["doctor", "--yes"],
    "agreeing to a text": ["init", "bash", "--yes"],
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage(home: Home, case: str) -> None:
    command = WRONG[case][0] if WRONG[case][0] in COMMANDS else ""
    refused(home.run(*WRONG[case]), code=2, hint=f"cudaswitch {command} --help".replace("  ", " "))
    assert not home.store.exists()


@pytest.mark.parametrize(
    "line", ["gpus 0,0", "gpus 1,01", "gpus GPU-ab,GPU-AB", "cudnn x", "libraries maybe"]
)
def test_a_fault_in_a_file_is_named_with_its_own_line(home: Home, line: str) -> None:
    (home.path / ".cuda-version").write_text(f"cuda 12\n# ours\n{line}\n")
    message = refused(home.run("current"), f"`{line.split()[1]}`", hint="")
    assert message.endswith("(asked for by ./.cuda-version:3)")


EMPTY = {
    "a hash": (["install", "./x.whl", "--sha256", ""], "`--sha256`"),
    "behind =": (["install", "./x.whl", "--sha256="], "`--sha256`"),
    "one of several": (["install", "13.0", ""], "`WHAT`"),
    "a mirror": (["install", "13.0", "--from", "pypi", "--mirror", ""], "`--mirror`"),
    "a channel": (["search", "12", "--channel", "nvidia", "--channel", ""], "`--channel`"),
    "a choice": (["install", "13.0", "--platform", ""], "`--platform`"),
    "a search": (["search", ""], "`REQUEST`"),
    "a path": (["adopt", ""], "`PATH`"),
    "a version": (["adopt", "/usr/local/cuda", "--as", ""], "`--as`"),
    "an environment": (["pin", "10.1", "-n", ""], "`--name`"),
    "its path": (["pin", "-p", "", "10.1"], "`--prefix`"),
    "a folder": (["pin", "10.1", "--dir", ""], "`--dir`"),
    "a folder to write to": (["download", "-d", "", "13.0"], "`--directory`"),
    "a lock file": (["sync", "--lock", ""], "`--lock`"),
    "a shell": (["env", "10.1", "--shell", ""], "`--shell`"),
    "a shell's name": (["init", ""], "`SHELL`"),
    "a shell with completions": (["completion", ""], "`SHELL`"),
    "a request": (["env", ""], "`REQUEST`"),
    "a request before a command": (["exec", "", "--", "true"], "`REQUEST`"),
    "a request without --": (["exec", "", "true"], "`REQUEST`"),
    "a choice of this shell": (["want", "--for-use", ""], "`REQUEST`"),
    "a tool": (["which", ""], "`TOOL|LIB`"),
    "a setting": (["config", "get", ""], "`NAME`"),
    "a setting to set": (["config", "set", "", "5"], "`NAME`"),
    "behind --": (["remove", "--", ""], "`TOOLKIT`"),
}


@pytest.mark.parametrize("case", EMPTY)
def test_an_empty_word_is_no_value(home: Home, case: str) -> None:
    """An empty word, as of an unset variable, switches no check off and means no directory."""
    words, name = EMPTY[case]
    before = sorted(home.path.iterdir())
    command = " ".join(words[: 2 if words[0] == "config" else 1]).replace("want", "use")
    message = refused(home.run(*words), code=2, hint=f"cudaswitch {command} --help")
    assert message.startswith(f"cudaswitch: {name} is empty")
    assert sorted(home.path.iterdir()) == before


def test_an_empty_word_too_many_is_shown(home: Home) -> None:
    message = refused(home.run("list", ""), code=2, hint="cudaswitch list --help")
    assert message.startswith("cudaswitch: Got unexpected extra argument ('')")
    refused(home.run("config", ""), "No such command ''", code=2, hint="config --help")


def test_a_command_may_have_empty_words(home: Home) -> None:
    for options in ([], ["--gpus", "0"]):
        done = home.run("exec", *options, "--", "printf", "<%s>", "", "a", "")
        assert succeeded(done) == ["<><a><>"]


def test_a_typo_names_what_was_meant(home: Home) -> None:
    message = refused(home.run("instal", "13.0"), "instal", code=2, hint="")
    assert message.splitlines()[0].endswith("No such command 'instal'. Did you mean 'install'?")
    assert "Did you mean" not in refused(home.run("xyzzy"), "xyzzy", code=2, hint="")


@pytest.mark.parametrize(
    ("word", "ours"),
    [("uninstall", "remove"), ("unset", "off"), ("local", "pin"), ("global", "pin --global")],
)
def test_the_word_of_another_tool_names_ours(home: Home, word: str, ours: str) -> None:
    message = refused(home.run(word, "10.1"), f"No such command '{word}'", code=2, hint="")
    assert message.splitlines()[0].endswith(f"Did you mean '{ours}'?")
    assert succeeded(home.run(*ours.split(), "--help"))


def test_what_shells_ask_proposes_the_options_of_use(home: Home) -> None:
    for typed in ("--bogus", "--for-us", "--fil"):
        message = refused(home.run("want", "--for-use", typed), code=2, hint="use --help")
        assert message.startswith(f"cudaswitch: No such option '{typed}'")
        assert not {"'--for-use'?", "'--file'?"} & set(re.split(r"[\s,]+", message))
    message = refused(home.run("want", "--for-use", "--gpu", "0"), code=2, hint="use --help")
    assert message.endswith("Did you mean '--gpus'?")


@pytest.mark.parametrize("option", ["-n", "--dir", "--global"])
def test_who_wants_to_pin_with_use_is_told_so(home: Home, option: str) -> None:
    done = home.run("want", "--for-use", "10.1", option, "x")
    refused(done, "only this shell", code=2, hint=f"cudaswitch pin VERSION {option}")


def test_what_init_takes_out_does_not_load_it_any_more(home: Home) -> None:
    for done, more in (
        ("--install", ""),
        ("--remove", "no longer loads cudaswitch\n"),
        ("--remove", "cudaswitch\n"),
    ):
        assert home.run("init", done, "bash", "--yes").stderr.endswith(more)


def test_a_range_without_quotes_is_a_redirection(home: Home) -> None:
    refused(home.run("want", "--for-use"), "a range in quotes: '>=11.2'", code=2, hint="use --help")


def test_who_wants_to_be_rid_of_shims_is_told_the_folder(home: Home) -> None:
    [folder] = succeeded(home.run("shims", "path"))
    for word in ("remove", "uninstall"):
        done = home.run("shims", word)
        refused(done, f"no `shims {word}`", code=2, hint=f"rm -r '{folder}'")


def test_without_arguments_it_tells_what_it_can(home: Home) -> None:
    assert succeeded(home.run()) == succeeded(home.run("--help"))


@pytest.mark.parametrize(("columns", "longest"), [("", 78), ("60", 58), ("79", 77), ("500", 78)])
def test_help_is_as_wide_as_the_terminal(home: Home, columns: str, longest: int) -> None:
    lines = succeeded(home.run("pin", "--help", COLUMNS=columns))
    # Lines of options are left out: their texts stand beside names, which are not broken.
    texts = [line for line in lines if not line.startswith(("  -", "   "))]
    assert longest - 20 < max(map(len, texts)) <= longest


def test_help_loads_no_more_than_it_needs(home: Home) -> None:
    """Help loads no compression and no hashes, and the main help keeps the collector off."""
    show = "import atexit, gc, sys; atexit.register(lambda: print(gc.isenabled(), *sys.modules))"
    show += "; import cudaswitch.__main__ as m; sys.argv[0] = 'cudaswitch'; sys.exit(m.main())"
    for arguments, loading in ([], "False"), (["pin"], "True"):
        done = subprocess.run(
            [sys.executable, "-I", "-c", show, *arguments, "--help"],
            env=home.env | {"COLUMNS": "60"}, cwd="/", capture_output=True, text=True, check=True,
        )  # fmt: skip
        enabled, *modules = done.stdout.splitlines()[-1].split()
        assert enabled == loading
        assert not {"shutil", "bz2", "lzma", "hashlib"} & {*modules}, arguments


def test_version(home: Home) -> None:
    from cudaswitch import __version__

    assert succeeded(home.run("--version")) == [f"cudaswitch {__version__}"]
    module = subprocess.run(
        [sys.executable, "-m", "cudaswitch", "--version"],
        env=home.env, cwd="/", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert module.stdout == f"cudaswitch {__version__}\n"


def test_current(lent: Home, tmp_path: Path) -> None:
    def current(*before: str | Path, **more: str) -> dict[str, object]:
        done = lent.run(*before, console_script(), "current", "--json", cwd=tmp_path, **more)
        data: dict[str, object] = json.loads("\n".join(succeeded(done)))
        return data

    nothing = json.loads(lent.run("current", "--json", cwd=tmp_path).stdout)
    assert nothing == {
        "toolkit": None, "version": None, "path": None, "origin": "nothing", "agrees": True,
    }  # fmt: skip
    on = {"toolkit": FULL, "version": "10.1.243", "path": str(kit(lent))}
    used = current("exec", "10.1", "--")
    origin = "this shell's `cudaswitch use`, `env` or `exec`"
    assert used == {**on, "origin": origin, "agrees": True}
    (tmp_path / ".cuda-version").write_text("# ours\n10.1\n")
    asked = json.loads(lent.run("current", "--json", cwd=tmp_path).stdout)
    assert asked == {**on, "origin": f"{tmp_path}/.cuda-version:2", "agrees": False}
    assert current("exec", "--")["agrees"] is True
    spoiled = lent.run(
        "exec", "10.1", "--", "env", "CUDA_HOME=/x", console_script(), "current", "--json",
    )  # fmt: skip
    assert json.loads(spoiled.stdout)["agrees"] is False
    spoiled = lent.run("exec", "10.1", "--", "env", "CUDA_HOME=/x", console_script(), "current")
    assert spoiled.stderr.splitlines() == [
        "cudaswitch: this shell has CUDA_HOME=/x", f"hint: cudaswitch use {FULL}",
    ]  # fmt: skip
    human = lent.run("current", cwd=tmp_path, SHELL="/bin/bash")
    assert succeeded(human) == [
        f"{FULL} (asked for by ./.cuda-version:2)", str(kit(lent)),
    ]  # fmt: skip
    assert human.stderr.startswith("cudaswitch: this shell has no toolkit\n")
    assert human.stderr.endswith("hint: cudaswitch init --install bash\n")
    prefix = conda_prefix(tmp_path / "env")
    succeeded(lent.run("pin", "10.1", "-p", prefix))
    human = lent.run("current", CONDA_PREFIX=str(prefix))
    assert human.stderr.endswith("hint: activate the environment again\n")
    assert "hint: " in human.stderr


def test_which(lent: Home, tmp_path: Path) -> None:
    other = tmp_path / "lib64/libcudnn.so.7"
    builders.elf_library(other, "libcudnn.so.7", {"x": 1})
    ask = ["exec", "10.1", "--", console_script(), "which"]
    where = {"LD_LIBRARY_PATH": str(other.parent)}
    found = json.loads("\n".join(succeeded(lent.run(*ask, "libcudnn.so.7", "--json", **where))))
    assert found.keys() == {"path", "why", "shadows", "consumer", "runs", "notes"}
    assert found["path"] == str(kit(lent) / "lib64/libcudnn.so.7.6.5")
    assert found["why"] == f"`{kit(lent)}/lib64` is in LD_LIBRARY_PATH, in CUDA {FULL}"
    assert found["shadows"] == [str(other)]
    human = lent.run(*ask, "libcudnn.so.7", **where)
    assert succeeded(human) == [found["path"]]
    assert f"shadows {other}" in human.stderr
    refused(lent.run("which", "nothing-of-it"), "was not found", code=127, hint="or install")
    missing = lent.run("which", "libcudnn.so.7")
    refused(missing, "`libcudnn.so.7` was not found", code=127, hint=f"use {FULL}")
    for odd in ("../../etc/passwd", ".", "/etc/passwd", "a\nb"):
        refused(lent.run("which", odd), "was not found", code=127, hint=None)


RESOLUTION = {
    "cuda", "cudnn", "runs", "bundled", "toolkit", "frameworks", "reasons", "rejected", "hint",
}  # fmt: skip


def test_resolve(lent: Home, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "env")
    info = prefix / "lib/python3.7/site-packages/tensorflow_gpu-2.3.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tensorflow-gpu\nVersion: 2.3.0\n")
    done = lent.run("resolve", "-p", prefix, "--json", "--driver", "450.80.02")
    data = json.loads("\n".join(succeeded(done)))
    assert data.keys() >= RESOLUTION
    assert (data["cuda"], data["cudnn"], data["toolkit"]) == ("10.1", "7.6", FULL)
    text = "\n".join(succeeded(lent.run("resolve", "-p", prefix, "--driver", "450.80.02")))
    assert "10.1" in text
    refused(lent.run("resolve"), "no environment is active", hint="-n or -p")
    refused(lent.run("resolve", "-p", tmp_path / "none"), "does not exist", hint="")
    refused(lent.run("resolve", "-n", "none"), "no environment `none`", hint="")


def test_use_without_the_integration_says_how_to_get_it(lent: Home) -> None:
    for arguments in (["use", "10.1"], ["off"], ["use", "-"]):
        refused(lent.run(*arguments, SHELL="/bin/zsh"), "has not loaded", hint="init zsh")
    refused(lent.run("use", "11.0"), "CUDA 11.0 is not installed", hint="install 11.0")


@pytest.mark.parametrize("options", [[], ["--install"], ["--remove"]])
@pytest.mark.parametrize("shell", ["sh", "dash", "elvish", "cmd"])
def test_init_of_a_shell_for_which_there_is_env_alone(
    home: Home, shell: str, options: list[str]
) -> None:
    hint = f"cudaswitch env VERSION --shell {'sh' if shell == 'dash' else shell}"
    done = home.run("init", *options, shell)
    message = refused(done, f"`{shell}` has no integration", code=2, hint=hint)
    assert "known" not in message


def test_init_of_an_unknown_shell(home: Home) -> None:
    refused(home.run("init", "rc"), "unknown shell `rc`", code=2, hint="choose from bash")


def test_a_shell_may_go_by_another_name(home: Home) -> None:
    for name, other in ("nushell", "nu"), ("powershell", "pwsh"), ("csh", "tcsh"):
        assert succeeded(home.run("init", name)) == succeeded(home.run("init", other))


PINS = {
    "no environment of that name": (["pin", "10.1", "-n", "none"], "no environment `none`"),
    "no environment there": (["pin", "10.1", "-p", "none"], "does not exist"),
    "no such folder": (["pin", "10.1", "--dir", "none"], "does not exist"),
    "not installed": (["pin", "11.0", "--dir", "."], "CUDA 11.0 is not installed"),
    "no version": (["pin", "$(id)", "--dir", "."], "is not a CUDA version"),
    "nothing to unpin": (["unpin", "--dir", "."], "there is no `.cuda-version` in `"),
    "no pin of one's own": (["unpin", "--global"], "there is no global pin"),
    "cuDNN alone": (["pin", "system", "--cudnn", "7.6", "--dir", "."], "`system` means no toolkit"),
}


@pytest.mark.parametrize("case", PINS)
def test_pins_that_cannot_be(lent: Home, tmp_path: Path, case: str) -> None:
    arguments, word = PINS[case]
    refused(lent.run(*arguments, cwd=tmp_path), word)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("~=12.4", "'>=12.4,<13'"),
        ("~/cuda", "adopt FOLDER"),
        ("~", "adopt FOLDER"),
        ("./cuda", "adopt FOLDER"),
        ("/usr/local/cuda", "name its version, which cudaswitch adopt FOLDER registers"),
    ],
)
def test_what_is_no_request_is_answered_by_what_it_looks_like(
    lent: Home, asked: str, hint: str
) -> None:
    refused(lent.run("exec", asked, "--", "true"), f"`{asked}`", hint=hint)


@pytest.mark.parametrize("asked", ["10.1", ">=10,<11", " >=10 , <11 "])
def test_what_a_pin_says_is_read_again(lent: Home, tmp_path: Path, asked: str) -> None:
    for words in ([], ["--cudnn", "7.6"], ["--libraries", "never", "--gpus", "0"]):
        succeeded(lent.run("pin", asked, *words, "--dir", ".", cwd=tmp_path))
        assert "10.1.243" in succeeded(lent.run("current", cwd=tmp_path))[0]


def test_a_range_by_hand_may_have_blanks_behind_its_commas(lent: Home, tmp_path: Path) -> None:
    file = tmp_path / ".cuda-version"
    file.write_text("cuda >=10.1, <11\ncudnn 7.6\n")
    show = ["exec", "--", "printenv", "CUDA_HOME"]
    assert succeeded(lent.run(*show, cwd=tmp_path)) == [str(kit(lent))]
    file.write_text("cuda 10.1, cudnn 7.6\n")
    refused(lent.run("current", cwd=tmp_path), "10.1, cudnn 7.6", ".cuda-version:1")


BROKEN = {
    "two on a line": "cuda 10.1 cudnn 7.6\n",
    "a command": "$(touch x)\n",
    "two versions": "10.1\n10.2\n",
    "binary": "\udcff\udcfe\0",
    "long": "#" * 5000,
    "empty": "",
    "an odd key": "rocm 5.0\n",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_version_file(lent: Home, tmp_path: Path, text: str) -> None:
    file = tmp_path / ".cuda-version"
    file.write_text(BROKEN[text], errors="surrogateescape")
    for command in (["current"], ["exec", "--", "true"]):
        refused(lent.run(*command, cwd=tmp_path), str(file), hint=None)
    assert list(tmp_path.iterdir()) == [file]


def test_a_version_file_of_an_older_powershell(lent: Home, tmp_path: Path) -> None:
    (tmp_path / ".cuda-version").write_bytes("10.1\r\n".encode("utf-16"))
    refused(lent.run("current", cwd=tmp_path), "cannot read", hint="save it as UTF-8")


def test_the_json_that_is_documented(stocked: Home) -> None:
    """Every key of the JSON is documented, and every documented key is there."""
    text = (Path(__file__).parent.parent / "docs" / "scripts.md").read_text()
    rows = dict(
        re.findall(r"^\| `([^`]+)` \| (.*) \|$", text.partition("## JSON")[2], re.MULTILINE)
    )
    commands = {
        "list": "",
        "current": "",
        "verify": "",
        "config list": "",
        "compat": "",
        "compat FRAMEWORK": "jax",
    }
    succeeded(stocked.run("pin", "10.1", "--global"))
    for name, argument in commands.items():
        words = [*name.removesuffix("FRAMEWORK").split(), *argument.split(), "--json"]
        told = json.loads(stocked.run(*words).stdout)
        keys = {*told}
        for value in told.values():
            inner = value if isinstance(value, list) else []
            keys |= {key for each in inner if isinstance(each, dict) for key in each}
        said = set(re.findall(r"`(\w+)`", rows[name]))
        assert said <= keys, name
        assert keys <= said, name
