"""CUDA from PyPI: the list of pieces, and pip against folders of small wheels."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from builders import wheel
from cudaswitch.errors import RequestError, SourceError
from cudaswitch.platforms import current_platform
from cudaswitch.sources import Delivery, Sought, index, pypi
from cudaswitch.versions import Request, Version, parse_request

LINUX = "(sys_platform == 'linux')"
BOTH = "(sys_platform == 'linux' or sys_platform == 'win32')"

# From the METADATA of cuda-toolkit 13.0.2, whose extra `nvcc` brings nvcc alone.
PINS_13_0_2 = {
    "cccl": ("nvidia-cuda-cccl==13.0.85.*", BOTH),
    "crt": ("nvidia-cuda-crt==13.0.88.*", BOTH),
    "cublas": ("nvidia-cublas==13.1.0.3.*", BOTH),
    "cudart": ("nvidia-cuda-runtime==13.0.96.*", BOTH),
    "cufft": ("nvidia-cufft==12.0.0.61.*", BOTH),
    "cufile": ("nvidia-cufile==1.15.1.6.*", LINUX),
    "culibos": ("nvidia-cuda-culibos==13.0.85.*", LINUX),
    "cupti": ("nvidia-cuda-cupti==13.0.85.*", BOTH),
    "curand": ("nvidia-curand==10.4.0.35.*", BOTH),
    "cusolver": ("nvidia-cusolver==12.0.4.66.*", BOTH),
    "cusparse": ("nvidia-cusparse==12.6.3.3.*", BOTH),
    "nvcc": ("nvidia-cuda-nvcc==13.0.88.*", BOTH),
    "nvjitlink": ("nvidia-nvjitlink==13.0.88.*", BOTH),
    "nvrtc": ("nvidia-cuda-nvrtc==13.0.88.*", BOTH),
    "nvtx": ("nvidia-nvtx==13.0.85.*", BOTH),
    "nvvm": ("nvidia-nvvm==13.0.88.*", BOTH),
    "profiler": ("nvidia-cuda-profiler-api==13.0.85.*", BOTH),
    "sanitizer": ("nvidia-cuda-sanitizer-api==13.0.85.*", BOTH),
}
MINIMAL = {
    "nvidia-cuda-nvcc": "==13.0.88.*",
    "nvidia-cuda-crt": "==13.0.88.*",
    "nvidia-nvvm": "==13.0.88.*",
    "nvidia-cuda-runtime": "==13.0.96.*",
    "nvidia-cuda-cccl": "==13.0.85.*",
    "nvidia-cuda-culibos": "==13.0.85.*",
}


def requires(pins: dict[str, tuple[str, str]]) -> list[str]:
    """Return the Requires-Dist of a `cuda-toolkit`: extra `all`, then one extra for each piece."""
    everything = [f"{pin}; {marker} and extra == 'all'" for pin, marker in pins.values()]
    each = [f"{pin}; {marker} and extra == '{extra}'" for extra, (pin, marker) in pins.items()]
    return everything + each


def metadata(lines: Sequence[str], extras: Sequence[str]) -> str:
    return "\n".join(
        [
            "Metadata-Version: 2.4",
            "Name: cuda-toolkit",
            "Version: 13.0.2",
            "Provides-Extra: all",
            *(f"Provides-Extra: {extra}" for extra in extras),
            *(f"Requires-Dist: {line}" for line in lines),
            "",
            "The body may say Requires-Dist: evil==1 as it likes",
        ]
    )


META = metadata(requires(PINS_13_0_2), list(PINS_13_0_2))


# Like those of the real wheels, these requirements have no versions.
REQUIRES = {"nvidia-cuda-nvcc": ("nvidia-nvvm", "nvidia-cuda-runtime", "nvidia-cuda-crt")}


def pins(components: str, platform: str = "linux-64", text: str = META) -> dict[str, str]:
    found = pypi.parse_pins(text, components, platform, "CUDA 13.0.2")
    return {name: str(versions) for name, versions in found.items()}


def test_minimal_is_pinned_to_one_release() -> None:
    assert pins("minimal") == MINIMAL


def test_named_sets_grow() -> None:
    minimal, build, full = (set(pins(name)) for name in ("minimal", "build", "full"))
    assert minimal < build < full
    assert {"nvidia-cublas", "nvidia-nvjitlink", "nvidia-cuda-cupti"} <= build
    assert full - build == {"nvidia-cufile", "nvidia-cuda-sanitizer-api"}
    assert len(full) == len(PINS_13_0_2)


def test_markers_are_those_of_the_platform_asked_for() -> None:
    assert "nvidia-cuda-culibos" not in pins("minimal", "win-64")
    assert "nvidia-cuda-nvcc" in pins("minimal", "win-64")
    assert pins("full", "linux-aarch64") == pins("full")


def test_components_by_name() -> None:
    assert list(pins("cudart, cccl")) == ["nvidia-cuda-cccl", "nvidia-cuda-runtime"]
    assert set(pins("nvcc")) == {"nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-nvvm"}
    with pytest.raises(RequestError, match="no component `gcc`, `rust`") as caught:
        pins("nvcc,rust,gcc")
    assert "minimal, build, full, cccl" in (caught.value.hint or "")
    with pytest.raises(SourceError, match=r"none of `cufile` for win-64"):
        pins("cufile", "win-64")
    with pytest.raises(RequestError, match="no CUDA for `osx-64`"):
        pins("nvcc", "osx-64")


def test_a_release_without_a_piece_of_a_set() -> None:
    less = {extra: pin for extra, pin in PINS_13_0_2.items() if extra != "culibos"}
    text = metadata(requires(less), list(less))
    assert set(pins("minimal", text=text)) == set(MINIMAL) - {"nvidia-cuda-culibos"}


@pytest.mark.parametrize(
    ("asked", "narrowed"),
    [
        ("nvidia-nvjitlink<14,>=13.4.92", {"<14", ">=13.4.92", "==13.4.*"}),
        ("nvidia-nvjitlink==13.0.88.*", {"==13.0.88.*"}),
    ],
)
def test_an_open_range_is_narrowed_to_its_release(asked: str, narrowed: set[str]) -> None:
    text = metadata([f"{asked}; extra == 'nvjitlink'"], ["nvjitlink"])
    assert set(pins("nvjitlink", text=text)["nvidia-nvjitlink"].split(",")) == narrowed


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nvidia-nvvm; extra == 'nvvm'", "does not say which nvidia-nvvm belongs to it"),
        ("nvidia-nvvm<14; extra == 'nvvm'", "does not say which nvidia-nvvm"),
        ("nvidia-nvvm @ file:///etc/passwd ; extra == 'nvvm'", "names a URL"),
        ("--index-url=http://x; extra == 'nvvm'", "cannot tell what"),
        ("nvidia-nvvm==1.*; moon == 'full'", "cannot tell what"),
        ("nvidia-nvvm==1.*; python_version ~= 'x' and extra == 'nvvm'", "none of"),
    ],
)
def test_metadata_of_another_kind_is_one_clear_error(line: str, says: str) -> None:
    with pytest.raises(SourceError, match=says):
        pins("nvvm", text=metadata([line], ["nvvm"]))


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("13.0.3", "13.0.3"),
        ("13.0.3.1", "13.0.3.1"),
        ("13.0", "13.0"),
        ("13.0.3rc1", None),
        ("", None),
    ],
)
def test_release_of(text: str, release: str | None) -> None:
    found = pypi.nvidia_release(text)
    assert (found and found.text) == release


OFFERED = [Version(text) for text in ("13.0.2", "11.8.0", "13.4.3", "12.9.1", "13.0.3", "13.1.0")]


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ("13", "13.4.3"), ("13.0", "13.0.3"), ("13.0.2", "13.0.2"), ("latest", "13.4.3"),
        (">=13,<13.2", "13.1.0"), (">=11.2", "13.4.3"), ("12", "12.9.1"), (">=11,<12", "11.8.0"),
        ("<13", "12.9.1"),
    ],
)  # fmt: skip
def test_choose_release(asked: str, chosen: str) -> None:
    assert pypi.choose_release(parse_request(asked), OFFERED).text == chosen


@pytest.mark.parametrize("asked", ["14", "13.9", "13.10", "10.1", "<11.8", "auto", "work"])
def test_a_release_that_is_not_there(asked: str) -> None:
    with pytest.raises(SourceError, match=re.escape(f"no CUDA {asked}")) as caught:
        pypi.choose_release(Request(asked, origin="./.cuda-version:1"), OFFERED)
    assert "asked for by ./.cuda-version:1" in caught.value.message
    assert caught.value.hint == "available: 13.4.3, 13.1.0, 13.0.3, 13.0.2, 12.9.1, 11.8.0"


def native_tag() -> str:
    return {"linux-64": "manylinux_2_17_x86_64", "linux-aarch64": "manylinux_2_17_aarch64"}[
        current_platform()
    ]


def add(folder: Path, name: str, version: str, platform: str | None = None) -> Path:
    tag = f"py3-none-{platform or native_tag()}"
    return wheel(folder, name, version, tag, tree={"x": b"x"}, requires=REQUIRES.get(name, ()))


def add_meta(folder: Path, version: str, pins: dict[str, tuple[str, str]]) -> Path:
    """Make a `cuda-toolkit` wheel, whose METADATA has the extras, as pip demands."""
    path = wheel(folder, "cuda-toolkit", version, "py2.py3-none-any", tree={"x": b"x"})
    changed = path.with_suffix(".new")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("/METADATA"):
                text = metadata(requires(pins), list(pins)).replace("13.0.2", version, 1)
                data = text.encode()
            new.writestr(name, data)
    return changed.rename(path)


@pytest.fixture(autouse=True)
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which what pip brings is kept."""
    monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is all pip sees: release 13.0.2, and newer pieces beside it."""
    folder = tmp_path / "wheels"
    add_meta(folder, "13.0.2", PINS_13_0_2)
    add_meta(folder, "12.9.1", {})
    for name, versions in MINIMAL.items():
        version = versions.removeprefix("==").removesuffix(".*")
        add(folder, name, version)
        add(folder, name, f"{version}.post1", "win_amd64")
    for newer in ("nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime", "nvidia-cuda-nvcc"):
        add(folder, newer, "13.5.37")
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def bring(text: str, workdir: Path, **options: object) -> Delivery:
    request = parse_request(text, cudnn=str(options.pop("cudnn", "")) or None)
    settings = {"components": "minimal", "platform": current_platform(), "offline": False}
    return index("pypi").obtain(request, workdir=workdir, **(settings | options))  # type: ignore[arg-type]


def names(delivery: Delivery) -> list[str]:
    return [artifact.origin for artifact in delivery.artifacts]


def test_newer_pieces_are_never_mixed_in(wheelhouse: Path, tmp_path: Path) -> None:
    delivery = bring("13", tmp_path)
    assert delivery.toolkit == Version("13.0.2")
    assert sorted(names(delivery)) == [
        "pypi:nvidia-cuda-cccl==13.0.85",
        "pypi:nvidia-cuda-crt==13.0.88",
        "pypi:nvidia-cuda-culibos==13.0.85",
        "pypi:nvidia-cuda-nvcc==13.0.88",
        "pypi:nvidia-cuda-runtime==13.0.96",
        "pypi:nvidia-nvvm==13.0.88",
    ]
    for artifact in delivery.artifacts:
        assert artifact.path.read_bytes() == (wheelhouse / artifact.path.name).read_bytes()
        assert artifact.source == "pypi"


def test_offline_uses_local_folders(wheelhouse: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no CUDA 13\.4"):
        bring("13.4", tmp_path, offline=True)
    (wheelhouse / "nvidia_nvvm-13.0.88-py3-none-manylinux_2_17_x86_64.whl").unlink()
    missing = r"pip searches offline do not have nvidia-cuda-cccl==.* and 5 more .* nvidia-nvvm=="
    with pytest.raises(SourceError, match=missing):
        bring("13.0", tmp_path, offline=True)


def test_offline_takes_what_pip_brought_before(
    wheelhouse: Path, downloads: Path, tmp_path: Path
) -> None:
    add(wheelhouse, "nvidia-cudnn-cu13", "9.10.2.21")
    brought = bring("13", tmp_path, cudnn="9")
    alone = pypi.obtain_cudnn(
        "9.10", Version("13.0.2"), workdir=tmp_path, platform=current_platform(), offline=False
    )
    assert names(alone) == ["pypi:nvidia-cudnn-cu13==9.10.2.21"]
    bring("13", tmp_path, platform="win-64", components="nvcc")
    # They are kept by their hashes, like all downloads, and not a second time on disk.
    for artifact in brought.artifacts:
        kept = downloads / hashlib.sha256(artifact.path.read_bytes()).hexdigest()
        assert artifact.path.resolve() == kept.resolve()
        assert kept.stat().st_nlink == 1
    shutil.rmtree(wheelhouse)
    wheelhouse.mkdir()
    for cudnn in ("", "9"):
        again = bring("13", tmp_path, cudnn=cudnn, offline=True)
        assert again.toolkit == brought.toolkit
        assert names(again) == names(brought)[: 7 if cudnn else 6]
    foreign = bring("13", tmp_path, platform="win-64", components="nvcc", offline=True)
    assert [one.path.name for one in foreign.artifacts] == [
        "nvidia_cuda_crt-13.0.88.post1-py3-none-win_amd64.whl",
        "nvidia_cuda_nvcc-13.0.88.post1-py3-none-win_amd64.whl",
        "nvidia_nvvm-13.0.88.post1-py3-none-win_amd64.whl",
    ]
    # Of several wheels the newest that fits is taken; folders have the rest.
    add(wheelhouse, "nvidia-cufft", "12.0.0.61")
    mixed = bring("13", tmp_path, components="cccl,cufft", offline=True)
    assert names(mixed) == ["pypi:nvidia-cuda-cccl==13.0.85", "pypi:nvidia-cufft==12.0.0.61"]
    [nvcc] = [one for one in brought.artifacts if "nvcc" in one.origin]
    nvcc.path.resolve().write_bytes(b"rotten")
    with pytest.raises(SourceError, match=r"do not have nvidia-cuda-nvcc==13\.0\.88"):
        bring("13", tmp_path, offline=True)
    with pytest.raises(SourceError, match=r"no CUDA 12\.9"):
        bring("12.9", tmp_path, offline=True)
    [found] = index("pypi").listed(Sought(("cuda",)), platform=current_platform(), offline=True)
    assert found.version == Version("13.0.2")


def test_the_newest_is_asked_for_alone(wheelhouse: Path, downloads: Path) -> None:
    for version in ("9.10.2.21", "9.9.0.52"):
        add(wheelhouse, "nvidia-cudnn-cu13", version)
    here = current_platform()
    assert pypi.newest(parse_request("13"), platform=here) == Version("13.0.2")
    assert pypi.newest_cudnn("9", Version("13.0.2"), platform=here) == Version("9.10.2.21")
    assert pypi.newest_cudnn("9.9", Version("13.0.2"), platform=here) == Version("9.9.0.52")
    with pytest.raises(SourceError, match=r"no CUDA 13\.4"):
        pypi.newest(parse_request("13.4"), platform=here)
    with pytest.raises(SourceError, match=r"no cuDNN 7 for CUDA 13"):
        pypi.newest_cudnn("7", Version("13.0.2"), platform=here)
    assert not downloads.exists()


def test_what_there_is_instead(wheelhouse: Path, tmp_path: Path) -> None:
    add_meta(wheelhouse, "13.1.2.0", PINS_13_0_2)
    with pytest.raises(SourceError, match="no CUDA 99") as caught:
        bring("99", tmp_path)
    assert "13.1.2, 13.0.2, 12.9.1" in (caught.value.hint or "")


def test_an_open_range_takes_the_newest_of_its_release(wheelhouse: Path, tmp_path: Path) -> None:
    open_pin = {"nvjitlink": ("nvidia-nvjitlink<14,>=13.0.88", BOTH)}
    add_meta(wheelhouse, "13.0.3.0", PINS_13_0_2 | open_pin)
    for version in ("13.0.39", "13.0.88", "13.0.92", "13.1.80", "13.5.37"):
        add(wheelhouse, "nvidia-nvjitlink", version)
    delivery = bring("13.0", tmp_path, components="nvjitlink")
    assert names(delivery) == ["pypi:nvidia-nvjitlink==13.0.92"]
    assert str(delivery.toolkit) == "13.0.3"


def test_before_13_0_1_there_is_a_runtime_and_it_says_so(
    wheelhouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before 13, as in cuda-toolkit 12.9.1's METADATA, each piece has the major in its name."""
    runtime = {
        "cudart": ("nvidia-cuda-runtime-cu12==12.9.79.*", BOTH),
        "cublas": ("nvidia-cublas-cu12==12.9.1.4.*", BOTH),
        "nvcc": ("nvidia-cuda-nvcc-cu12==12.9.86.*", BOTH),
    }
    add_meta(wheelhouse, "12.9.1", runtime)
    for piece, _ in runtime.values():
        name, _, version = piece.removesuffix(".*").partition("==")
        add(wheelhouse, name, version)
    delivery = bring("12", tmp_path, components="build")
    assert delivery.toolkit == Version("12.9.1")
    assert set(names(delivery)) == {
        "pypi:nvidia-cuda-runtime-cu12==12.9.79",
        "pypi:nvidia-cublas-cu12==12.9.1.4",
        "pypi:nvidia-cuda-nvcc-cu12==12.9.86",
    }
    said = capsys.readouterr().err
    assert "no working nvcc: PyPI's first is in 13.0.1; for building use --from nvidia" in said
    bring("13", tmp_path)
    assert "nvcc" not in capsys.readouterr().err
    # The nvcc of 13.0.0 lacks `bin/crt/link.stub`, and its cicc is where it does not look.
    add_meta(wheelhouse, "13.0.0", PINS_13_0_2)
    bring("13.0.0", tmp_path)
    assert "no working nvcc" in capsys.readouterr().err
    sought = Sought(("cuda",), parse_request("13.0"))
    found = pypi.listed(sought, platform=current_platform(), offline=False)
    assert {str(one.version): one.has_nvcc for one in found} == {"13.0.2": True, "13.0.0": False}


def test_other_platforms(wheelhouse: Path, tmp_path: Path) -> None:
    delivery = bring("13", tmp_path, platform="win-64", components="nvcc")
    assert [artifact.path.name for artifact in delivery.artifacts] == [
        "nvidia_cuda_crt-13.0.88.post1-py3-none-win_amd64.whl",
        "nvidia_cuda_nvcc-13.0.88.post1-py3-none-win_amd64.whl",
        "nvidia_nvvm-13.0.88.post1-py3-none-win_amd64.whl",
    ]
    add(wheelhouse, "nvidia-cuda-crt", "13.0.88", "manylinux_2_28_aarch64")
    assert len(bring("13", tmp_path, platform="linux-aarch64", components="crt").artifacts) == 1


def test_cudnn_rides_along(wheelhouse: Path, tmp_path: Path) -> None:
    for version in ("8.9.7.29", "9.10.2.21", "9.9.0.52", "10.0.0.1"):
        add(wheelhouse, "nvidia-cudnn-cu13", version)
    add(wheelhouse, "nvidia-cudnn-cu12", "9.28.0.42")
    assert names(bring("13", tmp_path, components="crt", cudnn="9")) == [
        "pypi:nvidia-cuda-crt==13.0.88",
        "pypi:nvidia-cudnn-cu13==9.10.2.21",
    ]

    def alone(cudnn: str, cuda: str) -> Delivery:
        platform = current_platform()
        return pypi.obtain_cudnn(
            cudnn, Version(cuda), workdir=tmp_path, platform=platform, offline=False
        )

    assert names(alone("9.9.0", "13.0.2")) == ["pypi:nvidia-cudnn-cu13==9.9.0.52"]
    assert names(alone("9", "12.4.1")) == ["pypi:nvidia-cudnn-cu12==9.28.0.42"]
    assert alone("9", "12.4.1").toolkit is None
    with pytest.raises(SourceError, match=r"has no nvidia-cudnn-cu13 7\.6") as caught:
        alone("7.6", "13.0.2")
    assert caught.value.hint == "available: 10.0.0.1, 9.10.2.21, 9.9.0.52, 8.9.7.29"


def test_a_damaged_list_of_pieces(wheelhouse: Path, tmp_path: Path) -> None:
    path = add_meta(wheelhouse, "13.3.0", PINS_13_0_2)
    path.write_bytes(b"not a zip at all" * 100)
    with pytest.raises(SourceError, match=r"13\.3\.0"):
        bring("13.3", tmp_path)


def test_a_hostile_place_and_odd_settings_do_not_disturb(
    wheelhouse: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name in ("pip.py", "json.py", "email.py"):
        (tmp_path / name).write_text("raise SystemExit('taken from the working directory')")
    monkeypatch.chdir(tmp_path)
    for name, value in (("REQUIRE_VIRTUALENV", "1"), ("REQUIRE_HASHES", "1"), ("QUIET", "3")):
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("PIP_NO_BINARY", ":all:")
    assert len(bring("13", tmp_path, cudnn="none").artifacts) == 6
    assert capfd.readouterr() == ("", "")


@pytest.mark.network
def test_real_wheels(tmp_path: Path) -> None:
    delivery = bring("13.0", tmp_path, components="crt,cudart")
    assert delivery.toolkit is not None
    assert delivery.toolkit >= Version("13.0.2")
    crt, runtime = delivery.artifacts
    assert crt.path.name.startswith("nvidia_cuda_crt-13.0.")
    with zipfile.ZipFile(runtime.path) as archive:
        assert "nvidia/cu13/include/cuda_runtime.h" in archive.namelist()
