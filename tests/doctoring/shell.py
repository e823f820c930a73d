"""The search paths of a shell."""

from __future__ import annotations

from doctoring.patient import Patient, case


@case("CS001")
def stubs(it: Patient) -> None:
    kit = it.toolkit(it.work / "kit")
    it.lay_library(kit / "lib64/stubs", "libcuda", "libcuda.so.1", "1")
    it.env["LD_LIBRARY_PATH"] = f"/usr/lib:{kit}/lib64/stubs"


@case("CS002")
def empty_element(it: Patient) -> None:
    it.env["LD_LIBRARY_PATH"] = "/usr/lib:"


@case("CS003")
def empty_on_path(it: Patient) -> None:
    it.env["PATH"] = f"{it.path}:"


@case("CS004")
def twice(it: Patient) -> None:
    kit = it.toolkit(it.work / "kit")
    it.env["LD_LIBRARY_PATH"] = f"{kit}/lib64:/usr/lib:{kit}/lib64"


@case("CS005")
def gone_folder(it: Patient) -> None:
    it.env["LD_LIBRARY_PATH"] = f"{it.work}/cuda-9.0/lib64:/usr/lib"


@case("CS006")
def gone_on_path(it: Patient) -> None:
    it.on_path(it.work / "cuda-9.0/bin")


@case("CS007")
def condas_libraries(it: Patient) -> None:
    env = it.virtualenv(conda=True)
    it.activate(env)
    it.env["LD_LIBRARY_PATH"] = f"{env.prefix}/lib"


@case("CS008")
def two_releases(it: Patient) -> None:
    for version in ("11.8.89", "11.2.72"):
        it.toolkit(it.work / version, version)
    it.env["LD_LIBRARY_PATH"] = f"{it.work}/11.8.89/lib64:{it.work}/11.2.72/lib64"


@case("CS009")
def two_cudnn(it: Patient) -> None:
    for version in ("9.1.0", "9.5.1"):
        folder = it.work / version
        it.lay_library(folder, "libcudnn", "libcudnn.so.9", version)
        it.lay_library(folder, "libcudnn_ops", "libcudnn_ops.so.9", version)
    it.env["LD_LIBRARY_PATH"] = f"{it.work}/9.1.0:{it.work}/9.5.1"


@case("CS010")
def renamed(it: Patient) -> None:
    folder = it.work / "lib"
    it.lay_library(folder, "libcudart", "libcudart.so.10.1", "10.1.243")
    (folder / "libcudart.so.11.0").symlink_to("libcudart.so.10.1")
    it.env["LD_LIBRARY_PATH"] = str(folder)


@case("CS011")
def libraries_on_path(it: Patient) -> None:
    it.lay_library(it.work / "cudnn/lib", "libcudnn", "libcudnn.so.8", "8.9.7")
    it.on_path(it.work / "cudnn/lib")


@case("CS012")
def preloaded(it: Patient) -> None:
    library = it.lay_library(it.work / "lib", "libnvJitLink", "libnvJitLink.so.12", "12.4.127")
    it.before = f"export LD_PRELOAD='{library}'"


@case("CS013")
def old_compat(it: Patient) -> None:
    it.lay_library(it.work / "cuda-12.2/compat", "libcuda", "libcuda.so.1", "535.54.03")
    it.env["LD_LIBRARY_PATH"] = f"{it.work}/cuda-12.2/compat:/usr/lib"
