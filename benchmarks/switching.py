"""Time what people do a hundred times a day, and what other tools take for it, in one run.

Switching in a live shell, the hook of an environment, the prompt, `cd`, shims, completion,
shell start and the command's own start: each a loop of thousands minus an empty loop, ours and
the others' in turn, so that a machine that gets slower slows all of them. Medians; processor
time (of the shell and all its children) as well as wall time, since only the first stays the
same on a machine that others use too; forks, execs and system calls if strace is there; with
--instructions, instructions as well, whose number does not depend on what else runs.

A tool that is not found is left out with a line that says how to get it: see rivals.py.

Run: python benchmarks/switching.py (see --help)
with an interpreter that cudaswitch is installed for; from an editable installation it starts
more slowly.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import loops
import rivals
from measure import Bench, Cost, median
from rows import Row
from scene import Scene, build

MANY = 200
GROUPS = {
    "use": loops.use,
    "hook": loops.activation,
    "prompt": loops.prompt,
    "cd": loops.directory,
    "shim": loops.shims,
    "completion": loops.completion,
    "start": loops.start,
    "command": loops.cold,
}


def measured(rows: Iterable[Row], bench: Bench, times: int) -> dict[str, list[Cost]]:
    """Measure the rows that work, and say why others do not."""
    working = {}
    for row in rows:
        if not bench.can_run(row.loop):
            continue
        trouble = bench.check(row.loop)
        if trouble:
            print(f"  {row.name}: left out, {trouble}")
        else:
            working[row.name] = row.loop
    return bench.measure(working, times)


def show(rows: Iterable[Row], costs: dict[str, Cost]) -> None:
    """Print a group as a table: microseconds, counts, ratio, and whether the target is met."""
    heads = f"{'cpu us':>9}{'wall us':>9}{'forks':>7}{'execs':>7}{'calls':>7}{'instr k':>9}"
    print(f"  {'':<44}{heads}  ratio")
    for row in rows:
        if row.name not in costs:
            continue
        cost = costs[row.name]
        counts = (cost.forks, cost.execs, cost.calls)
        line = f"  {row.name:<44}{cost.cpu:9.0f}{cost.wall:9.0f}"
        line += "".join(f"{'-' if count is None else f'{count:.1f}':>7}" for count in counts)
        line += f"{'-' if cost.instructions is None else f'{cost.instructions:.0f}':>9}"
        ratio = cost.cpu / costs[row.against].cpu if row.against in costs else None
        if ratio is not None:
            line += f"  {ratio:6.2f} x"
        value = cost.cpu if row.absolute else ratio
        if row.most is not None and value is not None:
            unit = "us" if row.absolute else "x"
            line += f"  target {row.most:g} {unit}: {'met' if value <= row.most else 'missed'}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for every measurement")
    parser.add_argument("--only", choices=[*GROUPS, "flat"], help="one group of rows")
    parser.add_argument("--times", type=int, default=5, metavar="N", help="runs of each row")
    parser.add_argument("--nvcc", type=Path, metavar="FILE", help="a real nvcc, for shims")
    parser.add_argument("--ours", action="store_true", help="leave other tools out")
    parser.add_argument(
        "--instructions", action="store_true", help="count them with valgrind, which is slow"
    )
    options = parser.parse_args()
    valgrind = (shutil.which("valgrind") or "") if options.instructions else ""
    if options.instructions and not valgrind:
        parser.error("--instructions needs valgrind")
    kept = {}
    with tempfile.TemporaryDirectory(prefix="switching-") as folder:
        scene = build(Path(folder) / "two", 2, options.nvcc)
        groups = {name: list(make(scene)) for name, make in GROUPS.items()
                  if options.only in (None, name)}  # fmt: skip
        if not options.ours:
            for row in rivals.rows(scene, groups):
                groups[row.group].append(row)
        if options.only in (None, "flat"):
            groups["flat"] = list(loops.flat(*_one_and_many(Path(folder), options.nvcc)))
        bench = Bench(scene.variables, scene.home, valgrind)
        for shell in bench.missing:
            print(f"{shell}: left out, not installed")
        for name, rows in groups.items():
            print(f"\n{name}")
            kept[name] = measured(rows, bench, options.times)
            show(rows, {row: median(costs) for row, costs in kept[name].items()})
    if options.json:
        raw = {name: {row: [asdict(cost) for cost in costs] for row, costs in rows.items()}
               for name, rows in kept.items()}  # fmt: skip
        options.json.write_text(json.dumps(raw, indent=1) + "\n")


def _one_and_many(folder: Path, nvcc: Path | None) -> tuple[Scene, Scene]:
    return build(folder / "one", 1, nvcc), build(folder / "many", MANY, nvcc)


if __name__ == "__main__":
    main()
