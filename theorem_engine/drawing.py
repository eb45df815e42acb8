"""Figures by name: data first, then a plot of exactly that data."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

from theorem_engine.catalogue import load, load_all
from theorem_engine.declaration import Source
from theorem_engine.errors import BadRequest, DuplicateEntry, NotAvailable, UnknownFigure, nearest
from theorem_engine.files import write_whole

_figures: dict[str, Figure] = {}


@dataclass(eq=False)
class Figure:
    """A named figure of the registry: a function that computes its data and one that draws them."""

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
    _draw: Callable[[Any, Any], None] | None = field(default=None, repr=False)

    def drawing(self, function: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        """Decorator: the function (data, matplotlib figure) -> None that draws this figure."""
        self._draw = function
        return function

    def options(self) -> dict[str, Any]:
        """Names and defaults of what can be changed when the data are computed."""
        import inspect

        return {name: p.default for name, p in inspect.signature(self.compute).parameters.items()}

    def __call__(self, **options: Any) -> Drawn:
        """Compute the data."""
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
        return Drawn(self, self.compute(**options))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Data of a figure, and its plot on demand."""

    figure: Figure
    data: Any

    def plot(self) -> Any:
        """A matplotlib figure of the data."""
        if self.figure._draw is None:
            raise NotAvailable(f"{self.figure.id} has data but no drawing")
        canvas = _canvas()(figsize=self.figure.size, layout="constrained")
        self.figure._draw(self.data, canvas)
        return canvas

    def save(self, path: Path | str, *, overwrite: bool = True) -> None:
        """Write the plot; the ending of the name chooses the format."""
        ending = Path(path).suffix
        if ending not in picture_endings():
            raise BadRequest(f"{path}: the ending of the name must be one of {', '.join(picture_endings())}")
        write_whole(path, self._picture(ending.removeprefix("."), dpi=150), overwrite=overwrite)

    def _picture(self, form: str, dpi: int) -> bytes:
        buffer = io.BytesIO()
        self.plot().savefig(buffer, format=form, dpi=dpi)
        return buffer.getvalue()

    def _repr_png_(self) -> bytes:
        return self._picture("png", dpi=110)


def _canvas() -> Any:
    """The class of a matplotlib figure."""
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise NotAvailable("plots need matplotlib: pip install 'theorem-engine[plot]'") from None
    return Canvas


def picture_endings() -> tuple[str, ...]:
    """Endings of the names of files that a plot can be written to."""
    return tuple(f".{ending}" for ending in _canvas()().canvas.get_supported_filetypes())


def declare_figure(
    id: str,
    *,
    title: str,
    source: Source | None = None,
    marks: str = "",
    size: tuple[float, float] = (9, 5),
    settings: tuple[tuple[str, Mapping[str, Any]], ...] = (),
    least: Mapping[str, int] | None = None,
) -> Callable[[Callable[..., Any]], Figure]:
    """Declare a figure; the decorated function computes its data, its docstring is the caption.

    ``settings`` are points (id, parameters) on its curves, which campaigns check; ``least`` names the options that are
    whole numbers and the least each can be.
    """

    def decorate(compute: Callable[..., Any]) -> Figure:
        if id in _figures:
            raise DuplicateEntry(f"figure {id!r} is declared twice: in {_figures[id].compute.__module__} and in "
                                 f"{compute.__module__}")  # fmt: skip
        _figures[id] = Figure(id, title, source, compute.__doc__ or "", compute, marks, size, settings, least or {})
        return _figures[id]

    return decorate


def figures() -> list[Figure]:
    """Every figure of every paper, ordered by id."""
    load_all()
    return [_figures[name] for name in sorted(_figures)]


def figure(id: str, **options: Any) -> Drawn:
    """The data of a named figure; ``.plot()`` draws it, ``.save(path)`` writes it."""
    load(str(id).partition(".")[0])
    if id not in _figures:
        load_all()
        raise UnknownFigure(f"no figure {str(id)[:80]!r}{nearest(str(id)[:80], _figures)}. There are {len(_figures)}.")
    return _figures[id](**options)
