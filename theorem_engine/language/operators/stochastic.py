"""Recurrences driven by fresh random numbers at every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from theorem_engine.language.operators.base import Part, hygienic
from theorem_engine.language.operators.dynamics import Law


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


class RandomRecurrence(Law):
    """State after some steps of ``letter <- rule`` where the rules use random letters drawn anew each step.

    ``token_normals`` are standard normal for every token of every sequence of the batch, ``normals``
    one number per step, ``chi`` maps a letter to its degrees of freedom; ``first`` is one on the
    first token of each sequence and zero on the others. One seed gives one path, whatever else
    is computed beside it.
    """

    lowering = "random_recurrence"
    binds = ("state", "clock", "noise", "defined")
    clock = Part(4, "The letter that counts steps.")
    noise = Part(5, "Random letters: per token, per step, chi, and the mark of the first token.", tuple)
    degrees = Part(7, "Degrees of freedom of the chi letters.", tuple)
    defined = Part(9, "Letters defined for use in the rules.", tuple)

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
        rights = [sympy.sympify(e, strict=True) for e in (*(rules[x] for x in state), *local.values())]
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
            sympy.sympify(steps, strict=True),
            twins[size],
            sympy.Tuple(*bound_noise),
            sympy.Tuple(*(sympy.Integer(c) for c in counts)),
            sympy.Tuple(*(sympy.sympify(v, strict=True) for v in chi.values())),
            sympy.Tuple(*(sympy.sympify(v, strict=True) for v in (batch, tokens, seed))),
            sympy.Tuple(*twins[size + 1 + len(noise) :]),
            sympy.Tuple(*definitions),
        )

    @property
    def noise_counts(self) -> tuple[int, int, int]:
        """How many of the random letters are of each kind."""
        a, b, c = (int(n) for n in self.args[6])
        return a, b, c

    @property
    def on_first(self) -> tuple[int, ...]:
        """Places of the letters among those per token that only the first token of a sequence makes use of."""
        per_token, _, _ = self.noise_counts
        others = [e.xreplace({self.noise[-1]: sympy.Integer(0)}) for e in (*self.bodies, *self.definitions.values())]
        used = {s for e in others for s in e.free_symbols}
        return tuple(i for i in range(per_token) if self.noise[i] not in used)

    @property
    def sizes(self) -> tuple[Any, Any, Any]:
        """Sequences in a batch, tokens in a sequence, seed."""
        batch, tokens, seed = self.args[8]
        return batch, tokens, seed

    @property
    def definitions(self) -> dict[Any, Any]:
        """Those letters and what each is."""
        return dict(zip(self.defined, self.args[10], strict=True))
