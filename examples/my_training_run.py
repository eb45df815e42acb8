"""Does my training run follow the theorem? A small attention layer is trained with NumPy, then compared and fitted.

The layer is sum_l erf(lam x_l.k) x_l.v on sequences of L Gaussian tokens, one of which carries the label. It starts
near the right directions and is measured at several temperatures. The theorem gives its risk: we ask whether what was
measured agrees, and then leave the noise of the informative token free, as if we did not know it.

A marimo notebook: ``marimo edit examples/my_training_run.py``, or run it as a script.
"""

import marimo

app = marimo.App()


@app.cell
def simulate():
    import math

    import numpy as np

    d, L, gamma = 16, 4, 0.7

    def sequences(rng, count):
        """Tokens; the hidden one is sqrt(d/2) k* + gamma noise, its projection on v* is the label."""
        tokens = rng.standard_normal((count, L, d))
        hidden = rng.integers(L, size=count)
        rows = np.arange(count)
        tokens[rows, hidden] *= gamma
        label = tokens[rows, hidden, 1].copy()
        tokens[rows, hidden, 0] += math.sqrt(d / 2)
        return tokens, label

    erf = np.vectorize(math.erf, otypes=[float])

    def layer(tokens, k, v, lam):
        return np.sum(erf(lam * (tokens @ k)) * (tokens @ v), axis=1)

    return L, d, gamma, layer, np, sequences


@app.cell
def train(d, layer, np, sequences):
    import math as _math

    def trained(lam, steps=150, rate=0.02, seed=1):
        """Projected gradient descent on fresh batches from a start near the truth."""
        rng = np.random.default_rng(seed)
        k, v = np.eye(d)[0] + 0.05 * rng.standard_normal(d), np.eye(d)[1] + 0.05 * rng.standard_normal(d)
        for step in range(steps):
            k, v = k / np.linalg.norm(k), v / np.linalg.norm(v)
            tokens, label = sequences(rng, 400)
            miss = layer(tokens, k, v, lam) - label
            gates, values = lam * (tokens @ k), tokens @ v
            slope = 2 * lam / _math.sqrt(_math.pi) * np.exp(-(gates**2))
            weights = np.vectorize(_math.erf, otypes=[float])(gates)
            shrink = rate / (1 + step / 30)
            k = k - shrink * np.mean(miss[:, None] * np.einsum("bl,bld->bd", slope * values, tokens), axis=0)
            v = v - shrink * np.mean(miss[:, None] * np.einsum("bl,bld->bd", weights, tokens), axis=0)
        return k / np.linalg.norm(k), v / np.linalg.norm(v)

    lams = [0.3, 0.5, 0.8]
    ends = {lam: trained(lam) for lam in lams}
    for _lam, (_k, _v) in ends.items():
        print(f"trained at lam={_lam}: k.k* = {_k[0]:.4f}, v.v* = {_v[1]:.4f}")
    return ends, lams


@app.cell
def measure(d, ends, gamma, layer, np, sequences):
    import theorem_engine as te

    def measured(number, lam, k, v):
        tokens, label = sequences(np.random.default_rng(100 + number), 20_000)
        losses = (layer(tokens, k, v, lam) - label) ** 2
        # the theorem knows the layer through five inner products
        products = {"kappa": k[0], "nu": v[1], "theta": v[0], "eta": k[1], "rho": k @ v}
        return {"lam": lam, **products, "risk": losses.mean(), "risk_error": losses.std() / np.sqrt(len(losses))}

    points = [measured(number, lam, k, v) for number, (lam, (k, v)) in enumerate(ends.items())]
    rows = {name: [float(point[name]) for point in points] for name in points[0]}
    agreement = te.compare("marion2025.risk", rows, gamma=gamma, d=d, L=4)
    print("\nmeasured against the theorem, nothing fitted:")
    print(agreement)
    return rows, te


@app.cell
def fit(d, gamma, rows, te):
    found = te.fit("marion2025.risk", rows, free="gamma", d=d, L=4)
    print("\nand with the noise of the informative token left free:")
    print(found)
    print(f"the truth is gamma = {gamma}")
    return


if __name__ == "__main__":
    app.run()
