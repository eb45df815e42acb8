"""What has to be evaluated to find fixed points: right-hand sides, their slopes, and what comes with a solution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theorem_engine.language.statement import Total, make_statement
from theorem_engine.planning.plan import Plan, make_plan


def branch_plan(node: Any, parameters: Sequence[Any]) -> Plan:
    """Right-hand sides of the unknowns and their Jacobian row by row, as functions of unknowns and parameters."""
    sides = {f"f{i}": body for i, body in enumerate(node.bodies[: len(node.unknowns)])}
    slopes = {f"j{i}_{k}": Total(side, x) for i, side in enumerate(sides.values()) for k, x in enumerate(node.unknowns)}
    return _plan(node, [*node.unknowns, *parameters], {**sides, **slopes})


def solution_plan(node: Any, parameters: Sequence[Any]) -> Plan:
    """The letters that the unknowns define, and the energy, as functions of unknowns and parameters."""
    energy = {} if getattr(node, "energy", None) is None else {"energy": node.energy}
    return _plan(node, [*node.unknowns, *parameters], {**{f"w{i}": x for i, x in enumerate(node.defined)}, **energy})


def fold_plan(node: Any, parameters: Sequence[Any]) -> Plan:
    """What Newton's method for two meeting fixed points needs: f, f_x and their derivatives in x and the parameter."""
    (x,), s = node.unknowns, node.along
    f = node.bodies[0]
    slope = Total(f, x)
    found = {"f": f, "fx": slope, "fs": Total(f, s), "fxx": Total(slope, x), "fxs": Total(slope, s)}
    return _plan(node, [x, s, *parameters], found)


def _plan(node: Any, inputs: Sequence[Any], wanted: dict[str, Any]) -> Plan:
    statement = make_statement("branches", (), {**node.defined, **wanted})
    return make_plan(inputs, statement.equations, statement.targets(), "branches")
