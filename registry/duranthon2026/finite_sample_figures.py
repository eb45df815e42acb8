"""Figure 3 of the paper, and the branches of the Bayes-optimal learner around its hard phase (ours)."""

import theorem_engine as te
from theorem_engine import BLACK, Axis, Curve, Dots, Level, Panel, Source, declare_figure

TUNED, LEARNER, LIMIT = "duranthon2026.erm-tuned", "duranthon2026.bayes-learner", "duranthon2026.large-sample-limit"
CURVE, HARD = "duranthon2026.learning-curve", "duranthon2026.hard-phase"
ERM = "duranthon2026.erm-risk"
TOKENS = 3
#: Seeds that one seed of the figure stands for, so that each training has its own.
STRIDE = 100
#: Panels: label, task, strength of the signal.
PANELS = (("spiked, nu = 1", "spiked", 1), ("spiked, nu = 2", "spiked", 2), ("max, nu = oo", "max", "inf"))
#: Panels as titles.
TITLES = {"spiked, nu = 1": r"spiked task, $\nu = 1$", "spiked, nu = 2": r"spiked task, $\nu = 2$",
          "max, nu = oo": r"max task, $\nu = \infty$"}  # fmt: skip
ACTIVATIONS = ("softmax", "linear")


def executor(label, count, folder, jobs):
    """Worker processes with a progress bar; finished points are kept in the folder, if one is named."""
    from theorem_engine.sweeping.executors import default_executor
    from theorem_engine.sweeping.resumed import Resumed

    inner = default_executor(jobs, count, label, None)
    return Resumed(f"{folder}/{label}.jsonl", inner) if folder else inner


def swept(entry, points, label, folder, jobs):
    """An entry at listed points, as a mapping of outputs to lists."""
    columns = {name: [point[name] for point in points] for name in points[0]}
    chosen = executor(label, len(points), folder, jobs)
    return te.sweep(entry, errors=False, along=te.batch("point", **columns), L=TOKENS, executor=chosen)


def trained(point):
    """Mean and standard error of the risk of minimisers found by L-BFGS from an informed start."""
    found = te.simulate(ERM, **point)
    return [found["risk"], found.errors["risk"]]


@declare_figure(
    "duranthon2026.fig-3",
    title="Test risk of tuned attention against the number of samples",
    source=Source("2509.21936", "Figure 3"),
    marks="DV",
    size=(13, 4.5),
    least={"runs": 2, "size": 20, "seed": 0, "jobs": 1},
)
def fig_3(runs=4, size=400, seed=0, jobs=2, folder=""):
    """Test risk against alpha at L = 3 with tuned ridge strengths: theory, simulations, the Bayes-optimal learner.

    Lines: replica theory; dots: minimisers found by L-BFGS at sqrt(N D) = size (the paper's is 10^4) with the same
    strengths, two standard errors; black: Bayes-optimal learner; dashed: many samples. Where proximal points jump (max
    task, softmax, alpha = 2) theory is approximate, and descent from an informed start finds lower risks.
    Finished points are kept in ``folder``, so that a run that was stopped goes on.
    """
    import numpy as np
    import xarray

    alphas = (1, 2, 4, 8, 16)
    settings = [(task, nu, activation) for _, task, nu in PANELS for activation in ACTIVATIONS]
    points = [
        {"task": task, "nu": nu, "activation": activation, "alpha": alpha}
        for task, nu, activation in settings
        for alpha in alphas
    ]
    theory = swept(TUNED, points, "fig-3 theory", folder, jobs)
    # without noise v is recovered from alpha = 1 on
    bayes_alphas = (1, "1.001", "1.5", 2, 4, 8, 16)
    bayes = [
        {"task": task, "nu": nu, "alpha": alpha, "branch": "informed"}
        for _, task, nu in PANELS
        for alpha in bayes_alphas
    ]
    learner = swept(LEARNER, bayes, "fig-3 Bayes", folder, jobs)
    strengths = {name: theory[name].values.tolist() for name in ("r_k", "r_v")}
    trainings = [
        {**point, "L": TOKENS, "size": size, "samples": runs, "seed": STRIDE * seed + i,
         "r_k": strengths["r_k"][i], "r_v": strengths["r_v"][i], "tokens_type": "float32" if size > 3000 else "float64"}
        for i, point in enumerate(points)
    ]  # fmt: skip
    dots = list(executor("fig-3 simulations", len(trainings), folder, jobs).map(trained, trainings))
    limits = [te.predict(LIMIT, task=t, nu=nu, L=TOKENS, activation=activation).value for t, nu, activation in settings]
    shape = (len(PANELS), len(ACTIVATIONS), len(alphas))
    dims = ("panel", "activation", "alpha")
    found = {name: (dims, theory[name].values.reshape(shape)) for name in ("risk", "r_k", "r_v", "jump_fraction")}
    mean, spread = np.array(dots).T.reshape(2, *shape)
    return xarray.Dataset(
        {
            **found,
            "simulated": (dims, mean),
            "spread": (dims, spread),
            "bayes": (("panel", "bayes_alpha"), learner["risk"].values.reshape(len(PANELS), -1)),
            "limit": (("panel", "activation"), np.reshape(limits, shape[:2])),
        },
        coords={
            "panel": [p[0] for p in PANELS],
            "activation": list(ACTIVATIONS),
            "alpha": list(alphas),
            "bayes_alpha": [float(a) for a in bayes_alphas],
        },
        attrs={"size": size, "runs": runs},
    )


@fig_3.panels
def panels_3(data):
    """One panel for each task."""
    alpha = Axis(r"samples per dimension $\alpha = N/D$", "log", ticks=data["alpha"].values)
    found = []
    for panel in data["panel"].values:
        here = data.sel(panel=panel)
        marks = [Curve(data["bayes_alpha"], here["bayes"], tone=BLACK, label="Bayes-optimal learner")]
        for tone, name in enumerate(data["activation"].values):
            one = here.sel(activation=name)
            marks += [
                Curve(data["alpha"], one["risk"], tone=tone, label=f"{name}, theory"),
                Dots(data["alpha"], one["simulated"], 2 * one["spread"], tone=tone, label=f"{name}, trained"),
                Level(float(one["limit"]), tone=tone, label=f"{name}, many samples"),
            ]
        found.append(Panel(marks, alpha, Axis("test risk", low=-0.03, high=1.03), TITLES[str(panel)]))
    return found


@declare_figure(
    "duranthon2026.hard-phase",
    title="Branches of the Bayes-optimal learner around its hard phase (ours)",
    marks="DEN",
    size=(13, 4.5),
    least={"points": 2, "jobs": 1},
)
def hard_phase(points=25, jobs=2, folder=""):
    """Risk of both branches of state evolution against alpha, without noise, L = 3.

    Ours, not the paper's. Uninformed: all fixed points with v not recovered, each at its own alpha; the branch ends at
    its largest alpha, alpha_alg, and bends back as an unstable one. Informed: v recovered, for alpha above one, where
    it is the branch of larger free entropy. Between the thresholds recovery is possible, but not known to be feasible.
    """
    import xarray

    overlaps = [round(float(q), 4) for q in te.grid("0.02", "0.98", points)]
    above = [1 + 0.06 * i for i in range(13)]
    fixed = [{"task": task, "nu": nu, "q_v": q} for _, task, nu in PANELS for q in overlaps]
    curve = swept(CURVE, fixed, "hard-phase curve", folder, jobs)
    known = [
        {"task": task, "nu": nu, "alpha": f"{alpha + 1e-6:.6f}", "branch": "informed"}
        for _, task, nu in PANELS
        for alpha in above
    ]
    informed = swept(LEARNER, known, "hard-phase informed", folder, jobs)
    ends = swept(HARD, [{"task": task, "nu": nu} for _, task, nu in PANELS], "hard-phase ends", folder, jobs)
    size = len(PANELS)
    return xarray.Dataset(
        {
            "alpha_of": (("panel", "overlap"), curve["alpha"].values.reshape(size, -1)),
            "risk_of": (("panel", "overlap"), curve["risk"].values.reshape(size, -1)),
            "informed": (("panel", "alpha"), informed["risk"].values.reshape(size, -1)),
            **{name: ("panel", ends[name].values) for name in ("alpha_it", "alpha_alg", "risk_before", "risk_after")},
        },
        coords={"panel": [p[0] for p in PANELS], "overlap": overlaps, "alpha": above},
        attrs={"provenance": "ours, not in the paper"},
    )


@hard_phase.panels
def panels_hard_phase(data):
    """Stable parts as lines, the unstable one dotted, thresholds as vertical lines."""
    alpha = Axis(r"samples per dimension $\alpha = N/D$", low=0, high=1.8)
    found = []
    for panel in data["panel"].values:
        here = data.sel(panel=panel)
        samples, risk = here["alpha_of"].values, here["risk_of"].values
        top = int(samples.argmax())
        marks = [
            Curve(samples[: top + 1], risk[: top + 1], label="uninformed"),
            Curve(samples[top:], risk[top:], "dotted", label="unstable"),
            Curve(data["alpha"], here["informed"], tone=2, label="informed"),
        ]
        for name, letter, side in (("alpha_it", "IT", "left"), ("alpha_alg", "alg", "right")):
            place = float(here[name])
            words = rf"$\alpha_\mathrm{{{letter}}} = {place:.3g}$"
            marks.append(Level(place, upright=True, tone=BLACK, words=words, side=side))
        found.append(Panel(marks, alpha, Axis("risk", low=0, high=1.03), TITLES[str(panel)], legend="lower left"))
    return found
