"""Text never becomes an expression by way of SymPy's parser, which evaluates what it reads."""

import ast
from pathlib import Path

import theorem_engine

ROOT = Path(theorem_engine.__file__).parents[1]
PARSERS = {"sympify", "parse_expr", "eval", "S"}


def calls():
    """All calls of these names in the project's code, with the place they stand at."""
    for folder in ("theorem_engine", "registry", "validators"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                    if name in PARSERS:
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", name, node


def test_expressions_are_read_strictly():
    loose = [
        place
        for place, name, node in calls()
        if name != "sympify" or not any(k.arg == "strict" and k.value.value is True for k in node.keywords)
    ]
    assert not loose


def test_the_test_sees_calls():
    assert len(list(calls())) > 20
