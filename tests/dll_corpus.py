"""Compare our order of DLLs with Wine's loader on random trees. A script.

    python dll_corpus.py WORK WORLDS SEED

WORK is an empty folder, which also gets Wine's prefix. Prints one JSON object: how many cases,
which differ, how often each rule decided.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from cudaswitch.loader.dlls import Process, Windows
from cudaswitch.lookup.dlls import Disk
from cudaswitch.pe import PeError

HERE = Path(__file__).parent
GCC = "x86_64-w64-mingw32-gcc"
WINE = next(map(str, Path("/usr/lib").glob("x86_64-*/wine/wine")), "/usr/lib/wine/wine64")
"""Where Debian after 13 has it, or up to 13."""
NAMES = ("a.dll", "b.dll", "c.dll", "d.dll")
RUN, STANDARD, ALTERED, DEFAULTS = "run", "0", "8", "1100"
"""A program is run, or something is loaded with flags of LoadLibraryEx: none;
LOAD_WITH_ALTERED_SEARCH_PATH; LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR and _DEFAULT_DIRS, as in Python."""
CASES = 24
"""Cases in one world."""
DONE = ["done", "0"]
"""How an answer ends if everything was loaded."""
RULES = ("program's folder", "of Windows", "working directory", "on PATH", "the folder of `")


class Case(NamedTuple):
    """How a program loads something, with which PATH, in which folder, and what: a name or path."""

    mode: str
    program: Path
    path: tuple[Path, ...]
    here: Path
    target: str


class Factory:
    """Libraries and programs for each choice of names that they need, each linked once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def dll(self, name: str, needed: tuple[str, ...] = ()) -> Path:
        made = self.folder / "-".join((name, *needed))
        if not made.exists():
            body = " + ".join(["1", *(f"{_symbol(it)}()" for it in needed)])
            code = f"__declspec(dllexport) int {_symbol(name)}(void) {{ return {body}; }}"
            options = ["-shared", "-nostdlib", "-Wl,--entry=0", "-o", made]
            self._link([*options, "-x", "c", "-"], needed, _declared(needed) + code)
        return made

    def program(self, needed: tuple[str, ...] = ()) -> Path:
        """Link the probe with libraries that it needs from the start."""
        made = self.folder / "-".join(("probe.exe", *needed))
        if not made.exists():
            code = _declared(needed) + "".join(f"{_symbol(it)}();" for it in needed)
            define = [f"-DIMPORTS={code}"] if needed else []
            self._link(["-o", made, *define, HERE / "dll_probe.c"], needed)
        return made

    def _link(self, options: list[str | Path], needed: tuple[str, ...], code: str = "") -> None:
        libraries = [part for it in needed for part in ("-x", "none", self.dll(it))]
        subprocess.run([GCC, *options, *libraries], input=code, text=True, check=True)


def _symbol(name: str) -> str:
    return name.partition(".")[0]


def _declared(names: tuple[str, ...]) -> str:
    return "".join(f"int {_symbol(it)}(void);" for it in names)


class Cases:
    def __init__(self, work: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.factory = Factory(work / "made")
        root = work / "wine/drive_c/windows"
        self.system = (root / "system32", root / "system", root)
        self.driver = shutil.copy(self.factory.program(), work / "driver.exe")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(work),
            "WINEPREFIX": str(work / "wine"),
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "mscoree,mshtml=",
        }

    def install_windows(self) -> None:
        """Lay out a Windows of links, which takes no time: Wine would copy 700 MB."""
        [source] = Path("/usr/lib").glob("*/wine/x86_64-windows")
        self.system[0].mkdir(parents=True)
        for file in source.glob("*.dll"):
            (self.system[0] / file.name).symlink_to(file)
        wine = Path(self.environment["WINEPREFIX"])
        (wine / "dosdevices").mkdir()
        (wine / "dosdevices/c:").symlink_to("../drive_c")
        (wine / "dosdevices/z:").symlink_to("/")
        (wine / ".update-timestamp").write_text("disable\n")

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def needed(self, name: str, share: float) -> tuple[str, ...]:
        return tuple(it for it in NAMES if it > name and self.chance(share))

    def fill(self, folder: Path, share: float) -> None:
        """Put libraries into a folder: mostly good ones, sometimes one that the loader refuses."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            if not self.chance(share):
                continue
            content = self.factory.dll(name, self.needed(name, 0.5)).read_bytes()
            kind = self.random.random()
            if kind < 0.06:
                start = content.index(b"PE\0\0") + 4
                content = (
                    content[:start] + b"\x64\xaa" + content[start + 2 :]
                )  # of another processor
            elif kind < 0.10:
                content = self.random.choice([b"", b"no library", content[:70], b"\x7fELF" * 99])
            (folder / (name.upper() if self.chance(0.2) else name)).write_bytes(content)

    def cases(self, world: Path) -> list[Case]:
        """Make a world and choose what is loaded in it."""
        app, *others = (world / it for it in ("app", "here", "p0", "p1", "p2", "d", "Mixed Case"))
        for folder in (app, *others):
            self.fill(folder, 0.2 if folder == app else 0.5)
        # Libraries that a program has from the start are not looked for again.
        own = (self.random.choice(NAMES[1:]),) if self.chance(0.4) else ()
        for name in own:
            (app / name.upper()).unlink(missing_ok=True)
            shutil.copy(self.factory.dll(name), app / name)
        shutil.copy(self.factory.program(own), app / "probe.exe")
        return [self.case(app, others) for _ in range(CASES)]

    def case(self, app: Path, others: list[Path]) -> Case:
        probe = app / "probe.exe"
        path = tuple(self.random.sample(others, self.random.randrange(5)))
        here = self.random.choice(others)
        kind = self.random.random()
        if kind < 0.2:
            program = self.random.choice(others) / f"main{self.random.random()}.exe"
            shutil.copy(self.factory.program(self.needed("", 0.4)), program)
            return Case(RUN, program, path, here, "")
        if kind < 0.45:
            return Case(STANDARD, probe, path, here, self.random.choice(NAMES))
        files = sorted(it for at in (app, *others) for it in at.iterdir() if it.suffix != ".exe")
        mode = self.random.choice([ALTERED, DEFAULTS, DEFAULTS])
        return Case(mode, probe, path, here, str(self.random.choice(files)))

    def real(self, cases: list[Case]) -> list[list[str]]:
        """Ask the loader itself: the files of each case, whether it was `done`, and its end."""
        answers = dict(zip(cases, self._asked(cases), strict=True))
        # Once in many thousand starts, Wine itself fails; real refusals happen again.
        refused = [case for case, answer in answers.items() if answer[-2:] != DONE]
        answers |= zip(refused, self._asked(refused), strict=True)
        return [answers[case] for case in cases]

    def _asked(self, cases: list[Case]) -> list[list[str]]:
        done = subprocess.run(
            [WINE, self.driver],
            input="".join(f"{_line(case)}\n" for case in cases),
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return [line.split("\t") for line in done.stdout.splitlines()]

    def native(self, path: str) -> str:
        drive, _, rest = path.replace("\\", "/").partition(":")
        root = "" if drive == "Z" else f"{self.system[-1].parent}"
        return f"{root}{rest}".casefold()

    def ours(self, case: Case, whys: Counter[str]) -> set[str] | None:
        """Ask our loader the same, and count the rules that decided."""
        windows = Windows(tuple(map(str, self.system)), str(case.here), tuple(map(str, case.path)))
        process = Process(Disk(), windows)
        try:
            process.start(str(case.program))
            if case.mode != RUN:
                self._load(process, case, whys)
        except PeError:
            whys["damaged"] += 1
            return None
        if process.missing:
            whys["missing"] += 1
            return None
        ours = [it for it in map(process.holding, NAMES) if it]
        whys.update(rule for it in ours for rule in RULES if rule in it.why)
        return {it.path.casefold() for it in ours}

    def _load(self, process: Process, case: Case, whys: Counter[str]) -> None:
        if case.mode != STANDARD:
            order = process.altered if case.mode == ALTERED else process.defaults
            process.load(case.target, order(case.target))
            return
        order = process.standard()
        if process.holding(case.target):
            whys["held"] += 1
            return
        found = next(process.candidates(case.target, order), None)
        if found is None:
            raise PeError(case.target, "it is nowhere")
        whys.update(rule for rule in RULES if rule in found.why)
        process.load(found.path, order)


def _line(case: Case) -> str:
    target = _foreign(case.target) if case.target.startswith("/") else case.target
    arguments = "modules" if case.mode == RUN else f'{case.mode} "{target}"'
    path = ";".join(map(_foreign, case.path)) or ";"
    return "\t".join((path, _foreign(case.here), _foreign(case.program), arguments))


def _foreign(path: Path | str) -> str:
    return "Z:" + str(path).replace("/", "\\")


def compare(work: Path, worlds: int, seed: int) -> dict[str, object]:
    made = Cases(work, seed)
    made.install_windows()
    for folder in made.system:
        made.fill(folder, 0.3)
    cases = [case for number in range(worlds) for case in made.cases(work / f"world{number}")]
    used: Counter[str] = Counter()
    mine = [made.ours(case, used) for case in cases]
    different: list[object] = []
    for case, our, told in zip(cases, mine, made.real(cases), strict=True):
        theirs = set(map(made.native, told[:-2])) if told[-2:] == DONE else None
        used["failed"] += theirs is None
        if our != theirs:
            different.append([_line(case), told, sorted(our) if our else our])
    return {"cases": len(cases), "different": different, "used": used}


if __name__ == "__main__":
    print(json.dumps(compare(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
