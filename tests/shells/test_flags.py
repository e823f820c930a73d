"""The host compiler and XLA's folder, as words among the user's flags, in every shell."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import builders
from checks import succeeded
from cudaswitch.activation import Want, change
from homes import HOSTILE_FOLDER, Home, make_home
from pairs import every_pair
from shells.conda import Conda, Emulator, conda_prefix, real_conda, write_hook
from shells.conftest import make_person
from shells.driver import BASH, FISH, NU, POSIX_SHELLS, TCSH, XONSH, ZSH, Environment, Shell
from shells.kits import STATE, Kit, Person
from shells.package_scripts import EARLIER_FLAGS, FLAGS
from shells.pinned import Session, pinned_environments, unpinned
from tools import console_script, executable, require

LOADED = pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, NU, XONSH), ids=str)
"""Without dash, which runs the text of bash, and which the random histories cover."""
NAMES = ("CUDAHOSTCXX", "NVCC_PREPEND_FLAGS", "XLA_FLAGS")
RECORDS = (f"{STATE}CC", f"{STATE}XLA", *(f"{STATE}WAS_{name}" for name in NAMES))


@pytest.fixture(scope="module")
def compilers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compilers")


@pytest.fixture(scope="module")
def person(compilers: Path) -> Person:
    return make_person(compilers / HOSTILE_FOLDER, compilers=compilers)


@pytest.fixture(scope="module")
def plain_person(compilers: Path) -> Person:
    """A person in a folder without blanks: conda's fish script fails on the quotes they need."""
    return make_person(compilers / "plain", compilers=compilers)


@pytest.fixture
def kit(person: Person) -> Kit:
    return person.kits[1]


@pytest.fixture
def framework(tmp_path: Path) -> Path:
    """A conda environment with a framework that looks for libdevice outside of itself."""
    prefix = conda_prefix(tmp_path / "env [x]")
    (prefix / "lib/python3.11/site-packages/jaxlib").mkdir(parents=True)
    return prefix


def seen(env: Environment, names: tuple[str, ...] = NAMES) -> dict[str, str]:
    return {name: env[name] for name in names if name in env}


@LOADED
class TestInEveryShell:
    def test_it_is_what_python_works_out(
        self, shell: Shell, person: Person, kit: Kit, framework: Path
    ) -> None:
        had = {"CUDAHOSTCXX": "", "NVCC_PREPEND_FLAGS": "-O2  -x ", "XLA_FLAGS": " -a  -b"}
        had["CONDA_PREFIX"] = str(framework)
        steps = person.use(shell, "11.8"), person.use(shell, "system")
        result = person.play(shell, *steps, **had).check()
        want = Want(str(kit.home), compiler=str(kit.compiler))
        before = result.snaps["0"]
        expected = change(want, os.path.exists, False, True, before).applied(before, "U")
        every = (*NAMES, *RECORDS)
        assert seen(result.snaps["1"], every) == seen(expected, every)
        assert expected["NVCC_PREPEND_FLAGS"] == f"-ccbin={kit.compiler} -O2  -x "
        assert expected["XLA_FLAGS"] == f" -a  -b {kit.data_dir}"
        assert seen(result.snaps["2"], every) == {name: had[name] for name in NAMES}

    def test_unset_is_unset_again(
        self, shell: Shell, person: Person, kit: Kit, framework: Path
    ) -> None:
        steps = person.use(shell, "11.8"), person.use(shell, "10.1")
        result = person.play(shell, *steps, CONDA_PREFIX=str(framework)).check()
        assert seen(result.snaps["1"]) == {
            "CUDAHOSTCXX": str(kit.compiler),
            "NVCC_PREPEND_FLAGS": f"-ccbin={kit.compiler}",
            "XLA_FLAGS": kit.data_dir,
        }
        assert seen(result.snaps["2"], (*NAMES, *RECORDS)) == {}

    def test_who_has_named_one_keeps_it(
        self, shell: Shell, person: Person, tmp_path: Path, framework: Path
    ) -> None:
        with_gcc = conda_prefix(tmp_path / "gcc")
        executable(with_gcc / "bin/gcc")
        named = [
            {"CUDAHOSTCXX": "/mine/g++"},
            {"NVCC_CCBIN": "/mine/g++"},
            {"NVCC_PREPEND_FLAGS": "-O2 --compiler-bindir /mine/g++"},
            {"NVCC_APPEND_FLAGS": "-ccbin=/mine/g++"},
            {"CXX": "/mine/g++"},
            {"CONDA_PREFIX": str(with_gcc)},
            {"CONDA_PREFIX": str(framework), "XLA_FLAGS": "/a/file of flags"},
            {"CONDA_PREFIX": str(framework), "XLA_FLAGS": "--xla_gpu_cuda_data_dir=/mine"},
        ]
        steps = []
        for had in named:
            steps.append("\n".join(shell.set(name, value) for name, value in had.items()))
            steps += [person.use(shell, "11.8")]
            steps.append("\n".join([person.use(shell, "system"), *map(shell.unset, had)]))
        result = person.play(shell, *steps).check()
        for number, had in enumerate(named):
            before, after = (result.snaps[str(3 * number + step)] for step in (1, 2))
            if "XLA_FLAGS" in had:
                assert after["XLA_FLAGS"] == before["XLA_FLAGS"]
            else:
                assert seen(after) == seen(before), had
                assert f"{STATE}CC" not in after
            assert seen(result.snaps[str(3 * number + 3)], (*NAMES, *RECORDS)) == {}

    def test_the_usual_name_names_none(self, shell: Shell, person: Person, kit: Kit) -> None:
        """`CXX=g++`, as CI and Dockerfiles set it, does not count as naming a host compiler."""
        for name in ("g++", "c++"):
            result = person.play(shell, person.use(shell, "11.8"), CXX=name).check()
            assert result.snaps["1"]["CUDAHOSTCXX"] == str(kit.compiler)

    @pytest.mark.parametrize("named", ["{}", "x86_64-conda-linux-gnu-c++"], ids=["path", "name"])
    def test_the_compilers_of_conda_are_taken(
        self, shell: Shell, person: Person, tmp_path: Path, named: str
    ) -> None:
        prefix = conda_prefix(tmp_path / "conda")
        compiler = executable(prefix / "bin/x86_64-conda-linux-gnu-c++")
        had = {"CONDA_PREFIX": str(tmp_path / "conda"), "CXX": named.format(compiler)}
        result = person.play(shell, person.use(shell, "11.8"), **had).check()
        assert result.snaps["1"]["NVCC_PREPEND_FLAGS"] == f"-ccbin={compiler}"
        assert result.snaps["1"]["CUDAHOSTCXX"] == str(compiler)


@pytest.mark.parametrize("shell", (BASH, FISH, TCSH, NU), ids=str)
def test_never_and_always_say_nothing_about_flags(
    shell: Shell, person: Person, kit: Kit, framework: Path
) -> None:
    steps = [f"cudaswitch use 11.8 --libraries {mode}" for mode in ("never", "always")]
    result = person.play(shell, *steps, CONDA_PREFIX=str(framework)).check()
    for number in "12":
        assert result.snaps[number]["XLA_FLAGS"] == kit.data_dir
        assert result.snaps[number]["CUDAHOSTCXX"] == str(kit.compiler)


@contextmanager
def gone(file: Path) -> Iterator[None]:
    aside = file.rename(file.with_name("aside"))
    try:
        yield
    finally:
        aside.rename(file)


@LOADED
def test_a_compiler_that_is_gone_is_not_named(
    shell: Shell, person: Person, kit: Kit, compilers: Path
) -> None:
    """For a missing compiler, `use` says what to install; once it is there, it is named."""
    with gone(compilers / "g++-11"):
        use = person.use(shell, "11.8")
        result = person.play(shell, use, use, CUDASWITCH_QUIET=None)
    assert seen(result.snaps["1"]) == {}
    assert result.stderr.count("(its nvcc refuses the gcc here: install g++-11)") == 2
    result = person.play(shell, use, CUDASWITCH_QUIET=None)
    assert "install" not in result.stderr
    assert seen(result.snaps["1"])["CUDAHOSTCXX"] == str(kit.compiler)


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
class TestCondasNvcc:
    """conda-forge's cuda-nvcc names conda's compiler in NVCC_PREPEND_FLAGS, and saves the value
    that was there. It has scripts for sh only."""

    @pytest.fixture(params=[FLAGS, EARLIER_FLAGS], ids=["now", "earlier"])
    def session(
        self, person: Person, shell: Shell, tmp_path: Path, request: pytest.FixtureRequest
    ) -> Session:
        for name in "ab":
            prefix = conda_prefix(tmp_path / name)
            compiler = prefix / "bin/x86_64-conda-linux-gnu-c++"
            named = {"activate": f"export CXX={compiler}\n", "deactivate": "unset CXX\n"}
            for half, text in request.param.items():
                said = named[half] + text.replace("$CONDA_PREFIX/bin/g++", "$CXX")
                write_hook(prefix, half, f"~cuda-nvcc_{half}.sh", said)
        person.pin("11.8", tmp_path / "a")
        return Session(person, tmp_path, shell, Emulator())

    @pytest.mark.parametrize("had", [None, "-O2"], ids=repr)
    def test_a_pinned_environment(self, session: Session, had: str | None) -> None:
        result = session.play(*session.steps("a out"), NVCC_PREPEND_FLAGS=had).check()
        own = f"{session.folder}/a/bin/x86_64-conda-linux-gnu-c++"
        assert result.snaps["2"]["NVCC_PREPEND_FLAGS"] == f"{had or ''} -ccbin={own}"
        assert "CUDAHOSTCXX" not in result.snaps["2"]
        assert result.snaps["3"].get("NVCC_PREPEND_FLAGS") == had

    @pytest.mark.parametrize("name", ["a", "b"])
    @pytest.mark.parametrize("had", [None, "-O2"], ids=repr)
    def test_entered_and_left_after_use(
        self, session: Session, kit: Kit, name: str, had: str | None
    ) -> None:
        steps = ["cudaswitch use 11.8", f"{session.steps(name)[0]}\n__cudaswitch_prompt"]
        steps += [f"{session.steps('out')[0]}\n__cudaswitch_prompt", "cudaswitch off"]
        result = session.play(*steps, load=True, NVCC_PREPEND_FLAGS=had).check()
        ours = f"-ccbin={kit.compiler}{f' {had}' if had else ''}"
        own = f"-ccbin={session.folder}/{name}/bin/x86_64-conda-linux-gnu-c++"
        assert result.snaps["2"]["NVCC_PREPEND_FLAGS"] == ours
        assert result.snaps["3"]["NVCC_PREPEND_FLAGS"].split() == [*filter(None, [had]), own]
        assert "CUDAHOSTCXX" not in result.snaps["3"]
        # The saved value is right as well: a child shell may be the one that leaves.
        script = session.folder / name / "etc/conda/deactivate.d/~cuda-nvcc_deactivate.sh"
        kept = had or ("UNSET" if "UNSET" in script.read_text() else None)
        assert result.snaps["3"].get("NVCC_PREPEND_FLAGS_BACKUP") == kept
        assert result.snaps["4"]["NVCC_PREPEND_FLAGS"] == ours
        assert result.snaps["5"].get("NVCC_PREPEND_FLAGS") == had
        assert "CUDAHOSTCXX" not in result.snaps["5"]


def test_other_formats_have_them(person: Person, kit: Kit, framework: Path) -> None:
    had = {"CONDA_PREFIX": str(framework), "XLA_FLAGS": "-x"}
    text = succeeded(person.home.run("env", "11.8", "--format", "github", **had))
    assert f"CUDAHOSTCXX={kit.compiler}" in text
    assert f"NVCC_PREPEND_FLAGS=-ccbin={kit.compiler}" in text
    assert f"XLA_FLAGS=-x {kit.data_dir}" in text
    module = succeeded(person.home.run("env", "11.8", "--format", "modulefile", **had))
    assert f'$keep CUDAHOSTCXX "{kit.compiler}"' in module
    flag = f'prepend-path --delim " " NVCC_PREPEND_FLAGS "-ccbin={kit.compiler}"'
    assert flag in module


def test_pins_and_version_files_say_it_too(compilers: Path, tmp_path: Path) -> None:
    """`install` of a toolkit that is there updates the compiler in pins and file answers."""
    person = make_person(tmp_path / "person", ("bash",), compilers)
    kit, path = person.kits[1], f"{compilers}:{person.home.env['PATH']}"
    prefix = conda_prefix(tmp_path / "env")
    done = person.home.run("pin", "11.8", "--prefix", prefix, PATH=path)
    told = "gcc 13 is newer than CUDA 11.8 accepts (11): g++-11 is compatible, so nvcc will use it"
    assert told in done.stderr
    want = f"{kit.home}:cc={kit.compiler}"
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".cuda-version").write_text("cuda 11.8\nlibraries never\n")
    look = f"cd '{folder}'\n__cudaswitch_prompt"
    hook = f". '{prefix}/etc/conda/activate.d/~~cudaswitch.sh'"

    def told() -> list[str]:
        result = person.play(BASH, look, f"export CONDA_PREFIX='{prefix}'\n{hook}").check()
        kept = (prefix / "etc/cudaswitch/want").read_text().rstrip().replace("\n", "/")
        asked = succeeded(person.home.run("want", "--file", folder / ".cuda-version"))[0]
        states = (result.snaps["1"][f"{STATE}D"], result.snaps["2"][f"{STATE}C"])
        return [kept, asked, *states]

    ours = [want, f"{want}:lib=never", f"{want}:lib=never", f"{want}:env={prefix}"]
    assert told() == ours
    header = kit.home / "include/crt/host_config.h"
    header.write_text(header.read_text().replace("11", "13"))
    assert told() == ours
    assert succeeded(person.home.run("install", "11.8.0", PATH=path)) == ["11.8.0"]
    assert told() == [each.replace(f":cc={kit.compiler}", "") for each in ours]


def test_no_compiler_fits(compilers: Path, tmp_path: Path) -> None:
    """If no installed gcc fits, `install`, `pin` and `use` name the package that brings one."""
    person = make_person(tmp_path / "person", ("bash",), compilers)
    kit, path = person.kits[1], f"{compilers}:{person.home.env['PATH']}"
    header = kit.home / "include/crt/host_config.h"
    header.write_text(header.read_text().replace("11", "7"))
    prefix = conda_prefix(tmp_path / "env")
    for words in (("install", "11.8.0"), ("pin", "11.8", "--prefix", str(prefix))):
        done = person.home.run(*words, PATH=path)
        assert done.returncode == 0
        lines = done.stderr.splitlines()
        said = "gcc 13 is newer than CUDA 11.8 accepts (7), and no compatible one is installed"
        assert lines[-2] == f"cudaswitch: {said}"
        assert lines[-1].endswith("`conda install -c conda-forge gxx_linux-64=7`")
    result = person.play(BASH, "cudaswitch use 11.8", CUDASWITCH_QUIET=None)
    assert result.stderr.endswith("(its nvcc refuses the gcc here: install g++-7)\n")


def refusing(folder: Path, most: int = 11) -> Path:
    """Make the real toolkit refuse every gcc that is newer than `most`."""
    real = builders.real_toolkit()
    for name in ("bin", "include", "include/crt"):
        (folder / name).mkdir(parents=True)
        for file in (real / name).iterdir():
            if file.name != "crt" or name == "bin":
                (folder / name / file.name).symlink_to(file)
    for name in ("nvvm", "lib64"):
        (folder / name).symlink_to(real / name)
    # nvcc finds the headers beside itself.
    nvcc, header = folder / "bin/nvcc", folder / "include/crt/host_config.h"
    content = {nvcc: nvcc.read_bytes(), header: header.read_bytes()}
    content[header] = content[header].replace(b"__GNUC__ > 15", f"__GNUC__ > {most}".encode())
    assert content[header] != header.read_bytes()
    for file, data in content.items():
        file.unlink()
        file.write_bytes(data)
    nvcc.chmod(0o755)
    return folder


@every_pair(
    {
        "conda": [Emulator(), *filter(None, [real_conda()])],
        "shell": (*POSIX_SHELLS, FISH),
        "own": [{}, {"NVCC_PREPEND_FLAGS": "-O2", "CUDAHOSTCXX": ""}],
        "words": ["c d out out", "c +d out out", "c d c a out out", "c a out out"],
    }
)
def test_flags_that_an_environment_has(
    shell: Shell,
    conda: Conda,
    plain_person: Person,
    tmp_path: Path,
    own: dict[str, str],
    words: str,
) -> None:
    """Flags that `conda env config vars` replaced come back, without words of ours."""
    variables = {"NVCC_PREPEND_FLAGS": "-g", "XLA_FLAGS": "-v", "CUDAHOSTCXX": "/vars/g++"}
    mine = Session(plain_person, pinned_environments(plain_person, tmp_path), shell, conda)
    for at in (mine, unpinned(mine)):
        (at.folder / "c/lib/python3.11/site-packages/jaxlib").mkdir(parents=True)
        for prefix in (conda_prefix(at.folder / "d"), at.folder / "a"):
            (prefix / "conda-meta" / "state").write_text(json.dumps({"env_vars": variables}))
    result = mine.play(*mine.steps(words), **own)
    assert seen(result.snaps["2"])["XLA_FLAGS"] == plain_person.kits[1].data_dir
    plain = unpinned(mine)
    control = plain.play(*plain.steps(words), **own)
    last = str(len(words.split()) + 1)
    after, expected = (seen(played.snaps[last]) for played in (result, control))
    # In POSIX shells conda unsets a variable by making it empty.
    assert {*after.items()} ^ {*expected.items()} <= {(name, "") for name in NAMES}


@every_pair({"shell": (BASH, ZSH, FISH), "value": ["-g", "{} -g"], "name": NAMES})
def test_flags_that_are_exported_meanwhile_stay_so(
    shell: Shell, name: str, value: str, plain_person: Person, framework: Path
) -> None:
    """Flags that were set but not exported stay exported if the user exports a new value."""
    had = "" if name == "CUDAHOSTCXX" else "-O2"
    mine = f"set -g {name} '{had}'" if shell is FISH else f"{name}={had}"
    now = value.format(f"${name}")
    change = f'set -gx {name} "{now}"' if shell is FISH else f'export {name}="{now}"'
    steps = [mine, plain_person.use(shell, "11.8"), change, plain_person.off(shell)]
    result = plain_person.play(shell, *steps, CONDA_PREFIX=str(framework)).check()
    assert name not in result.snaps["1"]
    assert result.snaps["2"][name] != had
    expected = value.format(result.snaps["2"][name] if name == "CUDAHOSTCXX" else had)
    assert result.snaps["4"][name] == expected
    unchanged = [mine, plain_person.use(shell, "11.8"), plain_person.off(shell)]
    result = plain_person.play(shell, *unchanged, CONDA_PREFIX=str(framework)).check()
    assert name not in result.snaps["3"]


def test_fish_keeps_no_variable_of_a_framework_s(plain_person: Person, framework: Path) -> None:
    plain_person.pin("10.1", framework)
    entered = FISH.source(framework / "etc/conda/activate.d/~~cudaswitch.fish")
    left = "set --names | string match '__csw*'; true"
    steps = [f"{entered}; and echo entered; {left}", f"cudaswitch use 11.8; {left}"]
    steps += [f"cudaswitch use 10.1; {left}"]
    result = plain_person.play(FISH, *steps, CONDA_PREFIX=str(framework)).check()
    assert result.snaps["2"]["XLA_FLAGS"] == plain_person.kits[1].data_dir
    assert result.stdout == "entered\n"


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, Path, str]:
    """A machine whose gcc is 12, and a real toolkit that takes 11 at most."""
    folder = tmp_path_factory.mktemp("refusing")
    bin_ = folder / "bin"
    bin_.mkdir()
    tools = {"gcc": "gcc-12", "g++": "g++-12", "g++-11": "g++-11", "g++-12": "g++-12"}
    for name, tool in tools.items():
        (bin_ / name).symlink_to(require(tool))
    home, kit = make_home(folder / "account"), refusing(folder / "kit")
    path = f"{console_script().parent}:{bin_}:/usr/bin:/bin"
    done = home.run("adopt", kit, PATH=path)
    succeeded(done)
    major = builders.toolkit_version().rpartition(".")[0]
    expected = f"gcc 12 is newer than CUDA {major} accepts (11): g++-11 is compatible"
    assert expected in done.stderr
    return home, kit, path


@pytest.mark.toolkit
@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_it_compiles_after_use_and_not_before(
    shell: Shell, builder: tuple[Home, Path, str], tmp_path: Path
) -> None:
    """The real nvcc compiles only after `use`; the program returns the version of its gcc."""
    home, kit, path = builder
    (tmp_path / "x.cu").write_text("int main() { return __GNUC__; }\n")
    init = tmp_path / "init"
    init.write_text(home.run("init", shell.name).stdout)
    compiled = f"{kit}/bin/nvcc x.cu -o out."
    also, fails = ("; and", "; or") if shell is FISH else ("&&", "||")
    script = "\n".join([
        shell.source(init), f"cd {tmp_path}",
        f"{compiled}0 {fails} echo refused",
        "cudaswitch use latest", f"{compiled}1 {also} echo compiled",
        "cudaswitch off", f"{compiled}2 {fails} echo refused",
    ])  # fmt: skip
    (tmp_path / "script").write_text(script)
    done = subprocess.run(
        [*shell.argv(), tmp_path / "script"],
        env=home.env | {"PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["refused", "compiled", "refused"], done.stderr
    assert done.stderr.count("unsupported GNU version") >= 2
    assert subprocess.run([tmp_path / "out.1"], check=False).returncode == 11


@pytest.mark.toolkit
def test_the_doctor_has_nothing_to_say_after_use(builder: tuple[Home, Path, str]) -> None:
    home, kit, path = builder

    def found(**variables: str) -> dict[str, str]:
        done = home.run("doctor", "--json", PATH=f"{kit}/bin:{path}", **variables)
        findings = json.loads(done.stdout)["findings"]
        return {one["code"]: one["fix"] for one in findings}

    fix = found(CUDA_HOME=str(kit), SHELL="/bin/bash")["CS033"]
    version = builders.toolkit_version()
    # The version from its files: nvcc, which knows more, is not run for one named by a variable.
    known = version.rpartition(".")[0]
    assert fix.startswith(f"cudaswitch install {known} && eval ")
    after = json.loads(home.run("env", version, "--format", "json", PATH=path).stdout)
    assert "CS033" not in found(**{key: value for key, value in after.items() if key != "PATH"})
