"""Machine code for recurrences: the plan of one step, written out as scalar Python and compiled by numba."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy
from sympy.printing.pycode import PythonCodePrinter

from theorem_engine.backends.base import straight_line
from theorem_engine.base.files import cache_folder, write_whole
from theorem_engine.numerics.compiled import call_compiled
from theorem_engine.numerics.quadrature import gauss_legendre
from theorem_engine.planning.plan import Evaluate, Operate, make_plan

#: Nodes of the Gauss-Legendre rule inside compiled steps; the caller compares with the adaptive rule.
ORDER = 24


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


@cache
def compiled_kernel(law: Any, parameters: tuple[Any, ...]) -> Kernel | None:
    """The kernel of a law, or None without numba or for a law it cannot express."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return None
    try:
        return Kernel(load_module(_source(law, parameters)), len(law.state))
    except (Unsupported, OSError):
        # a cache that cannot be written costs the speed, not the answer
        return None


class Kernel:
    """A compiled law; runs are spread over threads, which the compiled code leaves free to work."""

    def __init__(self, module: Any, size: int) -> None:
        self.module = module
        self.size = size

    def run(self, start: Any, counts: Any, parameters: Any, spacing: int) -> tuple[Any, Any, Any]:
        """Final states (n, k), logs (n, entries, 1 + k) and numbers of log entries (n)."""
        runs = start.shape[0]
        rows = int(counts.max(initial=0)) // spacing + 2 if spacing else 0
        final, log, entries = start.copy(), np.zeros((runs, rows, 1 + self.size)), np.zeros(runs, dtype=np.int64)
        workers = min(os.cpu_count() or 1, runs)
        parts = np.array_split(np.arange(runs), workers)

        def work(part: Any) -> None:
            a, b = part[0], part[-1] + 1
            call_compiled(self.module.run, final[a:b], counts[a:b], parameters[a:b], spacing, log[a:b], entries[a:b])

        if workers == 1:
            work(parts[0])
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(work, parts))
        return final, log, entries

    def one_step(self, state: Any, time: int, parameters: Any) -> Any:
        """The states after one step at a given clock."""
        moved = state.copy()
        call_compiled(self.module.one_step, moved, float(time), parameters)
        return moved


def _source(law: Any, parameters: tuple[Any, ...]) -> str:
    """A module with the step, the loop over steps, and a single step for comparison."""
    clock = [law.clock] if law.clock is not None else [sympy.Dummy("clock")]
    inputs = [*law.state, *clock, *parameters]
    names = {symbol: f"a{i}" for i, symbol in enumerate(inputs)}
    body, results = _straight(inputs, list(law.bodies), names)
    size = len(law.state)
    stop = ""
    if law.until is not None:
        lines, (condition,) = _straight(inputs, [law.until], names)
        stop = (
            "".join(f"            {line}\n" for line in lines) + f"            if {condition}:\n                break\n"
        )
    unpack_parameters = "".join(f"        {names[p]} = parameters[r, {i}]\n" for i, p in enumerate(parameters))
    load = "".join(f"        {names[s]} = state[r, {i}]\n" for i, s in enumerate(law.state))
    store = "".join(f"        state[r, {i}] = {names[s]}\n" for i, s in enumerate(law.state))
    log_now = "log[r, n, 0] = {t}\n" + "".join(
        f"{{indent}}log[r, n, {i + 1}] = {names[s]}\n" for i, s in enumerate(law.state)
    )
    step = "".join(f"            {line}\n" for line in body)
    move = "".join(f"            {names[s]} = {results[i]}\n" for i, s in enumerate(law.state))
    inside = log_now.format(t="t", indent=" " * 16)
    after = log_now.format(t="counts[r]", indent=" " * 12)
    single = "".join(f"        {line}\n" for line in body) + "".join(
        f"        state[r, {i}] = {results[i]}\n" for i in range(size)
    )
    nodes, weights = gauss_legendre(ORDER)
    return f'''"""Generated from the symbolic step of a recurrence; safe to delete."""
import math

import numba
import numpy as np

NODES = np.array({[float(x) for x in nodes]!r})
WEIGHTS = np.array({[float(w) for w in weights]!r})


@numba.njit(cache=True, nogil=True, error_model="numpy")
def run(state, counts, parameters, spacing, log, entries):
    for r in range(state.shape[0]):
{unpack_parameters}{load}        n = 0
        for t in range(counts[r]):
            {names[clock[0]]} = float(t)
            if spacing > 0 and t % spacing == 0:
                {inside}                n += 1
{stop}{step}{move}        if spacing > 0:
            {after}            n += 1
        entries[r] = n
{store}

@numba.njit(cache=True, nogil=True, error_model="numpy")
def one_step(state, time, parameters):
    for r in range(state.shape[0]):
{unpack_parameters}{load}        {names[clock[0]]} = time
{single}'''


def _straight(inputs: list[Any], expressions: list[Any], names: dict[Any, str]) -> tuple[list[str], list[str]]:
    """Lines of scalar code for expressions, and the names that hold their values."""
    targets = [sympy.Dummy(f"result{i}") for i in range(len(expressions))]
    plan = make_plan(inputs, dict(zip(targets, expressions, strict=True)), targets)
    known = dict(names)
    printer = ScalarPrinter({"fully_qualified_modules": True})
    lines: list[str] = []
    for number, step in enumerate(plan.steps):
        if isinstance(step, Evaluate):
            made = {s for s, _ in step.equations}
            sources = sorted({s for _, e in step.equations for s in e.free_symbols} - made, key=lambda s: known[s])
            outputs = [s for s, _ in step.equations]
            lines += block(printer, f"b{number}", sources, step.equations, outputs, known)
        elif isinstance(step, Operate) and isinstance(step.operators[0], sympy.Integral):
            lines += _integrals(printer, f"b{number}", step, known)
        else:
            raise Unsupported(type(step).__name__)
    return lines, [known[t] for t in targets]


def block(
    printer: ScalarPrinter, prefix: str, sources: list[Any], equations: Any, outputs: list[Any], known: dict[Any, str]
) -> list[str]:
    """One block of elementary equations; its letters are prefixed so that blocks do not collide."""
    code = straight_line(sources, equations, outputs)
    renamed = {v: sympy.Symbol(known[s]) for v, s in zip(code.inputs, sources, strict=True)}
    renamed.update({v: sympy.Symbol(f"{prefix}_{v.name}") for v, _ in code.lines})
    for symbol, v in zip(outputs, code.results, strict=True):
        known[symbol] = renamed[v].name
    return [f"{renamed[v].name} = {printer.code(e.xreplace(renamed))}" for v, e in code.lines]


def _integrals(printer: ScalarPrinter, prefix: str, step: Operate, known: dict[Any, str]) -> list[str]:
    """A loop over the nodes of a fixed rule, all integrals of the bundle at once."""
    variable, low, high = step.operators[0].limits[0]
    ends = [sympy.Dummy("low"), sympy.Dummy("high")]
    lines = block(printer, f"{prefix}e", list(step.parameters), list(zip(ends, (low, high), strict=True)), ends, known)
    values = [sympy.Dummy(f"f{i}") for i in range(len(step.operators))]
    for i, operator in enumerate(step.operators):
        known[step.results[i][0]] = f"{prefix}_sum{i}"
        lines.append(f"{prefix}_sum{i} = 0.0")
        if any(not isinstance(part, sympy.Basic) for part in operator.args):
            raise Unsupported("integral")
    inner_known = {**known, variable: f"{prefix}_x"}
    equations = [(v, o.function) for v, o in zip(values, step.operators, strict=True)]
    from theorem_engine.language.operators.base import outermost_operators

    if any(outermost_operators(o.function) for o in step.operators):
        raise Unsupported("nested operators")
    inner = block(printer, f"{prefix}i", [variable, *step.parameters], equations, values, inner_known)
    width = f"({known[ends[1]]} - {known[ends[0]]})"
    lines.append(f"for {prefix}_q in range({ORDER}):")
    lines.append(f"    {prefix}_x = {known[ends[0]]} + {width} * NODES[{prefix}_q]")
    lines += [f"    {line}" for line in inner]
    lines += [f"    {prefix}_sum{i} += WEIGHTS[{prefix}_q] * {inner_known[v]}" for i, v in enumerate(values)]
    lines += [f"{prefix}_sum{i} = {prefix}_sum{i} * {width}" for i in range(len(values))]
    return lines


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
