"""Machine code for random recurrences: a step on one batch as loops over its sequences and tokens.

Letters are of three kinds: one number for a step, one for each sequence, one for each token. A sum over tokens or over
the batch ends a loop, so that the lines of a step fall into phases: what a sum of one phase gives is used in the next.
Several runs are advanced at a time: every number stands in a row with one place for each run, and innermost is always
a loop over these places, which the compiler turns into vector instructions. The normals of a step are made where they
are used, in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sympy

from theorem_engine.backends.base import straight_line
from theorem_engine.backends.float64.jit import FUNCTIONS, WIDE, LanePrinter
from theorem_engine.backends.float64.scalar_code import Unsupported, load_module
from theorem_engine.language.operators.stochastic import BatchSum, TokenSum
from theorem_engine.planning.plan import Evaluate, make_plan

#: What a letter has one value for.
STEP, SEQUENCE, TOKEN = range(3)


class _Printer(LanePrinter):
    """Code for lanes, numbers too long for machine code as doubles."""

    def _print_Rational(self, expr: Any) -> str:
        return f"{expr.p}/{expr.q}" if max(abs(expr.p), expr.q) < 2**53 else repr(expr.p / expr.q)

    def _print_positive_part(self, expr: Any) -> str:
        return f"max({self._print(expr.args[0])}, 0.0)"


@cache
def compiled_chain(law: Any, parameters: tuple[Any, ...], lanes: int = WIDE) -> Any:
    """The module with ``run`` for so many runs of a law; None without numba or for a law it cannot express."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return None
    try:
        return load_module(_Writer(law, parameters, lanes).source())
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


class _Writer:
    """The source of a law's module."""

    def __init__(self, law: Any, parameters: tuple[Any, ...], lanes: int) -> None:
        self.lanes = lanes
        inputs = [*law.state, law.clock, *law.noise, *parameters]
        targets = [sympy.Dummy(f"result{i}") for i in range(len(law.bodies))]
        plan = make_plan(inputs, {**law.definitions, **dict(zip(targets, law.bodies, strict=True))}, targets)
        if len(plan.steps) != 1 or not isinstance(plan.steps[0], Evaluate):
            raise Unsupported("operators inside a step")
        code = straight_line(plan.inputs, plan.steps[0].equations, targets)
        names, size = [s.name for s in code.inputs], len(law.state)
        per_token, per_step, per_chi = law.noise_counts
        noise = names[size + 1 :]
        self.state, self.clock, self.parameters = names[:size], names[size], noise[len(law.noise) :]
        self.firsts = {name: i for i, name in enumerate(noise[i] for i in law.on_first)}
        self.normals = {name: i for i, name in enumerate(noise[i] for i in range(per_token) if i not in law.on_first)}
        self.singles = noise[per_token : per_token + per_step]
        self.chis = noise[per_token + per_step :][:per_chi]
        self.first = noise[per_token + per_step + per_chi]
        of_tokens = {*self.normals, *self.firsts, self.first}
        self.whole = _Lines({s: _Line(s.name, None, TOKEN if s.name in of_tokens else STEP, 0) for s in code.inputs})
        for symbol, expression in code.lines:
            self.whole.add(symbol, expression)
        self.results = [self.whole.known[s].name for s in code.results]
        self.stored = _stored(self.whole)
        made = [x.name for x in self.whole.lines]
        self.rows = _rows([*self.state, *self.parameters, *noise[: len(law.noise)], *made])
        self.sequences = _rows(sorted(self.stored[SEQUENCE]))
        self.tokens = _rows(sorted(self.stored[TOKEN]))
        self.printer = _Printer({"fully_qualified_modules": True})

    def source(self) -> str:
        """A module with the loop over steps of a few runs."""
        text = "\n".join(f"    {line}" for line in self._lines())
        return f'''"""Generated from the symbolic step of a random recurrence; safe to delete."""
import math

{FUNCTIONS.read_text(encoding="utf-8")}

@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={{"contract"}})
def run(state, begin, keys, chis, parameters, batch, tokens, spacing, log):
{text}
    return n
'''

    #: Where the normals of a step begin that are not a token's.
    _singles = "first_single"

    def _at(self, name: str) -> str:
        """The place of a number in this lane, whatever its kind; loops that compute touch no other array."""
        return f"work[{self.rows[name] * self.lanes} + l]"

    def _kept(self, name: str) -> str:
        """The place where a number of a token or a sequence is drawn or waits for a later phase."""
        if name in self.normals:
            return f"drawn[((({self.normals[name]} * batch + b) * tokens) + k) * {self.lanes} + l]"
        if name in self.firsts:
            place = f"{len(self.normals)} * batch * tokens + {self.firsts[name]} * batch + b"
            return f"drawn[({place}) * {self.lanes} + l] if k == 0 else 0.0"
        if name == self.first:
            return "1.0 if k == 0 else 0.0"
        if name in self.sequences:
            return f"sequence[b * {len(self.sequences) * self.lanes} + {self.sequences[name] * self.lanes} + l]"
        return f"token[(b * tokens + k) * {len(self.tokens) * self.lanes} + {self.tokens[name] * self.lanes} + l]"

    def _each(self, lines: list[str]) -> list[str]:
        return [f"for l in range({self.lanes}):", *(f"    {line}" for line in lines)] if lines else []

    def _lines(self) -> list[str]:
        """The lines of the function."""
        text = [f"work = np.zeros({len(self.rows) * self.lanes})",
                f"sequence = np.zeros({max(1, len(self.sequences)) * self.lanes} * batch)",
                f"token = np.zeros({max(1, len(self.tokens)) * self.lanes} * batch * tokens)",
                f"{self._singles} = {len(self.normals)} * batch * tokens + {len(self.firsts)} * batch",
                f"pairs = ({self._singles} + {len(self.singles)} + 1) // 2",
                f"drawn = np.empty(2 * pairs * {self.lanes})", f"pair = np.empty({2 * self.lanes})"]  # fmt: skip
        given = [f"{self._at(n)} = state[l, {i}]" for i, n in enumerate(self.state)]
        text += self._each([*given, *(f"{self._at(n)} = parameters[l, {i}]" for i, n in enumerate(self.parameters))])
        step = [f"{self.clock} = float(begin + t)", "now = np.uint64(begin + t)", "for p in range(pairs):"]
        drawn = [f"one, two = lane_normals(keys[l], keys[{self.lanes} + l], place, now)",
                 "pair[l] = one", f"pair[{self.lanes} + l] = two"]  # fmt: skip
        kept = [f"drawn[2 * p * {self.lanes} + l] = pair[l]",
                f"drawn[2 * p * {self.lanes} + {self.lanes} + l] = pair[{self.lanes} + l]"]  # fmt: skip
        step += [f"    {line}" for line in ["place = np.uint64(p)", *self._each(drawn), *self._each(kept)]]
        single = [f"{self._at(n)} = drawn[({self._singles} + {i}) * {self.lanes} + l]" for i, n in
                  enumerate(self.singles)]  # fmt: skip
        step += self._each(single + [f"{self._at(n)} = chis[t, {i}, l]" for i, n in enumerate(self.chis)])
        logged = [f"log[l, n, {i}] = {n}" for i, n in enumerate([self.clock, *map(self._at, self.state)])]
        step += [
            "if spacing > 0 and (begin + t) % spacing == 0:",
            *(f"    {x}" for x in self._each(logged)),
            "    n += 1",
        ]
        step += self._body()
        moves = [f"next{i} = {self._at(n)}" for i, n in enumerate(self.results)]
        step += self._each([*moves, *(f"{self._at(n)} = next{i}" for i, n in enumerate(self.state))])
        text += ["n = 0", "for t in range(chis.shape[0]):", *(f"    {line}" for line in step)]
        return [*text, *self._each([f"state[l, {i}] = {self._at(n)}" for i, n in enumerate(self.state)])]

    def _body(self) -> list[str]:
        """The lines of one step, phase by phase."""
        text: list[str] = []
        for phase in range(1 + max(line.phase for line in self.whole.lines)):
            here = [line for line in self.whole.lines if line.phase == phase]
            sums = [line for line in here if line.total is not None]
            plain = [line for line in here if line.total is None]
            text += self._each(self._block([x for x in plain if x.kind == STEP])
                               + [f"{self._at(x.name)} = 0.0" for x in sums if x.total == STEP])  # fmt: skip
            if not sums and not any(x.kind != STEP for x in plain):
                continue
            text += ["for b in range(batch):", *(f"    {line}" for line in self._sequence(here, sums, plain))]
        return text

    def _sequence(self, here: list[_Line], sums: list[_Line], plain: list[_Line]) -> list[str]:
        """The lines of a phase for one sequence."""
        inside = [x for x in here if x.kind == TOKEN or x.total is not None]
        behind = [x for x in plain if x.kind == SEQUENCE]
        old = self._used(inside) | self._used(behind)
        own = {x.name for x in here}
        text = self._each([f"{self._at(n)} = {self._kept(n)}" for n in self.sequences if n in old - own]
                          + [f"{self._at(x.name)} = 0.0" for x in sums if x.total == SEQUENCE])  # fmt: skip
        read = [*self.normals, *self.firsts, self.first, *(n for n in self.tokens if n not in own)]
        text.append("for k in range(tokens):")
        inner = self._each([f"{self._at(n)} = {self._kept(n)}" for n in read if n in self._used(inside)])
        inner += self._each(self._block(inside))
        made = [x.name for x in inside if x.total is None and x.name in self.tokens]
        inner += self._each([f"{self._kept(n)} = {self._at(n)}" for n in made])
        text += [f"    {line}" for line in inner]
        text += self._each(self._block(behind))
        ended = [x.name for x in here if x.kind == SEQUENCE and x.name in self.sequences]
        return [*text, *self._each([f"{self._kept(n)} = {self._at(n)}" for n in ended])]

    def _used(self, lines: list[_Line]) -> set[str]:
        own = {x.name for x in lines if x.total is None}
        return {s.name for x in lines for s in x.expression.free_symbols} - own - {self.clock}

    def _block(self, lines: list[_Line]) -> list[str]:
        """Lines of one loop between reading what they use and keeping what they give."""
        text = [f"{name} = {self._at(name)}" for name in sorted(self._used(lines))]
        for line in lines:
            value = self.printer.code(line.expression)
            if line.total is not None:
                text.append(f"{self._at(line.name)} += {value}")
                continue
            text += [f"{line.name} = {value}", f"{self._at(line.name)} = {line.name}"]
        return text


def _rows(names: list[str]) -> dict[str, int]:
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def _stored(whole: _Lines) -> dict[int, set[str]]:
    """Letters of tokens and sequences that a later loop uses, by kind."""
    found: dict[int, set[str]] = {TOKEN: set(), SEQUENCE: set()}
    for line in whole.lines:
        for symbol in line.expression.free_symbols:
            part = whole.known[symbol]
            is_inside = line.total is not None or line.kind == TOKEN
            later = part.phase < line.phase or (part.kind == TOKEN and not is_inside)
            if part.expression is not None and part.kind != STEP and later:
                found[part.kind].add(part.name)
    return found
