"""The wall between theorem and simulator: nothing in the validators reaches an entry, an expression or the engine."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from theorem_engine.validators import statistics

FOLDER = Path(statistics.__file__).parent
MODULES = sorted(FOLDER.rglob("*.py"))
ALLOWED = {"numpy", "scipy", *sys.stdlib_module_names} - {"importlib", "sys", "runpy", "imp", "pkgutil"}
#: Built-in ways around an import statement.
DOORS = {"__import__", "eval", "exec", "compile"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_imports_only_numpy_scipy_and_its_neighbours(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert {name.name.split(".")[0] for name in node.names} <= ALLOWED
        elif isinstance(node, ast.ImportFrom) and node.level:
            # one dot and a sibling's name: the folder itself, nothing above it
            siblings = [node.module] if node.module else [name.name for name in node.names]
            assert node.level == 1
            assert all((FOLDER / f"{name}.py").is_file() for name in siblings)
        elif isinstance(node, ast.ImportFrom):
            assert node.module.split(".")[0] in ALLOWED
        elif isinstance(node, ast.Name):
            assert node.id not in DOORS


def test_importing_all_of_them_loads_neither_an_expression_nor_an_entry():
    names = ", ".join(f"theorem_engine.validators.{path.stem}" for path in MODULES)
    program = (
        f"import sys, {names}\n"
        "reached = ('sympy', 'mpmath', 'theorem_engine.registry', 'theorem_engine.language.entry')\n"
        "print([name for name in sys.modules if name.startswith(reached)])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
