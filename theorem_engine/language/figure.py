"""Figures as authors declare them: a function that computes data, one that lays them out, what they rest on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from theorem_engine.base.errors import BadRequest, DuplicateEntry, NotAvailable, UnknownFigure, nearest
from theorem_engine.language.catalogue import forget_with, load, load_all, refuse_built_in
from theorem_engine.language.panel import Panel
from theorem_engine.language.source import Source

_figures: dict[str, Figure] = {}


def _forget(is_gone: Callable[[str], bool]) -> None:
    for id in [id for id, figure in _figures.items() if is_gone(figure.compute.__module__)]:
        del _figures[id]


forget_with(_forget)


@dataclass(eq=False)
class Figure:
    """A named figure of the registry: a function that computes its data and one that lays them out in panels."""

    id: str
    title: str
    source: Source | None
    caption: str
    compute: Callable[..., Any]
    marks: str = ""
    size: tuple[float, float] = (9, 5)
    #: Points of entries on which the figure rests, as (id, parameters): campaigns check them too.
    settings: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    #: Options that are whole numbers, and the least each can be.
    least: Mapping[str, int] = field(default_factory=dict)
    #: Panels side by side; 0 puts all in one row.
    columns: int = 0
    _panels: Callable[[Any], Sequence[Panel]] | None = field(default=None, repr=False)

    def panels(self, function: Callable[[Any], Sequence[Panel]]) -> Callable[[Any], Sequence[Panel]]:
        """Decorator: the function that lays the data out in panels, row by row."""
        self._panels = function
        return function

    @property
    def has_panels(self) -> bool:
        """Whether there is something that lays its data out."""
        return self._panels is not None

    def laid_out(self, data: Any) -> Sequence[Panel]:
        """The panels of some data."""
        if self._panels is None:
            raise NotAvailable(f"{self.id} has data but no panels")
        return self._panels(data)

    def described(self, options: Mapping[str, Any]) -> str:
        """The caption, with where the figure is from and every option it was computed with."""
        used = {**self.options(), **options}
        where = f"After {self.source}. " if self.source is not None else ""
        told = ", ".join(f"{name} = {_worded(value)}" for name, value in used.items() if value not in (None, ""))
        return f"{' '.join(self.caption.split())} {where}{f'Computed with {told}.' if told else ''}".strip()

    def options(self) -> dict[str, Any]:
        """Names and defaults of what can be changed when the data are computed."""
        return {name: p.default for name, p in inspect.signature(self.compute).parameters.items()}

    def computed(self, **options: Any) -> Any:
        """The data, for options that are known and whole where they must be."""
        known = self.options()
        for name in options:
            if name not in known:
                raise BadRequest(
                    f"{self.id} has no option {name!r}{nearest(name, known, 1)}. It takes {', '.join(known) or 'none'}."
                )
        for name in self.least.keys() & options.keys():
            value = options[name]
            if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < self.least[name]:
                raise BadRequest(
                    f"{self.id}: {name}={str(value)[:40]!r} is not a whole number of at least {self.least[name]}"
                )
        return self.compute(**options)


def declare_figure(
    id: str,
    *,
    title: str,
    source: Source | None = None,
    marks: str = "",
    size: tuple[float, float] = (9, 5),
    settings: tuple[tuple[str, Mapping[str, Any]], ...] = (),
    least: Mapping[str, int] | None = None,
    columns: int = 0,
) -> Callable[[Callable[..., Any]], Figure]:
    """Declare a figure; the decorated function computes its data, its docstring is the caption.

    ``settings`` are points (id, parameters) on its curves, which campaigns check; ``least`` names the options that are
    whole numbers and the least each can be; ``columns`` is how many panels stand side by side.
    """

    def decorate(compute: Callable[..., Any]) -> Figure:
        # a cell of a notebook may be run once more
        if id in _figures and not _figures[id].compute.__module__ == compute.__module__ == "__main__":
            raise DuplicateEntry(f"figure {id!r} is declared twice: in {_figures[id].compute.__module__} and in "
                                 f"{compute.__module__}")  # fmt: skip
        refuse_built_in(id, compute.__module__)
        caption = compute.__doc__ or ""
        _figures[id] = Figure(id, title, source, caption, compute, marks, size, settings, least or {}, columns)
        return _figures[id]

    return decorate


def _worded(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def figures() -> list[Figure]:
    """Every figure of every paper, ordered by id."""
    load_all()
    return [_figures[name] for name in sorted(_figures)]


def find_figure(id: str) -> Figure:
    """The figure of that name; only its own paper is imported on the way."""
    load(str(id).partition(".")[0])
    if id not in _figures:
        load_all()
        raise UnknownFigure(f"no figure {str(id)[:80]!r}{nearest(str(id)[:80], _figures)}. There are {len(_figures)}.")
    return _figures[id]
