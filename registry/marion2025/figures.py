"""Figures 3, 4 and 5 of the paper, further descents, and the shares of the attractors."""

from dataclasses import replace

import theorem_engine as te
from theorem_engine import (
    BLACK,
    Arrows,
    Axis,
    Band,
    Contours,
    Curve,
    Dots,
    Panel,
    Source,
    declare_figure,
)
from theorem_engine.registry.marion2025.methods import uniform_inner_products
from theorem_engine.registry.marion2025.notation import PRODUCTS

NAMES = tuple(x.name for x in PRODUCTS)
MODEL = {"gamma": "sqrt(1/2)", "d": 400, "L": 10}
#: The two settings of Figure 3 and the two that belong to the same experiment.
SETTINGS = {
    "schedule": {"lam": 1, "schedule": "0.0001", "alpha": "0.004", "steps": 120_000, "log": 150, "manifold": False},
    "constant": {"lam": "0.1", "schedule": 0, "alpha": "0.004", "steps": 20_000, "log": 50, "manifold": False},
    "manifold": {"lam": "0.1", "schedule": 0, "alpha": "0.004", "steps": 20_000, "log": 200, "manifold": True},
    "large": {"lam": "0.9", "schedule": 0, "alpha": "0.001", "steps": 120_000, "log": 300, "manifold": False},
}
TITLES = {
    "schedule": r"$\lambda_t = 1/(1+10^{-4}t)$, spheres",
    "constant": r"$\lambda = 0.1$, spheres",
    "manifold": r"$\lambda = 0.1$, manifold",
    "large": r"$\lambda = 0.9$, spheres",
}
#: The settings of the paper's figure; the others are drawn apart.
OF_THE_PAPER, OF_OURS = ("schedule", "constant"), ("manifold", "large")


def random_starts(dimension, runs, seed, manifold=False):
    """Inner products of uniform k and v, as columns; on the manifold the three transverse ones are dropped."""
    import numpy as np

    frame = uniform_inner_products(dimension, 2, 2, np.random.default_rng(seed), runs)
    key, value = frame[:, 0], frame[:, 1]
    columns = {"kappa": key[:, 0], "nu": value[:, 1], "theta": value[:, 0], "eta": key[:, 1]}
    columns["rho"] = (key * value).sum(axis=-1)
    if manifold:
        columns.update(dict.fromkeys(("theta", "eta", "rho"), np.zeros(runs)))
    return columns


def with_excess(path, lam, schedule, **model):
    """Excess risk and distance to the manifold along logged paths, at the lambda of each moment."""
    import numpy as np

    clock = path["trajectory_step"].values
    temperatures = np.broadcast_to(float(lam) / (1 + float(schedule) * clock), path["trajectory_kappa"].shape)
    columns = {name: np.clip(path[f"trajectory_{name}"].values, -1, 1).ravel() for name in NAMES}
    points = te.batch("moment", lam=temperatures.ravel(), **columns)
    excess = te.sweep("marion2025.risk", errors=False, along=points, **model)["excess"].values
    path["excess"] = (("run", "trajectory_step"), excess.reshape(temperatures.shape))
    path["distance"] = np.sqrt(sum(path[f"trajectory_{name}"] ** 2 for name in ("theta", "eta", "rho")))
    return path


def descents(names, runs, seed):
    """Logged runs of projected gradient descent in some of the settings, with their excess risk."""
    parts = {}
    for name in names:
        setting = SETTINGS[name]
        law = {key: setting[key] for key in ("lam", "schedule", "alpha", "steps")}
        starts = te.batch("run", **random_starts(MODEL["d"], runs, seed, setting["manifold"]))
        path = te.sweep("marion2025.pgd", errors=False, along=starts, trajectory=setting["log"], **law, **MODEL)
        parts[name] = with_excess(path, law["lam"], law["schedule"], **MODEL)
    return te.side_by_side(parts, shared=("run",))


@declare_figure(
    "marion2025.fig-3",
    title="Projected gradient descent from random starts",
    source=Source("2410.01537", "Figure 3"),
    marks="DV",
    size=(15, 8),
    columns=4,
    least={"runs": 1, "seed": 0},
    settings=(("marion2025.oracle-risk", {**MODEL, "lam": "0.1"}),),
)
def fig_3(runs=30, seed=0):
    """Excess risk, alignments, two trajectories and the distance to the manifold; means and 95 % percentile bands.

    d = 400, L = 10, gamma^2 = 1/2, alpha = 0.004, independent uniform starts on the spheres, marked by dots in the
    third column. Which of the two settings is panel (a) of the paper is a guess. With lam_t = 1/(1 + 1e-4 t) about 95
    runs in 100 reach an oracle, |kappa| = |nu| = 1; the others, and with lam = 0.1 about half of them, end at the
    swapped minimum, where both vanish, whence the means below one. The path of the first setting is
    chaotic in its first thousands of steps: bands and attractors are reproducible, single paths are not.
    """
    return descents(OF_THE_PAPER, runs, seed)


@declare_figure(
    "marion2025.more-descents",
    title="Projected gradient descent in two further settings",
    source=Source("2410.01537", "the experiment of Figure 3", guessed=True),
    marks="DVN",
    size=(15, 8),
    columns=4,
    least={"runs": 1, "seed": 0},
    settings=(("marion2025.oracle-risk", {**MODEL, "lam": "0.9"}),),
)
def more_descents(runs=30, seed=0):
    """Beside Figure 3, with its model (d = 400, L = 10, gamma^2 = 1/2) and bands: two settings of the same experiment.

    Above: starts on the manifold, lam = 0.1, alpha = 0.004; it is invariant, so the distance from it stays zero, and
    the last panel shows how far the alignments are from one. Below: lam = 0.9 from the spheres, alpha = 0.001, above
    the critical lam at which the oracle ceases to be a minimum: runs do not end there, nor on the manifold.
    """
    return descents(OF_OURS, runs, seed)


STEP = Axis("thousands of steps")
EXCESS, DISTANCE = Axis("excess risk", scale="log"), Axis("distance to the manifold", scale="log")
SIDE = {"low": -1.1, "high": 1.1, "ticks": (-1, -0.5, 0, 0.5, 1)}
KAPPA, NU = Axis(r"$\kappa$", **SIDE), Axis(r"$\nu$", **SIDE)


@fig_3.panels
def panels_3(data):
    """One row per setting."""
    return rows_of(data, OF_THE_PAPER)


@more_descents.panels
def panels_more(data):
    """One row per setting."""
    return rows_of(data, OF_OURS)


def rows_of(data, names):
    """A row of panels for each setting, its title over the first."""
    found = []
    for name in names:
        path = {v.removeprefix(f"{name}_"): data[v] for v in data.variables if str(v).startswith(f"{name}_")}
        excess, *others = descent_panels(path)
        found += [replace(excess, title=TITLES[name]), *others]
    return found


def descent_panels(path):
    """Excess risk, alignments, two trajectories and the distance to the manifold along logged runs."""
    clock = path["trajectory_step"] / 1000
    aligned = [
        *over_runs(clock, abs(path["trajectory_kappa"]), 0, r"$|\kappa|$"),
        *over_runs(clock, abs(path["trajectory_nu"]), 1, r"$|\nu|$"),
    ]
    if float(path["distance"].max()) > 0:
        # what is below the rounding of one step is drawn at its size
        away = Panel(over_runs(clock, path["distance"].clip(1e-17), 2, ""), STEP, DISTANCE)
    else:
        left = [(1 - abs(path[f"trajectory_{name}"])).clip(1e-17) for name in ("kappa", "nu")]
        gaps = [
            over_runs(clock, gap, tone, rf"$1-|\{name}|$")
            for tone, (gap, name) in enumerate(zip(left, ("kappa", "nu"), strict=True))
        ]
        away = Panel(
            [mark for marks in gaps for mark in marks], STEP, Axis("distance of alignments from 1", scale="log")
        )
    ways = []
    for run in range(min(2, path["trajectory_kappa"].sizes["run"])):
        x, y = path["trajectory_kappa"][run], path["trajectory_nu"][run]
        ways += [Curve(x, y, tone=run, label=f"run {run + 1}", width=1)]
        ways += [Dots(x[:1], y[:1], tone=BLACK, label="start")]
    return (
        Panel(over_runs(clock, path["excess"], 0, ""), STEP, EXCESS),
        Panel(aligned, STEP, Axis("alignments", low=0, high=1.05)),
        Panel(ways, KAPPA, NU, square=True),
        away,
    )


def over_runs(clock, values, tone, label):
    """Mean over runs and the band between the 2.5 % and 97.5 % percentiles."""
    low, high = values.quantile([0.025, 0.975], dim="run")
    return [Band(clock, low, high, tone=tone), Curve(clock, values.mean("run"), tone=tone, label=label)]


@declare_figure(
    "marion2025.fig-4",
    title="Online stochastic projected gradient descent",
    source=Source("2410.01537", "Figure 4"),
    marks="DVN",
    size=(15, 4),
    columns=4,
    least={"runs": 1, "steps": 1, "seed": 0},
)
def fig_4(runs=30, steps=200_000, seed=0):
    """The exact-in-law chain: d = 80, L = 10, gamma^2 = 1/2, batch 5, eps = 0.1, lam_t = 2/(1 + 1e-4 t), alpha = 1e-3.

    Means over runs from uniform starts and 95 % percentile bands, with the paper's number of steps. The excess is that
    of the population, where the paper measures it on 1,000 fresh samples. Starts are marked by dots.
    """
    model = {"gamma": "sqrt(1/2)", "d": 80, "L": 10}
    law = {"lam": 2, "schedule": "0.0001"}
    starts = te.batch("run", seed=range(seed, seed + runs), **random_starts(model["d"], runs, seed))
    path = te.sweep("marion2025.stochastic-pgd", errors=False, along=starts, trajectory=max(1, steps // 200), eps="0.1",
                    alpha="0.001", batch=5, steps=steps, **law, **model)  # fmt: skip
    return with_excess(path, law["lam"], law["schedule"], **model)


@fig_4.panels
def panels_4(data):
    """Excess, alignments, trajectories, distance."""
    return descent_panels(data)


@declare_figure(
    "marion2025.fig-5",
    title="Fixed points and vector field on the manifold",
    source=Source("2410.01537", "Figure 5"),
    marks="DV",
    size=(11, 5),
    least={"points": 2},
)
def fig_5(lam="0.1", points=25):
    """The five fixed points by kind, and the field -(R_kappa (1 - kappa^2), R_nu (1 - nu^2)) by its magnitude."""
    grid = te.grid(-1, 1, points)
    field = te.sweep("marion2025.risk", errors=False, kappa=grid, nu=grid, theta=0, eta=0, rho=0, lam=lam, **MODEL)
    data = field[["excess"]]
    data["flow_kappa"] = -field["d_kappa"] * (1 - field["kappa"] ** 2)
    data["flow_nu"] = -field["d_nu"] * (1 - field["nu"] ** 2)
    table = te.predict("marion2025.fixed-points", lam=lam, **MODEL).outputs["points"]
    for column in ("kappa", "nu", "kind"):
        data[f"point_{column}"] = ("point", [row[column] for row in table])
    return data


@fig_5.panels
def panels_5(data):
    """Fixed points on the left, the field on the right."""
    heights = data["excess"].transpose("nu", "kappa")
    marks = [Contours(data["kappa"], data["nu"], heights, levels=25)]
    for tone, kind in enumerate(("saddle", "maximum", "minimum")):
        here = data["point_kind"].values == kind
        if here.any():
            places = data["point_kappa"][here], data["point_nu"][here]
            marks.append(Dots(*places, tone=tone, label=kind, size=11))
    flow = [data[name].transpose("nu", "kappa") for name in ("flow_kappa", "flow_nu")]
    return [
        # room above for the legend
        Panel(
            marks,
            KAPPA,
            replace(NU, high=1.65),
            "fixed points, and lines of equal risk",
            legend="upper center",
            square=True,
        ),
        Panel([Arrows(data["kappa"], data["nu"], *flow, "magnitude")], KAPPA, NU, "vector field", square=True),
    ]


@declare_figure(
    "marion2025.swapped", title="Where random starts end (ours)", marks="DVN", size=(7, 4.5),
    least={"runs": 1, "seed": 0, "steps": 1},
)  # fmt: skip
def swapped(runs=200, seed=0, steps=20_000):
    """Share of uniform random starts that end at an oracle or at a swapped minimum, against lam.

    Ours, not the paper's: d = 400, L = 10, gamma^2 = 1/2, constant lam, alpha = 0.004. A run is counted for the nearer
    of the two fixed points when it ends: above lam = 0.2 the way to the oracle stalls with nu = 1 and kappa well below
    one, because its curvature along k is exponentially small. Shares carry their binomial standard error.
    """
    import numpy as np
    import xarray

    temperatures = ["0.02", "0.05", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7"]
    shares = []
    for lam in temperatures:
        starts = te.batch("run", **random_starts(MODEL["d"], runs, seed))
        end = te.sweep("marion2025.pgd", errors=False, along=starts, lam=lam, alpha="0.004", steps=steps, **MODEL)
        theta = te.predict("marion2025.swapped-minimum", lam=lam, **MODEL).value
        # both attractors come in mirror images: compare absolute values
        ends = np.abs(np.stack([end[name].values for name in NAMES], axis=-1))
        kinds = np.array([[1, 1, 0, 0, 0], [0, 0, theta, 1, 0]])
        distances = np.linalg.norm(ends[:, None, :] - kinds, axis=-1)
        nearest = distances.argmin(axis=1)
        shares.append([np.mean(nearest == kind) for kind in range(2)])
    share = np.array(shares)
    return xarray.Dataset(
        {
            "share": (("lam", "attractor"), share),
            "standard_error": (("lam", "attractor"), np.sqrt(share * (1 - share) / runs)),
        },
        coords={"lam": [float(x) for x in temperatures], "attractor": ["oracle", "swapped"]},
        attrs={"provenance": "ours, not in the paper", "runs": runs},
    )


@swapped.panels
def panels_swapped(data):
    """Shares with error bars."""
    marks = []
    for tone, kind in enumerate(data["attractor"].values):
        here = data.sel(attractor=kind)
        marks.append(Curve(data["lam"], here["share"], tone=tone))
        marks.append(Dots(data["lam"], here["share"], here["standard_error"], tone=tone, label=str(kind)))
    share = Axis("share of random starts", low=-0.03, high=1.03)
    return [Panel(marks, Axis(r"$\lambda$"), share, legend="center right")]
