"""Settings: one table, kept in a file that users edit too, weaker than variables and flags."""

from __future__ import annotations

import json
import os
import pwd
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checks import refused
from cudaswitch import settings
from cudaswitch.settings import SETTINGS
from mounts import NO_HOME, in_own_mounts
from shells.venvs import with_venv
from tools import as_plain_user, console_script


class Person:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.file = home / ".config" / "cudaswitch" / "config.toml"
        self.variables = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "CUDASWITCH_HOME": str(home / "store"),
        }

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(console_script()), *arguments],
            env=self.variables | variables,
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
        )

    def says(self, *arguments: str, **variables: str) -> str:
        done = self.run(*arguments, **variables)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def refused(self, *arguments: str, **variables: str) -> str:
        done = self.run(*arguments, **variables)
        assert done.returncode == 1
        assert done.stdout == ""
        return done.stderr

    def write(self, text: str) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(text)

    def setting(self, name: str, **variables: str) -> dict[str, Any]:
        rows = json.loads(self.says("config", "list", "--json", **variables))["settings"]
        [row] = [row for row in rows if row["name"] == name]
        return dict(row)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def made(kit: Path) -> None:
    (kit / "lib64").mkdir(parents=True)
    (kit / "lib64" / "libcudart.so").touch()


GOOD = {
    "libraries": (["never"], "never"),
    "stores": (["/lab/one", "/lab/two"], ["/lab/one", "/lab/two"]),
    "cache": (["/big/cache"], "/big/cache"),
    "offline": (["true"], True),
    "jobs": (["8"], 8),
    "timeout": (["2.5"], 2.5),
    "wait": (["7.5"], 7.5),
    "channels": (["conda-forge", "nvidia"], ["conda-forge", "nvidia"]),
    "mirrors.conda": (["https://mirror.example/conda"], "https://mirror.example/conda"),
    "mirrors.nvidia": (["file:///usb/nvidia"], "file:///usb/nvidia"),
    "mirrors.pypi": (["https://mirror.example/simple"], "https://mirror.example/simple"),
}
BAD = (
    ("libraries", "sometimes"),
    ("offline", "maybe"),
    ("jobs", "0"),
    ("timeout", "soon"),
    ("timeout", "0"),
    *(("timeout", "1e9"), ("timeout", "1e30")),
    ("wait", "long"),
    ("cache", "/big\x1b[2Jcache"),
    *(("cache", "cache"), ("cache", "./cache")),
    ("stores", "lab/store"),
    ("mirrors.pypi", "ftp://mirror.example/simple"),
    ("mirrors.pypi", "mirror.example/simple"),
    ("mirrors.conda", "mirror.example"),
    ("mirrors.nvidia", "ftp://mirror.example"),
    *(("mirrors.nvidia", "https://"), ("mirrors.nvidia", "https:///cuda")),
    ("mirrors.nvidia", "http://[::1"),
    ("mirrors.nvidia", "http://mirror.example:port"),
    ("mirrors.nvidia", "http://person:word@mirror.example:0"),
    ("mirrors.nvidia", "https://]mirror.example/"),
    ("mirrors.nvidia", "https://mirror\u2100.example/"),
)


def test_every_setting_is_tested() -> None:
    assert GOOD.keys() == SETTINGS.keys()


@pytest.mark.parametrize("name", SETTINGS)
def test_set_get_unset(person: Person, name: str) -> None:
    words, value = GOOD[name]
    before = person.setting(name)
    assert before["origin"] == "default"
    person.says("config", "set", name, *words)
    assert person.setting(name) == {"name": name, "value": value, "origin": str(person.file)}
    assert person.says("config", "get", name).splitlines() == words
    person.says("config", "unset", name)
    assert person.setting(name) == before
    assert not person.file.read_text().strip()


@pytest.mark.parametrize(
    ("text", "name", "hint"),
    [
        ("ofline = true\n", "ofline", "did you mean `offline`? If not: {out}"),
        ("[shell]\nprompt = 1\n", "shell.prompt", "{out}"),
        ("'a b' = 1\n", "a b", "{out}"),
        ("'a.b' = 1\n", "a.b", "{out}"),
        ("-x = 1\n", "-x", "cudaswitch config unset -- -x"),
    ],
)
def test_what_is_no_setting_can_be_taken_out(
    person: Person, text: str, name: str, hint: str
) -> None:
    person.write(f"# mine\njobs = 2\n{text}")
    done = person.run("config", "list")
    out = f"cudaswitch config unset {shlex.quote(name)}"
    refused(
        done, f"`{name}` in `{person.file}` is not a setting", hint=f"hint: {hint.format(out=out)}"
    )
    person.says("config", "unset", "--", name)
    assert person.file.read_text() == "# mine\njobs = 2\n"
    assert person.setting("jobs")["value"] == 2
    refused(person.run("config", "unset", "--", name), f"there is no setting `{name}`", code=2)


def test_one_key_in_quotes_is_the_setting(person: Person) -> None:
    person.write("'mirrors.conda' = 'https://a/b'\n")
    person.says("config", "set", "mirrors.conda", "https://c/d")
    assert person.file.read_text() == "'mirrors.conda' = \"https://c/d\"\n"
    person.says("config", "unset", "mirrors.conda")
    assert not person.file.read_text()


def test_what_is_not_set_is_not_unset(person: Person) -> None:
    person.says("config", "unset", "mirrors.conda")
    assert not person.file.exists()
    person.write("[mirrors]\n# ours\nconda = 'https://a/b'\n")
    person.says("config", "unset", "mirrors.conda")
    assert person.file.read_text() == "[mirrors]\n# ours\n"


@pytest.mark.parametrize(("name", "text"), BAD)
def test_what_is_not_of_the_kind_is_refused(person: Person, name: str, text: str) -> None:
    """A value of the wrong kind is refused on the command line, in a variable and in the file."""
    assert f"`{name}` must be " in person.refused("config", "set", name, text)
    assert not person.file.exists()
    variable = SETTINGS[name].variable
    if variable:
        said = person.refused("config", "list", **{variable: text})
        assert f"as {variable} sets it" in said
        assert said.endswith(f"hint: unset {variable}\n")
    person.write(f"{name} = {json.dumps([text] if name == 'stores' else text)}\n")
    said = person.refused("config", "list")
    assert f"`{name}` in `{person.file}` must be " in said


@pytest.mark.parametrize("name", SETTINGS)
def test_nothing_is_no_value(person: Person, name: str) -> None:
    refused(person.run("config", "set", name, ""), f"`{name}` must not be empty")
    empty = '[""]' if name in ("stores", "channels") else '""'
    person.write(f"{name} = {empty}\n")
    said = f"`{name}` in `{person.file}` must not be empty"
    refused(person.run("config", "list"), said, hint=f"config set {name} VALUE")


def test_a_folder_may_begin_with_the_home_folder(person: Person) -> None:
    person.says("config", "set", "cache", "~/big")
    person.says("config", "set", "stores", "/lab", "~/lab")
    refused(person.run("config", "set", "stores", "/lab", "lab"), "`stores` must be a list of")
    assert person.setting("cache")["value"] == "~/big"
    assert person.setting("stores")["value"] == ["/lab", "~/lab"]


@pytest.mark.parametrize("name", [name for name, row in SETTINGS.items() if row.variable])
def test_a_variable_is_stronger(person: Person, name: str) -> None:
    words, value = GOOD[name]
    person.write("jobs = 3\n")
    text = (os.pathsep if name == "stores" else ",").join(words)
    row = person.setting(name, **{str(SETTINGS[name].variable): text})
    assert (row["value"], row["origin"]) == (value, SETTINGS[name].variable)
    done = person.run("config", "set", name, *words, **{str(SETTINGS[name].variable): text})
    assert f"{SETTINGS[name].variable} is set, and overrides" in done.stderr


def test_the_file_stays_as_people_wrote_it(person: Person) -> None:
    text = "# of the lab\njobs = 2  # the server is small\n\n[mirrors]\n# ours\nconda = 'https://a/b'\n"
    person.write(text)
    person.says("config", "set", "jobs", "6")
    assert person.file.read_text() == text.replace("jobs = 2", "jobs = 6")
    person.says("config", "set", "mirrors.nvidia", "https://c/d")
    assert person.file.read_text().startswith(text.replace("jobs = 2", "jobs = 6"))


def test_a_file_is_private_unless_people_made_it_readable(person: Person) -> None:
    """A file made readable, as for a lab, stays so until a URL in it has a password."""

    def mode_after(*words: str) -> int:
        person.says("config", "set", *words)
        return person.file.stat().st_mode & 0o777

    assert mode_after("jobs", "6") == 0o600
    person.file.chmod(0o664)
    assert mode_after("jobs", "2") == 0o664
    assert mode_after("mirrors.conda", "https://a/b@c") == 0o664
    assert mode_after("mirrors.nvidia", "https://me:secret@a/b") == 0o600
    person.file.chmod(0o644)
    assert mode_after("channels", "https://a/b", "https://me:secret@a/b") == 0o600


def test_settings_that_are_set_at_the_same_time_are_all_there(person: Person) -> None:
    for number in range(2, 7):
        values = {"jobs": number, "timeout": number, "wait": number, "mirrors.pypi": f"/{number}"}
        running = [
            subprocess.Popen(
                [console_script(), "config", "set", name, str(value)],
                env=person.variables, cwd=person.home, stderr=subprocess.PIPE, text=True,
            )
            for name, value in values.items()
        ]  # fmt: skip
        assert [one.communicate()[1] for one in running] == [""] * len(running)
        rows = json.loads(person.says("config", "list", "--json"))["settings"]
        assert {row["name"]: row["value"] for row in rows if row["name"] in values} == values
    assert list(person.file.parent.iterdir()) == [person.file]


def test_a_link_into_dotfiles_stays_a_link(person: Person) -> None:
    real = person.home / "dotfiles.toml"
    real.write_text("jobs = 2\n")
    person.file.parent.mkdir(parents=True)
    person.file.symlink_to(real)
    person.says("config", "set", "jobs", "6")
    assert person.file.is_symlink()
    assert real.read_text() == "jobs = 6\n"


@pytest.mark.parametrize("ends", [("\r\n", "\r\n"), ("\r\n", "\n")])
def test_line_ends_stay(person: Person, ends: tuple[str, str]) -> None:
    """A new line gets the line end of the file, where that has only one kind."""
    before = "jobs = 2{}# mine{}".format(*ends)
    person.write(before)
    person.says("config", "set", "wait", "7")
    assert person.file.read_bytes() == f"{before}wait = 7.0{ends[1]}".encode()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("chanels = ['a']", "did you mean `channels`?"),
        ("[mirror]\nconda = 'https://a'", "did you mean `mirrors.conda`?"),
        ("[jobs]\na = 1", "`jobs`"),
        ("jobs = ", "is not valid TOML"),
        ("jobs = true", "`jobs`"),
        ("mirrors = 'https://a'", "`mirrors`"),
        ("a = " + "[" * 5000, "is not valid TOML"),
    ],
)
def test_a_wrong_file_is_named(person: Person, text: str, said: str) -> None:
    person.write(text)
    for command in (["list"], ["config", "list"]):
        errors = person.refused(*command)
        assert said in errors
        assert len(errors.splitlines()) == 2
    assert person.file.read_text() == text


def as_plain(person: Person, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        as_plain_user(*command),
        env=person.variables,
        cwd=person.home,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_closed_file_is_opened_by_its_hint(person: Person) -> None:
    person.write("jobs = 2\n")
    person.file.chmod(0)
    done = as_plain(person, str(console_script()), "list")
    refused(done, str(person.file), "Permission denied", hint="chmod u+r ")
    mend = done.stderr.partition("hint: ")[2].strip()
    assert as_plain(person, "sh", "-c", f"{mend} && {console_script()} list").returncode == 0
    person.file.parent.chmod(0)
    done = as_plain(person, str(console_script()), "list")
    person.file.parent.chmod(0o755)
    refused(done, "Permission denied", hint="check who owns the folder")


def test_the_hint_for_a_wrong_value_mends_it(person: Person) -> None:
    person.write("jobs = true\n")
    assert "cudaswitch config set jobs VALUE" in person.refused("list")
    person.says("config", "set", "jobs", "3")
    assert person.run("list").returncode == 0


def test_an_unknown_name_is_refused_with_the_nearest(person: Person) -> None:
    for command in (["get"], ["set"], ["unset"]):
        done = person.run("config", *command, "ofline", *(["1"] if command == ["set"] else []))
        refused(done, "there is no setting `ofline`", code=2, hint="did you mean `offline`?")


def test_passwords_are_not_shown(person: Person) -> None:
    person.says("config", "set", "mirrors.conda", "https://me:hunter2@mirror.example/x")
    for command in (["list"], ["list", "--json"], ["get", "mirrors.conda"]):
        said = person.says("config", *command)
        assert "hunter2" not in said
        assert "mirror.example" in said
    assert "hunter2" not in person.refused("config", "set", "mirrors.nvidia", "htp://me:hunter2@x")


def test_the_variable_for_the_file(person: Person, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    person.says("config", "set", "jobs", "9", CUDASWITCH_CONFIG=str(other))
    assert other.read_text() == "jobs = 9\n"
    assert not person.file.exists()


@pytest.mark.parametrize("chosen", ["", "~nosuch/c.toml"])
def test_without_a_home_folder_there_is_no_file(person: Person, chosen: str) -> None:
    """Where no home folder is known, a folder `~` in the working directory holds no settings."""
    for name in ("~/.config/cudaswitch/config.toml", "~nosuch/c.toml"):
        (person.home / name).parent.mkdir(parents=True)
        (person.home / name).write_text("jobs = 9\n")
    variables = person.variables | {"CUDASWITCH_CONFIG": chosen}
    for words in (["config", "get", "jobs"], ["config", "set", "jobs", "8"]):
        done = in_own_mounts(NO_HOME, console_script(), *words, cwd=person.home, env=variables)
        if "get" in words:
            assert (done.stdout, done.stderr) == ("4\n", "")
        else:
            refused(done, chosen or "~/.config", "home folder is not known", hint="CUDASWITCH_HOME")
    assert (person.home / "~/.config/cudaswitch/config.toml").read_text() == "jobs = 9\n"
    assert not (person.home / "store").exists()


@pytest.mark.parametrize("variables", [{}, {"HOME": ""}, {"HOME": "here"}], ids=str)
def test_all_is_in_the_home_folder_of_the_account_where_home_names_none(
    person: Person, variables: dict[str, str]
) -> None:
    """Where HOME names no folder, the account's is taken, not `/` or one that is relative."""
    for name in ("HOME", "CUDASWITCH_HOME"):
        del person.variables[name]
    folder = pwd.getpwuid(os.geteuid()).pw_dir
    shims = person.says("shims", "path", **variables)
    assert shims == f"{folder}/.local/share/cudaswitch/shims\n"
    file = json.loads(person.says("config", "list", "--json", **variables))["file"]
    assert file == f"{folder}/.config/cudaswitch/config.toml"


def test_defaults_are_of_their_kind() -> None:
    for name, row in SETTINGS.items():
        assert row.default is None or settings.checked(name, row.default) == row.default


def test_shared_stores_are_searched(person: Person, tmp_path: Path) -> None:
    """A store of config.toml counts for `list` like one of CUDASWITCH_STORES."""
    kit = tmp_path / "cuda-12.4"
    made(kit)
    shared = tmp_path / "lab"
    done = person.run("adopt", str(kit), "--as", "12.4", CUDASWITCH_HOME=str(shared))
    assert done.returncode == 0, done.stderr
    assert "12.4" not in person.run("list").stdout
    person.says("config", "set", "stores", str(shared))
    assert "12.4" in person.says("list")


def test_no_library_folder_unless_asked(person: Person, tmp_path: Path) -> None:
    """`libraries` is a default; for `always` no answer is kept, since the command must warn."""
    kit = tmp_path / "cuda-12.4"
    made(kit)
    assert person.run("adopt", str(kit), "--as", "12.4").returncode == 0
    answer = person.home / "store" / "requests" / "12.4"
    show = ("env", "12.4", "--format", "json")
    assert "LD_LIBRARY_PATH" in json.loads(person.says(*show))
    assert answer.read_text() == f"{kit}\n"
    person.says("config", "set", "libraries", "never")
    assert "LD_LIBRARY_PATH" not in json.loads(person.says(*show))
    assert "LD_LIBRARY_PATH" in json.loads(person.says(*show, "--libraries", "always"))
    assert answer.read_text() == f"{kit}:lib=never\n"
    person.says("config", "set", "libraries", "always")
    assert not answer.exists()
    person.says("config", "unset", "libraries")
    assert answer.read_text() == f"{kit}\n"


def test_what_a_mistake_kept_from_coming_true_does_when_it_goes(
    person: Person, tmp_path: Path
) -> None:
    made(tmp_path / "kit")
    person.says("adopt", str(tmp_path / "kit"), "--as", "10.1.243")
    ready = person.home / "store" / "requests" / "10.1"
    assert ready.exists()
    person.write("libraries = 'never'\nofline = 1\n")
    person.says("config", "unset", "ofline")
    assert ready.read_text() == f"{tmp_path}/kit:lib=never\n"


def test_pinned_environments_follow_libraries(person: Person, tmp_path: Path) -> None:
    """Hooks of pinned environments hold the finished change, so `libraries` is written there."""
    kit, prefix = tmp_path / "cuda-12.4", tmp_path / "env"
    made(kit)
    assert person.run("adopt", str(kit), "--as", "12.4").returncode == 0
    with_venv(prefix)
    assert person.run("pin", "12.4", "-p", str(prefix)).returncode == 0

    def inside() -> str:
        show = ["sh", "-c", f". {prefix}/bin/activate; echo $CUDA_HOME:$LD_LIBRARY_PATH"]
        return subprocess.check_output(show, env=person.variables, text=True).strip()

    assert inside() == f"{kit}:{kit}/lib64"
    person.says("config", "set", "libraries", "never")
    assert inside() == f"{kit}:"
    person.says("config", "unset", "libraries")
    assert inside() == f"{kit}:{kit}/lib64"


def test_what_a_killed_run_left_goes_also_where_it_had_set_the_value(person: Person) -> None:
    assert person.run("config", "set", "wait", "7").returncode == 0
    left = person.file.with_name(f".{person.file.name}.0123abcd.tmp")
    left.write_text("wait = 8\n")
    assert person.run("config", "set", "wait", "7").returncode == 0
    assert list(person.file.parent.iterdir()) == [person.file]
