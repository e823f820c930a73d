"""A config.toml with several faults is mended line by line, each by the command of its hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from adoptable import smallest
from checks import refused, succeeded
from homes import Home

TWO = 'jobs = "x"\nwait = "y"\n'


def written(home: Home, text: str) -> Path:
    """Write config.toml with this text, and return its path."""
    file = Path(home.env["XDG_CONFIG_HOME"]) / "cudaswitch" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, newline="")
    return file


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        (TWO, ("set jobs 3", "set wait 9")),
        (TWO, ("set wait 9", "set jobs 3")),
        ("proxy = 1\nretries = 2\n", ("unset proxy", "unset retries")),
        ("proxy = 1\njobs = 0\n", ("set jobs 3", "unset proxy")),
        ("proxy = 1\njobs = 0\n", ("unset proxy", "unset jobs")),
    ],
)
def test_one_after_the_other_is_mended(home: Home, text: str, commands: tuple[str, str]) -> None:
    file = written(home, text)
    name, left = (command.split()[1] for command in commands)
    done = home.run("config", *commands[0].split())
    assert (done.returncode, done.stdout) == (0, "")
    assert f"`{left}` in `{file}`" in done.stderr
    assert "hint: " in done.stderr
    assert f"`{name}`" not in done.stderr
    succeeded(home.run("config", *commands[1].split()))
    assert home.run("list").returncode == 0


@pytest.mark.parametrize("text", ["'https://a'", "5", "[1]", "true", "2020-01-01"])
@pytest.mark.parametrize("words", ["set mirrors.conda https://h/x", "unset mirrors.conda"])
def test_a_value_where_a_table_belongs(home: Home, text: str, words: str) -> None:
    file = written(home, f"mirrors = {text}\n")
    done = home.run("config", *words.split())
    refused(done, f"`mirrors` in `{file}` is not a table", hint="cudaswitch config unset mirrors")
    assert file.read_text() == f"mirrors = {text}\n"
    succeeded(home.run("config", "unset", "mirrors"))
    succeeded(home.run("config", *words.split()))


def test_a_byte_order_mark_is_no_mistake_and_stays(home: Home) -> None:
    file = written(home, "\ufeffjobs = 2\r\n")
    assert succeeded(home.run("config", "get", "jobs")) == ["2"]
    assert home.run("list").returncode == 0
    succeeded(home.run("config", "set", "jobs", "3"))
    assert file.read_bytes() == "\ufeffjobs = 3\r\n".encode()
    succeeded(home.run("config", "unset", "jobs"))
    assert file.read_bytes() == "\ufeff".encode()


def test_a_folder_where_the_file_belongs(home: Home) -> None:
    file = written(home, "")
    file.unlink()
    file.mkdir()
    for words in (["get", "jobs"], ["set", "jobs", "2"]):
        refused(home.run("config", *words), f"`{file}`", hint="put a valid file in its place")


def test_a_folder_of_ones_own_that_is_closed(home: Home) -> None:
    file = written(home, "")
    file.parent.chmod(0o500)
    done = home.run_plainly("config", "set", "jobs", "2")
    refused(done, f"cannot write `{file}`", hint=f"chmod u+w {file.parent}")
    file.parent.chmod(0o700)
    file.chmod(0)
    for words in (["get", "jobs"], ["set", "jobs", "2"]):
        refused(home.run_plainly("config", *words), f"`{file}`", hint=f"chmod u+r {file}")


def test_all_that_is_left_is_named(home: Home) -> None:
    file = written(home, f"{TWO}proxy = 1\n")
    done = home.run("config", "set", "timeout", "5")
    assert done.returncode == 0
    assert "timeout = 5.0\n" in file.read_text()
    for name in ("jobs", "wait", "proxy"):
        assert done.stderr.count(f"`{name}` in ") == 1
    assert done.stderr.count("hint: ") == len(done.stderr.splitlines()) / 2 == 3


def test_what_a_wrong_value_kept_from_coming_true_does_when_it_is_right(home: Home) -> None:
    kit = smallest(home.path / "kit", "10.1.243")
    succeeded(home.run("adopt", kit, "--as", "10.1.243"))
    ready = home.store / "requests" / "10.1"
    written(home, f"libraries = 'never'\n{TWO}")
    assert home.run("config", "set", "jobs", "3").returncode == 0
    assert ready.read_text() == f"{kit}\n"
    succeeded(home.run("config", "set", "wait", "9"))
    assert ready.read_text() == f"{kit}:lib=never\n"


def test_a_wrong_variable_keeps_no_value_from_the_file(home: Home) -> None:
    file = written(home, "")
    done = home.run("config", "set", "wait", "9", CUDASWITCH_WAIT="long")
    assert (done.returncode, file.read_text()) == (0, "wait = 9.0\n")
    assert "CUDASWITCH_WAIT is set, and overrides the file" in done.stderr
    kit = smallest(home.path / "kit", "10.1.243")
    succeeded(home.run("adopt", kit, "--as", "10.1.243"))
    done = home.run("config", "set", "libraries", "never", CUDASWITCH_WAIT="long")
    assert done.returncode == 0
    assert "cached answers, hooks and shims were not updated: `wait`, as" in done.stderr


def test_one_of_several_keys_with_dots_is_removed(home: Home) -> None:
    conda, pypi, jobs = "mirrors.conda = 'http://a/'\n", "mirrors.pypi = '/b'\n", "jobs = 2  # x\n"
    for order in ((conda, pypi, jobs), (conda, jobs, pypi)):
        file = written(home, "".join(order))
        succeeded(home.run("config", "unset", "mirrors.pypi"))
        assert file.read_text() == conda + jobs
        succeeded(home.run("config", "unset", "mirrors.conda"))
        assert file.read_text() == jobs
    succeeded(home.run("config", "set", "mirrors.conda", "http://c/"))
    assert file.read_text() == f'{jobs}\n[mirrors]\nconda = "http://c/"\n'


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_a_setting_that_is_spelled_in_two_ways(home: Home, order: slice) -> None:
    both = ["'mirrors.conda' = 'http://a/'\n", "mirrors.conda = 'http://b/'\n"][order]
    file = written(home, "".join(both) + "jobs = 2\n")
    succeeded(home.run("config", "set", "mirrors.conda", "http://c/"))
    assert succeeded(home.run("config", "get", "mirrors.conda")) == ["http://c/"]
    file = written(home, "".join(both) + "jobs = 2\n")
    succeeded(home.run("config", "unset", "mirrors.conda"))
    assert file.read_text() == "jobs = 2\n"
