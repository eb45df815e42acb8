"""Figures 3, 4 and 5 of the paper, and the shares of the attractors."""

import theorem_engine as te
from theorem_engine import Source, declare_figure
from theorem_engine.registry.marion2025.methods import uniform_inner_products
from theorem_engine.registry.marion2025.notation import PRODUCTS

NAMES = tuple(x.name for x in PRODUCTS)
MODEL = {"gamma": "sqrt(1/2)", "d": 400, "L": 10}
#: The two settings of Figure 3 and the two that belong to the same experiment.
SETTINGS = {
    "schedule": {"lam": 1, "schedule": "0.0001", "alpha": "0.004", "steps": 120_000, "log": 300, "manifold": False},
    "constant": {"lam": "0.1", "schedule": 0, "alpha": "0.004", "steps": 20_000, "log": 200, "manifold": False},
    "manifold": {"lam": "0.1", "schedule": 0, "alpha": "0.004", "steps": 20_000, "log": 200, "manifold": True},
    "large": {"lam": "0.9", "schedule": 0, "alpha": "0.001", "steps": 120_000, "log": 300, "manifold": False},
}
TITLES = {
    "schedule": r"$\lambda_t = 1/(1+10^{-4}t)$, spheres",
    "constant": r"$\lambda = 0.1$, spheres",
    "manifold": r"$\lambda = 0.1$, manifold",
    "large": r"$\lambda = 0.9$, spheres",
}


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


@declare_figure(
    "marion2025.fig-3",
    title="Projected gradient descent from random starts",
    source=Source("2410.01537", "Figure 3"),
    marks="DV",
    size=(14, 12),
    least={"runs": 1, "seed": 0},
    settings=(
        ("marion2025.oracle-risk", {**MODEL, "lam": "0.1"}),
        ("marion2025.oracle-risk", {**MODEL, "lam": "0.9"}),
    ),
)
def fig_3(runs=30, seed=0):
    """Excess risk, alignments, two trajectories and the distance to the manifold, with 95 % percentile bands.

    d = 400, L = 10, gamma^2 = 1/2, independent uniform starts. Which of the first two settings is panel (a) of
    the paper is a guess; the other two belong to the same experiment. The path of the first setting is chaotic in
    its first thousands of steps: bands and attractors are reproducible, single paths are not.
    """
    import xarray

    parts = []
    for name, setting in SETTINGS.items():
        law = {key: setting[key] for key in ("lam", "schedule", "alpha", "steps")}
        starts = te.batch("run", **random_starts(MODEL["d"], runs, seed, setting["manifold"]))
        path = te.sweep("marion2025.pgd", errors=False, along=starts, trajectory=setting["log"], **law, **MODEL)
        path = with_excess(path, law["lam"], law["schedule"], **MODEL)
        renamed = {v: f"{name}_{v}" for v in (*path.data_vars, *path.coords) if v != "run"}
        parts.append(path.rename(renamed))
    return xarray.merge(parts, combine_attrs="override")


@fig_3.drawing
def draw_3(data, figure):
    """One row per setting."""
    axes = figure.subplots(len(SETTINGS), 4)
    for row, name in zip(axes, SETTINGS, strict=True):
        clock = data[f"{name}_trajectory_step"]
        _band(row[0], clock, data[f"{name}_excess"], "C0", "excess risk")
        row[0].set(yscale="log", ylabel=TITLES[name])
        _band(row[1], clock, abs(data[f"{name}_trajectory_kappa"]), "C0", r"$|\kappa|$")
        _band(row[1], clock, abs(data[f"{name}_trajectory_nu"]), "C1", r"$|\nu|$")
        row[1].legend(loc="lower right")
        for run in (0, 1):
            x, y = data[f"{name}_trajectory_kappa"][run], data[f"{name}_trajectory_nu"][run]
            row[2].plot(x, y, color=f"C{run}", lw=1)
            row[2].plot(x[0], y[0], "o", color=f"C{run}", ms=4)
        row[2].set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
        if float(data[f"{name}_distance"].max()) > 0:
            _band(row[3], clock, data[f"{name}_distance"].clip(1e-17), "C2", "distance")
            row[3].set(yscale="log")
        else:
            row[3].text(0.5, 0.5, "zero: the manifold is invariant", ha="center", transform=row[3].transAxes)
    for axis, title in zip(axes[0], ("excess risk", "alignments", r"$(\kappa, \nu)$", "distance to the manifold"),
                           strict=True):  # fmt: skip
        axis.set_title(title)
    for axis in axes[-1][[0, 1, 3]]:
        axis.set_xlabel("step")


def _band(axis, clock, values, color, label):
    """Mean over runs and the band between the 2.5 % and 97.5 % percentiles."""
    low, high = values.quantile([0.025, 0.975], dim="run")
    axis.fill_between(clock, low, high, color=color, alpha=0.25, lw=0)
    axis.plot(clock, values.mean("run"), color=color, label=label)


@declare_figure(
    "marion2025.fig-4",
    title="Online stochastic projected gradient descent",
    source=Source("2410.01537", "Figure 4"),
    marks="DVN",
    size=(13, 4),
    least={"runs": 1, "steps": 1, "seed": 0},
)
def fig_4(runs=30, steps=20_000, seed=0):
    """The exact-in-law chain at d = 80, L = 10, batch 5, label noise 0.1, lam_t = 2/(1 + 1e-4 t), alpha = 1e-3.

    The paper runs 200,000 steps (pass steps=200000, about a minute). The excess is that of the population, where the
    paper measures it on 1,000 fresh samples.
    """
    model = {"gamma": "sqrt(1/2)", "d": 80, "L": 10}
    law = {"lam": 2, "schedule": "0.0001"}
    starts = te.batch("run", seed=range(seed, seed + runs), **random_starts(model["d"], runs, seed))
    path = te.sweep("marion2025.stochastic-pgd", errors=False, along=starts, trajectory=max(1, steps // 200), eps="0.1",
                    alpha="0.001", batch=5, steps=steps, **law, **model)  # fmt: skip
    return with_excess(path, law["lam"], law["schedule"], **model)


@fig_4.drawing
def draw_4(data, figure):
    """Excess, alignments, distance."""
    left, middle, right = figure.subplots(1, 3)
    clock = data["trajectory_step"]
    _band(left, clock, data["excess"], "C0", "excess risk")
    left.set(yscale="log", title="excess risk", xlabel="step")
    _band(middle, clock, abs(data["trajectory_kappa"]), "C0", r"$|\kappa|$")
    _band(middle, clock, abs(data["trajectory_nu"]), "C1", r"$|\nu|$")
    middle.set(title="alignments", xlabel="step")
    middle.legend()
    _band(right, clock, data["distance"], "C2", "distance")
    right.set(yscale="log", title="distance to the manifold", xlabel="step")


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


@fig_5.drawing
def draw_5(data, figure):
    """Fixed points on the left, the field on the right."""
    left, right = figure.subplots(1, 2)
    colours = {"minimum": "C2", "maximum": "C3", "saddle": "C1"}
    left.contour(data["kappa"], data["nu"], data["excess"].T, levels=25, cmap="Greys", linewidths=0.6)
    for x, y, kind in zip(data["point_kappa"].values, data["point_nu"].values, data["point_kind"].values, strict=True):
        left.plot(x, y, "o", ms=11, color=colours[str(kind)], clip_on=False, label=str(kind))
    handles, labels = left.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    left.legend(unique.values(), unique.keys(), loc="center left", framealpha=1)
    u, v = data["flow_kappa"].T.values, data["flow_nu"].T.values
    size = (u**2 + v**2) ** 0.5
    arrows = right.quiver(data["kappa"], data["nu"], u / (size + 1e-12), v / (size + 1e-12), size, cmap="viridis")
    figure.colorbar(arrows, ax=right, label="magnitude")
    for axis, title in ((left, "fixed points"), (right, "vector field")):
        axis.set(xlabel=r"$\kappa$", ylabel=r"$\nu$", title=title, aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))


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


@swapped.drawing
def draw_swapped(data, figure):
    """Shares with error bars."""
    axis = figure.subplots()
    for kind in data["attractor"].values:
        here = data.sel(attractor=kind)
        axis.errorbar(data["lam"], here["share"], here["standard_error"], marker="o", capsize=3, label=str(kind))
    axis.set(xlabel=r"$\lambda$", ylabel="share of random starts", ylim=(-0.03, 1.03), title="ours: d = 400, L = 10")
    axis.legend()
