"""Settings that are read without the TOML library are what the library reads."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudaswitch import plaintoml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_NAMES = st.sampled_from(["jobs", "channels", "mirrors", "a-b", "a_b", "9", "-", "é", "a.b", '"a"'])
_TEXTS = st.text(st.sampled_from("ab \\\"',#[]=é\t\x7f\u200b"), max_size=6)
_ATOMS = st.one_of(
    _TEXTS.map('"{}"'.format),
    st.integers(-1, 2000).map(str),
    st.sampled_from(["true", "false", "True", "007", "1_0", "1.5", "'x'", '"""x"""', "", "²", "٣"]),
)
_ARRAYS = st.tuples(st.lists(_ATOMS, max_size=3), st.sampled_from([",", ", ", " ,", ",,", "\t,"]))
_LISTS = _ARRAYS.map(lambda drawn: f"[{drawn[1].join(drawn[0])}]")
_VALUES = _ATOMS | _LISTS | _ATOMS.map("[{},]".format)
_LINES = st.one_of(
    st.tuples(_NAMES, st.sampled_from(["=", " = ", "  =", " "]), _VALUES).map("".join),
    _NAMES.map("[{}]".format),
    st.sampled_from(["", "  ", "# a comment", "  # é", "#\x01", "[[a]]", "[ mirrors ]", "]"]),
)
_ENDS = st.sampled_from(["", " ", "  # why", "\t", "\r", "\x0c", "\u00a0"])
_FILES = st.lists(st.tuples(_LINES, _ENDS).map("".join), max_size=5).map("\n".join)


@settings(max_examples=1000)
@given(_FILES)
def test_what_is_plain_is_what_the_library_reads(text: str) -> None:
    try:
        found = plaintoml.loads(text)
    except plaintoml.NotPlainError:
        return
    assert repr(found) == repr(tomllib.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        "jobs = 1\njobs = 2",
        "[mirrors]\n[mirrors]",
        "mirrors = true\n[mirrors]",
        "jobs = 007",
        "jobs = 00",
        "jobs = \u0663",
        "jobs = +1",
        "jobs = 1_0",
        'cache = "a\\tb"',
        'cache = "a\\"',
        'cache = "a" "b"',
        'cache = "a"b"',
        'cache = """a"""',
        'cache = "a" # why',
        'cache = "',
        "cache = 'a'",
        "cache =",
        "cache",
        'channels = ["a",,]',
        "channels = [,]",
        'channels = ["a, b"]',
        'channels = ["a" "b"]',
        'channels = ["a",\n"b"]',
        "channels = [[]]",
        "stores = [true]",
        "= 1",
        "a b = 1",
        "\u00e9 = 1",
        "mirrors.conda = 1",
        '"jobs" = 1',
        "[mirrors.conda]",
        "[[mirrors]]",
        "[]",
        "[mirrors",
        "# \x01",
        "jobs = 1\x0c",
        "jobs = 1\u00a0",
        "\ufeffjobs = 1",
        "jobs = 1\u2028offline = true",
    ],
)
def test_what_is_not_plain_is_left_to_the_library(text: str) -> None:
    with pytest.raises(plaintoml.NotPlainError):
        plaintoml.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n\n",
        'channels = ["conda-forge", "nvidia"]\noffline = true\njobs = 8\nx = false\ny = 10\n',
        'stores = ["/srv/cuda é"]\n\n[mirrors]\nconda = "https://host/conda#x"\npypi = ""\n',
        'jobs=0\ncache =  "/a b"\nchannels = [ "a" , "b", ]\nstores = []\n',
    ],
)
def test_most_files_are_plain(text: str) -> None:
    assert plaintoml.loads(text) == tomllib.loads(text)
