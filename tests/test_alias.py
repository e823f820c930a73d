"""Names for requests: for versions, for `auto` and `system`, and for other names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checks import refused, snapshot, succeeded
from homes import Home
from made_environments import Env
from stock import BARE, FULL, answers, toolkit
from tools import closed


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
    succeeded(stocked.run("pin", "thesis", "--dir", tmp_path))
    told = stocked.run("alias", "--delete", "thesis")
    assert succeeded(told) == []
    assert told.stderr.splitlines() == [
        f"cudaswitch: `thesis` is still asked for by {tmp_path}/.cuda-version",
        "hint: cudaswitch alias thesis VERSION",
    ]
    succeeded(stocked.run("unpin", "--dir", tmp_path))
    assert succeeded(stocked.run("alias")) == ["next  14"]
    assert "thesis" not in answers(stocked)
    refused(stocked.run("alias", "--delete", "thesis"), "no alias `thesis`")
    refused(stocked.run("alias", "--delete"), "the alias to delete", code=2)
    for word in ("latest", "none"):
        refused(stocked.run("alias", word, "10.1"), f"`{word}` is a reserved word")
    for word in ("none", "off"):
        done = stocked.run("exec", word, "--", "true")
        refused(done, f"`{word}`", hint="`system` means")


def test_an_alias_whose_file_is_empty_is_to_be_made_again(stocked: Home) -> None:
    succeeded(stocked.run("alias", "thesis", "10.1"))
    (stocked.store / "aliases/thesis").write_text("")
    done = stocked.run("exec", "thesis", "--", "true")
    refused(done, "no alias `thesis`", hint="to create it: cudaswitch alias thesis VERSION")


@pytest.mark.parametrize(
    ("name", "request_text"),
    [
        ("10", "10.1"), ("../x", "10.1"), ("latest", "10.1"), ("auto", "10.1"), ("a b", "10.1"),
        ("x", "thesis"), ("x", "x"), ("x", "x+cudnn7"), ("x", "$(id)"), ("x", "10.1+nccl2"),
        (" ", "10.1"),
    ],
)  # fmt: skip
def test_odd_aliases(stocked: Home, name: str, request_text: str) -> None:
    before = snapshot(stocked.store)
    refused(stocked.run("alias", name, request_text), "`")
    assert snapshot(stocked.store) == before


def test_the_name_that_is_being_made_is_none_that_was_meant(stocked: Home) -> None:
    there = "cudaswitch list shows the toolkits, cudaswitch alias the names"
    told = f"hint: {there}; to create it: cudaswitch alias thesys VERSION"
    refused(stocked.run("alias", "thesis", "thesys"), "there is no alias `thesys`", hint=told)


def test_the_length_of_a_name_has_a_limit(stocked: Home) -> None:
    succeeded(stocked.run("alias", "a" * 64, "10.1"))
    message = refused(stocked.run("alias", "a" * 300, "10.1"), hint="at most 64")
    assert message == f"cudaswitch: `{'a' * 60}…{'a' * 40}` cannot be an alias"


HOME_OF = ("--", "printenv", "CUDA_HOME")


def test_a_name_for_system(stocked: Home) -> None:
    done = stocked.run("alias", "plain", "system")
    assert (succeeded(done), done.stderr) == ([], "")
    assert "plain" not in answers(stocked)
    assert stocked.run("exec", "plain", *HOME_OF).returncode == 1
    assert succeeded(stocked.run("want", "--for-use", "plain")) == ["system"]
    succeeded(stocked.run("pin", "10.1", "--global"))
    (stocked.path / ".cuda-version").write_text("plain\n")
    assert succeeded(stocked.run("current"))[0].startswith("system (asked for by")
    refused(stocked.run("install", "plain"), "`system` cannot be installed")


def test_a_name_for_what_an_environment_needs(stocked: Home, env: Env) -> None:
    env.write("pyvenv.cfg", "home = /usr/bin\n")
    env.write("bin/activate", "")
    env.dist("cupy-cuda101", "7.8.0")
    active = {"VIRTUAL_ENV": str(env.prefix)}
    succeeded(stocked.run("alias", "needed", "auto"))
    kit = stocked.store / "toolkits" / FULL
    assert succeeded(stocked.run("exec", "needed", *HOME_OF, **active)) == [str(kit)]
    bare = stocked.run("exec", "needed", "--cudnn", "none", *HOME_OF, **active)
    assert succeeded(bare) == [str(kit.with_name(BARE))]
    refused(stocked.run("exec", "needed", *HOME_OF), "`auto` needs an active environment")
    pinned = stocked.run("pin", "needed", "--dir", stocked.path)
    assert pinned.stderr.endswith("asks for what the active environment needs\n")
    assert succeeded(stocked.run("install", "needed", **active)) == [FULL]


def test_hooks_follow_a_name_that_comes_to_mean_auto(stocked: Home, env: Env) -> None:
    """Hooks look for changed packages only while the name means `auto`, for the same toolkit."""
    env.write("pyvenv.cfg", "home = /usr/bin\n")
    env.write("bin/activate", "")
    env.dist("cupy-cuda101", "7.8.0")
    hook = env.prefix / "etc/cudaswitch/on.sh"
    seen = []
    for meant in ("10.1", "auto", "10.1"):
        succeeded(stocked.run("alias", "mine", meant))
        if not seen:
            succeeded(stocked.run("pin", "mine", "-p", env.prefix))
        seen.append(" 'auto'" in hook.read_text())
    assert seen == [False, True, False]
    assert (env.prefix / "etc/cudaswitch/pin").read_text() == "mine\n"


def test_shells_ask_again_where_a_name_without_a_ready_answer_changes(stocked: Home) -> None:
    print_ = stocked.store / "requests/.fingerprint"
    seen = []
    for meant in ("system", "auto", "system"):
        succeeded(stocked.run("alias", "mine", meant))
        seen.append(print_.read_text())
    assert seen[0] == seen[2] != seen[1]


def test_a_name_for_another(stocked: Home, tmp_path: Path) -> None:
    succeeded(stocked.run("alias", "lab", "10.1"))
    succeeded(stocked.run("alias", "thesis", "lab+cudnn7"))
    succeeded(stocked.run("alias", "mine", "thesis"))
    assert answers(stocked)["mine"] == FULL
    kit = stocked.store / "toolkits"
    assert succeeded(stocked.run("exec", "mine", *HOME_OF)) == [str(kit / FULL)]
    plain = stocked.run("exec", "mine", "--cudnn", "none", *HOME_OF)
    assert succeeded(plain) == [str(kit / BARE)]
    succeeded(stocked.run("install", toolkit(tmp_path, "12.4.1")))
    early = stocked.run("alias", "lab", "12.4")
    assert (succeeded(early), early.stderr) == ([], "")
    refused(stocked.run("exec", "mine", "--", "true"), "CUDA 12.4 with cuDNN 7", hint="12.4")
    before = snapshot(stocked.store)
    circle = stocked.run("alias", "lab", "mine")
    refused(
        circle, "alias `lab` refers to itself: lab, mine, thesis, lab", hint="alias lab VERSION"
    )
    assert snapshot(stocked.store) == before
    # Somebody may write such a circle by hand.
    (stocked.store / "aliases/lab").write_text("mine\n")
    for command in (["exec", "mine", "--", "true"], ["install", "mine"], ["remove", "mine"]):
        refused(stocked.run(*command), "alias `mine` refers to itself", hint="alias mine VERSION")
    succeeded(stocked.run("list"))
    succeeded(stocked.run("alias", "--delete", "lab"))
    refused(stocked.run("exec", "mine", "--", "true"), "there is no alias `lab`")


def test_what_is_no_answer_is_passed_over(stocked: Home) -> None:
    """Renewing the answers hangs on no pipe, and takes no folder for a range that was asked for."""
    requests = stocked.store / "requests"
    succeeded(stocked.run("want", "--for-use", ">=10"))
    (requests / "10.1").unlink()
    for name in ("10.1", "pipe", ">=8"):
        os.mkfifo(requests / name)
    (requests / ">=1").mkdir()
    succeeded(stocked.run("alias", "mine", "10.1", timeout=60))
    for name in ("10.1", "mine"):
        assert (requests / name).read_text().rstrip("\n").endswith(f"/{FULL}")
    assert {path.name for path in requests.iterdir()} >= {"pipe", ">=8", ">=1", ">=10"}


def test_nothing_else_goes_with_delete(home: Home) -> None:
    home.run("alias", "thesis", "10.1")
    refused(home.run("alias", "--delete", "thesis", "12"), "and nothing else", code=2)
    assert succeeded(home.run("alias")) == ["thesis  10.1"]


def test_one_that_cannot_be_read_stops_nothing_else(stocked: Home) -> None:
    for name in ("lab", "thesis"):
        succeeded(stocked.run("alias", name, "10.1"))
    shut = stocked.store / "aliases/thesis"
    with closed(shut):
        done = stocked.run_plainly("exec", "lab", "--", "true")
        assert succeeded(done) == []
        assert f"cannot read `{shut}`: Permission denied" in done.stderr
        assert f"hint: chmod u+r {shut}" in done.stderr
        assert succeeded(stocked.run_plainly("alias")) == ["lab  10.1"]
