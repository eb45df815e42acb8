"""Scalar code of an objective and its derivatives, for the compiled loops of ``numerics.proximal``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import sympy

from theorem_engine.backends.float64.scalar_code import ScalarPrinter, Unsupported, block, load_module
from theorem_engine.language.functions import normal_cdf, normal_pdf
from theorem_engine.planning.objective import TOKENS, Sum
from theorem_engine.planning.quadratic import MULTIPLIER, OneMultiplier
from theorem_engine.planning.stationary import Stationary

#: For fewer samples compiling, or reading what was compiled, costs more than it saves.
WORTH_COMPILING = 256
_DECORATOR = '@numba.njit(cache=True, nogil=True, error_model="numpy")'


@cache
def loops() -> str | None:
    """Text of the loops, or None where numba is not installed or finds no folder to work in."""
    try:
        from theorem_engine.numerics.proximal import loops as found
    except (ImportError, RuntimeError):
        return None
    return Path(found.__file__).read_text(encoding="utf-8")


def descent_module(stationary: Stationary, fields: tuple[Any, ...], singles: tuple[Any, ...]) -> Any:
    """The loops for one objective, or None where there is no machine code for it."""
    try:
        return _loaded(_Descent(stationary, fields, singles).source())
    except (Unsupported, OSError):
        # a cache that cannot be written costs the speed, not the answer
        return None


def root_module(
    form: OneMultiplier, stationary: Stationary, fields: tuple[Any, ...], singles: tuple[Any, ...]
) -> Any:  # fmt: skip
    """The loops for a point that follows from one multiplier, or None where there is no machine code for it."""
    try:
        return _loaded(_Root(form, stationary, fields, singles).source())
    except (Unsupported, OSError):
        return None


def _loaded(source: str) -> Any:
    text = loops()
    return None if text is None else load_module(f"{text}\n\n{source}")


class _Writer:
    """Straight-line code in letters that have a name in the code."""

    def __init__(self, known: dict[Any, str]) -> None:
        self.known = known
        self.printer = ScalarPrinter({"fully_qualified_modules": True, "user_functions": {"softplus": "softplus"}})

    def lines(self, prefix: str, expressions: list[Any]) -> tuple[list[str], list[str]]:
        """Lines for expressions, and what stands for their values afterwards."""
        plain = [e.replace(lambda f: isinstance(f, (normal_cdf, normal_pdf)), lambda f: f.definition())
                 for e in expressions]  # fmt: skip
        targets = [sympy.Dummy(f"result{i}") for i in range(len(plain))]
        sources = sorted(set().union(*(e.free_symbols for e in plain)), key=lambda s: self.known[s])
        known = dict(self.known)
        code = block(self.printer, prefix, sources, list(zip(targets, plain, strict=True)), targets, known)
        return code, [known[t] for t in targets]


class _Objective:
    """Writes ``measure``: an objective of letters, fields (one number for each token) and singles."""

    def __init__(self, stationary: Stationary, fields: tuple[Any, ...], singles: tuple[Any, ...]) -> None:
        self.of = stationary
        objective = stationary.objective
        self.shares = {s.symbol: share for share, s in objective.shares().items()}
        self.kept = {share: f"kept[{i}, i]" for i, share in enumerate(self.shares.values())}
        self.places = {x: f"x[{_at(k)}]" for k, x in enumerate(stationary.letters)}
        # values are taken out of arrays first: a compiler must assume that any array may be written to through another
        self.token = {x: f"x{k}" for k, x in enumerate(stationary.letters)}
        self.token |= {f: f"c{k}" for k, f in enumerate(fields)} | {s: f"kept{k}" for k, s in enumerate(self.kept)}
        self.arrays = {**self.places, **{f: f"c[{k}, i]" for k, f in enumerate(fields)}, **self.kept}
        self.single = {s: f"q{k}" for k, s in enumerate(singles)} | {TOKENS: "tokens"}
        self.head = [f"tokens = x.size // {len(stationary.letters)}", *(f"q{k} = q[{k}]" for k in range(len(singles)))]
        self.numbers = {s.symbol: f"numbers[{k}]" for k, s in enumerate(stationary.sums)}

    def _layers(self) -> list[list[Sum]]:
        """Sums in the order of their passes over the tokens."""
        depth: dict[Any, int] = {}
        for s in self.of.sums:
            depth[s.symbol] = 1 + max((depth[t] for t in s.inner.free_symbols if t in depth), default=-1)
        return [[s for s in self.of.sums if depth[s.symbol] == d] for d in range(max(depth.values(), default=-1) + 1)]

    def measure(self) -> str:
        known: dict[Any, str] = dict(self.single)
        lines = [*self.head, "total = 0.0"]
        layers = self._layers() or [[]]
        for depth, layer in enumerate(layers):
            for s in (s for s in layer if s.is_log):
                lines += self._log_sum(s, known)
            plain = [s for s in layer if not s.is_log]
            each = [self.of.objective.each] if depth == len(layers) - 1 else []
            if plain or each:
                names = [f"t{s.symbol.name}" for s in plain]
                lines += [f"{name} = 0.0" for name in names]
                lines += self.over_tokens(
                    f"p{depth}", [*(self.of.objective.with_shares(s.inner) for s in plain), *each], known,
                    [*(f"{name} += {{}}" for name in names), *("total += {}" for _ in each)],
                )  # fmt: skip
                for s, name in zip(plain, names, strict=True):
                    known[s.symbol] = name
                    lines.append(f"{self.numbers[s.symbol]} = {name}")
        writer = _Writer(known)
        code, (value,) = writer.lines("o", [self.of.objective.outer])
        return _function("measure(x, c, q, kept, numbers)", [*lines, *code, f"return total + {value}"])

    def _log_sum(self, s: Sum, known: dict[Any, str]) -> list[str]:
        name, share = f"t{s.symbol.name}", self.kept[self.shares[s.symbol]]
        lines = [f"{name} = -np.inf", f"{name}_all = 0.0"]
        inner = [self.of.objective.with_shares(s.inner)]
        lines += self.over_tokens(f"g{s.symbol.name}", inner, known, [f"{share} = {{}}", f"{name} = max({name}, {{}})"])
        lines += ["for i in range(tokens):", f"    {share} = math.exp({share} - {name})", f"    {name}_all += {share}",
                  "for i in range(tokens):", f"    {share} /= {name}_all",
                  f"{name} += math.log({name}_all)", f"{self.numbers[s.symbol]} = {name}"]  # fmt: skip
        known[s.symbol] = name
        return lines

    def over_tokens(self, prefix: str, expressions: list[Any], known: dict[Any, str], uses: list[str]) -> list[str]:
        """A loop over tokens; a use of an only expression may be repeated."""
        code, values = _Writer({**known, **self.token}).lines(prefix, expressions)
        values = values * len(uses) if len(values) == 1 else values
        ends = [use.format(value) for use, value in zip(uses, values, strict=True)]
        return ["for i in range(tokens):", *(f"    {line}" for line in (*self.loads(expressions), *code, *ends))]

    def loads(self, expressions: list[Any]) -> list[str]:
        """Lines that take a token's values out of their arrays."""
        used = set().union(*(e.free_symbols for e in expressions))
        return [f"{self.token[s]} = {place}" for s, place in self.arrays.items() if s in used]


class _Descent(_Objective):
    """Writes ``measure`` and ``derive`` of an objective."""

    def source(self) -> str:
        """The second part of the module."""
        derive = self._derive()
        sizes = (len(self.of.letters), self.rank, len(self.kept), len(self.numbers))
        return f"LETTERS, SUMS, KEPT, NUMBERS = {', '.join(map(str, sizes))}\n\n\n{self.measure()}\n\n{derive}"

    def _derive(self) -> str:
        of, letters = self.of, range(len(self.of.letters))
        known = {**self.single, **{s: f"t{k}" for k, s in enumerate(self.numbers)}}
        lines = [*self.head, *(f"t{k} = {place}" for k, place in enumerate(self.numbers.values()))]
        # derivatives first: they say which further sums are needed
        chain, curvature, adjoint = of.chain, of.curvature, of.adjoint
        for m, summand in of.totals.more.items():
            known[m] = m.name
            lines += [f"{m.name} = 0.0", *self.over_tokens(f"k{m.name}", [summand], known, [f"{m.name} += {{}}"])]
        scalars = {**adjoint}
        names: dict[Any, str] = {}
        for m, expression in scalars.items():
            code, (value,) = _Writer({**known, **names}).lines(f"m{m.name}", [expression])
            lines += code
            names[m] = value
        known.update(names)
        places = [(a, b) for a in range(len(of.sums)) for b in range(len(of.sums))]
        wanted = [chain[a][b] for a, b in places] + [curvature[a][b] for a, b in places]
        wanted += [of.outer_curvature[a][b] for a, b in places]
        code, values = _Writer(known).lines("w", wanted)
        lines += code
        size = len(places)
        tables = [dict(zip(places, part, strict=True)) for part in (values[:size], values[size : 2 * size])]
        bent = [a for a in range(len(of.sums)) if any(e != 0 for e in (*of.mixed[a], *curvature[a]))]
        self.rank = len(bent)
        row = {a: p for p, a in enumerate(bent)}
        lines += [f"outer[{row[a]}, {row[b]}] = {v}" for (a, b), v in zip(places, values[2 * size :], strict=True)
                  if a in row and b in row]  # fmt: skip
        flat = [*of.gradient, *(e for r in of.blocks for e in r), *(e for r in of.plain_blocks for e in r)]
        flat += [e for r in of.direct for e in r] + [e for r in of.mixed for e in r]
        code, values = _Writer({**known, **self.token}).lines("d", flat)
        inside = [*self.loads(flat), *code]
        take = iter(values)
        inside += [f"gradient[{_at(a)}] = {next(take)}" for a in letters]
        inside += [f"block[{a}, {b}, i] = {next(take)}" for a in letters for b in letters]
        inside += [f"plain[{a}, {b}, i] = {next(take)}" for a in letters for b in letters]
        direct = {(a, k): next(take) for a in range(len(of.sums)) for k in letters}
        mixed = {(a, k): next(take) for a in range(len(of.sums)) for k in letters}
        for k in letters:
            for a in range(len(of.sums)):
                before = [f"{tables[0][a, b]} * j{b}_{k}" for b in range(a) if chain[a][b] != 0]
                inside.append(f"j{a}_{k} = {' + '.join([direct[a, k], *before])}")
            for a, p in row.items():
                around = [f"0.5 * {tables[1][a, b]} * j{b}_{k}" for b in range(len(of.sums)) if curvature[a][b] != 0]
                own = [mixed[a, k]] if of.mixed[a][k] != 0 else []
                inside.append(f"moves[{_at(k)}, {p}] = j{a}_{k}")
                inside.append(f"bends[{_at(k)}, {p}] = {' + '.join([*own, *around]) or '0.0'}")
        lines += ["for i in range(tokens):", *(f"    {line}" for line in inside)]
        return _function(
            "derive(x, c, q, kept, numbers, gradient, block, plain, moves, bends, outer)", [*lines, "return None"]
        )


class _Root(_Objective):
    """Writes ``gather``, ``equation`` and ``place`` of a point that follows from one multiplier."""

    def __init__(self, form: OneMultiplier, *of: Any) -> None:
        super().__init__(*of)
        self.form = form

    def source(self) -> str:
        """The second part of the module."""
        numbers = {s: f"numbers[{i}]" for i, s in enumerate((*self.form.sums, TOKENS))}
        head = ["tokens = c.shape[1]", *self.head[1:]]
        lines = [*head, f"{numbers[TOKENS]} = tokens"]
        sums = list(self.form.sums)
        lines += [f"{s.name} = 0.0" for s in sums]
        summands = [self.form.sums[s].args[0] for s in sums]
        lines += self.over_tokens("k", summands, self.single, [f"{s.name} += {{}}" for s in sums]) if sums else []
        lines += [f"{numbers[s]} = {s.name}" for s in sums]
        lines += ["low, high = -np.inf, np.inf"]
        if self.form.poles:
            code, poles = _Writer(self.single).lines("e", list(self.form.poles))
            lines += code
            for pole in poles:
                lines += [f"if low < {pole} < 0:", f"    low = {pole}", f"if 0 < {pole} < high:", f"    high = {pole}"]
        gather = _function("gather(c, q, numbers)", [*lines, "return low, high"])
        known = {**self.single, **{s: f"t{k}" for k, s in enumerate(numbers)}, MULTIPLIER: "m"}
        taken = [*self.head[1:], *(f"t{k} = {place}" for k, place in enumerate(numbers.values()))]
        residual = self.form.residual
        code, (value, slope) = _Writer(known).lines("r", [residual, residual.diff(MULTIPLIER)])
        equation = _function("equation(m, q, numbers)", [*taken, *code, f"return {value}, {slope}"])
        uses = [f"{self.places[x]} = {{}}" for x in self.of.letters]
        inside = self.over_tokens("x", list(self.form.point), {**self.single, MULTIPLIER: "m"}, uses)
        place = _function("place(m, x, c, q)", [*head, *inside])
        sizes = len(self.of.letters), 0, len(self.kept), max(len(numbers), len(self.numbers))
        constants = f"LETTERS, SUMS, KEPT, NUMBERS = {', '.join(map(str, sizes))}\n"
        return "\n\n".join([constants, self.measure(), gather, equation, place])


def _at(letter: int) -> str:
    return f"{letter} * tokens + i" if letter else "i"


def _function(head: str, lines: list[str]) -> str:
    return f"{_DECORATOR}\ndef {head}:\n" + "".join(f"    {line}\n" for line in lines)
