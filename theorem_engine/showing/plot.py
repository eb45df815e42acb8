"""Figures by name: data first, then a plot of exactly that data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from theorem_engine.language.figure import Figure, find_figure
from theorem_engine.sweeping.pictures import new_figure, picture_bytes, save_picture
from theorem_engine.sweeping.tables import ENDINGS, write_dataset


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
        canvas = new_figure(self.figure.size)
        from theorem_engine.showing.drawing import draw_panels

        draw_panels(canvas, panels, self.figure.columns, self.figure.title, self.caption)
        return canvas

    def save(self, path: Path | str, *, overwrite: bool = True) -> None:
        """Write the plot, or its data as CSV or netCDF; the ending of the name chooses the format."""
        if Path(path).suffix in ENDINGS:
            write_dataset(self.data, Path(path), overwrite=overwrite)
        else:
            save_picture(path, self.plot, overwrite=overwrite, others=ENDINGS)

    def _repr_png_(self) -> bytes:
        return picture_bytes(self.plot())


def figure(id: str, **options: Any) -> Drawn:
    """The data of a named figure; ``.plot()`` draws it, ``.save(path)`` writes it, ``.caption`` tells of it."""
    found = find_figure(id)
    return Drawn(found, found.computed(**options), options)
