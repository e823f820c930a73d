"""Compare our loader with the machine's own on random trees of libraries. A script.

    python loader_corpus.py WORK CASES SEED [CACHE]

WORK is an empty folder. CACHE is a file that is mounted over /etc/ld.so.cache, whose content
this script changes. Prints one JSON object: how many cases, which differ.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from cudaswitch.binaries import read_elf
from cudaswitch.loader import Process, System
from cudaswitch.lookup.disk import Disk, this_system

NAMES = ("liba.so", "libb.so.2", "libc1.so", "libd.so", "libm.so.6")
FOLDERS = ("d0", "d1", "d2", "d0/d3")
SPECIAL = ("glibc-hwcaps/x86-64-v2", "glibc-hwcaps/x86-64-v3", "glibc-hwcaps/x86-64-v9", "tls")
CACHED = ("c0", "c1", "c1/glibc-hwcaps/x86-64-v2")
RULES = (
    *("RPATH of", "RUNPATH of", "LD_LIBRARY_PATH", "LD_PRELOAD", "cache", "default folder"),
    *("glibc-hwcaps", "tls", "empty element"),
)
BUILDS = 40
"""How many builds of each library there are; linking takes longer than all the rest."""
LOADER = read_elf(os.path.realpath(sys.executable)).interpreter or ""


@dataclass(frozen=True)
class Build:
    """How one file is linked; `path` is DT_RPATH, or DT_RUNPATH if `new`."""

    soname: str | None
    needed: tuple[str, ...]
    path: str | None
    new: bool
    no_defaults: bool = False
    program: bool = False


class Factory:
    """Files of each kind, linked once and then copied."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: dict[Build, Path] = {}
        folder.mkdir()
        self.object = folder / "empty.o"
        source = "void _start(void) {}"
        command = ["gcc", "-fPIC", "-c", "-x", "c", "-", "-o", self.object]
        subprocess.run(command, input=source, text=True, check=True)
        for name in NAMES:
            self.link(["-shared", "-soname", name], folder / name)

    def link(self, options: list[str], target: Path) -> None:
        subprocess.run(["ld", *options, "-o", target, self.object], check=True)

    def make(self, build: Build) -> Path:
        if build not in self.made:
            target = self.folder / f"{len(self.made)}.so"
            options = ["-pie", "-dynamic-linker", LOADER] if build.program else ["-shared"]
            options += ["-soname", build.soname] if build.soname else []
            options += ["--enable-new-dtags" if build.new else "--disable-new-dtags"]
            options += ["-rpath", build.path] if build.path is not None else []
            options += ["-z", "nodefaultlib"] if build.no_defaults else []
            options += ["--no-as-needed", *(str(self.folder / name) for name in build.needed)]
            self.link(options, target)
            self.made[build] = target
        return self.made[build]


def with_both(content: bytes) -> bytes:
    """Give a file with DT_RPATH a DT_RUNPATH as well, in place of a spare DT_NULL of the linker.

    The DT_RUNPATH names no folder. Linkers write only one of the two.
    """
    count = int.from_bytes(content[56:58], sys.byteorder)
    for header in range(64, 64 + 56 * count, 56):
        kind, offset, size = (
            int.from_bytes(content[header + at : header + at + 8], sys.byteorder)
            for at in (0, 8, 32)
        )
        if kind & 0xFFFFFFFF == 2:
            rows = list(struct.iter_unpack("=qQ", content[offset : offset + size]))
            tags = [tag for tag, _ in rows]
            if 15 in tags and tags.count(0) > 1:
                end = offset + 16 * tags.index(0)
                # Offset 0: the empty string that every string table begins with.
                return content[:end] + struct.pack("=qQ", 29, 0) + content[end + 16 :]
    return content


class Cases:
    def __init__(self, work: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.factory = Factory(work / "made")
        self.world = work / "world"
        self.builds: dict[str, list[Build]] = {name: [] for name in NAMES}

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def path(self, separators: str, most: int = 3) -> str:
        """Make a list of folders as people and packages write it, with all its oddities."""
        world = self.world
        kinds = [*(f"$ORIGIN/{at}" for at in FOLDERS[:2]), "$ORIGIN", "${ORIGIN}/../d1"]
        kinds += ["$ORIGIN/../d2", f"{world}/d0", f"{world}/d1/", f"{world}/d2//", "d0", "", "d1"]
        kinds += [f"{world}/link", "/nowhere", f"{world}/$LIB", f"{world}/${{PLATFORM}}", "$ODD/x"]
        kinds += ["$ORIGINd", f"{world}/d0/d3", f"{world}/file.txt", f"{world}/./d1/../d2"]
        text = self.random.choice(kinds)
        for _ in range(self.random.randrange(most)):
            text += self.random.choice(separators) + self.random.choice(kinds)
        return text

    def build(self, name: str) -> Build:
        """Draw a build of a library: a new one until there are enough."""
        known = self.builds[name]
        if len(known) < BUILDS:
            known.append(self.new_build(name))
            return known[-1]
        return self.random.choice(known)

    def new_build(self, name: str | None) -> Build:
        """Draw a build of a library, or of a program for None."""
        needed = self.random.sample(NAMES, self.random.randrange(4) if name else 3)
        return Build(
            soname=name if self.chance(0.8) else self.random.choice([None, *NAMES]),
            needed=tuple(one for one in needed if one != name),
            path=self.path(":") if self.chance(0.75 if name is None else 0.6) else None,
            new=self.chance(0.5),
            no_defaults=self.chance(0.12),
            program=name is None,
        )

    def place(self, path: Path) -> None:
        """Put a library there: mostly a good one, else one that the loader skips or fails on."""
        path.parent.mkdir(parents=True, exist_ok=True)
        content = self.factory.make(self.build(path.name)).read_bytes()
        if self.chance(0.2):
            content = with_both(content)
        kind = self.random.random()
        if kind < 0.05:
            content = content[:4] + b"\x01" + content[5:]  # of the other class
        elif kind < 0.10:
            content = content[:18] + b"\x28\x00" + content[20:]  # of another machine
        elif kind < 0.12:
            content = self.random.choice([b"", b"INPUT(-la)\n" * 20, content[:40], content[:100]])
        elif kind < 0.13:
            path.mkdir(exist_ok=True)
            return
        elif kind < 0.25:
            path.unlink(missing_ok=True)
            others = [self.world / at / self.random.choice(NAMES) for at in FOLDERS[:3]]
            path.symlink_to(self.random.choice(["nowhere", self.world / "d0" / path.name, *others]))
            return
        if not path.is_symlink() and not path.is_dir():
            path.write_bytes(content)

    def fill(self) -> dict[str, str]:
        """Make a new world, and return the variables to run its program with."""
        shutil.rmtree(self.world, ignore_errors=True)
        self.world.mkdir()
        (self.world / "link").symlink_to("d2")
        (self.world / "file.txt").write_text("no folder")
        folders = [*FOLDERS, "", "lib64", "lib/x86_64-linux-gnu", "x86_64", "haswell"]
        folders += [f"d1/{at}" for at in SPECIAL] + [f"d2/{at}" for at in SPECIAL[:2]]
        for folder in folders:
            for name in NAMES:
                if self.chance(0.5 if folder in FOLDERS else 0.12):
                    self.place(self.world / folder / name)
        program = self.world / "bin/main"
        program.parent.mkdir()
        shutil.copy(self.factory.make(self.new_build(None)), program)
        if self.chance(0.3):
            program.write_bytes(with_both(program.read_bytes()))
        variables = {}
        if self.chance(0.7):
            variables["LD_LIBRARY_PATH"] = self.path(":;") if self.chance(0.95) else ""
        if self.chance(0.15):
            kinds = [*NAMES, f"{self.world}/d0/liba.so", "./d1/libd.so", "$ORIGIN/../d2/libd.so"]
            kinds = self.random.sample(kinds, 2)
            variables["LD_PRELOAD"] = self.random.choice(" :").join(kinds)
        return variables

    def cache(self, work: Path, target: Path, kind: int) -> None:
        """Write a cache for the loader: an empty file, or a real one with folders of ours."""
        if kind == 0:
            target.write_bytes(b"")
            return
        for folder in CACHED:
            for name in NAMES:
                if self.chance(0.6):
                    path = work / folder / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    build = self.build(name)
                    shutil.copy(self.factory.make(build), path)
        conf, made = work / "ld.so.conf", work / "made.cache"
        conf.write_text(f"{work}/c0\n{work}/c1\n")
        ldconfig = shutil.which("ldconfig", path=f"{os.defpath}:/sbin:/usr/sbin") or "ldconfig"
        command = [ldconfig, "-X", "-f", conf, "-C", made]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        target.write_bytes(made.read_bytes())


def real(program: Path, world: Path, variables: dict[str, str]) -> tuple[set[str], str]:
    """Ask the loader itself: `name => path` of everything, and the error that it fails with."""
    done = subprocess.run(
        [program],
        env={"LD_TRACE_LOADED_OBJECTS": "1", **variables},
        cwd=world,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = set()
    for line in done.stdout.splitlines():
        name, arrow, path = line.strip().partition(" => ")
        path = (path or name).rpartition(" (")[0] or path
        if path not in (LOADER, "linux-vdso.so.1"):
            lines.add(f"{name if arrow else path} => {path}")
    error = done.stderr.partition("error while loading shared libraries: ")[2].strip()
    return lines, error


def ours(
    program: Path, system: System, variables: dict[str, str], whys: Counter[str]
) -> tuple[set[str], str]:
    """Ask our loader the same, and count the rules that decided."""
    process = Process(
        Disk(),
        system,
        variables.get("LD_LIBRARY_PATH", ""),
        variables.get("LD_PRELOAD", ""),
    )
    process.start(str(program), read_elf(program))
    loaded = [one for one in process.loaded if not one.main and one.path != LOADER]
    lines = {f"{one.names[0]} => {one.path}" for one in loaded}
    lines |= {f"{name} => not found" for name, _ in process.missing}
    whys.update(rule for one in loaded for rule in RULES if rule in one.why)
    error = "".join(f"{one.path}: {one.fault}" for one in process.faults[:1])
    return lines, error


def unread(error: str) -> str:
    """Cut off why a file was not read, which the loader tells only by a number."""
    before, words, _ = error.partition("cannot read file data")
    return before + words


def main(work: Path, cases: int, seed: int, cache: Path | None) -> None:
    made = Cases(work, seed)
    different: list[object] = []
    used: Counter[str] = Counter()
    for number in range(cases):
        if cache and number % 40 == 0:
            made.cache(work, cache, number // 40)
        if number % 40 == 0:
            system = this_system(LOADER, str(made.world))
        variables = made.fill()
        program = made.world / "bin/main"
        os.chdir(made.world)
        theirs = real(program, made.world, variables)
        mine = ours(program, system, variables, used)
        used["damaged"] += bool(theirs[1])
        used["missing"] += any("not found" in line for line in theirs[0])
        # The loader lists missing libraries and goes on; at a damaged one, it ends at once.
        same = unread(theirs[1]) == unread(mine[1]) if theirs[1] or mine[1] else theirs == mine
        if not same:
            rest = [sorted(theirs[0] - mine[0]), sorted(mine[0] - theirs[0])]
            different.append([number, variables, *rest, theirs[1], mine[1]])
    print(json.dumps({"cases": cases, "different": different, "used": used}))


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        int(sys.argv[2]),
        int(sys.argv[3]),
        Path(sys.argv[4]) if len(sys.argv) > 4 else None,
    )
