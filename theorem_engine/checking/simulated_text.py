"""A simulation as text and as a small table."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from theorem_engine.base.exact import to_text
from theorem_engine.base.text import error_text, value_text

if TYPE_CHECKING:
    from theorem_engine.checking.simulated import Simulation


def simulation_text(simulation: Simulation) -> str:
    """The entry, the point, every output with its standard error, and how it was drawn."""
    cells = list(_cells(simulation))
    width = max(len(name) for name, _, _ in cells)
    lines = [f"  {name.ljust(width)} = {value}  ({remark})" for name, value, remark in cells]
    lines += [f"  left out: {note}" for note in simulation.notes]
    lines.append(f"  seed {simulation.seed}, {simulation.seconds:.1f} s")
    return "\n".join([f"{simulation.entry.id}{_place(simulation)}, simulated", *lines])


def _place(simulation: Simulation) -> str:
    told = {**{name: to_text(value) for name, value in simulation.point.items()}, **simulation.variants}
    return f" at {', '.join(f'{name}={value}' for name, value in told.items())}" if told else ""


def _cells(simulation: Simulation) -> Iterator[tuple[str, str, str]]:
    """Name, value with its error, and origin of each row."""
    for row in simulation.rows:
        sign = "" if row.error is None else f" +- {error_text(row.error)}"
        sizes = "".join(f", {name} = {size}" for name, size in row.sizes.items())
        origin = f"{row.samples} {'runs of a computation' if row.deterministic else 'samples'}{sizes}, {row.simulator}"
        yield row.output, value_text(row.value, row.error, None) + sign, origin


def simulation_html(simulation: Simulation) -> str:
    """The same as a small table."""
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value.replace('+-', '±'))}</td><td>{escape(remark)}</td></tr>"
        for name, value, remark in _cells(simulation)
    )
    left = "".join(f"<p>left out: {escape(note)}</p>" for note in simulation.notes)
    place = escape(_place(simulation))
    return f"<div><code>{escape(simulation.entry.id)}</code>{place}, simulated<table>{rows}</table>{left}</div>"
