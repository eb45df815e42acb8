"""Erf attention at a weak signal: its best slope and shift to first order, and what that leaves out.

With S and Q expanded in N (nu in the spiked task, nu^2 in the max task) the gain L S^2/Q - 1 is N times a function of
the slope whose maximum does not see the shift; N^2 tells the shift, N^3 how it moves. With r = w'/w at the shift c the
slope is m = scale * rise/r, the shift solves 2 c/r = -bend, and the next terms c_1 N of the shift and m_1 N of m/m_0
are quotients of polynomials in c and r. At mean lengths from 1.00001 to 5000 |c_1| < 1 + |c| and |m_1| < 1 were seen
in the spiked task, and |c_1| < 2 (1 + c^2), |m_1| < 2 (1 + |c|) in the max task, where lengths may vary; neither is
proved. Twice that is stated as the error.
At the first-order place the risk is above its minimum by less than N^3/(10 E[L]).
"""

from sympy import Abs, And, Integer, Piecewise, Rational, oo, pi, sqrt

from theorem_engine import LengthMean, Root, UpTo, erfcx
from theorem_engine.registry.duranthon2026.notation import (
    L,
    Q,
    S,
    c,
    delta,
    drop,
    faint,
    gentle,
    slope,
    weak,
)
from theorem_engine.registry.duranthon2026.weights import Shifted, moments

#: Scales of the slope below which the signal is weak: the terms left out are a few ten-thousandths there.
FAINT = Rational(1, 100)
#: Bends of which the best shift is looked for: from 2.8 down to -17.6, where weights are not yet all equal to rounding,
#: and their squares do not underflow.
LEAST_BEND, LARGEST_BEND = Integer(-25000), Rational(9984, 10000)
MODERATE_BEND = Rational(97, 100)
#: A shift is searched as the distance from here: a root near zero has no digits of its own.
TOP = Integer(3)


def _balance(shift):
    """2 c/r at a shift, rising from -1."""
    return sqrt(pi) * shift * erfcx(-shift)


def weakly_shifted(seen, miss):
    """Risk and place of a weak signal, each with the size of what is left out.

    Lengths that vary may leave no best shift in the max task (the bend is one or more): the risk falls on as it falls.
    """
    mean_length, bend = LengthMean(L, L), seen.bend()
    is_known = And(bend < LARGEST_BEND, bend > LEAST_BEND)
    # where there is no place, one whose weights are of moderate size: from there on the risk falls by .03 N^2/E[L]
    nearest = Piecewise((bend, is_known), (MODERATE_BEND, bend > 0), (LEAST_BEND, True))
    moved, scaled = (1 + Abs(weak), 1) if seen.is_marked else (2 * (1 + weak**2), 2 * (1 + Abs(weak)))

    def told(value):
        """The value where there is a place; otherwise nothing is known of it."""
        return UpTo(value, Piecewise((0, is_known), (oo, True)))

    near = moments(seen, Shifted(weak), gentle, 0, miss)
    place = moments(seen, Shifted(c), slope, 0, miss)
    return {
        faint: seen.scale**2,
        weak: TOP - Root(_balance(TOP - drop) + nearest, drop),
        gentle: seen.scale * seen.rise() * sqrt(pi) * erfcx(-weak) / 2,
        c: UpTo(weak, 2 * faint * moved),
        slope: UpTo(gentle, 2 * faint * scaled * gentle),
        **place.definitions,
        "risk": delta**2
        + UpTo(near.inline(near.risk), Piecewise((faint**3 / 5, is_known), (faint**2, True)) / mean_length),
        "m_kk": told(slope),
        "m_vv": told(S / Q),
        "shift": told(c),
        "attained": is_known,
    }
