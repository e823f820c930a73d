"""Fuzzing: no parser raises what is not its own, whatever comes. Bounded here; FUZZ=N for more."""

from __future__ import annotations

import os
import resource

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.targets import TARGETS, attempt

COUNT = int(os.environ.get("FUZZ", "40"))
GROWTH = 64 << 20
"""Bytes by which the process may grow over all inputs of a target."""

_ODD = st.sampled_from(
    [
        *(b"", b"\0", b"\xff", b"\n", b"\r", b"\x1b", b'"', b"'", b"{", b"[", b"-", b"..", b"/"),
        *(b"9" * 400, b"1e999", b"\xe2\x80\xae", b"\\u0000", b"\\udcff", b"NaN", b"true", b"%"),
        *(b"\x80", b"\x00\x00\x00\x80", b"\xff" * 8, b"${", b"$(", b"!!int ''", b"*a", b"&a"),
        *(b"[[" * 999, b": ", b"a." * 40, b" " * 400),
    ]
)


@st.composite
def changed(draw: st.DrawFn, seeds: tuple[bytes, ...]) -> bytes:
    """Take a good input and put in, take out, double or flip some of it; or take any bytes."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=300))
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 12)))
        kind = draw(st.sampled_from(["put", "replace", "cut", "double", "flip", "end"]))
        if kind == "put":
            data[at:at] = draw(_ODD)
        elif kind == "replace":
            data[at:end] = draw(_ODD)
        elif kind == "cut":
            del data[at:end]
        elif kind == "double":
            data[at:at] = data[at:end]
        elif kind == "flip" and at < len(data):
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "end":
            del data[at:]
    return bytes(data)


@pytest.mark.parametrize("name", TARGETS)
def test_read_or_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDASWITCH_CONFIG", "/nowhere")
    target = TARGETS[name]
    for seed in target.seeds:
        attempt(name, seed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    @settings(
        max_examples=COUNT,
        database=None,
        derandomize="FUZZ" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(changed(target.seeds))
    def tried(data: bytes) -> None:
        attempt(name, data)

    tried()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    assert grown < GROWTH
