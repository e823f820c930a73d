"""A real nginx on 127.0.0.1 for a folder, as people serve a mirror."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tools import require

_CONFIGURATION = """
daemon off;
worker_processes 1;
pid {work}/pid;
error_log {work}/error.log;
events {{ }}
http {{
    access_log {work}/access.log;
    client_body_temp_path {work}; proxy_temp_path {work}; fastcgi_temp_path {work};
    uwsgi_temp_path {work}; scgi_temp_path {work};
    sendfile on;
    server {{
        listen 127.0.0.1:{port};
        root "{root}";
        autoindex on;
    }}
}}
"""


@contextlib.contextmanager
def nginx(root: Path, work: Path) -> Iterator[str]:
    """Serve `root` with listings of its folders, and yield the URL; `work` is for its own files."""
    work.mkdir()
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    file = work / "nginx.conf"
    file.write_text(_CONFIGURATION.format(work=work, root=root, port=port))
    # Started by root, its workers run as another user, who may not enter a folder of the tests.
    user = ["-g", "user root;"] if os.geteuid() == 0 else []
    command = [require("nginx"), "-c", str(file), "-e", str(work / "error.log"), *user]
    with subprocess.Popen(command) as process:
        try:
            _wait_for(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert process.poll() is None, "nginx ended at once"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError("nginx does not answer")
