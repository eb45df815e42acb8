"""Single-location regression as it is defined: whole tokens, a hidden place, a label."""

import numpy as np
from scipy.special import erf


def _tokens(point, rng, count):
    """Tokens (count, L, d) with the informative one first, and the labels; k* and v* are the first two axes."""
    d, length, gamma = int(point["d"]), int(point["L"]), point["gamma"]
    tokens = rng.standard_normal((count, length, d))
    tokens[:, 0] *= gamma
    labels = tokens[:, 0, 1] + point.get("eps", 0.0) * rng.standard_normal(count)
    tokens[:, 0, 0] += np.sqrt(d / 2)
    return tokens, labels


def _vectors(point):
    """Unit vectors k and v with the inner products asked for; absent ones are those of the oracle."""
    d = int(point["d"])
    kappa, nu = point.get("kappa", 1.0), point.get("nu", 1.0)
    theta, eta, rho = (point.get(name, 0.0) for name in ("theta", "eta", "rho"))
    key, value = np.zeros(max(d, 4)), np.zeros(max(d, 4))
    key[:2] = kappa, eta
    key[2] = np.sqrt(max(0.0, 1 - kappa**2 - eta**2))
    value[:2] = theta, nu
    value[2] = (rho - kappa * theta - eta * nu) / key[2] if key[2] > 0 else 0.0
    value[3] = np.sqrt(max(0.0, 1 - theta**2 - nu**2 - value[2] ** 2))
    if np.any(np.abs(np.concatenate([key[d:], value[d:]])) > 1e-9):
        raise ValueError(f"these inner products need more than d = {d} dimensions")
    return key[:d], value[:d]


def attention_risk(point, rng, count):
    """Squared error of sum_l erf(lam X_l.k) X_l.v, and the same above the label noise."""
    tokens, labels = _tokens(point, rng, count)
    key, value = _vectors(point)
    answer = np.sum(erf(point["lam"] * (tokens @ key)) * (tokens @ value), axis=1)
    loss = (labels - answer) ** 2
    return {"risk": loss, "excess": loss - point.get("eps", 0.0) ** 2}


def best_linear_risk(point, rng, count):
    """Squared error of least squares fitted on half of the sample and tested on the other half.

    The fit adds about L d / count of the risk; take many more samples than coefficients.
    """
    d = int(point.get("d", 4))
    tokens, labels = _tokens({**point, "d": d}, rng, 2 * count)
    features = tokens.reshape(2 * count, -1)
    weights = np.linalg.lstsq(features[:count], labels[:count], rcond=None)[0]
    loss = (labels[count:] - features[count:] @ weights) ** 2
    return {"risk": loss, "excess": loss - point.get("eps", 0.0) ** 2}
