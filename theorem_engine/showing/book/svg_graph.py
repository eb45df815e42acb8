"""Graphs as SVG: boxes with labels, curved lines between them, links where nodes have pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from theorem_engine.showing.book.layers import HEIGHT, Box, laid_out

#: Width of a sign of a label, and of what stands around it.
_SIGN, _AROUND = 7.6, 20.0


@dataclass(frozen=True)
class Node:
    """A box: its name in the graph, what is written in it, how it looks, where it leads, what it is."""

    name: str
    label: str
    #: Classes of the style sheet.
    look: str = ""
    link: str = ""
    #: Shown by browsers when the pointer rests on it, and read out.
    hint: str = ""


def graph_svg(nodes: Sequence[Node], edges: Sequence[tuple[str, str]], title: str) -> str:
    """The graph; an edge leads from what is needed to what needs it."""
    layout = laid_out({n.name: _AROUND + _SIGN * len(n.label) for n in nodes}, edges)
    lines = [
        f'<path class="edge" d="{_curve(layout.boxes[a], layout.boxes[b])}"/>'
        for a, b in dict.fromkeys(edges)
        if a in layout.boxes and b in layout.boxes and a != b
    ]
    boxes = [_box(node, layout.boxes[node.name]) for node in nodes]
    size = f"{layout.width:.0f} {layout.height:.0f}"
    return (
        f'<div class="wide" role="group" aria-label="{escape(title)}" tabindex="0">'
        f'<svg class="graph" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{layout.width:.0f}" '
        f'height="{layout.height:.0f}"><title>{escape(title)}</title>{"".join(lines)}{"".join(boxes)}</svg></div>'
    )


def _curve(start: Box, end: Box) -> str:
    if start.y == end.y:
        # nodes that depend on each other stand side by side: the line passes below them
        low = start.y + HEIGHT / 2
        return f"M{start.x:.0f} {low:.0f}C{start.x:.0f} {low + 26:.0f} {end.x:.0f} {low + 26:.0f} {end.x:.0f} {low:.0f}"
    down = 1 if end.y > start.y else -1
    y0, y1 = start.y + down * HEIGHT / 2, end.y - down * HEIGHT / 2
    middle = (y0 + y1) / 2
    return f"M{start.x:.0f} {y0:.0f}C{start.x:.0f} {middle:.0f} {end.x:.0f} {middle:.0f} {end.x:.0f} {y1:.0f}"


def _box(node: Node, box: Box) -> str:
    x, y = box.x - box.width / 2, box.y - HEIGHT / 2
    hint = f"<title>{escape(node.hint)}</title>" if node.hint else ""
    shape = (
        f'<g class="node {node.look}">{hint}<rect x="{x:.0f}" y="{y:.0f}" width="{box.width:.0f}" '
        f'height="{HEIGHT:.0f}" rx="5"/><text x="{box.x:.0f}" y="{box.y + 5:.0f}">{escape(node.label)}</text></g>'
    )
    return f'<a href="{escape(node.link)}">{shape}</a>' if node.link else shape
