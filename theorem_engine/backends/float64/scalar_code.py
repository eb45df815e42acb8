"""Elementary equations as scalar Python for numba, and modules of such code in the user's cache."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import sympy
from sympy.printing.pycode import PythonCodePrinter

from theorem_engine.backends.base import straight_line
from theorem_engine.base.files import cache_folder, write_whole


class Unsupported(Exception):
    """The step uses something that is not written out as scalar code."""


class ScalarPrinter(PythonCodePrinter):
    """SymPy's Python printer, refusing what it would only comment on."""

    def _print_not_supported(self, expr: Any) -> str:
        raise Unsupported(str(expr))

    def code(self, expression: Any) -> str:
        """One line of Python."""
        text = str(self.doprint(expression))
        if self._not_supported or "\n" in text:
            raise Unsupported(str(expression))
        return text


def block(
    printer: ScalarPrinter, prefix: str, sources: list[Any], equations: Any, outputs: list[Any], known: dict[Any, str]
) -> list[str]:
    """One block of elementary equations as code; its letters are prefixed so that blocks do not collide."""
    letters = {symbol: sympy.Symbol(name) for symbol, name in known.items()}
    lines = renamed(f"{prefix}_", sources, equations, outputs, letters)
    known.update({symbol: letters[symbol].name for symbol in outputs})
    return [f"{symbol.name} = {printer.code(expression)}" for symbol, expression in lines]


def renamed(
    prefix: str, sources: list[Any], equations: Any, outputs: list[Any], known: dict[Any, Any]
) -> list[tuple[Any, Any]]:
    """The lines of a block of equations, in letters that begin with a prefix; ``known`` learns the results."""
    code = straight_line(sources, equations, outputs)
    letters = {v: known[s] for v, s in zip(code.inputs, sources, strict=True)}
    letters.update({v: sympy.Symbol(prefix + v.name) for v, _ in code.lines})
    known.update({s: letters[v] for s, v in zip(outputs, code.results, strict=True)})
    return [(letters[v], e.xreplace(letters)) for v, e in code.lines]


def load_module(source: str) -> Any:
    """Import the source from a file of the user's cache, where numba can keep its machine code beside it."""
    name = "kernel_" + hashlib.sha256(source.encode()).hexdigest()[:24]
    path = _cache_folder() / f"{name}.py"
    if not path.is_file() or path.read_bytes() != source.encode():
        write_whole(path, source)
    spec = importlib.util.spec_from_file_location(f"theorem_engine_{name}", path)
    if spec is None or spec.loader is None:
        raise Unsupported(str(path))
    module = importlib.util.module_from_spec(spec)
    # numba finds its cached machine code again through the module's name
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


@cache
def _cache_folder() -> Path:
    folder = cache_folder() / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="theorem-engine-"))
