"""Figures 2, 4 and 5 of the paper, and risks against the length of the sequences."""

import theorem_engine as te
from theorem_engine import Source, declare_figure

WORK = "2509.21936"
MINIMAL, BAYES = "duranthon2026.minimal-risk", "duranthon2026.bayes-risk"
TASKS = ("spiked", "max")
#: The four activations of Figure 2; softmax lies on the Bayes risk.
RIVALS = ("softmax", "linear", "erf", "softplus")
ALL = (*RIVALS, "centred-linear", "element-wise-optimal")
LENGTHS = {"two": 2, "random": "uniform(1,3)"}
COLORS = dict(zip(ALL, ("C0", "C1", "C2", "C3", "C4", "C5"), strict=True))


def minimal_risks(axis, places, activations, **fixed):
    """Minimal risk of each activation along one axis."""
    import xarray

    found = {
        name: (
            (axis,),
            te.sweep(MINIMAL, errors=False, activation=name, **{axis: list(places)}, **fixed)["risk"].values,
        )
        for name in activations
    }
    return xarray.Dataset(found, coords={axis: list(places)})


def in_panels(parts):
    """Datasets side by side, their variables and axes prefixed by the name of the panel."""
    import xarray

    renamed = [part.rename({v: f"{name}_{v}" for v in part.variables}) for name, part in parts.items()]
    return xarray.merge(renamed, combine_attrs="drop")


@declare_figure(
    "duranthon2026.fig-2",
    title="Minimal population risk of four activations",
    source=Source(WORK, "Figure 2"),
    marks="DVG",
    size=(11, 8),
    settings=(
        (BAYES, {"task": "spiked", "nu": 2, "L": 2}),
        (BAYES, {"task": "max", "nu": 2, "L": "uniform(1,3)"}),
        (MINIMAL, {"task": "spiked", "nu": 2, "L": "uniform(1,3)", "activation": "linear"}),
        (MINIMAL, {"task": "max", "nu": 2, "L": 2, "activation": "softplus"}),
    ),
    least={"count": 2},
)
def fig_2(count=9):
    """Softmax, linear, erf and softplus attention against the Bayes risk, for L = 2 and L uniform on {1, 2, 3}.

    Spiked task above, max task below. Softmax attains the Bayes risk. The axes are ours: the paper's are not known.
    """
    import numpy as np

    parts = {}
    for task, top in zip(TASKS, (8, 5), strict=True):
        signals = [float(f"{x:.4g}") for x in np.linspace(0, top, count)]
        for name, length in LENGTHS.items():
            part = minimal_risks("nu", signals, RIVALS, task=task, L=length)
            part["bayes"] = (("nu",), te.sweep(BAYES, errors=False, task=task, L=length, nu=signals)["risk"].values)
            parts[f"{task}_{name}"] = part
    return in_panels(parts)


@fig_2.drawing
def draw_2(data, figure):
    """One panel per task and length."""
    for row, task in zip(figure.subplots(2, 2), TASKS, strict=True):
        for axes, (name, length) in zip(row, LENGTHS.items(), strict=True):
            panel = f"{task}_{name}"
            across = data[f"{panel}_nu"]
            axes.plot(across, data[f"{panel}_bayes"], color="k", lw=3, alpha=0.35, label="Bayes")
            for rival in RIVALS:
                axes.plot(across, data[f"{panel}_{rival}"], color=COLORS[rival], label=rival)
            axes.set(xlabel=r"$\nu$", ylabel="minimal risk", title=f"{task}, L = {length}", ylim=(0, None))
    figure.axes[0].legend()


def noisy_starts(runs, seed, noise, matched):
    """Order parameters of k and v = noise times four standard normals each, around the matched point or zero."""
    import numpy as np

    vectors = noise * np.random.default_rng(seed).normal(size=(runs, 2, 4))
    key, value = vectors[:, 0], vectors[:, 1]
    key[:, 0] += matched[0]
    value[:, 1] += matched[1]
    return {
        "m_kk": key[:, 0], "m_kv": key[:, 1], "m_vk": value[:, 0], "m_vv": value[:, 1],
        "q_kk": (key**2).sum(axis=1), "q_vv": (value**2).sum(axis=1), "q_kv": (key * value).sum(axis=1),
    }  # fmt: skip


@declare_figure(
    "duranthon2026.fig-4",
    title="Order parameters after gradient flow",
    source=Source(WORK, "Figure 4"),
    marks="DVG",
    size=(12, 6),
    least={"runs": 1, "L": 1, "seed": 0, "jobs": 1},
)
def fig_4(runs=20, time="100", L=3, seed=0, noise=0.1, jobs=2):
    """Softmax, spiked task: overlaps and residuals at the end of the flow, mean and range over independent runs.

    Starts are small, k and v = 0.1 times a standard normal vector in four dimensions, of which two are along k* and
    v*. That this is the paper's protocol is a guess. Everything but m_kk, m_vv, q_kk and q_vv dies out. m_kk is the
    last to converge and m_vv waits for it, the longer the stronger the signal: at time 100 m_vv is within 4e-4 of 1 at
    nu = 2, and still at 1.005 at nu = 4. About a minute on two cores.
    """
    starts = te.batch("run", **noisy_starts(runs, seed, noise, (0, 0)))
    flow = {"task": "spiked", "activation": "softmax", "nu": ["1/2", 1, 2], "L": L, "time": time}
    data = te.sweep("duranthon2026.gradient-flow", errors=False, **flow, along=starts, jobs=jobs)
    data["R_kk"] = data["q_kk"] - data["m_kk"] ** 2 - data["m_kv"] ** 2
    data["R_vv"] = data["q_vv"] - data["m_vv"] ** 2 - data["m_vk"] ** 2
    data["R_kv"] = data["q_kv"] - data["m_kk"] * data["m_vk"] - data["m_kv"] * data["m_vv"]
    return data


@fig_4.drawing
def draw_4(data, figure):
    """Six small panels: mean with bars from the smallest to the largest run; what dies out on one scale."""
    names = {"m_kv": "$m_{kv}$", "m_vk": "$m_{vk}$", "m_vv": "$m_{vv}$", "R_kk": "$R_{kk}$", "R_kv": "$R_{kv}$",
             "R_vv": "$R_{vv}$"}  # fmt: skip
    for axes, (name, label) in zip(figure.subplots(2, 3).ravel(), names.items(), strict=True):
        values = data[name]
        middle = values.mean("run")
        axes.errorbar(data["nu"], middle, [middle - values.min("run"), values.max("run") - middle], fmt="o", capsize=4)
        axes.set(xlabel=r"$\nu$", title=label, xticks=data["nu"])
        axes.axhline(1 if name == "m_vv" else 0, color="k", lw=0.5)
        if name == "m_vv":
            axes.set(ylim=(0.9, 1.1))
        else:
            # rounding errors of the residuals lie on the linear part
            axes.set_yscale("symlog", linthresh=1e-13, linscale=2)
            axes.set(ylim=(-1, 1), yticks=[-1, -1e-4, -1e-8, -1e-12, 0, 1e-12, 1e-8, 1e-4, 1])


@declare_figure(
    "duranthon2026.fig-5",
    title="Well-matched and mismatched minima",
    source=Source(WORK, "Figure 5"),
    marks="DVG",
    size=(11, 4.5),
    least={"L": 1},
)
def fig_5(L=10):
    """Risk of the well-matched minimum of four activations against nu, and of the mismatched one; L = 10, both tasks.

    A mismatched minimum is known for softmax and, at weak signals of the spiked task, for softplus; where it does
    not exist there is no mark. The dotted line is uniform attention, 1 - 1/L.
    """
    import numpy as np

    signals = {"spiked": [1.0, 2.0, 3.5, 5.0, 7.0, 10.0], "max": [1.0, 2.0, 3.5, 5.0]}
    parts = {}
    for task, places in signals.items():
        part = minimal_risks("nu", places, RIVALS, task=task, L=L)
        for name, reached in {"softmax": places, "softplus": [1.0, 2.0] if task == "spiked" else []}.items():
            risks = np.full(len(places), np.nan)
            if reached:
                wrong = te.sweep(
                    "duranthon2026.mismatched-minimum", errors=False, task=task, activation=name, L=L, nu=reached
                )
                here = wrong["exists"].values.astype(bool)
                risks[: len(reached)] = np.where(here, wrong["risk"].values, np.nan)
            part[f"mismatched_{name}"] = (("nu",), risks)
        parts[task] = part
    return in_panels(parts).assign_attrs(uniform=1 - 1 / L)


@fig_5.drawing
def draw_5(data, figure):
    """A panel for each task."""
    for axes, task in zip(figure.subplots(1, 2, sharey=True), TASKS, strict=True):
        across = data[f"{task}_nu"]
        for name in RIVALS:
            axes.plot(across, data[f"{task}_{name}"], color=COLORS[name], label=f"{name}, matched")
            wrong = f"{task}_mismatched_{name}"
            if wrong in data and bool(data[wrong].notnull().any()):
                axes.plot(across, data[wrong], color=COLORS[name], ls="--", marker="s", label=f"{name}, mismatched")
        axes.axhline(data.attrs["uniform"], color="k", ls=":", label="uniform weights")
        axes.set(xlabel=r"$\nu$", ylabel="risk", title=f"{task} task", ylim=(0, 1))
    figure.axes[0].legend()


@declare_figure(
    "duranthon2026.length",
    title="Risk against the length of sequences",
    marks="DV",
    size=(12, 5),
    least={"longest": 1},
)
def length(nu="5", longest=10**6):
    """Minimal risk of every activation against L from 1 to a million, both tasks, at one signal strength.

    Linear weights need a signal of the order of L, softmax one of the order of log L (spiked) or sqrt(log L) (max).
    """
    places = [n for k in range(7) for n in (10**k, 3 * 10**k) if n <= longest]
    return in_panels({task: minimal_risks("L", places, ALL, task=task, nu=nu) for task in TASKS})


@length.drawing
def draw_length(data, figure):
    """A panel for each task; the gap to one tells the rivals apart where all risks are near one."""
    for column, task in zip(figure.subplots(2, 2, sharex=True).T, TASKS, strict=True):
        across = data[f"{task}_L"]
        for name in ALL:
            risk = data[f"{task}_{name}"]
            # erf comes close to the bound of all element-wise weights, which is drawn above it
            style = {"color": COLORS[name], "marker": ".", "ls": "--" if name == "element-wise-optimal" else "-"}
            column[0].plot(across, risk, label=name, **style)
            column[1].plot(across, 1 - risk, **style)
        column[0].set(xscale="log", ylabel="minimal risk", title=f"{task} task")
        column[1].set(xscale="log", yscale="log", xlabel="L", ylabel="1 - risk")
    figure.axes[0].legend()
