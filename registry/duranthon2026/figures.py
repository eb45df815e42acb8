"""Figures 2, 4 and 5 of the paper, and risks against the length of the sequences."""

import theorem_engine as te
from theorem_engine import BLACK, Axis, Curve, Dots, Level, Panel, Source, declare_figure

WORK = "2509.21936"
MINIMAL, BAYES = "duranthon2026.minimal-risk", "duranthon2026.bayes-risk"
TASKS = ("spiked", "max")
#: The four activations of Figure 2; softmax lies on the Bayes risk.
RIVALS = ("softmax", "linear", "erf", "softplus")
ALL = (*RIVALS, "centred-linear", "element-wise-optimal")
LENGTHS = {"two": 2, "random": "uniform(1,3)"}
TONES = {name: tone for tone, name in enumerate(ALL)}
NU = Axis(r"$\nu$")


def minimal(activations, **fixed):
    """Curves of the minimal risk, one for each activation."""
    return {name: (MINIMAL, {"activation": name, **fixed}) for name in activations}


@declare_figure(
    "duranthon2026.fig-2",
    title="Minimal population risk of four activations",
    source=Source(WORK, "Figure 2"),
    marks="DVG",
    size=(11, 9),
    columns=2,
    settings=(
        (BAYES, {"task": "spiked", "nu": 2, "L": 2}),
        (BAYES, {"task": "max", "nu": 2, "L": "uniform(1,3)"}),
        (MINIMAL, {"task": "spiked", "nu": 2, "L": "uniform(1,3)", "activation": "linear"}),
        (MINIMAL, {"task": "max", "nu": 2, "L": 2, "activation": "softplus"}),
    ),
    least={"count": 2},
)
def fig_2(count=13):
    """Softmax, linear, erf and softplus attention against the Bayes risk, for L = 2 and L uniform on {1, 2, 3}.

    Spiked task above, max task below. Softmax attains the Bayes risk. The axes are ours: the paper's are not known.
    """
    parts = {}
    for task, top in zip(TASKS, (8, 5), strict=True):
        for name, length in LENGTHS.items():
            lines = {**minimal(RIVALS, task=task, L=length), "bayes": (BAYES, {"task": task, "L": length})}
            parts[f"{task}_{name}"] = te.curves("nu", te.grid(0, top, count), lines, "risk")
    return te.side_by_side(parts)


@fig_2.panels
def panels_2(data):
    """One panel per task and length."""
    found = []
    for task in TASKS:
        for name, length in LENGTHS.items():
            here = {v.removeprefix(f"{task}_{name}_"): data[v] for v in data.variables}
            marks = [Curve(here["nu"], here["bayes"], tone=BLACK, label="Bayes", width=4)]
            # softmax lies on the Bayes risk, which shows on both sides of it
            marks += [Curve(here["nu"], here[r], dots=True, tone=TONES[r], label=r) for r in RIVALS]
            found.append(Panel(marks, NU, Axis("minimal risk", low=0), f"{task} task, $L$ = {length}"))
    return found


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
    size=(12, 7.5),
    columns=3,
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


@fig_4.panels
def panels_4(data):
    """Six small panels: mean with bars from the smallest to the largest run; what dies out on one scale."""
    nu = Axis(r"$\nu$", ticks=data["nu"].values)
    # rounding errors of the residuals lie on the linear part
    small = Axis("", "symmetric", -1, 1, (-1, -1e-4, -1e-8, -1e-12, 0, 1e-12, 1e-8, 1e-4, 1), linear=1e-13)
    found = []
    for name in ("m_kv", "m_vk", "m_vv", "R_kk", "R_kv", "R_vv"):
        values = data[name]
        middle = values.mean("run")
        bars = [middle - values.min("run"), values.max("run") - middle]
        marks = [
            Dots(data["nu"], middle, bars, label="mean and range over runs"),
            Level(1 if name == "m_vv" else 0, dash="solid", tone=BLACK, label="limit of long times"),
        ]
        letter, place = name.split("_")
        found.append(
            Panel(marks, nu, Axis("", low=0.9, high=1.1) if name == "m_vv" else small, f"${letter}_{{{place}}}$")
        )
    return found


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

    The mismatched minimum is that of softmax, of erf with the shift -1 (the matched one has the best shift), and at
    weak signals of the spiked task that of softplus, which moves far out; where it does not exist there is no mark. The
    dotted line is uniform attention, 1 - 1/L.
    """
    import numpy as np

    signals = {"spiked": te.grid(1, 10, 10), "max": te.grid(1, 5, 9)}
    # the softplus minimum is followed up to this signal, in the spiked task only.
    weak = {"softmax": {"spiked": 10, "max": 5}, "erf": {"spiked": 10, "max": 5}, "softplus": {"spiked": 2, "max": 0}}
    parts = {}
    for task, places in signals.items():
        part = te.curves("nu", places, minimal(RIVALS, task=task, L=L), "risk")
        for name, reached in weak.items():
            here = [float(x) for x in places if float(x) <= reached[task]]
            risks = np.full(part.sizes["nu"], np.nan)
            if here:
                shift = {"shift": -1} if name == "erf" else {}
                wrong = te.sweep(
                    "duranthon2026.mismatched-minimum", errors=False, task=task, activation=name, L=L, nu=here, **shift
                )
                exists = wrong["exists"].values.astype(bool)
                risks[: len(here)] = np.where(exists, wrong["risk"].values, np.nan)
            part[f"mismatched_{name}"] = (("nu",), risks)
        parts[task] = part
    return te.side_by_side(parts).assign_attrs(uniform=1 - 1 / L)


@fig_5.panels
def panels_5(data):
    """A panel for each task."""
    found = []
    for task in TASKS:
        marks = []
        for name in RIVALS:
            across = data[f"{task}_nu"]
            marks.append(Curve(across, data[f"{task}_{name}"], tone=TONES[name], label=f"{name}, matched"))
            wrong = f"{task}_mismatched_{name}"
            if wrong in data and bool(data[wrong].notnull().any()):
                marks.append(Curve(across, data[wrong], "dashed", dots=True, tone=TONES[name],
                                   label=f"{name}, mismatched"))  # fmt: skip
        marks.append(Level(data.attrs["uniform"], dash="dotted", tone=BLACK, label="uniform weights"))
        found.append(Panel(marks, NU, Axis("risk", low=0, high=1), f"{task} task"))
    return found


@declare_figure(
    "duranthon2026.mismatched-region-map",
    title="Where the mismatched minimum exists",
    marks="DVE",
    size=(7, 4.5),
    least={"longest": 3},
)
def mismatched_region_map(longest=200):
    """The signal from which on softmax weights have a mismatched minimum, against the length; spiked task. Ours.

    Above the line descent from k near v* and v near k* ends there, below it goes on to the Bayes risk. Short sequences
    lose the minimum at a fold, long ones sideways; at L = 2 there is none.
    """
    places = [n for n in (3, 4, 5, 6, 7, 8, 10, 13, 20, 30, 50, 100, 200, 500, 1000) if n <= longest]
    borders = {"softmax": ("duranthon2026.mismatched-region", {"task": "spiked", "activation": "softmax"})}
    return te.curves("L", places, borders, "nu_low")


@mismatched_region_map.panels
def panels_region(data):
    """One border, and on which side of it the minimum is."""
    lengths = data["L"].values
    across = Axis("length $L$", "log", ticks=[n for n in (3, 5, 10, 20, 50, 100, 200, 500, 1000) if n <= lengths[-1]])
    marks = [
        Curve(data["L"], data["softmax"], dots=True, label="smallest curvature zero: a strict minimum above"),
    ]
    return [Panel(marks, across, Axis(r"signal $\nu$", low=0), "mismatched minimum, spiked task, softmax weights")]


@declare_figure(
    "duranthon2026.length",
    title="Risk against the length of sequences",
    marks="DV",
    size=(12, 8),
    columns=2,
    least={"longest": 1},
)
def length(nu="5", longest=10**6):
    """Minimal risk of every activation against L from 1 to ``longest``, both tasks, at one signal strength.

    Linear weights need a signal of the order of L, softmax one of the order of log L (spiked) or sqrt(log L) (max).
    """
    places = [n for k in range(7) for n in (10**k, 3 * 10**k) if n <= longest]
    return te.side_by_side({task: te.curves("L", places, minimal(ALL, task=task, nu=nu), "risk") for task in TASKS})


@length.panels
def panels_length(data):
    """A column for each task; the gap to one tells the rivals apart where all risks are near one."""
    across = Axis("length $L$", "log")
    rows = [Axis("minimal risk"), Axis("1 - minimal risk", "log")]
    found = []
    for row, shown in enumerate(rows):
        for task in TASKS:
            marks = []
            for name in ALL:
                risk = data[f"{task}_{name}"]
                # erf comes close to the bound of all element-wise weights, which is drawn above it
                dash = "dashed" if name == "element-wise-optimal" else "solid"
                places = data[f"{task}_L"]
                marks.append(Curve(places, 1 - risk if row else risk, dash, dots=True, tone=TONES[name], label=name))
            found.append(Panel(marks, across, shown, "" if row else f"{task} task"))
    return found
