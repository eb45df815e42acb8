"""Fresh tokens against a program of its own: quadrature over the noise's spectrum, matrices solved as they stand.

A check sees the response of each scalar by some percent of the variance; that of eta by 2.6 % at the most, of two
hundred settings. Here each is seen to seven digits.
"""

import numpy as np
import pytest

import theorem_engine as te


def spectrum(ratio, nodes=700):
    """Nodes and weights of the Marchenko-Pastur law of this ratio, its atom at zero last."""
    angle = (np.arange(nodes) + 0.5) * np.pi / nodes
    turn, root = np.exp(-1j * angle), np.sqrt(ratio)
    resolvent = -turn / (root * (1 + root * turn))
    weights = 2 * root / nodes * np.sin(angle) * resolvent.imag
    return np.append(np.abs(1 + root * turn) ** 2, 0.0), np.append(weights, max(0.0, 1 - 1 / ratio))


def fresh(c, gamma, a1, moment, snr):
    """Mean along the label and variance of the prediction for a fresh token, without weights."""
    s, weight = spectrum(1 / c)
    b2, kap = moment - a1**2, np.sqrt(c) * a1
    g, e, eta = gamma + b2, b2 / (gamma + b2), -kap
    for _ in range(4000):
        line = kap * s + eta
        over = g * (1 + e * s) + s * line**2
        found = (gamma + b2 * g * (weight @ (s / over)), b2 * (weight @ ((1 + e * s) / over)),
                 -kap - b2 * (weight @ (s * line / over)))  # fmt: skip
        moved = max(abs(x - y) for x, y in zip(found, (g, e, eta), strict=True))
        g, e, eta = ((x + y) / 2 for x, y in zip(found, (g, e, eta), strict=True))
        if moved < 1e-13:
            break
    line, one = kap * s + eta, np.ones_like(s)
    # the inverse of [[g, B, 0], [B, -e, -1], [0, -1, s]] at each eigenvalue, by NumPy
    inside = np.linalg.inv(
        np.array([[g * one, line, 0 * s], [line, -e * one, -one], [0 * s, -one, s]]).transpose(2, 0, 1)
    )
    whole = np.tensordot(weight, inside, 1)
    tokens = np.array([[np.sqrt(snr)], [1.0]]) / np.sqrt(c)
    change, nothing = np.sqrt(c) * a1 * tokens @ tokens.T, np.zeros((2, 2))
    system = np.kron(np.linalg.inv(whole), np.eye(2)) + np.block(
        [[nothing, change, nothing], [change, nothing, nothing], [nothing, nothing, tokens @ tokens.T]]
    )
    x = np.linalg.solve(system, np.eye(6)[0]).reshape(3, 2)
    left = np.linalg.solve(whole, x)

    def moved_by(theta):
        return -np.tensordot(weight, inside @ theta @ inside, 1)

    def response(size):
        """The bulk's change where the linearised matrix gains ``size`` at its place 2, 2, its scalars answering."""
        theta = np.zeros((len(s), 3, 3))
        theta[:, 1, 1] = size
        answer = np.zeros((3, 3))
        for _ in range(4000):
            found = moved_by(theta + answer)
            now = np.array(
                [[-b2 * found[1, 1], -b2 * found[0, 1], 0], [-b2 * found[0, 1], -b2 * found[0, 0], 0], [0] * 3]
            )
            step, answer = np.abs(now - answer).max(), (now + answer) / 2
            if step < 1e-13:
                break
        return -np.einsum("ij,ik,jk->", found, left, left)

    image = float((tokens.T @ x[1])[0])
    return a1 * np.sqrt(snr) * image, a1**2 * (response(s) + image**2) + b2 * response(one)


@pytest.mark.parametrize(
    ("c", "gamma", "f", "snr"),
    [("0.5", "0.3", "tanh", 1), ("2", "0.5", "sin", 0), ("0.6", 1, "cubic", 1)],
)
def test_what_is_said_of_fresh_tokens_has_the_mean_and_variance_of_another_program(c, gamma, f, snr):
    level = {"nonlinearity": "cubic-clip", "r": "0.5", "level": 5} if f == "cubic" else {"nonlinearity": f}
    moments = te.predict("liao2026.hermite", **level).outputs
    outputs = te.predict("liao2026.fresh-token-error", c=c, gamma=gamma, snr=snr, **level).outputs
    mean, variance = fresh(float(c), float(gamma), moments["a1"], moments["second_moment"], snr)
    assert outputs["M"] == pytest.approx(mean, abs=1e-8)
    assert outputs["V"] == pytest.approx(variance, rel=1e-7)
