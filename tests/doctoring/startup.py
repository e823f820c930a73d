"""What runs before a user types: startup files, hooks, kernels, scripts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import builders
from doctoring.patient import OwnEnv, Patient, case


def _pinned(it: Patient, request: str = "12.4") -> OwnEnv:
    it.adopt("12.4.131")
    env = it.virtualenv()
    it.run("pin", request, "-p", env.prefix)
    return env


@case("CS070")
def gone(it: Patient) -> None:
    _pinned(it)
    kit = it.toolkit(it.work / "elsewhere", "12.4.99")
    shutil.rmtree(it.work / "kits/12.4.131")
    it.run("remove", "--force", "12.4.131")
    # The store lacks the toolkit that the hooks name, as if another account had changed it.
    before = (it.work / "env/etc/cudaswitch/on.sh").read_text()
    want = (it.work / "env/etc/cudaswitch/want").read_text()
    it.run("adopt", kit)
    (it.work / "env/etc/cudaswitch/on.sh").write_text(before)
    (it.work / "env/etc/cudaswitch/want").write_text(want)


@case("CS071")
def behind(it: Patient) -> None:
    env = _pinned(it)
    before = {path: path.read_bytes() for path in env.prefix.glob("etc/cudaswitch/*")}
    it.adopt("12.4.140")
    for path, content in before.items():
        path.write_bytes(content)


@case("CS072")
def missing(it: Patient) -> None:
    (_pinned(it).prefix / "etc/cudaswitch/off.sh").unlink()


@case("CS073")
def edited(it: Patient) -> None:
    with (_pinned(it).prefix / "etc/cudaswitch/on.sh").open("a") as file:
        file.write("echo mine\n")


@case("CS074")
def unhooked(it: Patient) -> None:
    env = _pinned(it)
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--clear", env.prefix], check=True
    )
    it.run("pin", "12.4", "-p", env.prefix)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env.prefix], check=True)


@case("CS075")
def refused(it: Patient) -> None:
    env = _pinned(it, "12.4.131")
    it.adopt("12.4.99")
    it.adopt("13.0.88")
    it.run("remove", "--force", "12.4.131")
    assert (env.prefix / "etc/cudaswitch/pin").is_file()


@case("CS076")
def not_loaded(it: Patient) -> None:
    """After the printed command, a prompt comes: it is played by the integration's own hook."""
    it.adopt("12.4.131")
    it.run("pin", "12.4", "--dir", it.home.path)
    it.after = '__cudaswitch_prompt 2> /dev/null || eval "${PROMPT_COMMAND-}"'


@case("CS077")
def no_ready_file(it: Patient) -> None:
    it.run("init", "--install", "bash", "--yes")
    (it.home.store / "init/bash").unlink(missing_ok=True)
    for file in (it.home.store / "init").iterdir():
        if not file.name.startswith("."):
            file.unlink()


@case("CS078")
def loaded_twice(it: Patient) -> None:
    it.rc('alias ll="ls -l"\neval "$(cudaswitch init bash)"\n')
    it.run("init", "--install", "bash", "--yes")


@case("CS079")
def unanswered(it: Patient) -> None:
    packages = [builders.cudatoolkit_10_1(it.work / "packages")]
    it.env["CUDASWITCH_CHANNELS"] = str(builders.local_channel(it.work / "channel", packages))
    (it.home.path / ".cuda-version").write_text("10.1\n")
    it.remains = frozenset({"CS076"})


RC = """# mine
alias ll='ls -l'
export CUDA_HOME=/usr/local/cuda-11.8
if [ -d /usr/local/cuda-11.8 ]; then
    export PATH=/usr/local/cuda-11.8/bin:$PATH
fi
export LD_LIBRARY_PATH=/usr/local/cuda-11.8/lib64\\
:$LD_LIBRARY_PATH
export EDITOR=vi
"""


MINE = r"""
eval "$(cudaswitch init bash)"
# mine
export CUDA_HOME=/usr/local/cuda-13.0  # [a*b], \& ^it's$ "so"
export LD_LIBRARY_PATH=/opt/my,lib:$LD_LIBRARY_PATH # \1 & [x], it's
alias ll='ls -l'
if true; then
<TAB>export PATH=$PATH:/usr/local/cuda-13.0/bin
<TAB>export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/opt/bin\
/lib64:/usr/local/cuda-13.0/lib64
fi
export LD_LIBRARY_PATH=/srv/lib:$LD_LIBRARY_PATH
export EDITOR=vi
""".replace("<TAB>", "\t")
MINE_MENDED = r"""
:  # eval "$(cudaswitch init bash)"
# mine
:  # export CUDA_HOME=/usr/local/cuda-13.0  # [a*b], \& ^it's$ "so"
export LD_LIBRARY_PATH=/opt/my,lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} # \1 & [x], it's
alias ll='ls -l'
if true; then
<TAB>:  # export PATH=$PATH:/usr/local/cuda-13.0/bin
<TAB>export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/opt/bin/lib64
fi
export LD_LIBRARY_PATH=/srv/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export EDITOR=vi
""".replace("<TAB>", "\t")
"""A startup file in which rules find several lines, with all that sed treats specially, and the
file as it is mended."""


@case("CS080")
def leftovers(it: Patient) -> None:
    it.rc(RC)


@case("CS081")
def open_list(it: Patient) -> None:
    it.rc("export LD_LIBRARY_PATH=$HOME/lib:$LD_LIBRARY_PATH\n")


@case("CS082")
def own_script(it: Patient) -> None:
    env = it.virtualenv(conda=True)
    it.activate(env)
    text = "export OLD_LD_LIBRARY_PATH=$LD_LIBRARY_PATH\nexport LD_LIBRARY_PATH=$CONDA_PREFIX/lib\n"
    env.write("etc/conda/activate.d/env_vars.sh", text)
    # A script that a package brought is not the user's, and must not be reported.
    env.write("etc/conda/activate.d/packaged.sh", text)
    record = {"name": "p", "files": ["etc/conda/activate.d/packaged.sh"]}
    env.write("conda-meta/p-1-0.json", json.dumps(record))


@case("CS083")
def ends_the_shell(it: Patient) -> None:
    env = it.virtualenv(conda=True)
    it.activate(env)
    text = '[ -d "/nowhere" ] || exit 1\n'
    env.write("etc/conda/activate.d/check.sh", text)


@case("CS084")
def kernel(it: Patient) -> None:
    """The command asks; `--yes` answers in the user's place."""
    env = _pinned(it)
    spec = {"argv": [f"{env.prefix}/bin/python", "-m", "ipykernel_launcher", "-f", "{file}"]}
    path = it.home.path / "xdg-data/jupyter/kernels/mine/kernel.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**spec, "display_name": "mine", "language": "python"}))
    it.before = 'cudaswitch() { command cudaswitch "$@" ${2:+$(test "$2" = --fix && echo --yes)}; }'


@case("CS085")
def project(it: Patient) -> set[str]:
    it.adopt("12.4.131")
    folder = it.home.path / "project"
    (folder / ".vscode").mkdir(parents=True)
    it.run("pin", "12.4", "--dir", folder)
    it.before = f"cd '{folder}'; export CUDASWITCH_VERSION=12.4"
    it.before += '; eval "$(cudaswitch env 12.4 --shell bash)"'
    return set()
