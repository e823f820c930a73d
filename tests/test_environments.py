"""Which environment a name means: conda's own order, and never a guess."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checks import refused, succeeded
from homes import Home
from shells.conda import conda_prefix
from stock import FULL


def root(path: Path) -> Path:
    """Make an installation of conda without a program."""
    (conda_prefix(path) / "condabin").mkdir()
    return path


def register(home: Home, *prefixes: Path) -> None:
    """Let conda have noted these environments, oldest first."""
    (home.path / ".conda").mkdir(exist_ok=True)
    lines = b"".join(os.fsencode(prefix) + b"\n" for prefix in prefixes)
    (home.path / ".conda" / "environments.txt").write_bytes(lines)


def meant(home: Home, name: str, **variables: str) -> Path:
    """Return the environment that a pin by name is written to."""
    done = home.run("pin", "10.1", "-n", name, **variables)
    assert succeeded(done) == []
    [said] = [line for line in done.stderr.splitlines() if "is pinned to" in line]
    return Path(said.split("`")[1])


@pytest.fixture
def conda(tmp_path: Path) -> Path:
    return root(tmp_path / "conda")


def test_a_name_is_no_path_that_ends_alike(stocked: Home, conda: Path, tmp_path: Path) -> None:
    """A name means the environment that has it, not an older one whose path only ends in it."""
    by_path = conda_prefix(tmp_path / "project" / "torch")
    by_name = conda_prefix(conda / "envs" / "torch")
    register(stocked, by_path, by_name)
    exe = str(conda / "bin" / "conda")
    assert meant(stocked, "torch", CONDA_EXE=exe) == by_name
    register(stocked, by_path, conda, by_name)  # in a shell that knows no conda
    assert meant(stocked, "torch") == by_name


def test_one_that_goes_by_its_path_is_found_by_its_last_part(stocked: Home, tmp_path: Path) -> None:
    by_path = conda_prefix(tmp_path / "project \udcff" / "torch")
    register(stocked, by_path)
    meant(stocked, "torch")
    assert (by_path / "etc" / "cudaswitch" / "pin").is_file()


def test_two_of_one_name_are_not_guessed_between(stocked: Home, tmp_path: Path) -> None:
    both = [conda_prefix(tmp_path / name / "env") for name in ("a", "b")]
    register(stocked, *both)
    for command in (["pin", "10.1"], ["resolve"]):
        done = stocked.run(*command, "-n", "env")
        refused(done, *(f"`{prefix}`" for prefix in both), hint="-p")
    assert not [prefix for prefix in both if (prefix / "etc" / "cudaswitch").exists()]
    (tmp_path / "link").symlink_to(tmp_path / "a")
    register(stocked, both[0], tmp_path / "link" / "env")
    assert meant(stocked, "env") == both[0]


def test_the_base(stocked: Home, conda: Path, tmp_path: Path) -> None:
    other = root(tmp_path / "other")
    register(stocked, other, conda)
    assert meant(stocked, "base", CONDA_EXE=str(conda / "bin" / "conda")) == conda
    refused(stocked.run("pin", "10.1", "-n", "base"), f"`{other}`", f"`{conda}`", hint="-p")


def test_the_base_where_nothing_of_conda_s_has_run(
    stocked: Home, conda: Path, tmp_path: Path
) -> None:
    """The base is found in scripts, cron and images, whatever else has conda or is called base."""
    inner = root(conda / "envs" / "c")
    called = conda_prefix(tmp_path / "project" / "base")
    register(stocked, called, inner)
    assert meant(stocked, "base") == meant(stocked, "root") == conda
    register(stocked, called)
    refused(stocked.run("pin", "10.1", "-n", "base"), "there is no environment `base`", hint="-p")
    (conda / "condabin").mkdir(exist_ok=True)
    (conda / "condabin" / "conda").touch()
    for folder in ("bin", "condabin"):
        path = f"{conda}/{folder}:{stocked.env['PATH']}"
        assert meant(stocked, "base", PATH=path) == conda
        assert meant(stocked, "c", PATH=path) == inner
    own = conda_prefix(tmp_path / "work" / "base")
    assert meant(stocked, "base", WORKON_HOME=str(tmp_path / "work")) == own


def test_a_pin_to_auto_tells_that_nothing_needs_a_toolkit_yet(
    stocked: Home, tmp_path: Path
) -> None:
    prefix = conda_prefix(tmp_path / "new")
    done = stocked.run("pin", "auto", "-p", prefix)
    assert succeeded(done) == []
    said, hint = done.stderr.splitlines()
    assert said.endswith("is pinned to `auto`, and nothing there needs a toolkit")
    assert hint.startswith("hint: cudaswitch resolve")
    assert "is pinned to no toolkit" in stocked.run("pin", "system", "-p", prefix).stderr
    of_a_tree = stocked.run("pin", "auto", "--dir", tmp_path).stderr
    assert of_a_tree.endswith(".cuda-version` asks for what the active environment needs\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("10.1", f"10.1 (now {FULL})"),
        ("10.1 --cudnn 7.6", f"10.1 with cuDNN 7.6 (now {FULL})"),
        ("latest", f"latest (now {FULL})"),
        (FULL, FULL),
    ],
)
def test_a_pin_is_told_as_it_is_written(
    stocked: Home, tmp_path: Path, words: str, told: str
) -> None:
    prefix = conda_prefix(tmp_path / "new")
    for option, folder, verb in ("--dir", tmp_path, "asks for"), ("-p", prefix, "is pinned to"):
        said = stocked.run("pin", *words.split(), option, folder).stderr.splitlines()[0]
        assert said.endswith(f"` {verb} {told}")


def test_an_old_virtualenv(stocked: Home, tmp_path: Path) -> None:
    """A virtualenv by a version below 20 counts as one, though it has no pyvenv.cfg."""
    (tmp_path / "work/old/bin").mkdir(parents=True)
    (tmp_path / "work/old/bin/activate").touch()
    (tmp_path / "work/old/bin/activate_this.py").touch()
    assert meant(stocked, "old", WORKON_HOME=str(tmp_path / "work")) == tmp_path / "work/old"


@pytest.mark.parametrize("variable", ["CONDA_ENVS_DIRS", "CONDA_ENVS_PATH", "WORKON_HOME"])
def test_folders_that_a_person_names(stocked: Home, tmp_path: Path, variable: str) -> None:
    elsewhere = conda_prefix(tmp_path / "envs" / "torch")
    register(stocked, conda_prefix(tmp_path / "project" / "torch"))
    assert meant(stocked, "torch", **{variable: str(tmp_path / "envs")}) == elsewhere


@pytest.mark.parametrize("folder", ["~/envs", "$HOME/envs", "/nowhere:${HOME}/envs"])
def test_folders_that_a_person_names_by_the_home(
    stocked: Home, tmp_path: Path, folder: str
) -> None:
    elsewhere = conda_prefix(stocked.path / "envs" / "torch")
    register(stocked, conda_prefix(tmp_path / "project" / "torch"))
    assert meant(stocked, "torch", CONDA_ENVS_DIRS=folder) == elsewhere


@pytest.mark.parametrize("setting", ["envs_dirs: [~/envs]", "envs_path: $HOME/envs"])
def test_folders_that_conda_is_told_of(
    stocked: Home, conda: Path, tmp_path: Path, setting: str
) -> None:
    """Folders set in conda's files come before the base's and before environments noted by path."""
    own, of_base = stocked.path / "envs" / "torch", conda / "envs" / "torch"
    for prefix in (own, of_base):
        conda_prefix(prefix)
    register(stocked, conda_prefix(tmp_path / "project" / "torch"))
    exe = {"CONDA_EXE": str(conda / "bin" / "conda")}
    assert meant(stocked, "torch", **exe) == of_base
    (stocked.path / ".condarc").write_text(f"{setting}\n")
    assert meant(stocked, "torch", **exe) == own
    elsewhere = conda_prefix(tmp_path / "envs" / "torch")
    assert meant(stocked, "torch", CONDA_ENVS_DIRS=str(tmp_path / "envs"), **exe) == elsewhere
    (stocked.path / ".condarc").unlink()
    # The base's own file counts, too, where nothing of conda's has run in this shell.
    (conda / ".condarc").write_text(f"envs_dirs:\n- {tmp_path}/envs\n")
    (conda / "condabin" / "conda").touch()
    path = f"{conda}/condabin:{stocked.env['PATH']}"
    assert meant(stocked, "torch", PATH=path) == elsewhere


def test_a_file_of_conda_s_that_nobody_can_read_is_no_guess(stocked: Home, conda: Path) -> None:
    conda_prefix(conda / "envs" / "torch")
    register(stocked, conda)
    (stocked.path / ".condarc").write_text("envs_dirs: [")
    refused(stocked.run("pin", "10.1", "-n", "torch"), ".condarc", hint="conda config")


def test_the_person_s_own_folder_comes_first_where_the_base_is_another_s(
    stocked: Home, conda: Path
) -> None:
    own = conda_prefix(stocked.path / ".conda" / "envs" / "torch")
    of_base = conda_prefix(conda / "envs" / "torch")
    exe = {"CONDA_EXE": str(conda / "bin" / "conda")}
    (conda / "conda-meta" / "history").touch()
    assert meant(stocked, "torch", **exe) == of_base
    # Root may write everywhere; like conda, we take a base without this file for another user's.
    (conda / "conda-meta" / "history").unlink()
    assert meant(stocked, "torch", **exe) == own


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_an_active_one_that_is_gone_is_no_reason_to_pin_the_directory(
    stocked: Home, tmp_path: Path, variable: str
) -> None:
    """If the active environment is gone, as after a rename, the directory is not pinned instead."""
    gone, base = tmp_path / "gone", tmp_path / "base"
    (base / "conda-meta").mkdir(parents=True)
    below = {"CONDA_PREFIX": str(base), "PATH": f"{gone}/bin:{base}/bin:{stocked.env['PATH']}"}
    for stack in ({}, below):
        active = stack | {variable: str(gone)}
        for words in (["pin", "10.1"], ["unpin"]):
            done = stocked.run(*words, cwd=tmp_path, **active)
            refused(done, f"`{gone}`", "the active environment, does not exist", hint="--dir .")
    assert not (tmp_path / ".cuda-version").exists()
    succeeded(stocked.run("pin", "10.1", "--dir", ".", cwd=tmp_path, **active))
    done = stocked.run("unpin", "--dir", ".", cwd=tmp_path, **active)
    assert done.stderr == f"cudaswitch: removed `{tmp_path}/.cuda-version`\n"
    # If another environment was entered later, the missing one does not matter.
    later = below | {"PATH": f"{base}/bin:{gone}/bin:{stocked.env['PATH']}"}
    done = stocked.run("pin", "10.1", cwd=tmp_path, **({"VIRTUAL_ENV": str(gone)} | later))
    assert f"`{base}` is pinned" in done.stderr
    # A folder that is no environment is passed over, as micromamba's empty base.
    gone.mkdir()
    succeeded(stocked.run("pin", "10.1", cwd=tmp_path, **{variable: str(gone)}))
    assert (tmp_path / ".cuda-version").exists()


def test_an_unknown_name_tells_what_may_be_meant(stocked: Home, conda: Path) -> None:
    conda_prefix(conda / "envs" / "torch")

    def hint(name: str) -> str:
        done = stocked.run("pin", "10.1", "-n", name, CONDA_EXE=str(conda / "bin" / "conda"))
        refused(done, f"there is no environment `{name}`")
        return done.stderr.splitlines()[1]

    assert hint("trch") == "hint: did you mean `torch`? If not, give its path with -p PREFIX"
    assert hint("x") == "hint: known environments: base, torch; give its path with -p PREFIX"
    for number in range(4):
        conda_prefix(conda / "envs" / f"e{number}")
    assert "known environments: base, e0, e1, e2, e3, torch; " in hint("x")
    conda_prefix(conda / "envs" / "e4")
    assert "known environments: base, e0, e1, e2, e3 and 2 more; " in hint("x")


def test_where_micromamba_has_its_root_unless_it_is_told(stocked: Home, tmp_path: Path) -> None:
    """micromamba's older root is taken where it is a root already, even without a base."""
    stocked.env["XDG_DATA_HOME"] = str(tmp_path / "data")
    newer, older = tmp_path / "data" / "mamba", stocked.path / "micromamba"
    torch = conda_prefix(newer / "envs" / "torch")
    older.mkdir()
    assert meant(stocked, "torch") == torch
    conda_prefix(newer)
    assert meant(stocked, "base") == newer
    told = conda_prefix(tmp_path / "told" / "envs" / "torch")
    assert meant(stocked, "torch", MAMBA_ROOT_PREFIX=str(tmp_path / "told")) == told
    own = conda_prefix(older / "envs" / "torch")
    assert meant(stocked, "torch") == own
    conda = conda_prefix(tmp_path / "conda" / "envs" / "torch").parents[1]
    assert meant(stocked, "torch", CONDA_EXE=f"{conda}/bin/conda") == conda / "envs" / "torch"
    refused(stocked.run("pin", "10.1", "-n", "base"), "there is no environment `base`")
    del stocked.env["XDG_DATA_HOME"]
    (older / "envs").rename(tmp_path / "moved")
    usual = conda_prefix(stocked.path / ".local" / "share" / "mamba" / "envs" / "torch")
    assert meant(stocked, "torch") == usual
    assert meant(stocked, "torch", XDG_DATA_HOME="relative") == usual


@pytest.mark.parametrize(
    "file",
    [
        *("~/.mambarc", "~/.mamba/.mambarc", "~/.mamba/mambarc", "~/.mamba/mambarc.d/a.yml"),
        *("~/.config/mamba/.mambarc", "~/.config/mamba/mambarc", "~/.config/mamba/mambarc.d/a.yml"),
        *("$ROOT/.mambarc", "$ROOT/.condarc", "$ROOT/condarc", "$MAMBARC"),
    ],
)
def test_folders_that_micromamba_is_told_of(stocked: Home, tmp_path: Path, file: str) -> None:
    own = conda_prefix(stocked.path / "envs" / "torch")
    root = tmp_path / "root"
    of_root = conda_prefix(root / "envs" / "torch")
    stocked.env.pop("XDG_CONFIG_HOME", None)
    variables = {"MAMBA_ROOT_PREFIX": str(root), "MAMBARC": str(tmp_path / "my.mambarc")}
    place = file.replace("~", str(stocked.path)).replace("$ROOT", str(root))
    at = Path(place.replace("$MAMBARC", variables["MAMBARC"]))
    assert meant(stocked, "torch", **variables) == of_root
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_text("envs_dirs: [~/envs]\n")
    assert meant(stocked, "torch", **variables) == own
    at.write_text("envs_dirs: [")
    hint = "conda config" if "condarc" in file else "fix it"
    refused(stocked.run("pin", "10.1", "-n", "torch", **variables), f"`{at}`", hint=hint)


def test_micromamba_s_files_come_before_conda_s_as_it_has_it(stocked: Home, tmp_path: Path) -> None:
    stocked.env["XDG_CONFIG_HOME"] = str(stocked.path / "settings")
    stocked.env["MAMBA_ROOT_PREFIX"] = str(stocked.path / "root")
    places = ("root/.mambarc", ".condarc", "settings/mamba/mambarc", ".mamba/mambarc", ".mambarc")
    for place in places:  # the weakest first
        folder = tmp_path / place.replace("/", "-")
        torch = conda_prefix(folder / "torch")
        (stocked.path / place).parent.mkdir(parents=True, exist_ok=True)
        (stocked.path / place).write_text(f"envs_dirs: [{folder}]\n")
        assert meant(stocked, "torch") == torch


def test_those_beside_one_that_conda_has_noted_are_known(stocked: Home, conda: Path) -> None:
    torch, other = (conda_prefix(conda / "envs" / name) for name in ("torch", "other"))
    register(stocked, torch)
    assert meant(stocked, "other") == other
    register(stocked, conda)
    assert meant(stocked, "other") == other


def test_the_active_one_is_known_by_its_name(stocked: Home, conda: Path, tmp_path: Path) -> None:
    """The active environment is known by its name, unless conda's order gives it to another."""
    active, other = (conda_prefix(tmp_path / at / "torch") for at in ("active", "other"))
    variables = {"CONDA_PREFIX": str(active), "CONDA_DEFAULT_ENV": "torch"}
    refused(stocked.run("pin", "10.1", "-n", "torch"), "there is no environment `torch`")
    assert meant(stocked, "torch", **variables) == active
    assert meant(stocked, "called", **(variables | {"CONDA_DEFAULT_ENV": "called"})) == active
    register(stocked, other, active)
    assert meant(stocked, "torch", **variables) == active
    by_name = conda_prefix(conda / "envs" / "torch")
    exe = {"CONDA_EXE": str(conda / "bin" / "conda")}
    assert meant(stocked, "torch", **variables, **exe) == by_name
    gone = variables | {"CONDA_PREFIX": str(tmp_path / "gone")}
    refused(stocked.run("pin", "10.1", "-n", "torch", **gone), "may be any of", hint="-p")
