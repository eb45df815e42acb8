"""Figures 1 to 5 of the paper, and the map of who wins on noise and where alignment reverses it.

Ranges of the horizontal axes are ours: the paper's are not known here. Curves are limits, dotted ones (ours) the
finite-size equation at the p and n of the dots, where the limit is not the truth of that size; dots are means over
repetitions with two standard errors, at a quarter to a half of the paper's sizes unless ``paper_size`` asks for them.
Dots keep the kernel's diagonal (but for softmax, which is masked); it moves them off the limit by order 1/sqrt(p).
"""

from dataclasses import replace

import theorem_engine as te
from theorem_engine import (
    BLACK,
    Axis,
    Contours,
    Curve,
    Dots,
    Panel,
    Source,
    Surface,
    declare_figure,
)
from theorem_engine.base.errors import OutOfDomain
from theorem_engine.language.domains import Rejected
from theorem_engine.registry.liao2026.notation import WORK
from theorem_engine.registry.liao2026.readers import read_weights

ATTENTION, RIDGE, NULL = "liao2026.interpolation-error", "liao2026.ridge-error", "liao2026.null-error"
SOFTMAX, FINITE = "liao2026.softmax", "liao2026.finite-size-error"
TANH = {"nonlinearity": "tanh"}
CLIP = {"nonlinearity": "clip", "level": 5}
EXP = {"nonlinearity": "exp-clip", "level": 5}
COS = {"nonlinearity": "cos"}
CUBIC = {"nonlinearity": "cubic-clip", "level": 5}
#: How axes are labelled, and lines.
NAMES = {"snr": r"signal $|\mu|^2$", "gamma": r"penalty $\gamma$", "p": "dimension $p$", "r": "linear share $r$"}
WORDS = {
    "exp_clip": r"$\min(5, e^t)$", "clip": "clip at 5", "cubic": "clipped cubic",
    "cubic_aligned": "clipped cubic, aligned",
    "tanh_finite": r"tanh at the dots' $p$ and $n$ (ours)", "cos_finite": r"cos at the dots' $p$ and $n$ (ours)",
    "tanh_512": r"tanh at $p = 512$, $n = 2048$ (ours)",
    "tanh_unit_aligned": "tanh, aligned", "tanh_orthogonal": "tanh, orthogonal",
    "clip_unit_aligned": "clip at 5, aligned", "clip_orthogonal": "clip at 5, orthogonal",
}  # fmt: skip
#: Places of the signal for curves, and for dots.
SIGNALS, FEW_SIGNALS = te.grid(0, 8, 41), [0, 0.5, 1, 1.5, 2, 3, 4, 6, 8]
#: A standard error needs two runs.
SIMULATED = {"runs": 2, "seed": 0}
#: Seeds that one seed of a figure stands for, so that each dot has its own.
STRIDE = 100


def place(label):
    """The source of a numbered figure."""
    return Source(WORK, label, version="v2")


def limits(axis, places, lines):
    """Errors in the limit along one axis."""
    return te.curves(axis, places, lines, "error")


def by_size(tokens, lines):
    """Limits against p at a number of tokens, closely enough spaced to look smooth."""
    found = limits("c", te.grid("1/8", 4, 41, log=True), lines)
    return found.assign_coords(c=found["c"] * tokens).rename(c="p")


def sizes(tokens):
    """Dimensions at which panel b has dots: an eighth of the tokens to twice as many."""
    return [tokens * k // 8 for k in (1, 2, 3, 4, 6, 8, 12, 16)]


def dots(axis, places, simulated, label):
    """Simulated errors along one axis: ``simulated`` gives mean and standard error at a place, by its number too."""
    import xarray

    numbers = [value if isinstance(value, int) else float(value) for value in places]
    rows = [simulated(value, number) for number, value in enumerate(numbers)]
    name = f"dots_{axis}"
    return xarray.Dataset(
        {f"{label}_simulated": ((name,), [row.value for row in rows]),
         f"{label}_spread": ((name,), [row.error for row in rows])},
        coords={name: numbers},
    )  # fmt: skip


def as_defined(runs, seed, point_at):
    """Errors of attention as it is defined, the kernel's diagonal as it comes."""

    def simulated(value, number):
        point = {**point_at(value), "kernel_diagonal": "kept"}
        return te.simulate(ATTENTION, samples=runs, seed=STRIDE * seed + number, **point).first["error"]

    return simulated


def of_size(size):
    """Sizes as words in a title."""
    return f"dots: $p = {size['p']}$, $n = {size['n']}$"


def panel_of(data, panel, axis, title, scale="linear"):
    """All curves of a panel as lines, its dots with two standard errors; a finite size has its limit's colour."""
    across = f"{panel}_{axis}"
    marks, tones = [], {}
    for name in (v for v in data.data_vars if data[v].dims == (across,)):
        line = name.removeprefix(f"{panel}_")
        label, base = WORDS.get(line, line), line.partition("_finite")[0].partition("_512")[0]
        tone = tones.setdefault(base, len(tones))
        # a third line may coincide with the second, which then shows in its gaps
        dash = "dashed" if line == "ridge" else "dotted" if base != line else ("solid", "solid", "dash-dot")[tone]
        width = 2.0 if base != line else 1.5
        marks.append(Curve(data[across], data[name], dash, tone=tone, label=label, width=width))
        if f"{name}_simulated" in data:
            where = data[f"{panel}_dots_{axis}"]
            error = 2 * data[f"{name}_spread"]
            marks.append(Dots(where, data[f"{name}_simulated"], error, tone=tone, label=f"{label}, simulated"))
    return Panel(marks, Axis(NAMES[axis], scale), Axis("error", low=0), f"({panel}) {title}")


@declare_figure(
    "liao2026.fig-1",
    title="Attention against ridge",
    source=place("Figure 1"),
    marks="DV",
    size=(14, 4.6),
    least=SIMULATED,
    settings=(
        (NULL, {**TANH, "c": 4, "gamma": 1}),
        (RIDGE, {"c": "0.25", "gamma": "0.01", "snr": 1}),
    ),
)
def fig_1(runs=4, seed=0, paper_size=False):
    """tanh attention, simulated and in the limit, and ridge: against gamma, against p, against the signal.

    (a) noise, p = 4096, n = 1024; (b) noise, n = 4096, gamma = 0.01; (c) p = 512, n = 2048, gamma = 0.01 and
    w_K = w_Q = mu, where simulations leave the limit from a signal of about 2 on: the logits' shift is not small, and
    the finite-size equation (dotted, ours) follows it. Dots have two standard errors and keep the kernel's diagonal,
    which moves them off the limit by order 1/sqrt(p). They are at a quarter of these p and n, in (c) at half, unless
    ``paper_size`` asks for the paper's, which takes about five minutes of one core.
    """
    shrink = 1 if paper_size else 4
    tokens = 4096 // shrink
    null, signal = {"gamma": "0.01"}, {"c": "0.25", "gamma": "0.01"}
    half = min(shrink, 2)
    aligned = {**TANH, "p": 512 // half, "n": 2048 // half, "gamma": 0.01, "weights": "aligned"}
    small = {**TANH, "p": 4096 // shrink, "n": 1024 // shrink}
    return te.side_by_side({
        "a": (
            limits("gamma", te.grid("0.001", 100, 41, log=True), {
                "tanh": (ATTENTION, {**TANH, "c": 4}), "ridge": (RIDGE, {"c": 4}),
                "tanh_finite": (FINITE, {**small, "kernel_diagonal": "kept"})}),
            dots("gamma", te.grid("0.001", 100, 11, log=True), as_defined(
                runs, seed, lambda g: {**small, "gamma": g}), "tanh"),
        ),
        "b": (
            by_size(tokens, {"tanh": (ATTENTION, {**TANH, **null}), "ridge": (RIDGE, null)}),
            dots("p", sizes(tokens), as_defined(
                runs, seed + 1, lambda p: {**TANH, "p": p, "n": tokens, "gamma": 0.01}), "tanh"),
        ),
        "c": (
            limits("snr", SIGNALS, {
                "tanh": (ATTENTION, {**TANH, **signal, "weights": "aligned"}), "ridge": (RIDGE, signal),
                "tanh_finite": (FINITE, {**aligned, "gamma": "0.01", "kernel_diagonal": "kept"})}),
            dots("snr", FEW_SIGNALS, as_defined(runs, seed + 2, lambda x: {**aligned, "snr": x}), "tanh"),
        ),
    }).assign_attrs(tokens=tokens, a=of_size(small), c=of_size(aligned))  # fmt: skip


@fig_1.panels
def panels_1(data):
    """Against the penalty, the dimension and the signal."""
    return [
        panel_of(data, "a", "gamma", f"noise, $c = 4$\n{data.attrs['a']} (paper: 4096, 1024)", "log"),
        panel_of(data, "b", "p", rf"noise, $\gamma = 0.01${of_tokens(data)}", "log"),
        against_signal(data),
    ]


def of_tokens(data):
    """The number of tokens of the dots as words in a title."""
    return f"\ndots: $n = {data.attrs['tokens']}$ (paper: 4096)"


def against_signal(data, whose="the limit is"):
    """Panel c: aligned weights, with a line from where on the limit is not the truth of the dots' sizes."""
    title = r"$c = 0.25$, $\gamma = 0.01$, $w_K = w_Q = \mu$" + f"\n{data.attrs['c']} (paper: 512, 2048)"
    panel = panel_of(data, "c", "snr", title)
    label = f"right of it {whose}\nnot the finite-$p$ truth"
    border = Curve([2.0, 2.0], [0.0, 0.5], "dotted", tone=BLACK, label=label, width=1.0)
    return replace(panel, marks=[*panel.marks, border])


@declare_figure(
    "liao2026.fig-2", title="Nonlinearities compared", source=place("Figure 2"), marks="DV", size=(11, 4),
    least=SIMULATED,
)  # fmt: skip
def fig_2(runs=4, seed=0, paper_size=False, weights_file=None):
    """tanh, clip at 5 and ridge against the signal; softmax, tanh and min(5, e^t) against gamma on noise.

    (a) p = 512, n = 2048, gamma = 1, w_K = w_Q = mu; (b) p = 2048, n = 512. With ``weights_file`` the dots of (b) use
    the file's own W_K^T W_Q, whatever its structure, at p of the file and n = p/4; lines stay those of the identity.
    Dots have two standard errors and keep the kernel's diagonal (softmax is masked); they are at half of these p and n
    unless at the paper's size (a minute). In (a) attention is the better one on noise too: at large gamma it is
    wherever nu + a1^2/c > c (tanh: 1.86 > 0.25), so that "generally larger" fails here.
    """
    shrink = 1 if paper_size else 2
    signal = {"c": "0.25", "gamma": 1}
    lines = {"tanh": TANH, "exp_clip": EXP, "softmax": {"nonlinearity": "softmax"}}
    size = {"p": 2048 // shrink, "n": 512 // shrink} if weights_file is None else _given(weights_file)
    left = limits("snr", SIGNALS, {
        "tanh": (ATTENTION, {**TANH, **signal, "weights": "aligned"}),
        "clip": (ATTENTION, {**CLIP, **signal, "weights": "aligned"}), "ridge": (RIDGE, signal),
        "tanh_512": (FINITE, {**TANH, "p": 512, "n": 2048, "gamma": 1, "weights": "aligned"})})  # fmt: skip
    gammas, few = te.grid("0.01", 10, 31, log=True), te.grid("0.01", 10, 7, log=True)
    right = [limits("gamma", gammas, {name: (ATTENTION, {**f, "c": 4}) for name, f in lines.items()})]
    for line, (name, f) in enumerate(lines.items()):
        if weights_file is not None:
            simulated = _with_given_weights({**f, **size}, runs, seed + line)
        elif name == "softmax":
            simulated = _softmax(size, runs, seed + line)
        else:
            simulated = as_defined(runs, seed + line, lambda g, q={**f, **size}: {**q, "gamma": g})
        right.append(dots("gamma", few, simulated, name))
    return te.side_by_side({"a": left, "b": right}).assign_attrs(b=of_size(size))


def _softmax(size, runs, seed):
    def simulated(gamma, number):
        return te.simulate(SOFTMAX, samples=runs, seed=STRIDE * seed + number, **size, gamma=gamma).first["error"]

    return simulated


def _with_given_weights(point, runs, seed):
    """Errors with a file's own weights, which no entry need describe."""
    from theorem_engine.checking.simulated import simulate_with

    def simulated(gamma, number):
        here = {**point, "gamma": gamma}
        name = "liao2026.given_weights_error"
        return simulate_with(name, here, samples=runs, seed=STRIDE * seed + number)["error"]

    return simulated


def _given(weights_file):
    """The sizes and the product W_K^T W_Q of a file, as it is."""
    try:
        product, _ = read_weights(str(weights_file))
        if product.shape[0] < 8:
            raise Rejected(f"has p = {product.shape[0]}; a simulation with n = p/4 tokens needs at least 8")
    except Rejected as problem:
        raise OutOfDomain(f"liao2026.fig-2: weights_file={str(weights_file)[:80]!r} {problem}") from None
    return {"p": product.shape[0], "n": product.shape[0] // 4, "product": product}


@fig_2.panels
def panels_2(data):
    """Against the signal and the penalty."""
    return [
        panel_of(
            data, "a", "snr", r"$c = 0.25$, $\gamma = 1$, $w_K = w_Q = \mu$: attention is below ridge also at"
            "\n" r"$|\mu|^2 = 0$, since $\nu + a_1^2/c > c$; “generally larger” needs $c$ of order one",
        ),
        panel_of(data, "b", "gamma", f"noise, $c = 4$\n{data.attrs['b']} (paper: 2048, 512)", "log"),
    ]  # fmt: skip


@declare_figure(
    "liao2026.fig-3",
    title="The linear part of f",
    source=place("Figure 3"),
    marks="DV",
    size=(14, 4.6),
    least=SIMULATED,
)
def fig_3(runs=4, seed=0, paper_size=False):
    """The clipped cubic against its linear share, and cos beside tanh and clip against p and against the signal.

    (a) p = n = 4096, gamma = 1, |mu|^2 = 1; (b) n = 4096, gamma = 1, |mu|^2 = 1; (c) p = 512, n = 2048, gamma = 0.01,
    w_K = w_Q = mu. Without linear part the signal is not seen: cos is flat. Dots have two standard errors and keep the
    kernel's diagonal; they are at a quarter of these p and n, in (c) at half, unless at the paper's size (about ten
    minutes of one core).
    """
    shrink = 1 if paper_size else 4
    tokens = 4096 // shrink
    level, signal = {"gamma": 1, "snr": 1}, {"c": "0.25", "gamma": "0.01", "weights": "aligned"}
    three = {"cos": COS, "tanh": TANH, "clip": CLIP}
    half = min(shrink, 2)
    flat = {**COS, "p": 512 // half, "n": 2048 // half, "gamma": 0.01, "weights": "aligned"}
    return te.side_by_side({
        "a": (
            limits("r", te.grid(0, 1, 41), {
                "cubic": (ATTENTION, {**CUBIC, "c": 1, **level}),
                "cubic_aligned": (ATTENTION, {**CUBIC, "c": 1, **level, "weights": "aligned"})}),
            dots("r", [k / 8 for k in range(9)], as_defined(
                runs, seed, lambda r: {**CUBIC, "r": r, "p": tokens, "n": tokens, **level}), "cubic"),
        ),
        "b": (
            by_size(tokens, {k: (ATTENTION, {**f, **level}) for k, f in three.items()}),
            dots("p", sizes(tokens), as_defined(
                runs, seed + 1, lambda p: {**COS, "p": p, "n": tokens, **level}), "cos"),
        ),
        "c": (
            limits("snr", SIGNALS, {
                **{k: (ATTENTION, {**f, **signal}) for k, f in three.items()},
                "cos_finite": (FINITE, {**flat, "gamma": "0.01", "kernel_diagonal": "kept"}),
                "tanh_finite": (FINITE, {**flat, **TANH, "gamma": "0.01", "kernel_diagonal": "kept"})}),
            dots("snr", FEW_SIGNALS, as_defined(runs, seed + 2, lambda x: {**flat, "snr": x}), "cos"),
        ),
    }).assign_attrs(tokens=tokens, c=of_size(flat))  # fmt: skip


@fig_3.panels
def panels_3(data):
    """Against the linear share, the dimension and the signal."""
    return [
        panel_of(data, "a", "r", rf"$c = \gamma = 1$, $|\mu|^2 = 1${of_tokens(data)}"),
        panel_of(data, "b", "p", rf"$\gamma = 1$, $|\mu|^2 = 1${of_tokens(data)}", "log"),
        against_signal(data, "limits of tanh and clip are"),
    ]


@declare_figure("liao2026.fig-4", title="Aligned and orthogonal weights", source=place("Figure 4"), marks="DV")
def fig_4(c="1"):
    """Limits for tanh and clip with unit weights along the signal, or orthogonal to it and to each other, gamma = 1.

    The paper's p and n for this figure are not known; ``c`` chooses their ratio.
    """
    model = {"c": c, "gamma": 1}
    lines = {
        f"{name}_{word.replace('-', '_')}": (ATTENTION, {**f, **model, "weights": word})
        for name, f in (("tanh", TANH), ("clip", CLIP))
        for word in ("unit-aligned", "orthogonal")
    }
    return te.side_by_side({"a": limits("snr", te.grid(0, 4, 41), lines)}).assign_attrs(c=str(c))


@fig_4.panels
def panels_4(data):
    """One panel; orthogonal weights are dashed."""
    title = rf"limits, $c = {data.attrs['c']}$, $\gamma = 1$, $|w_K| = |w_Q| = 1$"
    return [paired(data, "orthogonal", WORDS.get, title)]


def paired(data, other, words, title):
    """Lines against the signal, two and two of one colour; those whose name has the word ``other`` are dashed."""
    marks = [
        Curve(data["a_snr"], data[v], "dashed" if other in v else "solid", tone=number // 2, label=words(v[2:]))
        for number, v in enumerate(data.data_vars)
    ]
    return Panel(marks, Axis(NAMES["snr"]), Axis("error", low=0), title)


@declare_figure("liao2026.fig-5", title="Attention and ridge over p/n", source=place("Figure 5"), marks="DV")
def fig_5(ratios=("0.25", "1", "4")):
    """Limits of tanh attention with unit weights along the signal, and of ridge, for several p/n; gamma = 1."""
    lines = {}
    for c in ratios:
        lines[f"tanh_{c}"] = (ATTENTION, {**TANH, "c": c, "gamma": 1, "weights": "unit-aligned"})
        lines[f"ridge_{c}"] = (RIDGE, {"c": c, "gamma": 1})
    return te.side_by_side({"a": limits("snr", te.grid(0, 8, 41), lines)})


@fig_5.panels
def panels_5(data):
    """One panel; ridge is dashed."""
    words = r"limits, $\gamma = 1$, $w_K = w_Q = \mu/|\mu|$"
    return [paired(data, "ridge", lambda v: v.replace("_", ", $p/n$ = "), words)]


@declare_figure(
    "liao2026.phase", title="Who wins on noise, and where alignment reverses it (ours)", marks="DVN", least={"count": 2}
)
def phase(count=41, nonlinearity="tanh"):
    """Attention's error less ridge's on pure noise over (c, gamma), and whether some aligned signal reverses the order.

    Where the gap is negative attention wins without any signal; between that region and the line it wins for strongly
    aligned weights in a window of signal strengths.
    """
    import xarray

    axes = {"c": te.grid("0.05", 20, count, log=True), "gamma": te.grid("0.01", 100, count, log=True)}
    attention = te.sweep(NULL, errors=False, nonlinearity=nonlinearity, **axes)["error"]
    window = te.sweep("liao2026.reversal", errors=False, nonlinearity=nonlinearity, **axes)
    data = window[["exists", "snr_low", "snr_high", "best_ratio_snr"]]
    gap = attention - te.sweep(RIDGE, errors=False, **axes)["error"]
    # at the signal that is best for it fully aligned attention has its error on noise over 1 + |mu|^2
    best = data["best_ratio_snr"]
    places = xarray.broadcast(best, best["c"], best["gamma"])
    snr, c, gamma = (values.values.ravel() for values in places)
    ridge = te.sweep(RIDGE, errors=False, along=te.batch("place", snr=snr, c=c, gamma=gamma))["error"].values
    aligned = attention.transpose(*best.dims) / (1 + best) - ridge.reshape(best.shape)
    return data.assign(gap=gap, aligned_gap=aligned).assign_attrs(nonlinearity=nonlinearity)


@phase.panels
def panels_phase(data):
    """The gap in colour, each sign on a scale of its own; the borders of the two regions as lines."""
    places = data["c"], data["gamma"]
    gap, aligned = (data[name].transpose("gamma", "c") for name in ("gap", "aligned_gap"))
    marks = [
        Surface(*places, gap, "error of attention less that of ridge, on noise\n(each sign on a scale of its own)"),
        Contours(*places, aligned, [0.0], tone=BLACK, label="above: fully aligned, it wins at some signal"),
        Contours(*places, gap, [0.0], "dotted", tone=BLACK, label="left: attention wins on noise"),
    ]
    across = Axis("ratio $c = p/n$", "log")
    name = data.attrs["nonlinearity"]
    title = f"{name} attention against ridge, limits:\nin colour on pure noise, solid line for weights fully aligned"
    return [Panel(marks, across, Axis(NAMES["gamma"], "log"), title, legend="lower right")]
