"""Recurrences driven by fresh random numbers at every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from theorem_engine.language.operators.base import Component, Operator, hygienic


class TokenSum(sympy.Function):
    """Sum over the tokens of one sequence; the result is the same for all of them."""

    nargs = 1

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return rf"\sum_{{\ell}} {printer._print(self.args[0])}"


class BatchSum(sympy.Function):
    """Sum over all tokens of all sequences of a batch."""

    nargs = 1

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return rf"\sum_{{b, \ell}} {printer._print(self.args[0])}"


class RandomRecurrence(Operator):
    """State after some steps of ``letter <- rule`` where the rules use random letters drawn anew each step.

    ``token_normals`` are standard normal for every token of every sequence of the batch, ``normals``
    one number per step, ``chi`` maps a letter to its degrees of freedom; ``first`` is one on the
    first token of each sequence and zero on the others. One seed gives one path, whatever else
    is computed beside it.
    """

    lowering = "random_recurrence"

    @classmethod
    def of(
        cls,
        rules: Mapping[Any, Any],
        steps: Any,
        *,
        clock: Any,
        token_normals: tuple[Any, ...],
        normals: tuple[Any, ...],
        chi: Mapping[Any, Any],
        first: Any,
        batch: Any,
        tokens: Any,
        seed: Any,
        where: Mapping[Any, Any] | None = None,
    ) -> Any:
        """Bind the state, the clock and the random letters; the state starts at its outer values.

        ``where`` defines letters used by the rules, evaluated once per step.
        """
        state = tuple(rules)
        noise = (*token_normals, *normals, *chi, first)
        local = dict(where or {})
        rights = [sympy.sympify(e) for e in (*(rules[x] for x in state), *local.values())]
        twins, bound = hygienic((*state, clock, *noise, *local), *rights)
        size = len(state)
        bodies, definitions = bound[:size], bound[size:]
        bound_noise = list(twins[size + 1 : size + 1 + len(noise)])
        counts = (len(token_normals), len(normals), len(chi))
        return sympy.Expr.__new__(
            cls,
            sympy.Tuple(*bodies),
            sympy.Tuple(*twins[:size]),
            sympy.Tuple(*state),
            sympy.sympify(steps),
            twins[size],
            sympy.Tuple(*bound_noise),
            sympy.Tuple(*(sympy.Integer(c) for c in counts)),
            sympy.Tuple(*(sympy.sympify(v) for v in chi.values())),
            sympy.Tuple(*(sympy.sympify(v) for v in (batch, tokens, seed))),
            sympy.Tuple(*twins[size + 1 + len(noise) :]),
            sympy.Tuple(*definitions),
        )

    @property
    def func(self) -> Any:
        """Rebuild from ``args``."""
        return lambda *args: sympy.Expr.__new__(RandomRecurrence, *args)

    @property
    def bodies(self) -> tuple[Any, ...]:
        """Right-hand side for each state letter."""
        return tuple(self.args[0])

    @property
    def state(self) -> tuple[Any, ...]:
        """The state letters."""
        return tuple(self.args[1])

    @property
    def start(self) -> tuple[Any, ...]:
        """Initial values."""
        return tuple(self.args[2])

    @property
    def duration(self) -> Any:
        """Number of steps."""
        return self.args[3]

    @property
    def clock(self) -> Any:
        """The letter that counts steps."""
        return self.args[4]

    @property
    def noise(self) -> tuple[Any, ...]:
        """Random letters: per token, per step, chi, and the mark of the first token."""
        return tuple(self.args[5])

    @property
    def noise_counts(self) -> tuple[int, int, int]:
        """How many of the random letters are of each kind."""
        a, b, c = (int(n) for n in self.args[6])
        return a, b, c

    @property
    def degrees(self) -> tuple[Any, ...]:
        """Degrees of freedom of the chi letters."""
        return tuple(self.args[7])

    @property
    def sizes(self) -> tuple[Any, Any, Any]:
        """Sequences in a batch, tokens in a sequence, seed."""
        batch, tokens, seed = self.args[8]
        return batch, tokens, seed

    @property
    def definitions(self) -> dict[Any, Any]:
        """Letters defined for use in the rules."""
        return dict(zip(self.args[9], self.args[10], strict=True))

    @property
    def bound(self) -> frozenset[Any]:
        """State, clock, noise and local letters."""
        return frozenset(self.state) | {self.clock} | frozenset(self.noise) | frozenset(self.args[9])

    def components(self) -> int:
        """One value per state letter."""
        return len(self.state)

    def component_names(self) -> list[str]:
        """Names of the components for printing."""
        return [letter.name for letter in self.state]

    def at(self, letter: Any) -> Any:
        """The final value of a state letter."""
        return Component(self, [x.name for x in self.state].index(letter.name))

    def _latex(self, printer: Any) -> str:
        rules = r",\; ".join(
            rf"{printer._print(x)} \leftarrow {printer._print(b)}" for x, b in zip(self.state, self.bodies, strict=True)
        )
        return rf"\left({rules}\right)^{{\circ {printer._print(self.duration)}}}"
