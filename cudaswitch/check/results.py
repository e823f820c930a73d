"""The result of one proof, and of all of them together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

Status = Literal["passed", "failed", "needs-gpu", "not-asked", "skipped"]
"""`needs-gpu`: it needs a GPU or its driver, which is not here. `not-asked`: it loads, and cannot
be asked more. `skipped`: what the proof requires is not installed. Only `passed` is proven."""

WORDS: dict[Status, str] = {
    "passed": "passed",
    "failed": "failed",
    "needs-gpu": "needs GPU",
    "not-asked": "not asked",
    "skipped": "skipped",
}
"""Status → the words shown to the user."""


class Result(NamedTuple):
    """One proof.

    `kind` is `library`, `compiler`, `build`, `gpu` or `framework`; `path` the file that it is
    about. `version` is what that file reports, `expected` what it should report.
    """

    name: str
    kind: str
    status: Status
    detail: str
    path: str | None = None
    version: str | None = None
    expected: str | None = None

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


def passed(results: Iterable[Result]) -> bool:
    """Tell whether nothing failed; what could not be tried here does not count against it."""
    return all(result.status != "failed" for result in results)


def summary(results: Iterable[Result]) -> str:
    """Count the results in words: `25 passed, 1 failed, 2 need a GPU`."""
    statuses = [result.status for result in results]
    counts: dict[Status, int] = {status: statuses.count(status) for status in WORDS}
    said = [f"{counts['passed']} passed", f"{counts['failed']} failed"]
    if counts["needs-gpu"]:
        said.append(f"{counts['needs-gpu']} need{'s' * (counts['needs-gpu'] == 1)} a GPU")
    said += [f"{counts[at]} {WORDS[at]}" for at in ("not-asked", "skipped") if counts[at]]
    return ", ".join(said)
