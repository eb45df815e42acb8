"""Machine code for recurrences: several runs at a time in the lanes of vector registers, compiled by numba.

A group of runs is advanced together. Every number of a step stands in a row with one place for each run of the group,
and every stretch of a step is a loop over these places without branches, which the compiler turns into vector
instructions.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy

from theorem_engine.backends.float64.lane_program import Line, Program, Sums, program_of
from theorem_engine.backends.float64.scalar_code import ScalarPrinter, Unsupported, load_module
from theorem_engine.numerics.compiled import call_compiled
from theorem_engine.numerics.quadrature import gauss_legendre

#: Nodes of the Gauss-Legendre rule inside compiled steps; the caller compares with the adaptive rule.
ORDER = 24
#: Smaller rules, tried first: a run compares each with the full one on its way.
SMALLER = (4, 6, 9, 13, 18)
#: Steps between these comparisons after as many at every step, and the largest difference, relative to the integral.
CHECKED, ALIKE = 16, 1e-15
#: Runs of a group, and the number of runs from which groups are worth it. From more runs than fit one group on, groups
#: of twice the size: two registers side by side hide the time that one operation waits for another.
LANES, WORTH_GROUPING = 8, 3
WIDE = 2 * LANES
#: One where a run goes on, zero where it has come to its end.
ALIVE = sympy.Symbol("alive")
FUNCTIONS = Path(__file__).parents[2] / "numerics" / "lane_functions.py"


class LanePrinter(ScalarPrinter):
    """Scalar code with the functions that fit into lanes."""

    def _print_exp(self, expr: Any) -> str:
        return f"lane_exp({self._print(expr.args[0])})"

    def _print_erf(self, expr: Any) -> str:
        return f"lane_erf({self._print(expr.args[0])})"

    def _print_erfc(self, expr: Any) -> str:
        return f"lane_erfc({self._print(expr.args[0])})"


@cache
def compiled_kernel(law: Any, parameters: tuple[Any, ...]) -> Kernel | None:
    """The kernel of a law, or None without numba or for a law it cannot express."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return None
    try:
        return Kernel(law, parameters)
    except (Unsupported, OSError):
        # a cache that cannot be written costs the speed, not the answer
        return None


def lanes_for(runs: int) -> int:
    """Runs of a group where there are so many in all."""
    return WIDE if runs > LANES else LANES


class Kernel:
    """A compiled law; runs are spread over threads, which the compiled code leaves free to work."""

    def __init__(self, law: Any, parameters: tuple[Any, ...]) -> None:
        self.size = len(law.state)
        writer = Writer(law, parameters)
        self._load = cache(lambda lanes: load_module(writer.source(lanes)))
        self._load(LANES)

    def _module(self, runs: int) -> Any:
        return self._load(lanes_for(runs) if runs >= WORTH_GROUPING else 1)

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
        # whole groups to each thread
        lanes = lanes_for(runs)
        groups = -(-runs // lanes)
        workers = min(os.cpu_count() or 1, groups)
        ends = [min(runs, lanes * part[-1] + lanes) for part in np.array_split(np.arange(groups), workers)]
        rules = (*gauss_legendre(order), *gauss_legendre(ORDER))
        module = self._module(runs)

        def work(a: int, b: int) -> float:
            given = final[a:b], counts[a:b], 0, True, parameters[a:b], spacing, log[a:b], entries[a:b]
            return float(call_compiled(module.run, *given, *rules))

        if workers == 1:
            gaps = [work(0, runs)]
        else:
            with ThreadPoolExecutor(workers) as pool:
                gaps = list(pool.map(work, [0, *ends[:-1]], ends))
        return final, log, entries, max(gaps)

    def one_step(self, state: Any, time: int, parameters: Any, order: int = ORDER) -> Any:
        """The states after one step at a given clock, wherever a run would have ended."""
        moved, runs = state.copy(), state.shape[0]
        log, entries = np.zeros((runs, 0, 1 + self.size)), np.zeros(runs, dtype=np.int64)
        rules = (*gauss_legendre(order), *gauss_legendre(ORDER))
        given = moved, np.ones(runs, dtype=np.int64), time, False, parameters, 0, log, entries
        call_compiled(self._module(runs).run, *given, *rules)
        return moved


class Writer:
    """The source of a law's module, for any number of lanes."""

    def __init__(self, law: Any, parameters: tuple[Any, ...]) -> None:
        clock = law.clock if law.clock is not None else sympy.Dummy("clock")
        inputs = [*law.state, clock, *parameters]
        self.size = len(law.state)
        self.program = program_of(inputs, set(law.state), clock, list(law.bodies))
        self.stop: Program | None = None
        if law.until is not None:
            self.stop = program_of(inputs, set(law.state), clock, [law.until], "u")
            if self.stop.integrals:
                raise Unsupported("an integral in the condition that ends a run")
        names = [sympy.Symbol(f"a{i}") for i in range(len(inputs))]
        self.state, self.clock, self.parameters = names[: self.size], names[self.size], names[self.size + 1 :]
        self.in_lanes = LanePrinter({"fully_qualified_modules": True})
        self.plain = ScalarPrinter({"fully_qualified_modules": True})
        self.rows = self._rows()

    def _rows(self) -> dict[Any, int]:
        """The row of each number that is used outside the loop that makes it."""
        program = self.program
        rows = [ALIVE, *self.state, *self.parameters, *(s for s, _ in (*program.clocked, *program.steady))]
        for found in program.integrals:
            rows += [s for s, _ in found.sums]
        rows += [sympy.Symbol(f"{s.name}_full") for found in program.integrals for s, _ in found.sums]
        used: set[Any] = {s for r in program.results for s in r.free_symbols}
        for number in reversed(range(len(program.stretches))):
            rows += [s for s, _ in program.stretches[number] if s in used and number < len(program.stretches) - 1]
            used |= {s for _, e in program.stretches[number] for s in e.free_symbols}
            if number:
                found = program.integrals[number - 1]
                used |= {s for _, e in (*found.lines, *found.sums) for s in e.free_symbols} | found.width.free_symbols
        return {symbol: i for i, symbol in enumerate(dict.fromkeys(rows))}

    def source(self, lanes: int) -> str:
        """A module with the loop over steps of many runs."""
        self.lanes = lanes
        tables = sum(len(found.parts) for found in self.program.integrals)
        text = "\n".join(f"        {line}" for line in self._group())
        return f'''"""Generated from the symbolic step of a recurrence; safe to delete."""
import math

{FUNCTIONS.read_text(encoding="utf-8")}

@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={{"contract"}})
def run(state, counts, begin, stops, parameters, spacing, log, entries, nodes, weights, full_nodes, full_weights):
    runs = state.shape[0]
    gap = 0.0
    work = np.zeros({len(self.rows) * lanes})
    table = np.empty({max(tables, 1) * lanes} * nodes.shape[0])
    full_table = np.empty({max(tables, 1) * lanes} * full_nodes.shape[0])
    for g in range(0, runs, {lanes}):
{text}
    return gap
'''

    def _at(self, symbol: Any) -> str:
        return f"work[{self.rows[symbol] * self.lanes} + l]"

    def _loads(self, needed: set[Any]) -> list[str]:
        """Numbers of this lane that are known from before."""
        return [f"{s.name} = {self._at(s)}" for s in self.rows if s in needed]

    def _group(self) -> list[str]:
        """The lines for one group of runs."""
        program, lanes = self.program, self.lanes
        given = [f"{self._at(s)} = state[r, {i}]" for i, s in enumerate(self.state)]
        given += [f"{self._at(s)} = parameters[r, {i}]" for i, s in enumerate(self.parameters)]
        text = ["longest = 0", "uniform = True", "uneven = False", f"for l in range({lanes}):"]
        text += _in(["r = min(g + l, runs - 1)", f"{self._at(ALIVE)} = 1.0", *given,
                     "longest = max(longest, counts[r])",
                     "uneven = uneven or counts[r] != counts[g]", "for i in range(parameters.shape[1]):",
                     "    uniform = uniform and parameters[r, i] == parameters[g, i]"])  # fmt: skip
        text += [f"span = 1 if uniform else {lanes}", "for t in range(longest):"]
        step = [f"{self.clock.name} = float(begin + t)", "if uneven:", f"    for l in range({lanes}):"]
        step += ["        if t >= counts[min(g + l, runs - 1)]:", f"            {self._at(ALIVE)} = 0.0"]
        step += ["if spacing > 0 and t % spacing == 0:", *_in(self._logged(f"{self._at(ALIVE)} > 0.0", "t"))]
        if self.stop is not None:
            step += self._stopping(self.stop)
        step += ["moved = t == 0", *self._steady(program)]
        for number, stretch in enumerate(program.stretches):
            if number:
                found, first = program.integrals[number - 1], sum(len(f.parts) for f in program.integrals[: number - 1])
                step += self._integral(found, first)
            step += self._stretch(stretch, number == len(program.stretches) - 1)
        text += _in(step)
        text += ["if spacing > 0:", *_in(self._logged("True", "counts[g + l]"))]
        text += [f"for l in range(min({lanes}, runs - g)):"]
        text += _in([f"state[g + l, {i}] = {self._at(s)}" for i, s in enumerate(self.state)])
        return text

    def _logged(self, condition: str, clock: str) -> list[str]:
        """One row in the log of each run that goes on."""
        kept = [f"log[g + l, n, 0] = {clock}"]
        kept += [f"log[g + l, n, {i + 1}] = {self._at(s)}" for i, s in enumerate(self.state)]
        lines = [f"if {condition}:", "    n = entries[g + l]", *_in(kept), "    entries[g + l] = n + 1"]
        return [f"for l in range(min({self.lanes}, runs - g)):", *_in(lines)]

    def _stopping(self, stop: Program) -> list[str]:
        """Runs that have come to their end are left as they are."""
        known = [*stop.clocked, *stop.steady, *stop.stretches[0]]
        used = {s for _, e in known for s in e.free_symbols}
        inner = [*self._loads(used), *_code(self.plain, known)]
        inner += [
            f"if {self.plain.code(stop.results[0])}:",
            f"    {self._at(ALIVE)} = 0.0",
            f"going = max(going, {self._at(ALIVE)})",
        ]
        lines = ["going = 0.0", f"for l in range({self.lanes}):", *_in(inner), "if going == 0.0:", "    break"]
        return ["if stops:", *_in(lines)]

    def _steady(self, program: Program) -> list[str]:
        """What hangs on parameters and the clock, anew where the clock has moved it."""
        text: list[str] = []
        if program.clocked:
            inner = self._loads({s for _, e in program.clocked for s in e.free_symbols} & set(self.parameters))
            inner += _code(self.plain, program.clocked)
            for s, _ in program.clocked:
                inner += [f"if {s.name} != {self._at(s)}:", f"    {self._at(s)} = {s.name}", "    moved = True"]
            text += ["for l in range(span):", *_in(inner)]
        used = {s for _, e in program.steady for s in e.free_symbols}
        inner = [*self._loads(used & {*self.parameters, *(s for s, _ in program.clocked)})]
        inner += _code(self.plain, program.steady)
        inner += [f"{self._at(s)} = {s.name}" for s, _ in program.steady]
        first = 0
        for found in program.integrals:
            inner += self._fill(found, first, "")
            first += len(found.parts)
        moved = ["for l in range(span):", *_in(inner or ["pass"])] if self.lanes > 1 else ["l = 0", *inner]
        if self.lanes > 1:
            rows = [self.rows[s] for s, _ in (*program.clocked, *program.steady)]
            spread = [f"for i in range({min(rows)}, {max(rows) + 1}):", f"    for l in range(1, {self.lanes}):",
                      f"        work[i * {self.lanes} + l] = work[i * {self.lanes}]"] if rows else []  # fmt: skip
            spread += [f"for i in range(table.shape[0] // {self.lanes}):", f"    for l in range(1, {self.lanes}):",
                       f"        table[i * {self.lanes} + l] = table[i * {self.lanes}]"]  # fmt: skip
            moved += ["if uniform:", *_in(spread)]
        return [*text, "if moved:", *_in(moved)]

    def _fill(self, found: Sums, first: int, rule: str) -> list[str]:
        """The tables of one rule."""
        if not found.parts:
            return []
        inner = [f"{found.node.name} = {rule}nodes[q]", *_code(self.plain, found.tabled)]
        inner += [f"{self._entry(first + i, rule)} = {self.plain.code(e)}" for i, (_, e) in enumerate(found.parts)]
        return [f"for q in range({rule}nodes.shape[0]):", *_in(inner)]

    def _entry(self, number: int, rule: str) -> str:
        return f"{rule}table[({number} * {rule}nodes.shape[0] + q) * {self.lanes} + l]"

    def _integral(self, found: Sums, first: int) -> list[str]:
        """Sums over the nodes, and now and then the same with the full rule."""
        used = {s for _, e in (*found.lines, *found.sums) for s in e.free_symbols}

        def summed(rule: str, ending: str) -> list[str]:
            rows = [self.rows[sympy.Symbol(s.name + ending)] * self.lanes for s, _ in found.sums]
            inner = self._loads(used)
            inner += [f"{s.name} = {self._entry(first + i, rule)}" for i, (s, _) in enumerate(found.parts)]
            inner += [f"{found.node.name} = {rule}nodes[q]"] if found.node in used else []
            inner += _code(self.in_lanes, found.lines)
            values = [self.in_lanes.code(e) for _, e in found.sums]
            inner += [f"work[{row} + l] += {rule}weights[q] * {value}" for row, value in zip(rows, values, strict=True)]
            zeros = [f"work[{row} + l] = 0.0" for row in rows]
            return [f"for l in range({self.lanes}):", *_in(zeros), f"for q in range({rule}nodes.shape[0]):",
                    f"    for l in range({self.lanes}):", *_in(_in(inner))]  # fmt: skip

        letters = {s for _, e in (*found.tabled, *found.parts) for s in e.free_symbols}
        filled = [*self._loads(letters), *self._fill(found, first, "full_")]
        compared = [f"for l in range({self.lanes}):", *_in(filled)] if found.parts else []
        compared += [*summed("full_", "_full"), f"for l in range({self.lanes}):"]
        for s, _ in found.sums:
            few, full = self._at(s), self._at(sympy.Symbol(f"{s.name}_full"))
            compared += _in([f"off = abs({few} - {full}) / (abs({full}) + 1e-300)",
                             f"if {self._at(ALIVE)} > 0.0 and off > gap:", "    gap = off"])  # fmt: skip
        return [*summed("", ""), f"if t < {CHECKED} or t % {CHECKED} == 0 or t + 1 == longest:", *_in(compared)]

    def _stretch(self, lines: list[Line], is_last: bool) -> list[str]:
        """Lines that move with the state; the last of them end with the state's own move."""
        results = self.program.results if is_last else []
        widths = {s: found.width for found in self.program.integrals for s, _ in found.sums}
        used = {s for _, e in lines for s in e.free_symbols} | {s for r in results for s in r.free_symbols}
        used |= {s for sum_, w in widths.items() if sum_ in used for s in w.free_symbols}
        inner = self._loads((used | ({ALIVE, *self.state} if is_last else set())) - {s for s, _ in lines})
        inner += [f"{s.name} = {s.name} * {w.name}" if w.is_Symbol else f"{s.name} = {s.name} * {self.plain.code(w)}"
                  for s, w in widths.items() if s in used and w != 1]  # fmt: skip
        inner += _code(self.in_lanes, lines)
        inner += [f"{self._at(s)} = {s.name}" for s, _ in lines if s in self.rows]
        inner += [f"next{i} = {self.in_lanes.code(r)}" for i, r in enumerate(results)]
        moves = [f"{self._at(s)} = next{i} if alive > 0.0 else {s.name}" for i, s in enumerate(self.state)]
        inner += moves if is_last else []
        return [f"for l in range({self.lanes}):", *_in(inner)] if inner else []


def _in(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _code(printer: ScalarPrinter, lines: list[Line]) -> list[str]:
    return [f"{symbol.name} = {printer.code(expression)}" for symbol, expression in lines]
