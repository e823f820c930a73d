"""A real nginx on 127.0.0.1 for a folder, as people serve a mirror."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
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
    """Serve `root` with listings of its folders, and yield the URL; `work` is for its own files.

    nginx is given a socket that listens already, as on an update of itself: nobody else can take
    the port, and who asks before nginx is ready waits.
    """
    work.mkdir()
    file = work / "nginx.conf"
    # Started by root, its workers run as another user, who may not enter a folder of the tests.
    user = ["-g", "user root;"] if os.geteuid() == 0 else []
    command = [require("nginx"), "-c", str(file), "-e", str(work / "error.log"), *user]
    with socket.create_server(("127.0.0.1", 0)) as given:
        port, number = given.getsockname()[1], given.fileno()
        file.write_text(_CONFIGURATION.format(work=work, root=root, port=port))
        process = subprocess.Popen(
            command, pass_fds=[number], env=os.environ | {"NGINX": f"{number};"}
        )
    with process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
