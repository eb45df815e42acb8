"""Machine code for random recurrences: a step on one batch as loops over its sequences and tokens.

Letters are of three kinds: one number for a step, one for each sequence, one for each token. A sum over tokens or over
the batch ends a loop, so that the lines of a step fall into phases: what a sum of one phase gives is used in the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sympy

from theorem_engine.backends.base import straight_line
from theorem_engine.backends.float64.jit import ScalarPrinter, Unsupported, load_module
from theorem_engine.language.operators.stochastic import BatchSum, TokenSum
from theorem_engine.planning.plan import Evaluate, make_plan

#: What a letter has one value for.
STEP, SEQUENCE, TOKEN = range(3)


class _Printer(ScalarPrinter):
    """Scalar code, numbers too long for machine code as doubles."""

    def _print_Rational(self, expr: Any) -> str:
        return f"{expr.p}/{expr.q}" if max(abs(expr.p), expr.q) < 2**53 else repr(expr.p / expr.q)

    def _print_positive_part(self, expr: Any) -> str:
        return f"max({self._print(expr.args[0])}, 0.0)"


@cache
def compiled_chain(law: Any, parameters: tuple[Any, ...]) -> Any:
    """The module with ``run`` for a law, or None without numba or for a law it cannot express."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return None
    try:
        return load_module(_source(law, parameters))
    except (Unsupported, OSError):
        return None


@dataclass
class _Line:
    """One letter: what it is, its kind, and the phase in which it is known."""

    name: str
    #: An expression, or what is summed up.
    expression: Any
    kind: int
    phase: int
    #: Over what it is a sum, if it is one: the kind of its result.
    total: int | None = None


@dataclass
class _Lines:
    """Lines in their order, sums taken out of the expressions that hold them."""

    known: dict[Any, _Line]
    lines: list[_Line] = field(default_factory=list)
    sums: dict[Any, Any] = field(default_factory=dict)

    def add(self, symbol: Any, expression: Any) -> None:
        """A letter and what it is."""
        plain = self._without_sums(expression)
        kind, phase = self._place(plain)
        self._append(symbol, _Line(symbol.name, plain, kind, phase))

    def _append(self, symbol: Any, line: _Line) -> None:
        self.known[symbol] = line
        self.lines.append(line)

    def _place(self, expression: Any) -> tuple[int, int]:
        parts = [self.known[s] for s in expression.free_symbols]
        kind = max((p.kind for p in parts), default=STEP)
        # a sum is known behind the loop that it ends, a letter of that loop inside it
        return kind, max((_from(p, kind) for p in parts), default=0)

    def _without_sums(self, expression: Any) -> Any:
        while found := [f for f in expression.atoms(TokenSum, BatchSum) if not f.args[0].atoms(TokenSum, BatchSum)]:
            expression = expression.xreplace({f: self._sum(f) for f in found})
        return expression

    def _sum(self, call: Any) -> Any:
        if call not in self.sums:
            kind, phase = self._place(call.args[0])
            if kind != TOKEN:
                raise Unsupported("a sum of what is the same for all tokens")
            total = SEQUENCE if isinstance(call, TokenSum) else STEP
            symbol = sympy.Symbol(f"s{len(self.sums)}")
            self.sums[call] = symbol
            self._append(symbol, _Line(symbol.name, call.args[0], total, phase, total))
        return self.sums[call]


def _from(part: _Line, kind: int) -> int:
    """The phase from which a letter of some kind may use another."""
    if part.total is None:
        # numbers of a step stand before the loops of their phase, those of a sequence behind its tokens
        return part.phase + (part.kind == SEQUENCE and kind == TOKEN)
    return part.phase + (not (part.total == SEQUENCE and kind == SEQUENCE))


def _source(law: Any, parameters: tuple[Any, ...]) -> str:
    """A module with the loop over steps of one run."""
    per_token, per_step, per_chi = law.noise_counts
    inputs = [*law.state, law.clock, *law.noise, *parameters]
    targets = [sympy.Dummy(f"result{i}") for i in range(len(law.bodies))]
    plan = make_plan(inputs, {**law.definitions, **dict(zip(targets, law.bodies, strict=True))}, targets)
    if len(plan.steps) != 1 or not isinstance(plan.steps[0], Evaluate):
        raise Unsupported("operators inside a step")
    code = straight_line(plan.inputs, plan.steps[0].equations, targets)
    tokens = {*range(len(law.state) + 1, len(law.state) + 1 + per_token), len(law.state) + len(law.noise)}
    named = {s: _Line(s.name, None, TOKEN if i in tokens else STEP, 0) for i, s in enumerate(code.inputs)}
    whole = _Lines(dict(named))
    for symbol, expression in code.lines:
        whole.add(symbol, expression)
    names = [s.name for s in code.inputs]
    size = len(law.state)
    noise = names[size + 1 :]
    stored = _stored(whole)
    body = _body(whole, stored, noise[:per_token], noise[per_token + per_step + per_chi])
    unpack = [f"{n} = parameters[{i}]" for i, n in enumerate(noise[len(law.noise) :])]
    unpack += [f"{n} = state[{i}]" for i, n in enumerate(names[:size])]
    unpack += [f"c_{n} = np.empty((batch, tokens))" for n in sorted(stored[TOKEN])]
    unpack += [f"q_{n} = np.empty(batch)" for n in sorted(stored[SEQUENCE])]
    step = [f"{names[size]} = float(begin + t)"]
    step += [f"{n} = singles[t, {i}]" for i, n in enumerate(noise[per_token : per_token + per_step])]
    step += [f"{n} = chis[t, {i}]" for i, n in enumerate(noise[per_token + per_step :][:per_chi])]
    logged = [f"log[n, {i}] = {n}" for i, n in enumerate([names[size], *names[:size]])]
    step += ["if spacing > 0 and (begin + t) % spacing == 0:", *(f"    {line}" for line in logged), "    n += 1"]
    ends = [whole.known[s].name for s in code.results]
    move = [f"{', '.join(names[:size])} = {', '.join(ends)}"]
    text = "\n".join([*(f"    {x}" for x in unpack), "    n = 0", "    for t in range(normals.shape[0]):",
                      *(f"        {x}" for x in [*step, *body, *move])])  # fmt: skip
    store = "\n".join(f"    state[{i}] = {n}" for i, n in enumerate(names[:size]))
    return f'''"""Generated from the symbolic step of a random recurrence; safe to delete."""
import math

import numba
import numpy as np


@numba.njit(cache=True, nogil=True, error_model="numpy")
def run(state, begin, normals, singles, chis, parameters, spacing, log):
    batch, tokens = normals.shape[2], normals.shape[3]
{text}
{store}
    return n
'''


def _stored(whole: _Lines) -> dict[int, set[str]]:
    """Letters of tokens and sequences that a later phase uses, by kind."""
    found: dict[int, set[str]] = {TOKEN: set(), SEQUENCE: set()}
    for line in whole.lines:
        for symbol in line.expression.free_symbols:
            part = whole.known[symbol]
            is_inside = line.total is not None or line.kind == TOKEN
            later = part.phase < line.phase or (part.kind == TOKEN and not is_inside)
            if part.expression is not None and part.kind != STEP and later:
                found[part.kind].add(part.name)
    return found


def _body(whole: _Lines, stored: dict[int, set[str]], normals: list[str], first: str) -> list[str]:
    """The lines of one step, phase by phase."""
    printer = _Printer({"fully_qualified_modules": True})
    text: list[str] = []
    for phase in range(1 + max(line.phase for line in whole.lines)):
        here = [line for line in whole.lines if line.phase == phase]
        sums = [line for line in here if line.total is not None]
        plain = [line for line in here if line.total is None]
        text += [f"{x.name} = {printer.code(x.expression)}" for x in plain if x.kind == STEP]
        text += [f"{x.name} = 0.0" for x in sums if x.total == STEP]
        if not sums and not any(x.kind != STEP for x in plain):
            continue
        used = {s.name for x in here for s in x.expression.free_symbols}
        old = {p.name: p for p in whole.known.values() if p.phase < phase and p.expression is not None}
        text.append("for b in range(batch):")
        of_sequences = [f"{n} = q_{n}[b]" for n in sorted(used & stored[SEQUENCE]) if n in old]
        of_sequences += [f"{x.name} = 0.0" for x in sums if x.total == SEQUENCE]
        text += [f"    {line}" for line in of_sequences]
        text.append("    for l in range(tokens):")
        inner = [f"{n} = normals[t, {i}, b, l]" for i, n in enumerate(normals) if n in used]
        inner += [f"{first} = 1.0 if l == 0 else 0.0"] if first in used else []
        inner += [f"{n} = c_{n}[b, l]" for n in sorted(used & stored[TOKEN]) if n in old]
        for line in (x for x in here if x.kind == TOKEN or x.total is not None):
            sign = "=" if line.total is None else "+="
            inner.append(f"{line.name} {sign} {printer.code(line.expression)}")
            if line.total is None and line.name in stored[TOKEN]:
                inner.append(f"c_{line.name}[b, l] = {line.name}")
        text += [f"        {line}" for line in inner]
        text += [f"    {x.name} = {printer.code(x.expression)}" for x in plain if x.kind == SEQUENCE]
        kept = [x.name for x in here if x.kind == SEQUENCE and x.name in stored[SEQUENCE]]
        text += [f"    q_{name}[b] = {name}" for name in kept]
    return text
