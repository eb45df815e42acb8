"""Figures by name: data first, then a plot of exactly that data."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from theorem_engine.base.errors import BadRequest, NotAvailable
from theorem_engine.base.files import write_whole
from theorem_engine.language.figure import Figure, find_figure


@dataclass(frozen=True, eq=False)
class Drawn:
    """Data of a figure, and its plot on demand."""

    figure: Figure
    data: Any
    #: Options that were not left at their defaults.
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def caption(self) -> str:
        """What the figure shows and the settings it was computed with."""
        return self.figure.described(self.options)

    def plot(self) -> Any:
        """A matplotlib figure of the data."""
        panels = self.figure.laid_out(self.data)
        canvas = _canvas()(figsize=self.figure.size, layout="constrained")
        from theorem_engine.showing.drawing import draw_panels

        draw_panels(canvas, panels, self.figure.columns, self.figure.title, self.caption)
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


def figure(id: str, **options: Any) -> Drawn:
    """The data of a named figure; ``.plot()`` draws it, ``.save(path)`` writes it, ``.caption`` tells of it."""
    found = find_figure(id)
    return Drawn(found, found.computed(**options), options)
