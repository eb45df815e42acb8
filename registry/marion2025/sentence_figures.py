"""Figure 1 on our own data: one token matters, and a linear read-out of the attention layer finds its value."""

import theorem_engine as te
from theorem_engine import BLACK, Axis, Curve, Dots, Level, Panel, Source, declare_figure
from theorem_engine.registry.marion2025.methods import probed, synthetic_sentences

#: Sentences of the first panel, and those on which probes are read.
SHOWN, FRESH = 12, 2000
COUNTS = (50, 100, 200, 400, 800, 1600)
RIDGE = 1.0


@declare_figure(
    "marion2025.fig-1",
    title="Token-wise sparsity and linear representation, on synthetic sentences (ours)",
    source=Source("2410.01537", "Figure 1"),
    marks="VN",
    size=(15, 4.6),
    columns=3,
    least={"d": 4, "L": 2, "seed": 0, "repeats": 1},
)
def fig_1(d=80, L=10, seed=0, repeats=6):
    """What Figure 1 of the paper exemplifies on a language model, shown on sentences drawn from the paper's model.

    The data are ours: L tokens with a value each, one of them marked, gamma^2 = 1/2; the answer is the value of the
    marked token. Left: weights erf(lam X.k*) of the layer at the oracle, with the best lam, in 12 sentences. Middle:
    share of signs of the answer that a linear probe (ridge regression) on the output sum_l erf(lam X_l.k*) X_l of the
    layer finds on 2,000 fresh sentences, against one on the mean of the tokens, whose other values drown the one that
    is asked for; mean and range over repeats. Right: what the probe of 1,600 sentences reads, against the answer.
    """
    import numpy as np
    import xarray
    from scipy.special import erf

    gamma = 0.5**0.5
    lam = float(te.predict("marion2025.optimal-lambda", gamma="sqrt(1/2)", d=d, L=L).value)

    def layers(tokens):
        weights = erf(lam * tokens[:, :, 0])
        return weights, np.einsum("nl,nld->nd", weights, tokens), tokens.mean(axis=1)

    share = np.empty((2, len(COUNTS), repeats))
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, repeat])
        tokens, places = synthetic_sentences(d, L, gamma, rng, COUNTS[-1] + FRESH)
        answers = tokens[np.arange(len(places)), places, 1]
        weights, attended, averaged = layers(tokens)
        for i, features in enumerate((attended, averaged)):
            for j, count in enumerate(COUNTS):
                read = probed(features[:count], answers[:count], features[-FRESH:], RIDGE)
                share[i, j, repeat] = np.mean((read > 0) == (answers[-FRESH:] > 0))
        if repeat == 0:
            read = probed(attended[: COUNTS[-1]], answers[: COUNTS[-1]], attended[-FRESH:], RIDGE)
            kept = {"read": ("sentence", read[:300]), "answer": ("sentence", answers[-FRESH:][:300])}
            kept |= {"weight": (("row", "token"), weights[:SHOWN]), "place": ("row", places[:SHOWN])}
    return xarray.Dataset(
        {**kept, "share": (("features", "count", "repeat"), share)},
        coords={"features": ["attention", "mean of tokens"], "count": list(COUNTS)},
        attrs={"provenance": "data of our own, not the paper's", "lam": lam},
    )


@fig_1.panels
def panels_1(data):
    """Weights of tokens, accuracy of probes, what a probe reads."""
    import numpy as np

    weight, place = data["weight"].values, data["place"].values
    rows, length = weight.shape
    where = np.broadcast_to(np.arange(1, length + 1), weight.shape)
    marked = where == place[:, None] + 1
    tokens = [
        Dots(where[~marked], weight[~marked], tone=1, label="other tokens", size=4),
        Dots(where[marked], weight[marked], tone=0, label="marked token", size=9),
    ]
    probes = []
    for tone, name in enumerate(data["features"].values):
        share = data["share"].sel(features=name)
        middle = share.mean("repeat")
        bars = [middle - share.min("repeat"), share.max("repeat") - middle]
        probes += [
            Curve(data["count"], middle, tone=tone),
            Dots(data["count"], middle, bars, tone=tone, label=f"probe on {name}"),
        ]
    probes.append(Level(0.5, dash="dotted", tone=BLACK, label="chance"))
    ends = [float(data["answer"].min()), float(data["answer"].max())]
    reads = [
        Dots(data["answer"], data["read"], tone=0, label="sentences", size=3),
        Curve(ends, ends, "dashed", tone=BLACK, label="equal"),
    ]
    weights = rf"$\mathrm{{erf}}(\lambda X_\ell \cdot k^\star)$, $\lambda = {data.attrs['lam']:.3f}$"
    title = f"token-wise sparsity: {rows} sentences"
    found = Axis("share of signs found", low=0.4, high=1.02)
    return [
        Panel(tokens, Axis(r"position $\ell$"), Axis(weights, high=1.15), title, legend="upper left"),
        Panel(probes, Axis("training sentences", "log"), found, f"linear representation, $L = {length}$ tokens"),
        Panel(reads, Axis(r"answer $X_J \cdot v^\star$"), Axis("what the probe reads"), "probe on fresh sentences"),
    ]
