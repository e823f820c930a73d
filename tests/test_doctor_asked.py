"""`doctor` on requests that have no answer here, which `current` and `exec` refuse."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest

import builders
from checks import refused, succeeded
from doctoring import Patient
from shells.conda import conda_prefix
from tools import root_only


def found(patient: Patient) -> dict[str, dict[str, str]]:
    done = patient.home.run("doctor", "--json", **patient.env)
    rows = json.loads(done.stdout)["findings"]
    by_code = {row["code"]: row for row in rows}
    assert len(by_code) == len(rows), rows
    return by_code


COMMANDS = ("cudaswitch", "chmod", "eval", "export", "mv", "unset", "vi")


def told_as_current_does(patient: Patient) -> dict[str, str]:
    """Return the finding: its evidence is what `current` says, but for a hint that is the fix."""
    done = patient.home.run("current", **patient.env)
    message = refused(done).removeprefix("cudaswitch: ")
    hint = done.stderr.splitlines()[1].removeprefix("hint: ")
    one = found(patient)["CS079"]
    told = message if one["fix"] == hint else f"{message}; {hint}"
    # `doctor` names whole paths, since its output is read elsewhere or by programs.
    shown = one["evidence"].replace(f"by {patient.home.path}/.cuda-version", "by ./.cuda-version")
    assert (one["severity"], shown) == ("error", told)
    assert subprocess.run(["bash", "-n", "-c", one["fix"]], check=False).returncode == 0
    assert one["fix"].split()[0] in COMMANDS
    return one


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("9.0\n", "cudaswitch install 9.0"),
        ("# mine\n>=9,<10\n", "cudaswitch install '>=9,<10'"),
        ("11.8\n12.4\n", "vi +2 {}"),
        ("$(id)\n", "vi +1 {}"),
        ("# it's\n\n/usr/local/cuda\n", "vi +3 {}"),
        ("# nothing\n", "vi +1 {}"),
        ("12.4\ncudnn=eight\n", "vi +2 {}"),
        ("12.4\n#" + "x" * 70000, "vi +1 {}"),
        ("cuda system\ngpus 0\n", "vi +1 {}"),
        ("none-such\n", "vi +1 {}"),
        ("ring\n", "vi +1 {}"),
        ("auto\n", "vi +1 {}"),
    ],
)
@pytest.mark.parametrize("place", [".cuda-version", "global"])
def test_a_file(patient: Patient, place: str, text: str, fix: str) -> None:
    aliases = patient.home.store / "aliases"
    aliases.mkdir(parents=True)
    (aliases / "ring").write_text("ring\n")
    patient.adopt("12.4.131")
    file = {"global": patient.home.store}.get(place, patient.home.path) / place
    file.write_text(text)
    if (place, text) == ("global", "auto\n"):
        assert found(patient) == {}  # `auto` holds in environments alone
        return
    one = told_as_current_does(patient)
    assert one["fix"] == fix.format(file)
    assert str(file) in one["evidence"] + one["fix"]
    # The variable decides before the file, and has an answer.
    patient.env["CUDASWITCH_VERSION"] = "system"
    assert found(patient) == {}


def test_a_file_that_may_not_be_read(patient: Patient) -> None:
    file = patient.home.path / ".cuda-version"
    file.write_text("12.4\n")
    file.chmod(0)
    done = patient.home.run_plainly("doctor", "--json", **patient.env)
    [one] = json.loads(done.stdout)["findings"]
    assert (one["code"], one["fix"]) == ("CS079", f"chmod u+r {file}")
    assert one["evidence"] == f"cannot read `{file}`: Permission denied"


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("9.9", "cudaswitch install 9.9"),
        ("auto", "export CUDASWITCH_VERSION=12.4.131"),
        ("$(id)", "export CUDASWITCH_VERSION=12.4.131"),
        ("none-such", "export CUDASWITCH_VERSION=12.4.131"),
    ],
)
def test_a_variable(patient: Patient, text: str, fix: str) -> None:
    patient.adopt("12.4.131")
    patient.env["CUDASWITCH_VERSION"] = text
    one = told_as_current_does(patient)
    assert one["fix"] == fix
    assert "CUDASWITCH_VERSION" in one["evidence"]


def test_shells_follow_a_weaker_request_than_the_variable(patient: Patient) -> None:
    """A version file without an answer switches nothing; a variable without one is passed over."""
    kit = patient.adopt("12.4.131")
    file = patient.home.path / ".cuda-version"
    prompt = f'cd {file.parent}; eval "$(cudaswitch init bash)"; eval "$PROMPT_COMMAND"'
    for variable, text, home in (("", "9.9\n", ""), ("9.9", "12.4\n", str(kit))):
        file.write_text(text)
        patient.env["CUDASWITCH_VERSION"] = variable
        cause = found(patient)["CS079"]["cause"]
        assert "follow the weaker one where CUDASWITCH_VERSION has no answer" in cause
        done = subprocess.run(
            ["bash", "--norc", "-c", f'{prompt}; printf %s "$CUDA_HOME"'],
            env=patient.home.env | patient.env, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.stdout == home, done.stderr


def test_what_is_no_file(patient: Patient) -> None:
    file = patient.home.store / "global"
    file.mkdir(parents=True)
    assert told_as_current_does(patient)["fix"] == f"mv --backup=numbered {file} {file}.bak"


@root_only
def test_a_file_of_another_user(patient: Patient) -> None:
    file = patient.home.path / ".cuda-version"
    for text, request in ((">=12.1, <13\n", "'>=12.1,<13'"), ("12.4\n12.5\n", "system")):
        file.write_text(text)
        os.chown(file, 12345, 12345)
        one = told_as_current_does(patient)
        assert one["fix"] == f'eval "$(cudaswitch env {request} --shell bash)"'
        assert "; if you trust it, run " in one["evidence"]


def test_one_cause_is_one_finding(patient: Patient) -> None:
    """A cause that another rule knows better, as of an environment's pin, is not reported twice."""
    patient.adopt("12.4.131")
    (patient.home.path / ".cuda-version").write_text("13.0\n")
    assert list(found(patient)) == ["CS058"]
    # Now the variable decides, not the file.
    patient.env["CUDASWITCH_VERSION"] = "9.9"
    assert list(found(patient)) == ["CS058", "CS079"]
    del patient.env["CUDASWITCH_VERSION"]
    prefix = patient.work / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    patient.run("pin", "12.4", "-p", prefix)
    (prefix / "etc/cudaswitch/pin").write_text("9.0\n")
    patient.env |= {"VIRTUAL_ENV": str(prefix), "PATH": f"{prefix}/bin:{patient.path}"}
    codes = list(found(patient))
    assert "CS075" in codes
    assert "CS079" not in codes


def test_a_pin_to_an_alias_that_was_deleted(patient: Patient) -> None:
    """The fix gives a deleted alias its old meaning, not the newest, or unpins if that is gone."""
    patient.adopt("11.8.89")
    patient.adopt("12.4.131")
    env = patient.virtualenv()
    for name, meant in (("inner", "11.8"), ("thesis", "inner")):
        patient.run("alias", name, meant)
    patient.run("pin", "thesis", "-p", env.prefix)
    for name in ("inner", "thesis"):
        patient.run("alias", "--delete", name)
        fix = found(patient)["CS075"]["fix"]
        assert fix == f"cudaswitch alias {name} 11.8.89 && cudaswitch pin thesis -p {env.prefix}"
        for command in fix.split(" && "):
            patient.run(*shlex.split(command)[1:])
        assert "CS075" not in found(patient)
    patient.run("alias", "--delete", "thesis")
    patient.run("remove", "--force", "11.8.89")
    assert found(patient)["CS075"]["fix"] == f"cudaswitch unpin -p {env.prefix}"


def test_a_toolkit_that_is_gone_names_its_pins(patient: Patient, tmp_path: Path) -> None:
    patient.adopt("11.8.89")
    kit = patient.adopt("12.4.131")
    tree, other, env = tmp_path / "tree", tmp_path / "other", patient.virtualenv()
    for folder in (tree, other):
        folder.mkdir()
    patient.run("pin", "12.4", "--global")
    patient.run("pin", "12.4", "--dir", tree)
    patient.run("pin", "11.8", "--dir", other)
    patient.run("pin", "12.4", "-p", env.prefix)
    shutil.rmtree(kit)
    rows = found(patient)
    gone = rows["CS062"]["evidence"]
    assert gone.startswith("`12.4.131` was adopted, and its folder is gone; pinned by ")
    for pin in (f"{tree}/.cuda-version", str(env.prefix), "you (--global)"):
        assert pin in gone
    assert str(other) not in gone
    assert f"{patient.home.store}/global:1" in rows["CS079"]["evidence"]
    # Another toolkit answers the same request.
    patient.adopt("12.4.99")
    assert "--global" not in found(patient)["CS062"]["evidence"]


@pytest.mark.parametrize("order", list(permutations(["CS075", "CS079", "CS062"])), ids=str)
def test_a_toolkit_that_is_gone_is_installed_again(
    patient: Patient, order: tuple[str, ...]
) -> None:
    """A lost adopted toolkit, whose name stays taken, is replaced, in whichever order fixes run."""
    kit, env = patient.adopt("10.1.243"), patient.virtualenv()
    patient.run("pin", "10.1", "-p", env.prefix)
    patient.run("pin", "10.1", "--global")
    shutil.rmtree(kit)
    packages = [builders.cudatoolkit_10_1(patient.work / "packages")]
    patient.env["CUDASWITCH_CHANNELS"] = str(
        builders.local_channel(patient.work / "channel", packages)
    )
    rows = found(patient)
    assert list(rows) == ["CS075", "CS079", "CS062"]
    for code in order:
        for command in rows[code]["fix"].split(" && "):
            patient.run(*shlex.split(command)[1:])
    assert "10.1.243" in "".join(patient.run("list"))
    assert not {"CS075", "CS079", "CS062"} & found(patient).keys()


@pytest.mark.parametrize("later", ["", "12.4.99", "12.9.86"])
def test_a_number_that_the_person_gave_is_no_upgrade(patient: Patient, later: str) -> None:
    """Neither is another patch: that may be read elsewhere than it was."""
    kit = patient.toolkit(patient.work / "kit", "12.5.82")
    patient.run("adopt", kit, "--as", "12.4.131")
    if later:
        patient.toolkit(kit, later)
    expected = [f"cudaswitch adopt {kit}"] if later == "12.9.86" else []
    assert [row["fix"] for row in found(patient).values()] == expected


def test_a_store_that_is_a_link_to_nothing(patient: Patient, tmp_path: Path) -> None:
    """Its disk may not be mounted; what else is wrong is mended by writing there."""
    patient.run("init", "--install", "bash", "--yes")
    patient.home.store.rename(tmp_path / "disk")
    patient.home.store.symlink_to(tmp_path / "away")
    rows = found(patient)
    assert list(rows) == ["CS063", "CS077"]
    named = f"`{patient.home.store}`, is a link to `{tmp_path}/away`, which does not exist; mount"
    assert named in rows["CS063"]["evidence"]
    commands = " && ".join(row["fix"] for row in rows.values())
    env = patient.home.env | patient.env
    subprocess.run(["bash", "-c", commands], env=env, check=True)
    assert found(patient) == {}


@pytest.mark.parametrize("damage", ["damaged", "lost"])
def test_a_toolkit_without_its_record_is_repaired(patient: Patient, damage: str) -> None:
    """A toolkit without its record is repaired: as its name is taken, `install` would refuse."""
    env = patient.virtualenv()
    patient.run("install", builders.cudatoolkit_10_1(patient.work / "packages"))
    patient.run("pin", "10.1", "-p", env.prefix)
    patient.run("pin", "10.1", "--global")
    record = patient.home.store / "toolkits/10.1.243/cudaswitch.json"
    if damage == "lost":
        record.unlink()
    else:
        record.write_text("{")
    repair = "cudaswitch verify --repair"
    rows = found(patient)
    fixes = {code: row["fix"] for code, row in rows.items()}
    assert fixes == dict.fromkeys(("CS064", "CS075", "CS079"), repair)
    assert rows["CS064"]["evidence"].startswith("10.1.243: ")
    assert "cudaswitch install" not in str(rows)
    # A request for another release is not mended by the repair.
    patient.run("pin", "system", "-p", env.prefix)
    (patient.home.store / "global").write_text("11.8\n")
    assert found(patient)["CS079"]["fix"] == "cudaswitch install 11.8"
    patient.run("pin", "system", "--global")
    patient.run(*repair.split()[1:])
    assert found(patient) == {}


def test_a_number_that_no_release_has_is_not_installed_again(patient: Patient) -> None:
    """A toolkit named after its nvcc, by a number that no release has, can only be removed."""
    kit, env = patient.adopt("12.4.131"), patient.virtualenv()
    patient.run("pin", "12.4.131", "-p", env.prefix)
    shutil.rmtree(kit)
    assert found(patient)["CS062"]["fix"] == "cudaswitch remove --force 12.4.131"


def test_a_store_that_everybody_may_write(patient: Patient) -> None:
    patient.adopt("12.4.131")
    (patient.home.path / ".cuda-version").write_text("12.4\n")
    patient.home.store.chmod(0o777)
    assert told_as_current_does(patient)["fix"] == f"chmod o-w {patient.home.store}"


def test_lines_of_a_persons_behind_ours_are_no_finding(patient: Patient) -> None:
    """Lines that a user writes after our block in an activate script are no finding."""
    patient.adopt("12.4.131")
    env = patient.virtualenv()
    patient.run("pin", "12.4", "-p", env.prefix)
    script = env.prefix / "bin" / "activate"
    script.write_text(f"export BEFORE=1\n{script.read_text()}export BEHIND=1\n")
    assert json.loads("".join(patient.run("doctor", "--json")))["findings"] == []
    words = "/etc/cudaswitch/on.sh"
    script.write_text(
        script.read_text().replace(f'-f "$VIRTUAL_ENV{words}"', f"-r $VIRTUAL_ENV{words}")
    )
    [found] = json.loads(patient.home.run("doctor", "--json").stdout)["findings"]
    assert found["code"] == "CS071"


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("home/xdg-config/cudaswitch/config.toml", 'libraries = "never"\n', "libraries"),
        ("work/env/etc/cudaswitch/pin", "cuda 12.4\ngpus 1\n", "gpus"),
    ],
)
def test_a_setting_that_was_edited_by_hand(
    patient: Patient, file: str, text: str, name: str
) -> None:
    """That says nothing of edits in the hooks."""
    patient.adopt("12.4.131")
    env = patient.virtualenv()
    patient.run("pin", "12.4", "-p", env.prefix)
    edited = patient.home.path.parent / file
    edited.parent.mkdir(parents=True, exist_ok=True)
    edited.write_text(text)
    [one] = found(patient).values()
    assert one["code"] == "CS071"
    assert one["evidence"].endswith(f"its hooks were written with another `{name}`")
    with (env.prefix / "etc/cudaswitch/off.sh").open("a") as hook:
        hook.write("echo mine\n")
    assert found(patient).keys() == {"CS071", "CS073"}
    patient.run(*shlex.split(one["fix"])[1:])
    assert found(patient) == {}


@pytest.mark.parametrize("python", ["python3.13t", "pypy3.10"])
@pytest.mark.parametrize("conda", [False, True])
def test_hooks_of_an_environment_with_another_python(
    patient: Patient, python: str, conda: bool
) -> None:
    """The hooks name the folder of the environment's Python, which need not be CPython's usual."""
    patient.adopt("12.4.131")
    env = patient.virtualenv(conda=conda)
    [lib] = env.prefix.glob("lib/python*")
    lib.rename(lib.with_name(python))
    patient.run("pin", "12.4", "-p", env.prefix)
    [hook] = env.prefix.glob("etc/conda/activate.d/*.sh" if conda else "etc/cudaswitch/on.sh")
    assert f"'lib/{python}/site-packages'" in hook.read_text()
    assert "CS073" not in found(patient)


def test_an_activate_script_that_was_written_anew(patient: Patient, tmp_path: Path) -> None:
    """An activate script that was written anew has lost its hook, so only `pin` helps."""
    patient.adopt("12.4.131")
    prefix = tmp_path / "v"
    for _ in range(2):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
        if not (prefix / "etc").exists():
            pin = patient.home.run("pin", "12.4", "--libraries", "always", "-p", prefix)
            succeeded(pin)
    patient.env["VIRTUAL_ENV"] = str(prefix)
    patient.env["PATH"] = f"{prefix}/bin:{patient.home.env['PATH']}"
    said = patient.home.run("current", **patient.env).stderr
    assert said.endswith("hint: cudaswitch pin 12.4 --libraries always\n")
    findings = found(patient)
    assert "CS074" in findings and "CS076" not in findings
    succeeded(patient.home.run("pin", "12.4", "--libraries", "always", **patient.env))
    assert "CS076" in found(patient)
    said = patient.home.run("current", **patient.env).stderr
    assert said.endswith("hint: activate the environment again\n")


def test_hooks_whose_toolkit_is_gone_are_no_help(patient: Patient, tmp_path: Path) -> None:
    """Hooks whose toolkit is gone are mended by pinning again, which only the owner can do."""
    patient.adopt("12.4.131")
    prefix = conda_prefix(tmp_path / "env")
    succeeded(patient.home.run("pin", "12.4", "-p", prefix))
    patient.env["CONDA_PREFIX"] = str(prefix)
    over = tmp_path / "12.4.99+cudnn9.1.0"
    over.mkdir()
    # A toolkit that is laid over another counts as gone without that one.
    (over / ".base").symlink_to("/nowhere/12.4.99")
    for gone in (over, "/nowhere/12.4.99"):
        (prefix / "etc/cudaswitch/want").write_text(f"{gone}\n")
        said = patient.home.run("current", **patient.env).stderr
        assert said.endswith("hint: cudaswitch pin 12.4\n")
    if os.geteuid() == 0:  # only root can give it away
        os.chown(prefix, 12345, 12345)
        said = patient.home.run("current", **patient.env).stderr
        assert said.endswith("hint: cudaswitch init --install bash\n")
        os.chown(prefix, 0, 0)
    succeeded(patient.home.run("pin", "12.4", **patient.env))
    said = patient.home.run("current", **patient.env).stderr
    assert said.endswith("hint: activate the environment again\n")


def test_hooks_behind_a_shared_store_are_no_help(patient: Patient, tmp_path: Path) -> None:
    """Hooks that miss a newer toolkit of a shared store are mended by `pin`, not by activating."""
    store = {"CUDASWITCH_HOME": str(tmp_path / "shared")}
    patient.env["CUDASWITCH_STORES"] = store["CUDASWITCH_HOME"]
    prefix = conda_prefix(tmp_path / "env")
    for version in ("12.4.99", "12.4.131"):
        kit = patient.toolkit(patient.work / version, version)
        succeeded(patient.home.run("adopt", kit, **store))
        if version == "12.4.99":
            patient.run("pin", "12.4", "-p", prefix)
    patient.env["CONDA_PREFIX"] = str(prefix)
    said = patient.home.run("current", **patient.env).stderr
    assert said.endswith("hint: cudaswitch pin 12.4\n")
    findings = found(patient)
    assert findings["CS071"]["fix"] == f"cudaswitch pin 12.4 -p {prefix}"
    assert "CS076" not in findings
    patient.run("pin", "12.4")
    said = patient.home.run("current", **patient.env).stderr
    assert said.endswith("hint: activate the environment again\n")
    assert found(patient).keys() == {"CS076"}


def test_what_is_asked_for_besides_is_in_the_command(
    patient: Patient, require: Callable[[str], str]
) -> None:
    """The command repeats the options that are asked for: without them it would hide these."""
    kit = patient.adopt("12.4.131")
    succeeded(patient.home.run("pin", "12.4", "--gpus", "0,2", "--libraries", "never", "--global"))
    asked = "12.4.131 --libraries never --gpus '0,2'"
    patient.env["SHELL"] = require("dash")
    fix = found(patient)["CS076"]["fix"]
    assert fix == f'eval "$(cudaswitch env {asked} --shell sh)"'
    script = f'{fix}\necho "$CUDA_HOME" "$CUDA_VISIBLE_DEVICES" "${{LD_LIBRARY_PATH-none}}"'
    environment = {**patient.home.env, **patient.env}
    done = subprocess.run(
        ["dash", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(kit), "0,2", "none"]
    patient.env["SHELL"] = "nu"
    patient.run("init", "--install", "nu", "--yes")
    assert found(patient)["CS076"]["fix"] == f"cudaswitch use {asked}".replace("'", '"')
