"""The commands that change something, each with the world that it finds."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import builders
from builders import conda_package
from builders.recipes import cudnn_headers, cudnn_libraries
from faults.runner import Act, Ran, Runner
from homes import Home, make_home

KITS = ["10.1.243", "10.1.243+cudnn7.6.5"]
CUDNN = "cudnn-7.6.5-cuda10.1_0"


def archives_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return a toolkit and its cuDNN as conda packages, and the two in other forms."""
    pair = [builders.cudatoolkit_10_1(folder), builders.cudnn_7_6_5(folder)]
    others = [
        builders.cudatoolkit_10_1(folder / "conda", form="conda"),
        builders.cudnn_archive(folder, "7.2-8.3.0", "7.5.0.56", "10.1"),
    ]
    return pair, others


def another_build(folder: Path) -> Path:
    """Write cuDNN under the name that it has in `archives_in`, with other content."""
    files = {**cudnn_headers("7.6.5"), **cudnn_libraries("7.6.5"), "include/more.h": b"//\n"}
    name, version, build = CUDNN.split("-")
    needs = ["cudatoolkit 10.1.*"]
    return conda_package(folder, name, version, build, "linux-64", files, depends=needs)


@dataclass
class World:
    """A user's account in one folder, with what commands work on; archives are outside of it."""

    runner: Runner
    pair: list[Path]
    others: list[Path]
    other_build: Path
    home: Home = field(init=False)

    def __post_init__(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        self.home = make_home(self.root)
        self.project.mkdir()

    @property
    def root(self) -> Path:
        return self.runner.root

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def env(self) -> Path:
        """A virtualenv; there once `make_env` has run."""
        return self.root / "env"

    @property
    def adopted(self) -> Path:
        return self.root / "cuda-9.0"

    def run(
        self,
        *arguments: str | Path,
        act: Act = "run",
        at: int = 0,
        errno: int = 0,
        kill_after: float | None = None,
    ) -> Ran:
        return self.runner.run(
            *arguments, env=self.home.env, cwd=self.project,
            act=act, at=at, errno=errno, kill_after=kill_after,
        )  # fmt: skip

    def ran(self, *arguments: str | Path) -> None:
        """Run a command that must succeed."""
        done = self.run(*arguments)
        assert done.code == 0, done.shown

    def kill(self, call: str, nth: int, *arguments: str | Path) -> None:
        """Run a command that is killed at the nth call of that name."""
        calls = self.run(*arguments, act="count").calls
        numbers = [number for number, line in enumerate(calls, 1) if line.split()[1] == call]
        self.ran("install", *self.pair)
        assert self.run(*arguments, act="kill", at=numbers[nth]).code == -9

    def install(self) -> None:
        self.ran("install", *self.pair)

    def install_half(self) -> None:
        self.ran("install", self.pair[0])

    def make_env(self) -> None:
        self.install()
        make_virtualenv(self.env)

    def make_framework(self) -> None:
        """An environment whose framework needs the toolkit, and no pin."""
        self.make_env()
        [site] = self.env.glob("lib/python3*/site-packages")
        folder = site / "tensorflow_gpu-2.3.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: tensorflow-gpu\nVersion: 2.3.0\n"
        )

    def make_adoptable(self) -> None:
        self.install()
        library = "libcudart.so.9.0"
        builders.elf_library(self.adopted / "lib64/libcudart.so.9.0.176", library, {"x": 1})

    def alias(self) -> None:
        self.install()
        self.ran("alias", "lab", "10.1")

    def pin(self) -> None:
        self.make_env()
        self.ran("pin", "10.1", "-p", self.env)

    def pin_half(self) -> None:
        self.install_half()
        make_virtualenv(self.env)
        self.ran("pin", "10.1", "-p", self.env)

    def pin_directory(self) -> None:
        self.install()
        self.ran("pin", "10.1", "--dir", self.project)

    def lock(self) -> None:
        self.ran("lock", *self.pair)

    def mirror(self) -> None:
        self.ran("mirror", self.root / "tree", self.pair[0])

    def leave(self) -> None:
        """Leave what `gc` is for: a note of a pin that is gone, and what killed runs left."""
        self.pin_directory()
        (self.project / ".cuda-version").unlink()
        self.kill("unlink", 30, "remove", KITS[1])
        self.kill("fsync", 5, "install", "--force", *self.pair)

    def damage(self) -> None:
        self.install()
        (self.home.store / f"packages/{CUDNN}/tree/lib/libcudnn.so.7.6.5").unlink()
        (self.home.store / "toolkits" / KITS[1] / "version.json").write_text("{}")

    def write_rc(self) -> None:
        self.install()
        (self.home.path / ".bashrc").write_text("alias x=y\n")

    def init(self) -> None:
        self.write_rc()
        self.ran("init", "--install", "bash", "--yes")

    def config(self) -> None:
        self.install()
        self.ran("config", "set", "jobs", "2")


def make_virtualenv(prefix: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)


PINNED = ("env/", "store/pins/")
"""What follows a change of the store: hooks."""


def _nothing(_: World) -> None:
    """There is no store yet."""


@dataclass(frozen=True)
class Operation:
    """`command` in the world that `before` makes.

    `settled` is what a second run may say if the first, killed, had already done everything: it
    may then leave the clearing away to the next command. `steps` are parts of the operation, as
    beginnings of paths, each of which may be done or not when one of them fails. If it is
    `undone`, a failure leaves everything else as it was.
    """

    name: str
    command: Callable[[World], list[str | Path]]
    before: Callable[[World], None] = _nothing
    settled: str | None = None
    steps: tuple[str, ...] = ()
    undone: bool = False


OPERATIONS = (
    Operation("install", lambda it: ["install", *it.pair]),
    Operation("install other forms", lambda it: ["install", *it.others]),
    Operation("install --force", lambda it: ["install", "--force", *it.pair], World.install),
    Operation(
        "install --force of another build",
        lambda it: ["install", "--force", it.other_build],
        World.install,
    ),
    Operation("compose", lambda it: ["install", it.pair[1]], World.install_half),
    Operation(
        "install for a pin", lambda it: ["install", it.pair[1]], World.pin_half, steps=PINNED
    ),
    Operation("adopt", lambda it: ["adopt", it.adopted], World.make_adoptable),
    Operation("remove", lambda it: ["remove", KITS[1]], World.install, "no toolkit"),
    Operation(
        "remove --force", lambda it: ["remove", "--force", KITS[1]], World.pin, "no toolkit", PINNED
    ),
    Operation("pin", lambda it: ["pin", "10.1", "-p", it.env], World.make_env),
    Operation("pin again", lambda it: ["pin", "10.1", "--cudnn", "none", "-p", it.env], World.pin),
    Operation("unpin", lambda it: ["unpin", "-p", it.env], World.pin, "no pin"),
    Operation("pin --dir", lambda it: ["pin", "10.1", "--dir", it.project], World.install),
    Operation("unpin --dir", lambda it: ["unpin", "--dir", it.project], World.pin_directory, "no"),
    Operation("pin --global", lambda it: ["pin", "10.1", "--global"], World.install),
    Operation(
        "want",
        lambda it: ["want", "--environment", it.env],
        World.make_framework,
        steps=("store/auto",),
    ),
    Operation("alias", lambda it: ["alias", "lab", "10.1"], World.install, undone=True),
    Operation("alias anew", lambda it: ["alias", "lab", "10"], World.alias, undone=True),
    Operation("alias --delete", lambda it: ["alias", "--delete", "lab"], World.alias, "no alias"),
    Operation("config", lambda it: ["config", "set", "jobs", "3"], World.config),
    Operation("config libraries", lambda it: ["config", "set", "libraries", "never"], World.config),
    Operation("init", lambda it: ["init", "--install", "bash", "--yes"], World.write_rc),
    Operation(
        "init --remove",
        lambda it: ["init", "--remove", "bash", "--yes"],
        World.init,
        steps=("store/init/",),
    ),
    Operation("shims", lambda it: ["shims", "install"], World.install),
    Operation("gc", lambda it: ["gc"], World.leave),
    Operation("lock", lambda it: ["lock", *it.pair]),
    Operation("sync", lambda it: ["sync"], World.lock),
    Operation(
        "download", lambda it: ["download", *it.pair, "-d", it.root / "usb"], steps=("usb/",)
    ),
    Operation(
        "mirror", lambda it: ["mirror", it.root / "tree", *it.pair], World.mirror, steps=("tree/",)
    ),
    Operation(
        "verify --repair",
        lambda it: ["verify", "--repair"],
        World.damage,
        "",
        ("store/packages/", "store/toolkits/"),
    ),
)
