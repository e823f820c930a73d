"""A person's names, options and saved values, which no function of ours may run into."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pairs import every_pair
from shells.conda import Emulator, conda_prefix
from shells.conftest import make_person
from shells.driver import BASH, DASH, FISH, ZSH, Shell
from shells.kits import Kit, Person, foreign
from shells.pinned import Session
from shells.venvs import with_venv
from tools import console_script

_COMMON = """
about arg base before bin brings code conda count cuda cudnn dir dirs env file flags gpus head home
hook item items key ld left level lib line mode moved name now old ours python rest search seen
shared text user value venv want was way word xla
"""
NAMES = _COMMON.split()
"""Names that scripts use for variables of their own."""
three = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)


@pytest.fixture
def session(person: Person, shell: Shell, tmp_path: Path) -> Session:
    for name in "ab":
        conda_prefix(tmp_path / name)
    person.pin("10.1", tmp_path / "a")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".cuda-version").write_text("12.4\n")
    return Session(person, tmp_path, shell, Emulator())


def homes(result: dict[str, dict[str, str]]) -> list[str | None]:
    return [env.get("CUDA_HOME") for _, env in sorted(result.items(), key=lambda at: int(at[0]))]


@three
def test_variables_of_the_person_stay(session: Session, shell: Shell) -> None:
    """The person's own variables stay, even read-only ones in bash and zsh, as scripts have."""
    make = "set -g {} mine" if shell is FISH else "readonly {}=mine"
    said = ["echo " + " ".join(f"${name}" for name in NAMES)]
    look = "emit fish_prompt" if shell is FISH else "__cudaswitch_prompt"
    steps = ["cudaswitch use 11.8", "cudaswitch use 12.4", "cudaswitch off"]
    steps += [f"{step}\n{look}" for step in session.steps("a b a")]
    steps += session.steps("out out out")
    tree = shell.quote(str(session.folder / "tree"))
    steps += [f"cd {tree}\n{look}", f"cd /\n{look}"]
    kits = [str(kit.home) for kit in session.person.kits]
    strict = "" if shell is FISH else "set -eu\n"
    made = "\n".join(make.format(name) for name in NAMES)
    result = session.play(strict + made, *steps, *said, load=True).check()
    used, entered, left = [kits[1], kits[2], None], [kits[0], None, kits[0]], [None, kits[0], None]
    assert homes(result.snaps)[3:] == [*used, *entered, *left, kits[2], None, None]
    assert result.stdout.split() == ["mine"] * len(NAMES)


@pytest.mark.parametrize("shell", (BASH, ZSH, DASH), ids=str)
def test_a_strict_script_with_names_of_its_own(session: Session, shell: Shell) -> None:
    """Hooks alone work in a strict script with read-only variables of its own."""
    made = "\n".join(f"readonly {name}=mine" for name in NAMES)
    result = session.play(f"set -eu\n{made}", *session.steps("a b a out out")).check()
    home = str(session.person.kits[0].home)
    assert homes(result.snaps)[3:] == [home, None, home, None, home]


@pytest.mark.parametrize(
    ("shell", "way"),
    [(shell, way) for shell in (BASH, ZSH, DASH) for way in ("hooks alone", "evaluated")]
    + [(shell, way) for shell in (BASH, ZSH) for way in ("integration", "at each prompt")],
    ids=str,
)
def test_what_has_everything_exported(session: Session, shell: Shell, way: str) -> None:
    """Under `set -a` nothing of ours is exported, nor functions, which bash exports then too."""
    look, load = "__cudaswitch_prompt", way not in ("hooks alone", "evaluated")
    # Nothing asks for a toolkit at first, so most of the integration is not loaded.
    steps = ["cd /", *session.steps("a b a out out")]
    if load:
        steps += ["cudaswitch use 11.8", "cudaswitch use 10.1", "cudaswitch off"]
    if way == "evaluated":
        texts = (f"{console_script()} env {words} --shell {shell}" for words in ("11.8", "system"))
        steps = ["cd /", *(f'eval "$({text})"' for text in texts)]
    on = "case $- in *a*) ;; *) echo no longer ;; esac"
    if way == "at each prompt":
        steps = [f"set -a\n{step}\n{look}\n{on}\nset +a" for step in steps]
    else:
        steps = [f"set -a\n{step}\n{on}\nset +a" for step in steps]
        steps = [f"{step}\n{look}" for step in steps] if load else steps
    result = session.play(*steps, load=load, CUDASWITCH_QUIET=None)
    assert (result.rc, result.stdout) == (0, "")
    kits = session.person.kits
    assert result.snaps["3"]["CUDA_HOME"] == str(kits[way == "evaluated"].home)
    ours = ("_cudaswitch", "_csw", "BASH_FUNC___cudaswitch", "BASH_FUNC_cudaswitch")
    for snap in result.snaps.values():
        assert [name for name in snap if name.startswith(ours)] == []


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
@pytest.mark.parametrize("way", ["sourced", "evaluated"])
def test_what_a_child_does_not_have(session: Session, shell: Shell, way: str) -> None:
    """A child script that loads nothing inherits nothing, if `set -a` was on when we were loaded.

    It would take what it inherits for an integration of its own, and lack the rest.
    """
    words = [session.conda.init(shell), *session.steps("a out"), "echo $CUDA_HOME"]
    child = f"{shell.name} -c {shell.quote(chr(10).join(words))}"
    load = session.person.load(shell)
    if way == "evaluated":
        load = f'eval "$({console_script()} init {shell})"'
    # In the tree, all of the integration is needed.
    in_tree = f"cd {shell.quote(str(session.folder / 'tree'))}\n{shell.prompt}"
    steps = ["set -a", load, "set +a", child, in_tree, child]
    result = session.play(*steps).check()
    assert result.stdout == f"\n{session.person.kits[2].home}\n"
    ours = ("_cudaswitch", "__cudaswitch", "_csw", "BASH_FUNC_", "PROMPT_COMMAND")
    for snap in result.snaps.values():
        assert [name for name in snap if name.startswith(ours)] == []


@pytest.mark.parametrize("shell", (ZSH,), ids=str)
def test_quotes_that_are_doubled_in_zsh(session: Session, shell: Shell) -> None:
    """Hooks work under zsh's `rc_quotes`, which makes one quote of two that meet within quotes."""
    home = str(session.person.kits[0].home)
    result = session.play("setopt rc_quotes", *session.steps("a out a out")).check()
    assert homes(result.snaps)[3:] == [home, None, home, None]
    venv = session.folder / "venv"
    with_venv(venv)
    session.person.pin("10.1", venv)
    enter = shell.source(venv / "bin/activate")
    result = session.play("setopt rc_quotes", enter, "deactivate", load=True).check()
    assert homes(result.snaps)[3:] == [home, None]


@pytest.mark.parametrize("shell", (ZSH,), ids=str)
@pytest.mark.parametrize("where", ["first", "last"])
def test_a_path_that_zsh_keeps_unique(where: str, session: Session, shell: Shell) -> None:
    """`typeset -U` keeps only the first of two copies; the person's own is back in place later."""
    person = session.person
    own, path = person.kits[0].bin, person.home.env["PATH"]
    path = f"{own}:{path}" if where == "first" else f"{path}:{own}"
    tree = session.folder / "unique"
    tree.mkdir()
    (tree / ".cuda-version").write_text("10.1\n")
    steps = ["typeset -U PATH", "cudaswitch use 10.1", "cudaswitch use 11.8", "cudaswitch off"]
    steps += [f"cd {shell.quote(str(tree))}\n{shell.prompt}", f"cd /\n{shell.prompt}"]
    result = person.play(shell, *steps, PATH=path).check()
    homes_seen = [None, None, *person.kits[:2], None, person.kits[0], None]
    assert homes(result.snaps) == [kit and str(kit.home) for kit in homes_seen]
    assert result.snaps["2"]["PATH"].split(":")[0] == own
    assert result.snaps["2"]["PATH"].split(":").count(own) == 1
    for number in "1", "4", "6":
        assert result.snaps[number]["PATH"] == path


@pytest.mark.parametrize("shell", (ZSH,), ids=str)
def test_a_list_that_zsh_keeps_unique(session: Session, shell: Shell) -> None:
    person = session.person
    own = person.kits[0].lib[0]
    start = shell.quote(f"/a:{own}:/z")
    tied = f"typeset -xUT LD_LIBRARY_PATH ld_library_path\nLD_LIBRARY_PATH={start}"
    steps = [tied, "cudaswitch use 10.1", "cudaswitch use 11.8", "cudaswitch off"]
    result = person.play(shell, *steps).check()
    lists = [result.snaps[number]["LD_LIBRARY_PATH"].split(":") for number in "1234"]
    assert lists[1] == [*person.kits[0].lib, "/a", "/z"]
    assert lists[2] == [*person.kits[1].lib, "/a", own, "/z"]
    assert lists[0] == lists[3] == ["/a", own, "/z"]


@pytest.mark.parametrize("shell", (ZSH,), ids=str)
@pytest.mark.parametrize("way", ["usual", "CUDA_HOME", "edited", "environment"])
def test_a_list_that_zsh_ties_to_an_array_has_no_empty_element(
    way: str, session: Session, shell: Shell, tmp_path: Path
) -> None:
    """An array that zsh ties to the list gets no empty element, and so no working directory."""
    person, conda = session.person, session.conda
    start = "typeset -xT LD_LIBRARY_PATH ld_library_path"
    steps = ["cudaswitch use 10.1", "cudaswitch use 11.8", "cudaswitch off"]
    if way == "CUDA_HOME":
        start += "\nexport CUDA_HOME=/own"
    elif way == "edited":
        steps.insert(1, "ld_library_path+=(/mine); ld_library_path[-1]=()")
        steps.insert(3, "CUDA_PATH=/mine")
    elif way == "environment":
        prefix = conda_prefix(tmp_path / "pinned")
        person.pin("10.1", prefix)
        steps = [conda.activate(shell, prefix), conda.deactivate()]
    count = 'echo "${#ld_library_path}"; ld_library_path+=(/x); echo "$LD_LIBRARY_PATH"'
    result = session.play(start, *steps, count, load=True, LD_LIBRARY_PATH=None).check()
    assert result.stdout == "0\n/x\n"


def universal(own: dict[str, str]) -> tuple[str, str]:
    """Return code that makes `own` universal variables, and code that names those globals hide."""
    made = [f"set -Ux {name} {FISH.quote(value)}" for name, value in own.items()]
    shown = [f"set --query --global {name}; and echo {name}; or true" for name in own]
    return "\n".join(made), "\n".join(shown)


configured = pytest.mark.parametrize("shell", (replace(FISH, options=()),), ids=str)


@configured
@pytest.mark.parametrize("way", ["use", "activate", "edited"])
def test_universal_variables_show_again(way: str, shell: Shell, tmp_path: Path) -> None:
    """Universal variables do not come back as globals, which would hide later universal values."""
    person = make_person(tmp_path / "person", (shell.name,), tmp_path)
    prefix = conda_prefix(tmp_path / "a")
    (prefix / "lib/python3.11/site-packages/jaxlib").mkdir(parents=True)
    person.pin("11.8", prefix)
    session = Session(person, tmp_path, shell, Emulator())
    own = {"CUDA_HOME": "/own $x", "LD_LIBRARY_PATH": "/own/lib:/other", "XLA_FLAGS": "--own"}
    own |= {"CUDAHOSTCXX": "", "NVCC_PREPEND_FLAGS": "-O2"}
    made, shown = universal(own)
    mine = "set -gx LD_LIBRARY_PATH /mine $LD_LIBRARY_PATH\n" if way == "edited" else ""
    on, off = "cudaswitch use 11.8", f"{mine}cudaswitch off"
    if way == "activate":
        on, off = session.steps("a out")
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    result = session.play(made, on, off, shown, load=True, **config).check()
    before, active, after = (result.snaps[number] for number in "234")
    changed = {name for name in own if active[name] != own[name]}
    assert changed == {*own} - ({"XLA_FLAGS"} if way != "activate" else set())
    edited = {"LD_LIBRARY_PATH": f"/mine:{own['LD_LIBRARY_PATH']}"} if mine else {}
    assert foreign(after) == foreign(before) | edited
    assert result.stdout.split() == [*edited]


@configured
def test_a_universal_library_path_shows_again(shell: Shell, person: Person, tmp_path: Path) -> None:
    """A universal LD_LIBRARY_PATH, alone and so given back the short way, shows again."""
    made, shown = universal({"LD_LIBRARY_PATH": "/own/lib:/other"})
    steps = (made, "cudaswitch use 10.1", "cudaswitch off", shown)
    result = person.play(shell, *steps, XDG_CONFIG_HOME=str(tmp_path)).check()
    assert foreign(result.snaps["3"]) == foreign(result.snaps["1"])
    assert not result.stdout


@configured
@pytest.mark.parametrize("names", [("LD_LIBRARY_PATH",), ("CUDA_HOME", "LD_LIBRARY_PATH")], ids=len)
@pytest.mark.parametrize("between", ["", "cudaswitch use 11.8", "set -gx PATH /mine $PATH"])
def test_universal_variables_that_change_meanwhile(
    names: tuple[str, ...], between: str, shell: Shell, person: Person, tmp_path: Path
) -> None:
    """A universal variable changed or erased meanwhile, as by another shell, is so after `off`."""
    made, shown = universal(dict.fromkeys(names, "/own"))
    changed, _ = universal(dict.fromkeys(names, "/new"))
    gone = "\n".join(f"set --erase --universal {name}" for name in names)
    on, off = f"cudaswitch use 10.1\n{between}", "cudaswitch off"
    steps = (made, on, changed, off, shown, on, gone, off)
    result = person.play(shell, *steps, XDG_CONFIG_HOME=str(tmp_path))
    assert (result.rc, result.stdout) == (0, "")
    assert {result.snaps["4"][name] for name in names} == {"/new"}
    assert not {*names} & {*result.snaps["8"]}


@configured
@pytest.mark.parametrize("name", ["CUDA_HOME", "CUDA_PATH", "CUDACXX"])
def test_universal_variables_below_two_environments(
    name: str, shell: Shell, session: Session, tmp_path: Path
) -> None:
    """A universal variable shows again after one pinned environment was entered from another."""
    session.person.pin("11.8", tmp_path / "b")
    made, shown = universal({name: "/own"})
    steps = [f"{step}\n{shell.prompt}" for step in session.steps("a b out out")]
    gone = f"set --erase --universal {name}\nset -gx {name} /mine"
    edited = ("cudaswitch use 11.8", "set -gx PATH /y $PATH", "cudaswitch off")
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    result = session.play(made, *steps, shown, gone, *edited, load=True, **config).check()
    assert name not in result.stdout
    own = [env.get(name) for _, env in sorted(result.snaps.items(), key=lambda at: int(at[0]))]
    kits = [str(kit.home) for kit in session.person.kits]
    assert [(value or "").removesuffix("/bin/nvcc") for value in own[2:8]] == [
        "/own", kits[0], kits[1], kits[0], "/own", "/own"
    ]  # fmt: skip
    assert own[8:] == ["/mine", own[9], own[10], "/mine"]


@configured
def test_a_universal_variable_that_goes_below_two_environments(
    shell: Shell, session: Session, tmp_path: Path
) -> None:
    session.person.pin("11.8", tmp_path / "b")
    made, _ = universal({"CUDA_HOME": "/own"})
    *first, back, out = session.steps("a b out out")
    back += "\nset --erase --universal CUDA_HOME"
    steps = [f"{step}\n{shell.prompt}" for step in (*first, back, out)]
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    result = session.play(made, *steps, load=True, **config).check()
    assert homes(result.snaps)[-1] is None


def test_a_library_path_that_is_no_list_to_fish(person: Person) -> None:
    made = "set -gx --unpath LD_LIBRARY_PATH /own/lib:/other"
    result = person.play(FISH, made, "cudaswitch use 10.1", "cudaswitch off").check()
    libraries = [result.snaps[number]["LD_LIBRARY_PATH"] for number in "123"]
    active = ":".join((*person.kits[0].lib, libraries[0]))
    assert libraries == ["/own/lib:/other", active, "/own/lib:/other"]


@pytest.mark.parametrize("name", ["LD_LIBRARY_PATH_BAK", "LD_LIBRARY_PATH_old"])
@pytest.mark.parametrize("value", ["/a\nb", "/a /b", "/a:/b"], ids=["line", "list", "colon"])
def test_what_a_person_of_fish_keeps_stays_as_it_is(
    person: Person, name: str, value: str, tmp_path: Path
) -> None:
    """A saved copy without anything of ours stays as it is in fish: a string, or a list."""
    word = value if " " in value else FISH.quote(value)
    show = f"set --show {name}"
    steps = [f"set -g {name} {word}; {show}", "cudaswitch use 10.1", "set -gx CUDA_HOME /mine"]
    steps += ["set -gx LD_LIBRARY_PATH /own $LD_LIBRARY_PATH", f"cudaswitch off; {show}"]
    prefix = str(conda_prefix(tmp_path / "e"))
    lines = person.play(FISH, *steps, CONDA_PREFIX=prefix).check().stdout.splitlines()
    half = len(lines) // 2
    assert lines[0]
    assert lines[:half] == lines[half:]


def test_flags_of_a_person_of_fish_keep_their_lines(tmp_path: Path) -> None:
    person = make_person(tmp_path / "person", compilers=tmp_path)
    kit = person.kits[1]
    path = f"{kit.compiler.parent if kit.compiler else ''}:{person.home.env['PATH']}"
    own = {"NVCC_PREPEND_FLAGS": "/a\n/b\n", "PATH": path}
    result = person.play(FISH, "cudaswitch use 11.8", "cudaswitch off", **own).check()
    assert result.snaps["1"]["NVCC_PREPEND_FLAGS"] == f"-ccbin={kit.compiler} /a\n/b\n"
    assert result.snaps["2"]["NVCC_PREPEND_FLAGS"] == "/a\n/b\n"


@pytest.mark.parametrize("other", ["", "all_export"])
@pytest.mark.parametrize("shell", (ZSH,), ids=str)
def test_zsh_warns_of_no_global(session: Session, shell: Shell, other: str) -> None:
    """`warn_create_global`, which reports each global made in a function, reports none of ours."""
    steps = session.steps("a out a b out out")
    said = session.play(f"setopt warn_create_global {other}", *steps).stderr
    assert "cudaswitch" not in said
    assert "_csw" not in said


@pytest.mark.parametrize("shell", (ZSH,), ids=str)
def test_nor_where_a_function_loads_us(session: Session, shell: Shell) -> None:
    """`warn_create_global` reports nothing if a function loads us, as plugin managers do."""
    made = f"setopt warn_create_global\nload() {{ {session.person.load(shell)}; }}\nload"
    result = session.play(made, "cudaswitch use 11.8", "cudaswitch off").check()
    assert homes(result.snaps)[-2:] == [str(session.person.kits[1].home), None]


@pytest.mark.parametrize("shell", (ZSH,), ids=str)
def test_a_global_alias_of_one_small_letter(session: Session, shell: Shell) -> None:
    result = session.play("alias -g x='| cat'", *session.steps("a out")).check()
    assert homes(result.snaps)[3:] == [str(session.person.kits[0].home), None]


NVCC = {
    "activate": """
if [ -n "${CUDA_HOME+x}" ]; then export CUDA_HOME_CONDA_NVCC_BACKUP="${CUDA_HOME:-}"; fi
if [ -n "${CUDA_PATH+x}" ]; then export CUDA_PATH_CONDA_NVCC_BACKUP="${CUDA_PATH:-}"; fi
if [ -z "${CUDA_HOME-}" ]; then CUDA_HOME=/usr/local/cuda; fi
export CUDA_HOME="${CUDA_HOME}" CUDA_PATH="${CUDA_HOME}"
""",
    "deactivate": """
if [ -n "${CUDA_HOME_CONDA_NVCC_BACKUP+x}" ]; then
    export CUDA_HOME="${CUDA_HOME_CONDA_NVCC_BACKUP}"
    unset CUDA_HOME_CONDA_NVCC_BACKUP
fi
if [ -n "${CUDA_PATH_CONDA_NVCC_BACKUP+x}" ]; then
    export CUDA_PATH="${CUDA_PATH_CONDA_NVCC_BACKUP}"
    unset CUDA_PATH_CONDA_NVCC_BACKUP
fi
""",
}
"""What conda-forge's nvcc_linux-64 does about these two variables; its scripts are for sh."""


def install_nvcc(environment: Path) -> None:
    for half, text in NVCC.items():
        folder = environment / "etc/conda" / f"{half}.d"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "nvcc_linux-64.sh").write_text(text)


@every_pair(
    {
        "shell": (BASH, ZSH),
        "had": [None, "/opt/mine"],
        "words, after": [
            *(("off", [None, None]), ("12.4", [2, None])),
            *(("12.4 10.1", [0, None]), ("off 12.4", [2, None])),
        ],
    }
)
def test_what_the_nvcc_of_conda_keeps_aside(
    session: Session, shell: Shell, had: str | None, words: str, after: list[int | None]
) -> None:
    """conda's nvcc does not bring back a toolkit that was in use when it was activated."""
    install_nvcc(session.folder / "b")
    enter, leave = (f"{step}\n__cudaswitch_prompt" for step in session.steps("b out"))
    switch = [f"cudaswitch {'off' if word == 'off' else f'use {word}'}" for word in words.split()]
    steps = ["cudaswitch use 11.8", enter, *switch, leave, "cudaswitch off"]
    variables = {"CUDA_HOME": had, "CUDA_PATH": had}
    result = session.play(*steps, load=True, **variables).check()
    in_the_end = [
        result.snaps[str(number)] for number in (len(result.snaps) - 2, len(result.snaps) - 1)
    ]
    kits: list[Kit] = list(session.person.kits)
    expected = [had if at is None else str(kits[at].home) for at in after]
    for name in ("CUDA_HOME", "CUDA_PATH"):
        assert [env.get(name) for env in in_the_end] == expected
    assert foreign(in_the_end[-1]).get("CUDACXX") is None


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
@pytest.mark.parametrize("end", ["after", "before"])
def test_a_toolkit_of_the_person_that_the_nvcc_of_conda_keeps(
    session: Session, shell: Shell, end: str
) -> None:
    """A toolkit's folder in the person's own CUDA_HOME comes back after conda's nvcc and `use`."""
    install_nvcc(session.folder / "b")
    file = session.folder / "b/etc/conda/activate.d/nvcc_linux-64.sh"
    names = "CUDA_HOME=/usr/local/cuda CUDA_PATH=/usr/local/cuda"
    file.write_text(f"{file.read_text()}export {names}\n")
    enter, leave = session.steps("b out")
    use, off = session.person.use(shell, "12.4"), session.person.off(shell)
    steps = [enter, use, leave, off] if end == "after" else [enter, use, off, leave]
    mine = str(session.person.kits[2].home)
    result = session.play(*steps, load=True, CUDA_HOME=mine, CUDA_PATH=mine).check()
    last = result.snaps[str(len(result.snaps) - 1)]
    assert (last["CUDA_HOME"], last["CUDA_PATH"]) == (mine, mine)


def test_every_local_of_ours_has_a_prefix() -> None:
    """Our locals have a prefix: a script's read-only variable of the same name would break one."""
    texts = Path(__file__).parent.parent.parent / "cudaswitch" / "shells"
    found = [
        word
        for file in [*texts.glob("*.sh"), *texts.glob("*.bash"), *texts.glob("*.zsh")]
        for line in file.read_text().splitlines()
        if line.lstrip().startswith("\\local ")
        for word in line.split()[1:]
    ]
    assert {word for word in found if not word.startswith(("_csw_", "__csw"))} == {"IFS"}
