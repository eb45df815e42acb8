"""Balls of python-flint: enclosures that are proofs, one point at a time.

Every number is a ball that holds the true value; an operator's module here is a proof of its own, and what has none is
refused by name. Precision is flint's, of the whole process: a caller sets it around a call, and never uses threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import acb, arb, fmpq

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.balls.printer import BallPrinter, namespace
from theorem_engine.backends.balls.recalled import recalled
from theorem_engine.backends.base import Backend, NoLowering, Numeric, find_lowering, straight_line
from theorem_engine.base.errors import NotAvailable
from theorem_engine.base.exact import Constant, Root, as_fraction
from theorem_engine.language.domains import Structured
from theorem_engine.planning.plan import Operate, Solve


class Balls(Backend):
    """Real and complex balls of flint's current precision."""

    name = "balls"

    def elementary(
        self, inputs: Sequence[Any], equations: Sequence[tuple[Any, Any]], outputs: Sequence[Any]
    ) -> Numeric:
        """Calls of the functions of balls, common parts first."""
        run = straight_line(inputs, equations, outputs).compiled([namespace()], BallPrinter())
        return lambda *values: [ball(v) if isinstance(v, fmpq) else v for v in run(*values)]

    def operate(self, step: Operate) -> Numeric:
        """The proof that the operator's module has, or a refusal that names the operator."""
        first = step.operators[0]
        if any(getattr(operator, "is_random", False) for operator in step.operators):
            raise NotAvailable(
                f"no certificate: {type(first).__name__} is evaluated by draws, which give confidence but no proof"
            )
        try:
            find_lowering(first, self.name)
        except NoLowering:
            raise NotAvailable(f"no certificate: nothing proves bounds of {type(first).__name__}") from None
        return recalled(super().operate(step))

    def group(self, solve: Solve) -> Numeric:
        """The solution of double precision, sharpened and enclosed by Krawczyk's test."""
        from theorem_engine.backends.balls.group import lower_group

        return recalled(lower_group(solve, self))

    def number(self, value: Any) -> Any:
        """An exact value as a ball of the current precision."""
        return value.as_number(real_ball, acb) if isinstance(value, Structured) else real_ball(value)

    def is_met(self, truth: Any) -> bool:
        """A condition that balls do not tell is no answer."""
        if truth is None:
            raise Unproved("it is not told which case of a definition holds")
        return bool(truth)


def real_ball(value: Any) -> Any:
    """An exact real number as a ball."""
    if isinstance(value, Root):
        root = real_ball(value.square).sqrt()
        return -root if value.negative else root
    if isinstance(value, Constant):
        return ball(BACKEND.function([], [value.expression])()[0])
    fraction = as_fraction(value)
    if fraction is None:
        return arb.pos_inf() if value > 0 else arb.neg_inf()
    return arb(fmpq(fraction.numerator, fraction.denominator))


BACKEND = Balls()
