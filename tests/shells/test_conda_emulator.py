"""The emulator is as hard on hooks as conda: ordinary hooks fail with it in the same ways.

If a real conda is on PATH, the same tests run with it too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from homes import Home
from shells.conda import CONDAS, Conda, skip_conda_s_own_tcsh, write_hook
from shells.driver import FISH, POSIX_SHELLS, SHELLS, TCSH, Shell, ShellResult
from shells.scene import Scene

pytestmark = [
    pytest.mark.parametrize("conda", CONDAS, ids=str),
    pytest.mark.parametrize("shell", SHELLS, ids=str),
]

NAIVE = {
    "sh": {
        "activate": """
            export PATH="/TK/bin:$PATH"
            export LD_LIBRARY_PATH="/TK/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
            export CUDA_HOME=/TK
        """,
        "deactivate": """
            export PATH="$(printf %s "$PATH" | sed 's,/TK/bin:,,')"
            export LD_LIBRARY_PATH="$(printf %s "$LD_LIBRARY_PATH" | sed 's,/TK/lib:*,,')"
            unset CUDA_HOME
        """,
    },
    "fish": {
        "activate": """
            set -gx PATH /TK/bin $PATH
            set -gx LD_LIBRARY_PATH /TK/lib $LD_LIBRARY_PATH
            set -gx CUDA_HOME /TK
        """,
        "deactivate": """
            set -l at (contains -i /TK/bin $PATH); and set -e PATH[$at]
            set -l at (contains -i /TK/lib $LD_LIBRARY_PATH); and set -e LD_LIBRARY_PATH[$at]
            set -e CUDA_HOME
        """,
    },
    "csh": {
        "activate": """
            setenv PATH "/TK/bin:$PATH"
            if ($?LD_LIBRARY_PATH) then
                setenv LD_LIBRARY_PATH "/TK/lib:$LD_LIBRARY_PATH"
            else
                setenv LD_LIBRARY_PATH /TK/lib
            endif
            setenv CUDA_HOME /TK
        """,
        "deactivate": """
            setenv PATH `echo "$PATH" | sed 's,/TK/bin:,,'`
            setenv LD_LIBRARY_PATH `echo "$LD_LIBRARY_PATH" | sed 's,/TK/lib:*,,'`
            unsetenv CUDA_HOME
        """,
    },
}
"""Hooks as people write them: activation prepends, deactivation removes the first match."""


def naive_hook(scene: Scene, prefix: Path) -> None:
    for kind, text in NAIVE[scene.shell.suffix].items():
        scene.hook(prefix, kind, text)


@pytest.fixture
def scene(tmp_path: Path, shell: Shell, conda: Conda, home: Home) -> Scene:
    return Scene(tmp_path, shell, conda, home)


def paths(result: ShellResult) -> list[str]:
    """Return PATH at each snap."""
    return [result.snaps[str(number)]["PATH"] for number in range(len(result.snaps))]


def libraries(result: ShellResult) -> list[str]:
    return [result.snaps[str(n)].get("LD_LIBRARY_PATH", "") for n in range(len(result.snaps))]


class TestStateAndPath:
    def test_there_and_back_leaves_only_conda_s_own_traces(self, scene: Scene) -> None:
        result = scene.play(scene.enter(scene.a), scene.leave()).check()
        active = result.snaps["1"]
        assert paths(result) == [scene.base, f"{scene.a}/bin:{scene.base}", scene.base]
        assert (active["CONDA_PREFIX"], active["CONDA_SHLVL"]) == (str(scene.a), "1")
        assert active["CONDA_DEFAULT_ENV"] == str(scene.a)
        assert active["CONDA_PROMPT_MODIFIER"] == f"({scene.a}) "
        # POSIX shells keep the variables as empty strings, fish drops them.
        changes = result.changes("0", "2")
        assert set(changes) <= {"CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_PROMPT_MODIFIER"}
        assert {new or "" for _, new in changes.values()} <= {""}

    def test_levels(self, scene: Scene) -> None:
        steps = [scene.enter(scene.a), scene.enter(scene.b), scene.leave(), scene.leave()]
        result = scene.play(*steps).check()
        a, b = f"{scene.a}/bin:{scene.base}", f"{scene.b}/bin:{scene.base}"
        assert paths(result) == [scene.base, a, b, a, scene.base]
        assert [result.snaps[str(n)]["CONDA_SHLVL"] for n in range(5)] == list("01210")
        assert result.snaps["2"]["CONDA_PREFIX_1"] == str(scene.a)
        assert not result.snaps["3"].get("CONDA_PREFIX_1")

    def test_stacking_keeps_the_environment_below(self, scene: Scene) -> None:
        steps = [scene.enter(scene.a), scene.enter(scene.b, stack=True), scene.leave()]
        result = scene.play(*steps).check()
        a = f"{scene.a}/bin:{scene.base}"
        assert paths(result) == [scene.base, a, f"{scene.b}/bin:{a}", a]
        assert result.snaps["2"]["CONDA_STACKED_2"] == "true"
        assert not result.snaps["3"].get("CONDA_STACKED_2")

    def test_a_person_s_own_additions_survive(self, scene: Scene) -> None:
        edit = scene.shell.prepend("PATH", "/mine")
        result = scene.play(scene.enter(scene.a), edit, scene.enter(scene.b), scene.leave())
        assert paths(result.check())[3:] == [
            f"/mine:{scene.b}/bin:{scene.base}",
            f"/mine:{scene.a}/bin:{scene.base}",
        ]

    def test_every_element_is_normalised(self, scene: Scene) -> None:
        result = scene.play(scene.enter(scene.a), path=f"/x/bin/:/y//z/./w/../v:{scene.base}")
        assert paths(result.check())[1] == f"{scene.a}/bin:/x/bin:/y/z/v:{scene.base}"

    def test_without_its_directory_on_path_the_next_one_goes_in_front(self, scene: Scene) -> None:
        edit = scene.shell.set("PATH", scene.base)
        result = scene.play(scene.enter(scene.a), edit, scene.enter(scene.b)).check()
        assert paths(result)[3] == f"{scene.b}/bin:{scene.base}"


class TestScripts:
    def test_which_run_and_in_what_order(self, scene: Scene) -> None:
        for kind in ("activate", "deactivate"):
            for name in ("b", "~~a", "a", "Z"):
                scene.hook(scene.a, kind, f"echo {kind} '{name}'", name)
            for other in ("x.bash", "x.zsh", "x.ps1", "x"):
                write_hook(scene.a, kind, other, "echo never")
        result = scene.play(scene.enter(scene.a), scene.leave()).check()
        order = ["Z", "a", "b", "~~a"]
        expected = [f"activate {name}" for name in order]
        assert result.stdout.split("\n")[:-1] == [
            *expected,
            *(f"deactivate {name}" for name in order[::-1]),
        ]

    @pytest.mark.parametrize(
        ("steps", "events"),
        [
            # (kind, whose script, CONDA_SHLVL, CONDA_PREFIX, whose bin is on PATH)
            (["a"], ["on a 1 a a"]),
            (["a", "b"], ["on a 1 a a", "off a 1 a a", "on b 2 b b"]),
            (["a", "again"], ["on a 1 a a", "off a 1 a a", "on a 1 a a"]),
            (["a", "a"], ["on a 1 a a", "off a 1 a a", "on a 1 a a"]),
            (["a", "stack b"], ["on a 1 a a", "on b 2 b ab"]),
            (["a", "leave"], ["on a 1 a a", "off a 1 a -"]),
            (
                ["a", "b", "leave"],
                ["on a 1 a a", "off a 1 a a", "on b 2 b b", "off b 2 b a", "on a 1 a a"],
            ),
            (
                ["a", "stack b", "leave"],
                ["on a 1 a a", "on b 2 b ab", "off b 2 b a", "on a 1 a a"],
            ),
        ],
        ids=["in", "a-b", "reactivate", "same", "stack", "out", "a-b-out", "stack-out"],
    )
    def test_what_they_see(self, scene: Scene, steps: list[str], events: list[str]) -> None:
        for prefix in (scene.a, scene.b):
            for kind, word in (("activate", "on"), ("deactivate", "off")):
                scene.hook(prefix, kind, self.report(scene.shell, f"{word} {prefix.name}"))
        commands = {
            "a": scene.enter(scene.a),
            "b": scene.enter(scene.b),
            "stack b": scene.enter(scene.b, stack=True),
            "again": scene.again(),
            "leave": scene.leave(),
        }
        result = scene.play(*(commands[step] for step in steps)).check()
        seen = [self.shortened(line, scene) for line in result.stdout.splitlines()]
        assert seen == events

    @staticmethod
    def report(shell: Shell, word: str) -> str:
        path = "(string join : $PATH)" if shell is FISH else '"$PATH"'
        return f'echo "{word} $CONDA_SHLVL $CONDA_PREFIX" {path}'

    @staticmethod
    def shortened(line: str, scene: Scene) -> str:
        head, _, path = line.rpartition(" ")
        present = [p.name for p in (scene.a, scene.b) if f"{p}/bin" in path.split(":")]
        return f"{head.replace(f'{scene.a.parent}/', '')} {''.join(present) or '-'}"

    def test_conda_run(self, scene: Scene) -> None:
        skip_conda_s_own_tcsh(scene.shell, scene.conda)
        write_hook(scene.a, "activate", "x.sh", "export IN=yes")
        write_hook(scene.a, "deactivate", "x.sh", f'echo "off $IN ${{PATH%%:*}}" >{scene.a}/log')
        command = scene.conda.run(
            scene.shell, scene.a, "sh", "-c", 'echo "$IN $1"; exit 3', "-", "a b"
        )
        status = "$status" if scene.shell in (FISH, TCSH) else "$?"
        result = scene.play(f"{command}\necho rc {status}")
        # The script that conda's alias sources in tcsh ends with a `breaksw`, which succeeds.
        code = 0 if scene.shell is TCSH else 3
        assert result.stdout == f"yes a b\nrc {code}\n"
        assert (scene.a / "log").read_text() == f"off yes {scene.a}/bin\n"


class TestOrdinaryHooksFail:
    def test_a_to_b_brings_the_path_back(self, scene: Scene) -> None:
        naive_hook(scene, scene.a)
        result = scene.play(scene.enter(scene.a), scene.enter(scene.b)).check()
        assert paths(result)[2] == f"/TK/bin:{scene.b}/bin:{scene.base}"
        assert not libraries(result)[2]
        assert "CUDA_HOME" not in result.snaps["2"]

    def test_reactivation_grows_path(self, scene: Scene) -> None:
        naive_hook(scene, scene.a)
        enter = scene.enter(scene.a)
        result = scene.play(enter, enter, enter, scene.again(), scene.leave()).check()
        assert paths(result)[4] == "/TK/bin:" * 4 + f"{scene.a}/bin:{scene.base}"
        assert paths(result)[5] == "/TK/bin:" * 3 + scene.base

    def test_stack_and_return_activates_twice(self, scene: Scene) -> None:
        naive_hook(scene, scene.a)
        steps = [scene.enter(scene.a), scene.enter(scene.b, stack=True), scene.leave()]
        result = scene.play(*steps, scene.leave()).check()
        assert libraries(result)[3:] == ["/TK/lib:/TK/lib", "/TK/lib"]
        assert paths(result)[4] == f"/TK/bin:{scene.base}"

    def test_nested_environments_never_return_to_the_start(self, scene: Scene) -> None:
        naive_hook(scene, scene.a)
        naive_hook(scene, scene.b)
        steps = [scene.enter(scene.a), scene.enter(scene.b), scene.leave(), scene.leave()]
        result = scene.play(*steps).check()
        assert paths(result)[0] == scene.base
        assert paths(result)[4] == f"/TK/bin:{scene.base}"

    def test_a_quote_in_path_ends_posix_conda(self, scene: Scene) -> None:
        result = scene.play(scene.enter(scene.a), path=f"/it's:{scene.base}")
        if scene.shell in POSIX_SHELLS:
            assert result.stderr
            assert "CONDA_PREFIX" not in result.snaps.get("1", {})
        else:
            assert paths(result.check())[1] == f"{scene.a}/bin:/it's:{scene.base}"

    def test_a_dollar_in_path_is_expanded_between_double_quotes(self, scene: Scene) -> None:
        result = scene.play(scene.enter(scene.a), path=f"/x$HOME:{scene.base}")
        if scene.shell is TCSH:  # which takes the colon after it for a modifier
            assert "modifier" in result.stderr
            return
        result.check()
        middle = f"/x{scene.home.path}" if scene.shell is FISH else "/x$HOME"
        assert paths(result)[1] == f"{scene.a}/bin:{middle}:{scene.base}"


def test_hashr_is_called_once_after_everything(scene: Scene) -> None:
    if scene.shell is FISH:  # it keeps no command hash, and conda gives it no such function
        asked = "functions --query __conda_hashr; and echo there; or echo none"
        assert scene.play(scene.enter(scene.a), asked).check().stdout == "none\n"
        return
    scene.hook(scene.b, "activate", "echo hook")
    replaced = "__conda_hashr() { echo hashr $CONDA_SHLVL; }"
    if scene.shell is TCSH:
        replaced = "alias rehash 'echo hashr $CONDA_SHLVL'"
    steps = [scene.enter(scene.a), replaced, scene.enter(scene.b), scene.leave(), scene.again()]
    result = scene.play(*steps).check()
    assert result.stdout.split("\n")[:-1] == ["hook", "hashr 2", "hashr 1", "hashr 1"]
