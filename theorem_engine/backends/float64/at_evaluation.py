"""Expressions whose conditions are decided where they are evaluated; the same with numbers of every kind."""

from __future__ import annotations

from typing import Any

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.reports import note


def lower(nodes: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """All expressions of one place in one plan for each outcome of their conditions."""
    places = backend.function(parameters, list(nodes[0].values))
    bodies = backend.function([*nodes[0].letters, *parameters], [node.body for node in nodes])

    def evaluate(*values: Any) -> list[Any]:
        results = list(bodies(*places(*values), *values))
        note("decided where it is evaluated", 0.0)
        return results

    return evaluate
