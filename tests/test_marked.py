"""Our lines in somebody's file are found whole, and nothing else is taken out with them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from checks import refused, snapshot, succeeded
from cudaswitch import marked
from homes import Home
from shells.venvs import with_venv

OPEN, CLOSE = b"# >>> cudaswitch >>>\n", b"# <<< cudaswitch <<<\n"
MINE = b"export MINE=precious\n"


@pytest.fixture
def env(tmp_path: Path) -> Path:
    prefix = tmp_path / "env"
    with_venv(prefix)
    return prefix


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (MINE + OPEN + b"ours\n" + CLOSE + MINE, MINE + MINE),
        (OPEN + b"ours\n" + CLOSE + MINE + OPEN + b"ours\n" + CLOSE, MINE),
        (MINE + b"  " + OPEN + b"  ours\n  " + CLOSE, MINE),
        (OPEN + CLOSE.rstrip(), b""),
    ],
    ids=["in between", "twice", "set in", "at the end"],
)
def test_whole_blocks(text: bytes, left: bytes) -> None:
    assert not marked.is_half(text)
    assert marked.taken_out(text) == left
    lines = marked.blanked(text).split(b"\n")
    assert len(lines) == text.count(b"\n") + 1
    assert [line for line in lines if line] == left.splitlines()


@pytest.mark.parametrize(
    "text",
    [
        OPEN + b"ours\n" + MINE,
        b"ours\n" + CLOSE + MINE,
        OPEN + b"ours\n" + MINE + OPEN + b"ours\n" + CLOSE,
        OPEN + b"ours\n" + CLOSE + MINE + CLOSE,
    ],
    ids=["no end", "no start", "two starts", "two ends"],
)
def test_half_a_block_holds_nothing_of_ours(text: bytes) -> None:
    assert marked.is_half(text)
    assert MINE in marked.taken_out(text)
    assert MINE in marked.blanked(text)


@pytest.mark.parametrize("last", ["A=b:\\\n", "A=b:\\\\\n", "A=b:\\\r\n", "A=b", "A=b\n"], ids=repr)
def test_a_line_that_goes_on_takes_nothing_of_ours(last: str) -> None:
    """A backslash at the end of the last line does not join it to our marker."""
    before = f"x=1\r\n{last}".encode() if "\r" in last else last.encode()
    after = marked.put_in(before, b"ours")
    done = subprocess.run(["bash", "-n"], input=after, capture_output=True, check=True)
    assert not done.stderr
    lines = re.sub(rb"\\\r?\n", b"", after).splitlines()
    assert b"ours" in [line.removesuffix(b" #") for line in lines]
    assert marked.taken_out(after) == before


@pytest.mark.parametrize(
    ("before", "end"), [(b"x=1\ry=2\r", b"\n"), (b"x=1\r\ny=2\r", b"\r\n")], ids=repr
)
def test_a_block_keeps_its_line_ends(before: bytes, end: bytes) -> None:
    """A block keeps its line ends, which tell what was put before it, even if the file's change."""
    once = marked.put_in(before, b"ours")
    assert marked.put_in(once, b"ours") == once
    assert marked.taken_out(once) == before
    behind = marked.put_in(once + MINE, b"ours")
    assert marked.put_in(behind, b"ours") == behind == once + MINE
    assert marked.taken_out(behind) == before + end + MINE


def test_only_the_blocks_that_are_asked_for_are_blanked() -> None:
    conda = b"# >>> conda initialize >>>\nx\n# <<< conda initialize <<<\n"
    assert marked.blanked(conda + MINE) == conda + MINE
    assert marked.blanked(conda + MINE, marked.CONDAS) == b"\n\n\n" + MINE


def without_the_last(text: bytes) -> bytes:
    return text.replace(CLOSE, b"")


def without_the_first(text: bytes) -> bytes:
    return text.replace(OPEN, b"")


@pytest.mark.parametrize("damaged", [without_the_last, without_the_first])
def test_an_activate_script_with_half_a_block(
    stocked: Home, env: Path, damaged: Callable[[bytes], bytes]
) -> None:
    """A file with half a block is left alone: what follows its marker may be the user's own."""
    script = env / "bin/activate"
    before = script.read_bytes()
    succeeded(stocked.run("pin", "10.1", "-p", env))
    script.write_bytes(damaged(script.read_bytes()) + MINE)
    found = snapshot(env)
    for words in (["pin", "10.1.243", "-p", env], ["unpin", "-p", env]):
        refused(stocked.run(*words), f"`{script}`", "only one of", hint="by hand")
        assert snapshot(env) == found
    done = stocked.run("doctor", "--json", VIRTUAL_ENV=str(env))
    [fix] = [one["fix"] for one in json.loads(done.stdout)["findings"] if one["code"] == "CS074"]
    subprocess.run(["sh", "-c", fix], env=stocked.env, check=True, capture_output=True)
    done = stocked.run("doctor", "--json", VIRTUAL_ENV=str(env))
    assert "CS074" not in [one["code"] for one in json.loads(done.stdout)["findings"]]
    succeeded(stocked.run("unpin", "-p", env))
    assert script.read_bytes() == before + MINE


def test_an_activate_script_that_is_a_link_is_somebody_elses(stocked: Home, env: Path) -> None:
    theirs = env.parent / "theirs"
    (env / "bin/activate").rename(theirs)
    (env / "bin/activate").symlink_to(theirs)
    before = theirs.read_bytes()
    succeeded(stocked.run("pin", "10.1", "-p", env))
    assert (env / "bin/activate").readlink() == theirs
    assert theirs.read_bytes() == before
    assert marked.opens_in((env / "bin/activate.fish").read_bytes())


def test_a_line_that_was_indented_since_is_still_ours(stocked: Home, env: Path) -> None:
    """An editor has indented what follows `deactivate () {`, ours with it."""
    scripts = [env / "bin" / name for name in ("activate", "activate.fish")]
    before = [script.read_bytes() for script in scripts]
    succeeded(stocked.run("pin", "10.1", "-p", env))
    pinned = [script.read_bytes() for script in scripts]
    for script in scripts:
        script.write_bytes(re.sub(rb"(?m)^(?=.*# cudaswitch$)", b"    ", script.read_bytes()))
    succeeded(stocked.run("pin", "10.1.243", "-p", env))
    assert [script.read_bytes() for script in scripts] == pinned
    for script in scripts:
        script.write_bytes(re.sub(rb"(?m)^(?=.*# cudaswitch$)", b"\t", script.read_bytes()))
    succeeded(stocked.run("unpin", "-p", env))
    assert [script.read_bytes() for script in scripts] == before
