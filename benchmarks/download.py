"""Time downloads from a local nginx, at full speed and with a limit for each connection.

Ours ends with the sha256 known and the file in the cache; the others only fetch, except where
the name has `+ sha256sum`. Runs alternate; medians count. Needs nginx; rivals that are not
installed are left out.

Run: python benchmarks/download.py [--times N] [--json FILE] [--size MEBIBYTES]
with an interpreter that cudaswitch is installed for.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from present import is_present

LIMIT = "20m"
"""Bytes a second for each connection to the limited server."""
OURS = """
import sys
from pathlib import Path
from cudaswitch.download.fetching import fetch
fetch(sys.argv[1], Path(sys.argv[2]), show=False)
"""
REQUESTS = """
import sys, requests
with requests.get(sys.argv[1], stream=True) as response, open(sys.argv[2], "wb") as out:
    response.raise_for_status()
    for piece in response.iter_content(1 << 20):
        out.write(piece)
"""
RATTLER = """
import asyncio, sys
from rattler import Client
from rattler.package_streaming import download_to_path
asyncio.run(download_to_path(Client(), sys.argv[1], sys.argv[2]))
"""
TOOLS = {
    "cudaswitch": [sys.executable, "-c", OURS, "{url}", "{to}"],
    "requests": [sys.executable, "-c", REQUESTS, "{url}", "{to}"],
    "py-rattler": [sys.executable, "-c", RATTLER, "{url}", "{to}"],
    "curl": ["curl", "-sf", "-o", "{to}", "{url}"],
    "curl + sha256sum": ["sh", "-c", "curl -sf -o '{to}' '{url}' && sha256sum '{to}'"],
    "aria2c -x8": ["aria2c", "-q", "-x8", "-s8", "-d", "/", "-o", "{to}", "{url}"],
}
CONFIGURATION = """
daemon off; worker_processes 2; pid {folder}/pid; error_log /dev/null;
events {{ }}
http {{
  access_log off; sendfile on;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{
    listen 127.0.0.1:{port};
    location /fast/ {{ alias {folder}/files/; }}
    location /limited/ {{ alias {folder}/files/; limit_rate {limit}; }}
  }}
}}
"""


def serve(folder: Path, size: int) -> tuple[subprocess.Popen[bytes], str]:
    """Start nginx over a file of `size` bytes and return it with its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "files").mkdir()
    with (folder / "files" / "file").open("wb") as out:
        for _ in range(size >> 20):
            out.write(os.urandom(1 << 20))
    folder.chmod(0o755)
    configuration = folder / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, port=port, limit=LIMIT))
    nginx = subprocess.Popen(["nginx", "-c", configuration], stderr=subprocess.DEVNULL)
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return nginx, f"http://127.0.0.1:{port}"
        time.sleep(0.05)
    raise SystemExit("nginx did not start")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=5, metavar="N", help="runs of each tool")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for every single run")
    parser.add_argument("--size", type=int, default=350, metavar="MEBIBYTES", help="of the file")
    options = parser.parse_args()
    if not shutil.which("nginx"):
        raise SystemExit("download.py: needs nginx (Debian package nginx-light)")
    tools = {name: tool for name, tool in TOOLS.items() if name == "cudaswitch" or is_present(name)}
    results: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nginx, base = serve(folder, options.size << 20)
        try:
            for kind in ("fast", "limited"):
                of_kind = results[kind] = {tool: [] for tool in tools}
                for _ in range(options.times):
                    for tool, words in tools.items():
                        to = folder / "to"
                        url = f"{base}/{kind}/file"
                        command = [word.format(url=url, to=to) for word in words]
                        began = time.monotonic()
                        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                        of_kind[tool].append(time.monotonic() - began)
                        shutil.rmtree(to) if to.is_dir() else to.unlink()
                ours = statistics.median(of_kind["cudaswitch"])
                for tool, found in of_kind.items():
                    middle = statistics.median(found)
                    ratio = ours / middle
                    print(f"{kind:8} {tool:17} {middle:6.2f} s  ours: {ratio:.2f}", flush=True)
        finally:
            nginx.terminate()
            nginx.wait()
    if options.json:
        cores = len(os.sched_getaffinity(0))
        about = {"machine": platform.platform(), "cores": cores, "runs": options.times}
        options.json.write_text(json.dumps({**about, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
