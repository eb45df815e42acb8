"""Four pictures that everybody knows: double descent, the transition of a spike, sparse recovery, learning curves.

None is a paper's own; dots are simulations at one size, which no curve has seen.
"""

import theorem_engine as te
from theorem_engine import BLACK, Axis, Band, Curve, Dots, Level, Panel, declare_figure

RIDGE, MATRIX, SPINS = "classics.ridge-risk", "classics.bbp", "classics.spiked-wigner"
LASSO, RECOVERY = "classics.lasso", "classics.l1-transition"
BAYES, LOGISTIC = "classics.sign-perceptron-bayes", "classics.logistic-ridge"
#: Seeds of simulated dots are this far apart.
STRIDE = 1000
DATA = {"r2": 1, "s2": "0.25"}
PENALTIES = ("0.001", "0.05", "0.5")
RATIOS = ("0.1", "0.5", "1")
FEW = ("0.2", "0.5", "0.8")


def simulated(name, output, points, runs, seed, size):
    """Means of what a simulator draws at points, and their standard errors."""
    from theorem_engine.checking.simulated import simulate_with

    places = [{**{k: float(v) for k, v in point.items()}, "size": size} for point in points]
    found = [simulate_with(name, place, samples=runs, seed=STRIDE * seed + i)[output] for i, place in enumerate(places)]
    return [one.value for one in found], [one.error for one in found]


def powers(low, high, points):
    """Places that are evenly spaced on a logarithmic scale, three digits each."""
    step = (high / low) ** (1 / (points - 1))
    return [float(f"{low * step**i:.3g}") for i in range(points)]


@declare_figure(
    "classics.double-descent",
    title="Double descent of ridge regression (ours)",
    settings=tuple((RIDGE, {"g": "1.5", "lam": lam, **DATA}) for lam in PENALTIES),
    least={"points": 3, "runs": 2, "seed": 0},
)
def double_descent(points=81, runs=20, seed=0):
    """Risk of ridge regression against dimension over samples, without the noise of a test label; r2 = 1, s2 = 1/4.

    With little penalty the risk has a peak where there are as many coefficients as samples, and falls again beyond;
    with the best one it only rises, towards the risk of knowing nothing. Dots: simulations, the
    larger of both numbers near 200.
    """
    import xarray

    places = powers(0.1, 10, points)
    found = {lam: ("g", te.sweep(RIDGE, errors=False, g=places, lam=lam, **DATA)["risk"].values) for lam in PENALTIES}
    best = [s * float(DATA["s2"]) for s in places]
    found["best"] = (
        "g",
        te.sweep(RIDGE, errors=False, along=te.batch("place", g=places, lam=best), **DATA)["risk"].values,
    )
    dots = [0.2, 0.5, 0.8, 1.25, 2, 5]
    for lam in PENALTIES[:2]:
        mean, error = simulated(
            "classics_regressions.ridge_risk", "risk", [{"g": g, "lam": lam, **DATA} for g in dots], runs, seed, 200
        )
        found |= {f"mean_{lam}": ("dot", mean), f"error_{lam}": ("dot", error)}
    return xarray.Dataset(found, coords={"g": places, "dot": dots})


@double_descent.panels
def panels_double_descent(data):
    """One panel, both axes logarithmic."""
    marks = [
        Curve(data["g"], data[lam], dash, tone=tone, label=rf"$\lambda = {lam}$")
        for tone, (lam, dash) in enumerate(zip(PENALTIES, ("solid", "dashed", "dotted"), strict=True))
    ]
    marks.append(Curve(data["g"], data["best"], "dash-dot", tone=3, label=r"best $\lambda$"))
    for tone, lam in enumerate(PENALTIES[:2]):
        error = 2 * data[f"error_{lam}"]
        marks.append(Dots(data["dot"], data[f"mean_{lam}"], error, tone=tone, label=rf"$\lambda = {lam}$, simulated"))
    marks.append(Level(1, tone=BLACK, words="nothing learned"))
    return [Panel(marks, Axis("dimension over samples, p/n", "log"), Axis("risk", "log"))]


@declare_figure(
    "classics.bbp-transition",
    title="Transition of a spike in a random matrix (ours)",
    size=(14, 4.5),
    settings=((MATRIX, {"g": "0.5", "spike": 3}), (SPINS, {"snr": 2})),
    least={"points": 3, "runs": 2, "seed": 0},
)
def bbp_transition(points=81, runs=20, seed=0):
    """Largest eigenvalue of a sample covariance matrix, its eigenvector, and the best estimate beside the spectral one.

    Left and middle: one population eigenvalue differs from one; up to 1 + sqrt(g), where the dots of 2000 samples leave
    the edge, it is not seen. Right: signs hidden in a noisy matrix; squared cosine of the top eigenvector and overlap
    of the posterior, which have the same threshold.
    """
    import xarray

    spikes, strengths = te.grid(1, 4, points), te.grid(0, 5, points)
    parts = {}
    for g in RATIOS:
        found = te.sweep(MATRIX, errors=False, g=g, spike=spikes)
        parts |= {f"{name}_{g}": ("spike", found[name].values) for name in ("eigenvalue", "overlap")}
    dots = [1.2, 1.6, 2, 2.5, 3.5]
    points_of = [{"g": "0.5", "spike": s} for s in dots]
    for name in ("eigenvalue", "overlap"):
        mean, error = simulated("classics_spectra.top_eigenpair", name, points_of, runs, seed, 2000)
        parts |= {f"mean_{name}": ("dot", mean), f"error_{name}": ("dot", error)}
    parts["q"] = ("snr", te.sweep(SPINS, errors=False, snr=strengths)["q"].values)
    parts["spectral"] = ("snr", [max(0.0, 1 - 1 / float(s)) if s else 0.0 for s in strengths])
    where = {"spike": [float(s) for s in spikes], "snr": [float(s) for s in strengths], "dot": dots}
    return xarray.Dataset(parts, coords=where)


@bbp_transition.panels
def panels_bbp_transition(data):
    """Eigenvalue, overlap, and the best estimate."""
    spike, found = Axis(r"population eigenvalue $\ell$"), []
    for name, words in (("eigenvalue", "largest eigenvalue"), ("overlap", "squared cosine")):
        marks = [Curve(data["spike"], data[f"{name}_{g}"], dash, tone=tone, label=f"g = {g}")
                 for tone, (g, dash) in enumerate(zip(RATIOS, ("dashed", "solid", "dotted"), strict=True))]  # fmt: skip
        marks.append(Dots(data["dot"], data[f"mean_{name}"], 2 * data[f"error_{name}"], tone=1, label="simulated"))
        marks.append(Level(1 + 0.5**0.5, upright=True, tone=1, words=r"$1 + \sqrt{g}$"))
        found.append(Panel(marks, spike, Axis(words), legend="upper left"))
    estimates = [
        Curve(data["snr"], data["q"], label="posterior"),
        Curve(data["snr"], data["spectral"], "dashed", tone=1, label="top eigenvector"),
        Level(1, upright=True, tone=BLACK),
    ]
    axis = Axis("signal-to-noise ratio", low=0, high=5)
    return [*found, Panel(estimates, axis, Axis("overlap", low=0, high=1), legend="lower right")]


@declare_figure(
    "classics.sparse-recovery",
    title="Phase diagram of the lasso (ours)",
    size=(11, 5),
    settings=((RECOVERY, {"delta": "0.5"}), (LASSO, {"delta": "0.5", "rho": "0.1", "s2": "0.01", "theta": "1.5"})),
    least={"points": 3, "runs": 2, "seed": 0},
)
def sparse_recovery(points=49, runs=8, seed=0):
    """Where few equations determine a sparse signal, and what a little noise does around there.

    Left: below the line minimising the absolute sum recovers the signal without error, above it fails; dots: distances
    of Gaussian vectors from a cone in 2000 dimensions. Right: squared error of the lasso over the variance of the
    noise (one millionth, at the threshold that is best where recovery ends, upright lines) against nonzeros over
    equations.
    """
    import xarray

    deltas, shares = te.grid("0.02", "0.98", points), [float(s) for s in te.grid("0.01", "0.95", points)]
    dots = [0.1, 0.3, 0.5, 0.7, 0.9]
    mean, error = simulated(
        "classics_sparse.statistical_dimension", "rho", [{"delta": d} for d in dots], runs, seed, 2000
    )
    parts = {"rho": ("delta", te.sweep(RECOVERY, errors=False, delta=deltas)["rho"].values),
             "mean": ("dot", mean), "error": ("dot", error)}  # fmt: skip
    for delta in FEW:
        end = te.predict(RECOVERY, delta=delta)
        rho = [share * float(delta) for share in shares]
        found = te.sweep(LASSO, errors=False, delta=delta, theta=float(end["z"]), rho=rho, s2="1/1000000")
        parts |= {f"noise_{delta}": ("share", 1e6 * found["mse"].values), f"end_{delta}": float(end["rho"])}
    return xarray.Dataset(parts, coords={"delta": [float(d) for d in deltas], "share": shares, "dot": dots})


@sparse_recovery.panels
def panels_sparse_recovery(data):
    """The line, and the lasso's error across it."""
    unit = {"low": 0, "high": 1}
    line = [
        Band(data["delta"], 0 * data["rho"], data["rho"], label="recovered"),
        Curve(data["delta"], data["rho"], tone=BLACK, label="recovery ends"),
        Dots(data["dot"], data["mean"], 2 * data["error"], tone=BLACK, label="simulated"),
    ]
    marks = []
    for tone, (delta, dash) in enumerate(zip(FEW, ("solid", "dashed", "dotted"), strict=True)):
        marks.append(Curve(data["share"], data[f"noise_{delta}"], dash, tone=tone, label=f"n/N = {delta}"))
        marks.append(Level(float(data[f"end_{delta}"]), upright=True, tone=tone, dash=dash))
    equations, nonzeros = Axis("equations over unknowns, n/N", **unit), Axis("nonzeros over equations, k/n", **unit)
    return [
        Panel(line, equations, nonzeros, legend="upper left"),
        Panel(marks, nonzeros, Axis("error over noise", "log"), legend="lower right"),
    ]


@declare_figure(
    "classics.learning-curves",
    title="Learning curves of perceptrons (ours)",
    settings=((BAYES, {"alpha": 2}), (LOGISTIC, {"alpha": "1.5", "lam": "0.3"})),
    least={"points": 3, "runs": 2, "seed": 0},
)
def learning_curves(points=13, runs=16, seed=0):
    """Error on fresh samples against samples over dimension, labels being the signs of a linear teacher.

    Nothing learns faster than the posterior, whose error falls like 0.4417 over that ratio; logistic regression and the
    square loss with a ridge penalty (lam = 0.1) lie above. Dots: logistic regressions that were fitted.
    """
    import xarray

    ratios = powers(0.25, 16, points)
    lines = {"posterior": (BAYES, {}), "logistic": (LOGISTIC, {"lam": "0.1"}),
             "square": (LOGISTIC, {"lam": "0.1", "loss": "square"})}  # fmt: skip
    found = te.curves("alpha", ratios, lines, "test_error")
    dots = [0.5, 2, 8]
    mean, error = simulated(
        "classics_perceptrons.penalised_fit", "test_error", [{"alpha": a, "lam": "0.1"} for a in dots], runs, seed, 200
    )
    return found.merge(xarray.Dataset({"mean": ("dot", mean), "error": ("dot", error)}, coords={"dot": dots}))


@learning_curves.panels
def panels_learning_curves(data):
    """One panel, both axes logarithmic."""
    labels = {"posterior": "posterior", "logistic": "logistic loss", "square": "square loss"}
    marks = [
        Curve(data["alpha"], data[name], dash, tone=tone, label=label)
        for tone, ((name, label), dash) in enumerate(zip(labels.items(), ("solid", "dashed", "dotted"), strict=True))
    ]
    marks.append(Dots(data["dot"], data["mean"], 2 * data["error"], tone=1, label="simulated"))
    late = data["alpha"].values[data["alpha"].values >= 2]
    marks.append(Curve(late, 0.4417 / late, "dash-dot", tone=BLACK, label=r"$0.4417/\alpha$", width=1))
    return [Panel(marks, Axis("samples over dimension, n/d", "log"), Axis("test error", "log"), legend="lower left")]
