"""Our named tuples are like those of `typing`, as far as anybody can tell."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from cudaswitch import namedtuples


class Theirs(NamedTuple):
    """One of each."""

    name: str
    size: int = 3
    rest: tuple[str, ...] = ()

    @property
    def twice(self) -> int:
        return self.size * 2

    @classmethod
    def of(cls, text: str) -> Theirs:
        return cls(*text.split())


class Ours(namedtuples.NamedTuple):
    """One of each."""

    name: str
    size: int = 3
    rest: tuple[str, ...] = ()

    @property
    def twice(self) -> int:
        return self.size * 2

    @classmethod
    def of(cls, text: str) -> Ours:
        return cls(*text.split())


BOTH = pytest.mark.parametrize("kind", [Theirs, Ours])


@BOTH
@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("a",), {}),
        (("a", 4), {}),
        (("a", 4, ("b",)), {}),
        (("a",), {"rest": ("b",)}),
        ((), {"size": 5, "name": "a"}),
    ],
)
def test_it_is_made_from_what_is_given_and_what_is_usual(kind, given, named):
    made = kind(*given, **named)
    want = {"name": "a", "size": 3, "rest": ()} | dict(zip(("name", "size", "rest"), given)) | named  # noqa: B905
    assert made._asdict() == want
    assert made == tuple(want.values()) == (made.name, made.size, made.rest)
    assert (made.twice, hash(made)) == (want["size"] * 2, hash(tuple(want.values())))
    assert repr(made) == f"{kind.__name__}({', '.join(f'{n}={v!r}' for n, v in want.items())})"


@BOTH
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((), {}),
        ((), {"size": 1}),
        (("a", 1, (), 2), {}),
        (("a",), {"name": "b"}),
        (("a",), {"more": 1}),
        (("a", 1, ()), {"size": 1}),
    ],
)
def test_what_does_not_fit_is_refused(kind, given, named):
    with pytest.raises(TypeError):
        kind(*given, **named)


@BOTH
def test_it_is_replaced_and_taken_apart(kind):
    made = kind("a")
    other = made._replace(size=7, rest=("x",))
    assert (type(other), other, made.size) == (kind, ("a", 7, ("x",)), 3)
    with pytest.raises((TypeError, ValueError)):
        made._replace(more=1)
    with pytest.raises(AttributeError):
        made.size = 4
    with pytest.raises(AttributeError):
        made.more = 4
    assert kind.of("b 9").size == "9"
    assert (kind._fields, kind._field_defaults) == (
        ("name", "size", "rest"),
        {"size": 3, "rest": ()},
    )
    match other:
        case kind(name, size, rest=(inside,)):
            assert (name, size, inside) == ("a", 7, "x")
        case _:
            pytest.fail("no match")
