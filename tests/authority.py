"""Certificates as servers have them, good and bad, issued by an authority of our own."""

from __future__ import annotations

import subprocess
from pathlib import Path

_CONFIGURATION = """
[ca]
default_ca = ours
[ours]
database = database
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
"""


class Authority:
    """An authority, made with openssl in a folder of its own; its certificate is `file`."""

    def __init__(self, folder: Path, name: str = "our authority") -> None:
        self._folder = folder
        folder.mkdir(parents=True)
        (folder / "ca.conf").write_text(_CONFIGURATION)
        (folder / "database").touch()
        (folder / "serial").write_text("01\n")
        self.file = folder / "authority.pem"
        self._openssl(
            *("req", "-x509", *_NEW_KEY, "-subj", f"/CN={name}", "-days", "2"),
            *("-addext", "keyUsage = critical, keyCertSign"),
            *("-keyout", "authority.key", "-out", self.file),
        )

    def issue(self, holder: str, days: tuple[str, str] = ("20200101", "20490101")) -> Path:
        """Make a certificate for `holder`, such as `IP:127.0.0.1`, with its key in one file."""
        path = self._folder / f"{holder.replace(':', '-')}-{days[1]}.pem"
        # Newer Pythons demand the key identifiers, as RFC 5280 does.
        (self._folder / "holder.conf").write_text(
            f"subjectAltName = {holder}\n"
            "subjectKeyIdentifier = hash\nauthorityKeyIdentifier = keyid\n"
        )
        self._openssl(
            *("req", *_NEW_KEY, "-subj", "/CN=server", "-keyout", "key.pem", "-out", "asked.pem")
        )
        self._openssl(
            *("ca", "-batch", "-notext", "-config", "ca.conf", "-extfile", "holder.conf"),
            *("-cert", self.file, "-keyfile", "authority.key", "-in", "asked.pem"),
            *("-startdate", f"{days[0]}000000Z", "-enddate", f"{days[1]}000000Z", "-out", path),
        )
        path.write_bytes((self._folder / "key.pem").read_bytes() + path.read_bytes())
        return path

    def _openssl(self, *arguments: str | Path) -> None:
        subprocess.run(["openssl", *arguments], cwd=self._folder, check=True, capture_output=True)


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
