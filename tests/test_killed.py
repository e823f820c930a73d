"""`install` killed at 30 random moments of download and unpacking, then run to its end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from pathlib import Path

from cudaswitch.archives import unpacking
from cudaswitch.changing import OwnStore
from cudaswitch.paths import Home
from http_modes import random_bytes
from http_server import Server
from raw_archives import member, tar_bz2
from tools import console_script

KILLS = 30
RATE = 24 << 20


def test_it_ends_right_and_fetches_nothing_twice(tmp_path: Path) -> None:
    content = tar_bz2(member("lib/libcublas.so.10", random_bytes(12 << 20)))
    random_ = random.Random(6)
    variables = os.environ | {
        "HOME": str(tmp_path),
        "CUDASWITCH_HOME": str(tmp_path / "store"),
        "CUDASWITCH_CACHE": str(tmp_path / "cache"),
    }
    store = OwnStore(Home(str(tmp_path / "store")))
    with Server(content) as server:
        url = server.url(f"limited:{RATE}", "cudatoolkit-10.1.243-h6bb024c_0.tar.bz2")
        command = [str(console_script()), "install", url]

        def run(seconds: float | None) -> int | None:
            with subprocess.Popen(
                command, env=variables, cwd=tmp_path, stderr=subprocess.PIPE, text=True
            ) as process:
                try:
                    _, said = process.communicate(timeout=seconds)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    return None
                assert process.returncode == 0, said
                return 0

        for _ in range(KILLS):
            ended = run(random_.uniform(0.2, 0.9))
            for package in store.packages():
                assert len(package.entries) == 2
            if ended == 0:
                # The install ended: begin again with an empty store, but the file in the cache.
                assert [kit.name for kit in store.toolkits()] == ["10.1.243"]
                assert not list(store.home.staging.iterdir())
                store.remove(store.toolkits()[0])
        assert run(None) == 0
        # After each kill, only what was in the socket is sent again.
        assert server.sent < len(content) + KILLS * (1 << 18)
        whole = [path for path in (tmp_path / "cache").iterdir() if len(path.name) == 64]
        assert [unpacking.sha256_of(path) for path in whole] == [path.name for path in whole]
        assert len(whole) == 1
    [kit] = store.toolkits()
    [package] = store.packages()
    assert (kit.name, package.sha256) == ("10.1.243", whole[0].name)
    assert not list(store.home.staging.iterdir())
