"""`search` ends when it is told to, whatever a source does."""

from __future__ import annotations

import http.server
import signal
import subprocess
import threading
import time

import pytest

from homes import Home
from tools import console_script

RELEASES = b"".join(b"<a href='redistrib_12.%d.0.json'>x</a>" % minor for minor in range(8))


class Silent(http.server.BaseHTTPRequestHandler):
    """Lists releases, and says nothing of any of them."""

    asked = threading.Event()

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if not self.path.endswith("/"):
            self.asked.set()
            time.sleep(60)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(RELEASES)))
        self.end_headers()
        self.wfile.write(RELEASES)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_does_not_wait_for_a_silent_server(home: Home, number: signal.Signals) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    env = home.env | {"CUDASWITCH_NVIDIA_URL": url, "CUDASWITCH_TIMEOUT": "60"}
    Silent.asked.clear()
    command = [console_script(), "search", "12", "--from", "nvidia"]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as process:
        assert Silent.asked.wait(30)
        began = time.monotonic()
        process.send_signal(number)
        _, said = process.communicate(timeout=50)
    server.shutdown()
    server.server_close()
    assert b"Traceback" not in said
    assert process.returncode in (-number, 128 + number)
    assert time.monotonic() - began < 10
