"""`search` ends when it is told to, whatever a source does."""

from __future__ import annotations

import http.server
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from homes import Home
from tools import console_script

RELEASES = b"".join(b"<a href='redistrib_12.%d.0.json'>x</a>" % minor for minor in range(8))


class Silent(http.server.BaseHTTPRequestHandler):
    """Lists releases, but says nothing about any of them, nor about projects of PyPI."""

    asked = threading.Event()

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if not self.path.endswith("/") or self.path.startswith("/simple/"):
            self.asked.set()
            time.sleep(120)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(RELEASES)))
        self.end_headers()
        self.wfile.write(RELEASES)


def children_of(pid: int) -> list[Path]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [Path("/proc", child) for at in tasks for child in (at / "children").read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("source", ["nvidia", "pypi"])
def test_a_signal_does_not_wait_for_a_silent_server(
    home: Home, number: signal.Signals, source: str
) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    env = home.env | {"CUDASWITCH_NVIDIA_URL": url, "CUDASWITCH_TIMEOUT": "120"}
    env |= {"PIP_INDEX_URL": f"{url}/simple", "PIP_CONFIG_FILE": os.devnull}
    Silent.asked.clear()
    command = [console_script(), "search", "12", "--from", source]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as process:
        assert Silent.asked.wait(60)
        children = children_of(process.pid)
        assert bool(children) == (source == "pypi")
        began = time.monotonic()
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    server.shutdown()
    server.server_close()
    # The signal has ended pip, which may take a moment to be gone.
    while any(child.exists() for child in children):
        assert time.monotonic() - began < 60, "pip goes on"
        time.sleep(0.1)
    assert b"Traceback" not in said
    assert process.returncode in (-number, 128 + number)
    assert time.monotonic() - began < 60
