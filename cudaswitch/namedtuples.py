"""`typing.NamedTuple` for fast starts: `typing` takes as long to load as Python itself.

Type checkers see the real class. Subclasses contain only fields, methods and properties, and are
not generic. xonsh runs this too: see `shells.carrying`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  # for others to import
else:
    # `operator` takes it from here too, but has more to load.
    from _operator import itemgetter

    class _Making(type):
        def __new__(cls, name, bases, body):
            fields = tuple(body.get("__annotations__", ()))
            if bases != (tuple,) and not fields:
                # Since Python 3.14, annotations are strings only if the module asks for it.
                raise TypeError(f"{name} has no fields: `from __future__ import annotations`?")
            defaults = {field: body[field] for field in fields if field in body}
            made = {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
            made |= {field: property(itemgetter(at)) for at, field in enumerate(fields)}
            return super().__new__(cls, name, bases, {"__slots__": (), **body, **made})

    class NamedTuple(tuple, metaclass=_Making):
        def __new__(cls, *values, **named):
            rest = cls._fields[len(values) :]
            given = cls._field_defaults | named
            if len(values) > len(cls._fields) or not named.keys() <= set(rest) <= given.keys():
                raise TypeError(f"{cls.__name__} takes {', '.join(cls._fields)}")
            return super().__new__(cls, (*values, *map(given.__getitem__, rest)))

        def __repr__(self):
            fields = (f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({', '.join(fields)})"

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **named):
            return type(self)(**{**self._asdict(), **named})
