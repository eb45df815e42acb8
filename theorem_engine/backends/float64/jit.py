"""Machine code for recurrences: the plan of one step, written out as scalar Python and compiled by numba."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
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
#: Smaller rules, tried first: a run compares each with the full one on its way.
SMALLER = (4, 6, 9, 13, 18)
#: Steps between these comparisons, and the largest difference, relative to the integral.
CHECKED, ALIKE = 64, 1e-15


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
        full = self.one_step(start, 0, parameters)
        for order in (*SMALLER, ORDER):
            # a rule that is off at the start need not be tried
            if order < ORDER and not np.allclose(
                self.one_step(start, 0, parameters, order), full, rtol=ALIKE, atol=ALIKE
            ):
                continue
            *found, gap = self._run(start, counts, parameters, spacing, order)
            if gap <= ALIKE or order == ORDER:
                break
        return found[0], found[1], found[2]

    def _run(self, start: Any, counts: Any, parameters: Any, spacing: int, order: int) -> tuple[Any, Any, Any, float]:
        """The same with one rule, and how far it was from the full one at most."""
        runs = start.shape[0]
        rows = int(counts.max(initial=0)) // spacing + 2 if spacing else 0
        final, log, entries = start.copy(), np.zeros((runs, rows, 1 + self.size)), np.zeros(runs, dtype=np.int64)
        workers = min(os.cpu_count() or 1, runs)
        parts = np.array_split(np.arange(runs), workers)
        rules = (*gauss_legendre(order), *gauss_legendre(ORDER))

        def work(part: Any) -> float:
            a, b = part[0], part[-1] + 1
            given = final[a:b], counts[a:b], parameters[a:b], spacing, log[a:b], entries[a:b]
            return float(call_compiled(self.module.run, *given, *rules))

        if workers == 1:
            gaps = [work(parts[0])]
        else:
            with ThreadPoolExecutor(workers) as pool:
                gaps = list(pool.map(work, parts))
        return final, log, entries, max(gaps)

    def one_step(self, state: Any, time: int, parameters: Any, order: int = ORDER) -> Any:
        """The states after one step at a given clock."""
        moved = state.copy()
        call_compiled(self.module.one_step, moved, float(time), parameters, *gauss_legendre(order))
        return moved


def _source(law: Any, parameters: tuple[Any, ...]) -> str:
    """A module with the step, the loop over steps, and a single step for comparison."""
    clock = [law.clock] if law.clock is not None else [sympy.Dummy("clock")]
    inputs = [*law.state, *clock, *parameters]
    names = {symbol: f"a{i}" for i, symbol in enumerate(inputs)}
    steady = {names[s] for s in (*clock, *parameters)}
    run = _straight(inputs, list(law.bodies), names, steady, is_run=True)
    single = _straight(inputs, list(law.bodies), names, steady, is_run=False)
    size = len(law.state)
    stop: list[str] = []
    if law.until is not None:
        ahead = _straight(inputs, [law.until], names, steady, is_run=False)
        stop = [*ahead.lines, f"if {ahead.results[0]}:", "    break"]
    unpack = [f"{names[p]} = parameters[r, {i}]" for i, p in enumerate(parameters)]
    unpack += [f"{names[s]} = state[r, {i}]" for i, s in enumerate(law.state)]
    logged = [f"log[r, n, {i + 1}] = {names[s]}" for i, s in enumerate(law.state)]
    loop = [f"{names[clock[0]]} = float(t)", "if spacing > 0 and t % spacing == 0:"]
    loop += [f"    {line}" for line in ("log[r, n, 0] = t", *logged, "n += 1")]
    loop += [*stop, *run.lines, *(f"{names[s]} = {run.results[i]}" for i, s in enumerate(law.state))]
    whole = [*unpack, *run.before, "n = 0", "for t in range(counts[r]):", *(f"    {line}" for line in loop)]
    whole += ["if spacing > 0:", *(f"    {line}" for line in ("log[r, n, 0] = counts[r]", *logged, "n += 1"))]
    whole += ["entries[r] = n", *(f"state[r, {i}] = {names[s]}" for i, s in enumerate(law.state))]
    once = [*unpack, f"{names[clock[0]]} = time", *single.lines]
    once += [f"state[r, {i}] = {single.results[i]}" for i in range(size)]
    return f'''"""Generated from the symbolic step of a recurrence; safe to delete."""
import math

import numba
import numpy as np


@numba.njit(cache=True, nogil=True, error_model="numpy")
def run(state, counts, parameters, spacing, log, entries, nodes, weights, full_nodes, full_weights):
    gap = 0.0
    for r in range(state.shape[0]):
{_indented(whole)}
    return gap


@numba.njit(cache=True, nogil=True, error_model="numpy")
def one_step(state, time, parameters, nodes, weights):
    for r in range(state.shape[0]):
{_indented(once)}
'''


def _indented(lines: list[str]) -> str:
    return "\n".join(f"        {line}" for line in lines)


@dataclass
class _Code:
    """Lines of scalar code, those that stand before the loop over steps, and the names of the results."""

    lines: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)


def _straight(
    inputs: list[Any], expressions: list[Any], names: dict[Any, str], steady: set[str], is_run: bool
) -> _Code:
    """Scalar code for expressions; ``steady`` are the names of what does not change with the state."""
    targets = [sympy.Dummy(f"result{i}") for i in range(len(expressions))]
    plan = make_plan(inputs, dict(zip(targets, expressions, strict=True)), targets)
    known, still = dict(names), set(steady)
    printer = ScalarPrinter({"fully_qualified_modules": True})
    code = _Code()
    for number, step in enumerate(plan.steps):
        if isinstance(step, Evaluate):
            made = {s for s, _ in step.equations}
            sources = sorted({s for _, e in step.equations for s in e.free_symbols} - made, key=lambda s: known[s])
            outputs = [s for s, _ in step.equations]
            code.lines += block(printer, f"b{number}", sources, step.equations, outputs, known, still)
        elif isinstance(step, Operate) and isinstance(step.operators[0], sympy.Integral):
            _integrals(printer, f"b{number}", step, known, still, code, is_run)
        else:
            raise Unsupported(type(step).__name__)
    code.results = [known[t] for t in targets]
    return code


def block(
    printer: ScalarPrinter, prefix: str, sources: list[Any], equations: Any, outputs: list[Any], known: dict[Any, str],
    steady: set[str] | None = None,
) -> list[str]:  # fmt: skip
    """One block of elementary equations; its letters are prefixed so that blocks do not collide."""
    lines = _renamed(prefix, sources, equations, outputs, known)
    if steady is not None:
        for name, expression in lines:
            if {s.name for s in expression.free_symbols} <= steady:
                steady.add(name)
    return [f"{name} = {printer.code(expression)}" for name, expression in lines]


def _renamed(
    prefix: str, sources: list[Any], equations: Any, outputs: list[Any], known: dict[Any, str]
) -> list[tuple[str, Any]]:
    """Names and expressions of the lines of a block, in symbols of those names."""
    code = straight_line(sources, equations, outputs)
    renamed = {v: sympy.Symbol(known[s]) for v, s in zip(code.inputs, sources, strict=True)}
    renamed.update({v: sympy.Symbol(f"{prefix}_{v.name}") for v, _ in code.lines})
    for symbol, v in zip(outputs, code.results, strict=True):
        known[symbol] = renamed[v].name
    return [(renamed[v].name, e.xreplace(renamed)) for v, e in code.lines]


def _integrals(
    printer: ScalarPrinter, prefix: str, step: Operate, known: dict[Any, str], steady: set[str], code: _Code,
    is_run: bool,
) -> None:  # fmt: skip
    """A loop over the nodes of a fixed rule, all integrals of the bundle at once.

    In a run, what the integrands have of the node and of steady numbers is kept in tables, made anew where one of these
    numbers has moved; and the rule is compared with the full one now and then.
    """
    from theorem_engine.language.operators.base import outermost_operators

    variable, low, high = step.operators[0].limits[0]
    ends = [sympy.Dummy("low"), sympy.Dummy("high")]
    between = list(zip(ends, (low, high), strict=True))
    code.lines += block(printer, f"{prefix}e", list(step.parameters), between, ends, known, steady)
    values = [sympy.Dummy(f"f{i}") for i in range(len(step.operators))]
    for i, operator in enumerate(step.operators):
        known[step.results[i][0]] = f"{prefix}_sum{i}"
        if any(not isinstance(part, sympy.Basic) for part in operator.args) or outermost_operators(operator.function):
            raise Unsupported("integral")
    node = f"{prefix}_x"
    inner_known = {**known, variable: node}
    equations = [(v, o.function) for v, o in zip(values, step.operators, strict=True)]
    inner = _renamed(f"{prefix}i", [variable, *step.parameters], equations, values, inner_known)
    begin, width = known[ends[0]], f"({known[ends[1]]} - {known[ends[0]]})"
    sums = [(f"{prefix}_sum{i}", inner_known[v]) for i, v in enumerate(values)]

    def place(nodes: str) -> str:
        return f"{node} = {begin} + {width} * {nodes}[{prefix}_q]"

    def loop(rule: str, lines: list[str], ending: str) -> list[str]:
        added = [f"    {name}{ending} += {rule}weights[{prefix}_q] * {value}" for name, value in sums]
        head = [*(f"{name}{ending} = 0.0" for name, _ in sums), f"for {prefix}_q in range({rule}nodes.shape[0]):"]
        return [*head, *(f"    {line}" for line in lines), *added,
                *(f"{name}{ending} = {name}{ending} * {width}" for name, _ in sums)]  # fmt: skip

    plain = [f"{name} = {printer.code(e)}" for name, e in inner]
    if not is_run:
        code.lines += loop("", [place("nodes"), *plain], "")
        return
    limits = {known[e] for e in ends}
    tables = _Tables(prefix, node, steady, limits) if limits <= steady else None
    if tables is not None:
        rest = [(name, tables.without(e)) for name, e in inner]
        code.before += tables.before()
        code.lines += tables.update(printer, place("nodes"))
        code.lines += loop("", [*tables.read(), *(f"{n} = {printer.code(e)}" for n, e in rest)], "")
    else:
        code.lines += loop("", [place("nodes"), *plain], "")
    compared = [*loop("full_", [place("full_nodes"), *plain], "_full")]
    compared += [f"gap = max(gap, abs({name} - {name}_full) / (abs({name}_full) + 1e-300))" for name, _ in sums]
    code.lines += [f"if t % {CHECKED} == 0:", *(f"    {line}" for line in compared)]


class _Tables:
    """Parts of integrands that hang on the node and on steady numbers alone, one table for each."""

    def __init__(self, prefix: str, node: str, steady: set[str], ends: set[str]) -> None:
        self.prefix, self.node, self.steady, self.ends = prefix, node, steady, ends
        self.parts: dict[Any, str] = {}

    def without(self, expression: Any) -> Any:
        """The expression with a name in the place of each such part."""
        names = {s.name for s in expression.free_symbols}
        if self.node not in names or not expression.args:
            return expression
        if names <= {*self.steady, self.node}:
            name = self.parts.setdefault(expression, f"{self.prefix}_part{len(self.parts)}")
            return sympy.Symbol(name)
        return expression.func(*(self.without(arg) for arg in expression.args))

    def before(self) -> list[str]:
        """Room for the tables, and numbers that none is equal to."""
        made = [f"{name}_table = np.empty(nodes.shape[0])" for name in self.parts.values()]
        return [*made, *(f"{self.prefix}_last_{name} = math.nan" for name in self._used())]

    def update(self, printer: ScalarPrinter, place: str) -> list[str]:
        """The tables anew, where a number has moved."""
        if not self.parts:
            return []
        used = self._used()
        moved = " or ".join(f"{self.prefix}_last_{name} != {name}" for name in used)
        filled = [f"{n}_table[{self.prefix}_q] = {printer.code(e)}" for e, n in self.parts.items()]
        kept = [f"    {self.prefix}_last_{name} = {name}" for name in used]
        head = [f"if {moved}:", *kept, f"    for {self.prefix}_q in range(nodes.shape[0]):"]
        return [*head, *(f"        {line}" for line in (place, *filled))]

    def _used(self) -> list[str]:
        """The steady numbers that the tables hang on, the ends of the interval among them."""
        return sorted({s.name for e in self.parts for s in e.free_symbols} - {self.node} | self.ends)

    def read(self) -> list[str]:
        """The entries at a node."""
        return [f"{name} = {name}_table[{self.prefix}_q]" for name in self.parts.values()]


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
