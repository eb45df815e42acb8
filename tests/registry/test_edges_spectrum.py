"""Claimed errors of means over a spectrum, against quadrature of the equations in extended precision."""

import numpy as np
import pytest
import sympy

import theorem_engine as te

LONG = np.longdouble


def bulk(c, count=450):
    """Nodes and weights of the Marchenko-Pastur law of ratio 1/c: Chebyshev's rule in the angle, and the atom."""
    ratio = 1 / LONG(c)
    width = np.sqrt(ratio)
    angle = np.arange(1, count + 1).astype(LONG) * (4 * np.arctan(LONG(1))) / (count + 1)
    place = (1 - width) ** 2 + 4 * width * np.cos(angle / 2) ** 2
    weight = 2 * np.sin(angle) ** 2 / (place * (count + 1))
    if ratio > 1:
        place, weight = np.append(place, LONG(0)), np.append(weight, 1 - 1 / ratio)
    return place, weight


def solve(matrix, right):
    """A small linear system in extended precision, by elimination."""
    rows = np.column_stack([matrix, right]).astype(LONG)
    for k in range(len(rows)):
        pivot = k + int(np.argmax(np.abs(rows[k:, k])))
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] /= rows[k, k]
        for i in range(len(rows)):
            if i != k:
                rows[i] -= rows[i, k] * rows[k]
    return rows[:, -1]


def noise(c, gamma, a1, rest, diagonal, start):
    """All outputs of the noise's resolvent: Newton's method on the three scalars, derivatives by the same matrix."""
    place, weight = bulk(c)
    slope, first = np.sqrt(LONG(c)) * LONG(a1), np.sqrt(LONG(c)) * (LONG(diagonal) - LONG(a1))
    gamma, rest, x = LONG(gamma), LONG(rest), np.array(start, dtype=LONG)

    def means(x):
        g, e, eta = x
        line, rise = slope * place + eta, 1 + e * place
        bottom = g * rise + place * line**2
        values = [(weight * top / bottom).sum() for top in (rise, place, place * line)]
        tops = (
            (-(rise**2), place**2 * line**2, -2 * rise * place * line),
            (-place * rise, -g * place**2, -2 * place**2 * line),
            (-place * line * rise, -g * place**2 * line, place * (g * rise - place * line**2)),
        )
        return np.array(values), np.array([[(weight * top / bottom**2).sum() for top in row] for row in tops])

    for _ in range(5):
        (i0, i1, i2), grad = means(x)
        matrix = np.eye(3, dtype=LONG) - rest * np.array([x[0] * grad[1], grad[0], -grad[2]])
        matrix[0, 0] -= rest * i1
        x = x - solve(matrix, x - np.array([gamma + rest * x[0] * i1, rest * i0, first - rest * i2]))
    (i0, i1, i2), grad = means(x)
    moved = solve(matrix, np.array([1, 0, 0], dtype=LONG))
    d0, d1, d2 = grad @ moved
    return {
        "alpha": i0, "beta": -i2, "delta": x[0] * i1, "g": x[0], "e": x[1], "eta": x[2],
        "d_alpha": d0, "d_beta": -d2, "d_delta": x[0] * d1 + moved[0] * i1,
        "d_g": moved[0], "d_e": moved[1], "d_eta": moved[2],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("c", "gamma", "a1", "rest", "diagonal"),
    [
        # a pole of the law itself, at zero, a little beyond where the midpoint rule took it out
        ("7.554", "16.29", "-0.015", "0.02471", "1.37"),
        ("0.13", "16.29", "-0.015", "0.02471", "1.37"),
        ("49.09", "0.1916", "-0.346", "0.0008244", "-0.42"),
        # double poles far from the bulk, whose two parts cancel
        ("0.05297", "23.03", "0", "0.00001147", "1.35"),
        ("0.279", "3.138", "0", "0.00003191", "0.63"),
        ("8.149", "321.6", "0", "0.02843", "-1.12"),
    ],
)
def test_claims_of_the_noise_resolvent_hold_in_extended_precision(c, gamma, a1, rest, diagonal):
    """Chebyshev's quadrature and Newton's method in extended precision; only its start is the engine's."""
    moment = str(sympy.Rational(rest) + sympy.Rational(a1) ** 2)
    found = te.predict(
        "liao2026.noise-resolvent", c=c, gamma=gamma, a1=a1, second_moment=moment, diagonal=diagonal
    )  # fmt: skip
    true = noise(c, gamma, a1, rest, diagonal, [found.outputs[name] for name in ("g", "e", "eta")])
    for name, value in true.items():
        allowed = LONG(found.errors[name]) + LONG(1e-17) * abs(value)
        assert abs(LONG(found.outputs[name]) - value) <= allowed, name
