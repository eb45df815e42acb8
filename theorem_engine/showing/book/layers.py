"""Places for the nodes of a graph: rows from what is given down to what follows, wide rows folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Space between the boxes of a row and between rows.
GAP, DROP = 16.0, 46.0
HEIGHT = 30.0
#: A row wider than this is folded.
WIDEST = 760.0
#: How often rows are ordered anew by where their neighbours stand.
_ROUNDS = 6


@dataclass(frozen=True)
class Box:
    """The middle of a node and its width."""

    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Layout:
    """Boxes by the names of nodes, and the size of the whole."""

    boxes: Mapping[str, Box]
    width: float
    height: float


def laid_out(widths: Mapping[str, float], edges: Sequence[tuple[str, str]]) -> Layout:
    """Boxes for nodes of these widths; what an edge (from, to) leads to stands lower, except inside cycles.

    >>> found = laid_out({"a": 40, "b": 40, "c": 40}, [("a", "b"), ("b", "c")])
    >>> found.boxes["a"].y < found.boxes["b"].y < found.boxes["c"].y
    True
    """
    known = [(a, b) for a, b in edges if a in widths and b in widths and a != b]
    rows = _folded(_ordered(_rows(list(widths), known), known), widths)
    lengths = [sum(widths[name] for name in row) + GAP * (len(row) - 1) for row in rows]
    width = max(lengths, default=0.0) + 2 * GAP
    boxes = {}
    y = GAP + HEIGHT / 2
    for row, length in zip(rows, lengths, strict=True):
        x = (width - length) / 2
        for name in row:
            boxes[name] = Box(x + widths[name] / 2, y, widths[name])
            x += widths[name] + GAP
        y += HEIGHT + DROP
    return Layout(boxes, width, y - HEIGHT / 2 - DROP + GAP)


def _rows(names: list[str], edges: list[tuple[str, str]]) -> list[list[str]]:
    """Nodes by the longest way to them; nodes that depend on each other share a row."""
    import networkx

    graph = networkx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from(edges)
    joined = networkx.condensation(graph)
    depth: dict[int, int] = {}
    for part in networkx.topological_sort(joined):
        depth[part] = max((depth[before] + 1 for before in joined.predecessors(part)), default=0)
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    part_of = joined.graph["mapping"]
    for name in names:
        rows[depth[part_of[name]]].append(name)
    return rows


def _ordered(rows: list[list[str]], edges: list[tuple[str, str]]) -> list[list[str]]:
    """Rows in which nodes stand near what they are joined to."""
    near: dict[str, list[str]] = {name: [] for row in rows for name in row}
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    for turn in range(_ROUNDS):
        place = {name: (k + 0.5) / len(row) for row in rows for k, name in enumerate(row)}
        for row in rows if turn % 2 == 0 else reversed(rows):
            means = {n: sum(place[m] for m in near[n]) / len(near[n]) if near[n] else place[n] for n in row}
            row.sort(key=means.__getitem__)
            place.update({name: (k + 0.5) / len(row) for k, name in enumerate(row)})
    return rows


def _folded(rows: list[list[str]], widths: Mapping[str, float]) -> list[list[str]]:
    found: list[list[str]] = []
    for row in rows:
        line: list[str] = []
        used = 0.0
        for name in row:
            if line and used + widths[name] > WIDEST:
                found.append(line)
                line, used = [], 0.0
            line.append(name)
            used += widths[name] + GAP
        if line:
            found.append(line)
    return found
