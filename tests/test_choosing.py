"""Which source is asked for a version if the user names none."""

from __future__ import annotations

from pathlib import Path

import pytest

import builders
from checks import PYTHON, RUNTIME_ANSWER, refused, succeeded
from cudaswitch.errors import RequestError
from cudaswitch.platforms import current_platform
from cudaswitch.sources import index
from cudaswitch.sources.choosing import usual_source
from cudaswitch.versions import parse_request
from homes import Home
from made_environments import Env


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("latest", "pypi"), ("13", "pypi"), ("13.0", "pypi"), ("13.0.2", "pypi"), ("13.9", "pypi"),
        ("14.0", "pypi"), (">=11.2", "pypi"), (">=11.2,<13", "nvidia"), ("12", "nvidia"),
        ("12.4", "nvidia"), ("12.4.1", "nvidia"), ("12.7", "nvidia"), ("11.8", "nvidia"),
        ("11", "nvidia"), ("11.4.2", "nvidia"), ("11.4.1", "conda"), ("11.4", "nvidia"),
        ("11.3", "conda"), ("10.1", "conda"), ("10.1.243", "conda"), ("9", "conda"),
        ("<11", "conda"), ("<=11.4.1", "conda"), (">=10,<11", "conda"), ("==10.1", "conda"),
        # Newer than every known release.
        (">=13.5", "pypi"), (">13.4", "pypi"), ("==13.99.0", "pypi"), (">=13.99,<14", "pypi"),
        ("<14,>=13.99", "pypi"), (">=12.9.9,<13", "nvidia"), (">=12,>13.98,<14", "pypi"),
    ],
)  # fmt: skip
def test_the_order(text: str, source: str) -> None:
    assert usual_source(parse_request(text))[0] == source


def test_channels_are_condas() -> None:
    with pytest.raises(RequestError, match="`nvidia` has no channels"):
        index("nvidia", ["conda-forge"])


def test_install_says_which_and_why(home: Home, tmp_path: Path) -> None:
    packages = [builders.cudatoolkit_10_1(tmp_path), builders.cudnn_7_6_5(tmp_path)]
    channel = builders.local_channel(tmp_path / "channel", packages)
    done = home.run("install", "10.1", CUDASWITCH_CHANNELS=str(channel))
    assert succeeded(done) == ["10.1.243"]
    assert "from conda: it has the libraries of CUDA before 11.4.2" in done.stderr
    # The toolkit is installed, so only cuDNN is asked for, from the source of its version.
    done = home.run("install", "10+cudnn7", CUDASWITCH_CHANNELS=str(channel))
    assert "from conda" in done.stderr
    assert succeeded(done) == ["10.1.243+cudnn7.6.5"]
    ran = home.run("exec", "10.1", "--", PYTHON, "-c", RUNTIME_ANSWER, "libcudart.so.10.1")
    assert succeeded(ran) == ["10010"]
    gone = home.run("install", "12.4", CUDASWITCH_NVIDIA_URL=(tmp_path / "no").as_uri())
    refused(gone, "redistrib_12.4.1.json")
    named = home.run("install", "12.4", "--channel", channel)
    refused(named, f"no CUDA 12.4 in `{channel}`", hint="10.1.243")
    other = "win-64" if current_platform() != "win-64" else "linux-64"
    foreign = home.run("install", "10.1", "--channel", channel, "--platform", other)
    refused(foreign, f"no CUDA 10.1 for {other} in `{channel}`", hint="and the platform")
    mixed = home.run("install", "12.4", "--from", "nvidia", "--channel", "nvidia")
    refused(mixed, "`nvidia` has no channels", hint="--from conda")


@pytest.mark.parametrize(
    ("typed", "message", "meant"),
    [
        ("install cudnn 9", "give cuDNN together with a CUDA version", "install VERSION --cudnn 9"),
        (
            "install cudnn",
            "give cuDNN together with a CUDA version",
            "install VERSION --cudnn VERSION",
        ),
        (
            "install 12.4 cudnn 9.1",
            "give cuDNN together with a CUDA version",
            "install 12.4 --cudnn 9.1",
        ),
        (
            "install cuda 12.4 cudnn 9",
            "give cuDNN together with a CUDA version",
            "install 12.4 --cudnn 9",
        ),
        ("install cuda >=12,<13", "without the word cuda", "install '>=12,<13'"),
        ("lock cudnn 9", "give cuDNN together with a CUDA version", "lock VERSION --cudnn 9"),
        (
            "download cudnn 9 12.4",
            "give cuDNN together with a CUDA version",
            "download 12.4 --cudnn 9",
        ),
    ],
)
def test_words_of_search(home: Home, typed: str, message: str, meant: str) -> None:
    done = home.run(*typed.split())
    refused(done, message, code=2, hint=f"cudaswitch {meant}")
    assert done.stderr.endswith(f"cudaswitch {meant}\n")


def test_an_alias_of_such_a_name(home: Home) -> None:
    succeeded(home.run("alias", "cudnn", "7"))
    done = home.run("install", "cudnn", "--from", "runfile")
    refused(done, "no runfile of CUDA 7", hint="8.0.44")


INSTALL_AUTO = {
    "needs none": (("numpy", "2.0.0"), "nothing in `{}` needs CUDA"),
    "is not known": (("torch", "2.5.0a0+git1234"), "cannot tell which CUDA `{}` needs"),
}


@pytest.mark.parametrize("case", INSTALL_AUTO)
def test_auto_says_why_it_installs_nothing(home: Home, tmp_path: Path, case: str) -> None:
    package, message = INSTALL_AUTO[case]
    env = Env(tmp_path / "an env")
    env.write("conda-meta/history", "")
    env.dist(*package)
    done = home.run("install", "auto", CONDA_PREFIX=str(env.prefix))
    refused(done, message.format(env.prefix), hint="cudaswitch resolve explains why")
    assert not home.store.exists()
