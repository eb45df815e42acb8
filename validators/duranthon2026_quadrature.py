"""Risks of single-location regression by quadrature, from the squared error as it is defined.

Nothing is sampled and no expansion is used: risks are integrals over one token, the best predictor is solved for or
searched. Names say the task and the weights; what ends in ``gain`` is one minus the risk, for small gains.

Sums over the L tokens of a normalised kernel h are taken apart by 1/S = int e^(-t S) dt and 1/S^2 = int t e^(-t S) dt.
For h = exp both log t and the scores lie on one lattice, where means over a token are sliding sums of positive terms.
"""

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import erfc, erfcx, log_ndtr

#: Spacing of the lattice of scores; the error of the sums is about exp(-pi^2/STEP).
STEP = 0.2
#: Standard deviations within which a token is integrated.
WIDE = 10.0


def normal(x, mean=0.0):
    """Density of a normal number of variance one."""
    return np.exp(-((x - mean) ** 2) / 2) / np.sqrt(2 * np.pi)


def _means(scale, mean, ends, u, step):
    """Means over g ~ N(mean, scale^2) of 1 - w, w, e^v w and e^(2v) w, where v = u + g and w = e^(-e^v)."""
    g = step * np.arange(np.floor(ends[0] / step), np.ceil(ends[1] / step) + 1)
    weights = step / scale * normal(g / scale, mean / scale)
    v = u[0] + g[0] + step * np.arange(len(u) + len(g) - 1)
    power = np.exp(np.minimum(v, 8.0))
    tail = np.exp(-power)
    # the first is formed by itself: next to one its digits would be lost
    return [np.correlate(table, weights, "valid") for table in (-np.expm1(-power), tail, power * tail, power**2 * tail)]


def _power(out, tail, n):
    """tail^n where out = 1 - tail, for any n."""
    log = np.where(out < 0.5, np.log1p(-np.minimum(out, 0.5)), np.log(np.maximum(tail, 1e-300)))
    return np.exp(n * log)


def _grid(low, high, step):
    return step * np.arange(np.floor(low / step), np.ceil(high / step) + 1)


def spiked_softmax(nu, L):
    """Squared error of the posterior mean, E[(1 - p_1)^2 + sum_{l>1} p_l^2] with token 1 hidden; strong signals."""
    scale = np.sqrt(nu)
    step = min(STEP, 0.4 * scale)
    reach = WIDE * scale
    u = _grid(-nu / 2 - reach - 45, -min(nu / 2, nu) + reach + 6, step)
    _, hidden, _, _ = _means(scale, nu, (nu / 2 - reach, nu + reach), u, step)
    out, tail, first, second = _means(scale, 0.0, (-reach, nu / 2 + reach), u, step)
    total = 2 * (L - 1) * np.sum(hidden * second * _power(out, tail, L - 2))
    if L > 2:
        total += (L - 1) * (L - 2) * np.sum(hidden * first**2 * _power(out, tail, L - 3))
    return step * total


def spiked_softmax_gain(nu, L):
    """One minus the squared error of the posterior mean, 2 E p_1 - E sum p^2; long sequences."""
    scale = np.sqrt(nu)
    step = min(STEP, 0.4 * scale)
    high = scale * (WIDE + min(2 * scale, 1.2 * np.sqrt(2 * np.log(L))))
    u = _grid(-high - nu - np.log(L) - 45, WIDE * scale + 6, step)
    hidden = _means(scale, nu, (nu - WIDE * scale, nu + high), u, step)
    out, tail, _, second = _means(scale, 0.0, (-WIDE * scale, high), u, step)
    rest = _power(out, tail, L - 1)
    own = np.sum((2 * hidden[2] - hidden[3]) * rest)
    return step * (own - (L - 1) * np.sum(hidden[1] * second * _power(out, tail, L - 2)))


def _max_tokens(nu, L):
    """The lattice of the max task, where all tokens are alike."""
    step = min(STEP, 0.4 * nu)
    # long sequences are ruled by their largest tokens
    reach = nu * (WIDE + min(2 * nu, 1.2 * np.sqrt(2 * np.log(L))))
    u = _grid(-reach - np.log(L) - 45, WIDE * nu + 6, step)
    return step, (-WIDE * nu, reach), u, _means(nu, 0.0, (-WIDE * nu, reach), u, step)


def max_softmax(nu, L):
    """Squared error 1 - E sum p^2 of the posterior mean in the max task, as L (L-1) E p_1 p_2."""
    step, _, _, (out, tail, first, _) = _max_tokens(nu, L)
    return step * L * (L - 1) * np.sum(first**2 * _power(out, tail, L - 2))


def max_softmax_gain(nu, L):
    """E sum p^2 in the max task."""
    step, _, _, (out, tail, _, second) = _max_tokens(nu, L)
    return step * L * np.sum(second * _power(out, tail, L - 1))


def own_probability(nu, L):
    """Nodes of chi*, and the probability times L that a token with this chi* is the hidden one."""
    step, ends, u, (out, tail, _, _) = _max_tokens(nu, L)
    rest = _power(out, tail, L - 1)
    g = _grid(*ends, step)
    v = u[0] + g[0] + step * np.arange(len(u) + len(g) - 1)
    power = np.exp(np.minimum(v, 8.0))
    return g / nu, step * L * np.correlate(power * np.exp(-power), rest, "valid")


def linear_gain(correlations, squares):
    """What a linear combination of features removes from the variance of the label."""
    # features of one size each: a sum and a mean over a long sequence differ by its length
    size = np.sqrt(np.maximum(np.diag(squares), 1e-300))
    scaled = correlations / size
    return float(scaled @ np.linalg.pinv(squares / np.outer(size, size), rcond=1e-14) @ scaled)


def feature_moments(name, task, signal, pairs):
    """Products of (sum z, sum chi z), or of (mean z, sum (chi - mean chi) z), with the label and with each other.

    ``signal`` is the mean of chi* at the hidden token: the spike, or what the max task makes of it.
    """
    s, m = np.zeros(2), np.zeros((2, 2))
    for n, w in pairs:
        shift = signal if task == "spiked" else 0.0
        if name == "linear":
            s += w * np.array([1.0, signal])
            m += w * np.array([[n, shift], [shift, n + shift**2]])
        else:
            s += w * np.array([1 / n, signal * (1 - 1 / n) if task == "spiked" else signal])
            m += w * np.array([[1 / n, 0.0], [0.0, n - 1 + shift**2 * (1 - 1 / n)]])
    return s, m


def spiked_linear(name, nu, pairs):
    """Determinants instead of 1 - gain, which would lose a small risk."""
    s, m = feature_moments(name, "spiked", np.sqrt(nu), pairs)
    joint = np.block([[np.ones((1, 1)), s[None, :]], [s[:, None], m]])
    return float(np.linalg.det(joint) / np.linalg.det(m))


def spiked_element_wise(nu, others):
    """The best weight for each chi* by itself: the minimum of f1 (1 - g)^2 + others f0 g^2 at every node."""
    scale = np.sqrt(nu)
    x = np.arange(-12.0, scale + 12.0, min(0.05, 0.1 / scale))
    odds = scale * x - nu / 2 - np.log(others)
    shared = np.where(odds > 0, others * normal(x) / (1 + np.exp(-np.abs(odds))), 0.0)
    shared += np.where(odds <= 0, normal(x, scale) / (1 + np.exp(-np.abs(odds))), 0.0)
    return float(np.sum(shared) * (x[1] - x[0]))


def spiked_erf(nu, others):
    """The least error of weights 1 + erf(c + m chi) over slope, shift and norm, by search."""
    scale = np.sqrt(nu)
    reach = scale / 2 + 10
    x = np.arange(-reach, reach, min(0.05, 0.1 / scale))
    density = normal(x) * (x[1] - x[0])

    def error(parts):
        # the slope in units of that of the posterior; where the weight is one half, in units of its width
        m, middle = scale * np.exp(parts[0]), scale / 2 + parts[1] / scale
        # what the hidden token's weight lacks to two: next to two its own digits would be lost
        lack, other = erfc(m * (x + scale - middle)), erfc(-m * (x - middle))
        mean = density @ lack
        rest = density @ lack**2 - mean**2 + others * (density @ other**2)
        return rest / ((2 - mean) ** 2 + rest)

    start = np.array([np.log(0.5), np.log(others)])
    for size in (0.3, 0.01):
        simplex = start + size * np.array([[0, 0], [1, 0], [0, 3]])
        found = minimize(error, start, method="Nelder-Mead",
                         options={"initial_simplex": simplex, "xatol": 1e-9, "fatol": 0.0, "maxfev": 160})  # fmt: skip
        start = found.x
    return float(found.fun)


def softplus_gain(nu, pairs):
    """S^2/Q of normalised softplus weights at the best slope, S and Q being means over the lengths."""
    pairs = pairs if isinstance(pairs, list) else [(pairs, 1.0)]
    shortest, longest = min(n for n, _ in pairs), max(n for n, _ in pairs)
    far = np.log(3 * longest + 300 * np.sqrt(nu))

    def gain(log_slope):
        m = np.exp(log_slope)
        x = np.arange(-9.0, 9.0, min(0.1, 0.6 / m))
        density = normal(x) * (x[1] - x[0])
        u = np.arange(-far - 36, -np.log(shortest / 3) + 6, 0.1)
        brackets = []
        for mean in (np.sqrt(nu), 0.0):
            power = np.exp(u[:, None]) * np.logaddexp(0, m * (x + mean))
            tail = np.exp(-power)
            brackets.append([a @ density for a in (-np.expm1(-power), tail, power * tail, power**2 * tail)])
        hidden, (out, rest, _, second) = brackets
        s = q = 0.0
        for n, weight in pairs:
            if n == 1:
                s, q = s + weight / 0.1, q + weight / 0.1
                continue
            s += weight * np.sum(hidden[2] * _power(out, rest, n - 1))
            q += weight * np.sum(hidden[3] * _power(out, rest, n - 1))
            q += weight * (n - 1) * np.sum(hidden[1] * second * _power(out, rest, n - 2))
        return 0.1 * s**2 / q

    grid = np.linspace(np.log(0.05), np.log(60), 13)
    values = [gain(a) for a in grid]
    best = grid[int(np.argmax(values))]
    if len(pairs) > 1 and best == grid[-1]:
        raise ValueError("the best slope of softplus lies beyond what is searched here")
    found = minimize_scalar(lambda a: -gain(a), bounds=(best - 0.6, best + 0.6), method="bounded",
                            options={"xatol": 1e-6})  # fmt: skip
    return -float(found.fun)


def argmax_risk(name, pairs, run):
    """The least error where the hidden token is the largest, from the law of the largest of L normals."""
    x = np.arange(-9.0, 11.0, 0.02 * (1 + 0.3 * run))
    density = normal(x) * (x[1] - x[0])
    hidden = sum(w * n * np.exp((n - 1) * log_ndtr(x)) for n, w in pairs) * density
    mean = sum(w * n for n, w in pairs)
    if name in ("linear", "centred-linear"):
        return 1 - linear_gain(*feature_moments(name, "max", float(hidden @ x), pairs))
    if name == "element-wise-optimal":
        # at every node the minimum of -2 hidden g + mean density g^2
        return float(1 - np.sum(hidden**2 / np.maximum(density, 1e-300)) / mean)
    if name == "erf":

        def error(parts):
            weight = erfc(-(parts[1] + np.exp(parts[0]) * x))
            return 1 - (hidden @ weight) ** 2 / (mean * (density @ weight**2))

        found = minimize(error, [0.0, -0.5], method="Nelder-Mead",
                         options={"xatol": 1e-8, "fatol": 0.0, "maxfev": 400})  # fmt: skip
        return float(found.fun)
    return 1 - _hard_softplus(pairs, 0.08 * (1 + 0.3 * run))


def _hard_softplus(pairs, step):
    """What weights proportional to positive parts gain; of negative tokens alone the largest takes all."""
    t = np.exp(np.arange(-36.0, 36.0, step))[:, None]
    x = np.exp(np.arange(-36.0, 2.4, step))[None, :]
    below = (1 + erfcx(t / np.sqrt(2)) - np.exp(-(x**2) / 2 - t * x) * erfcx((x + t) / np.sqrt(2))) / 2
    all_tokens = (1 + erfcx(t[:, 0] / np.sqrt(2))) / 2
    squares = step * np.sum(x**3 * normal(x) * np.exp(-t * x), axis=1)
    s, q = 0.0, 0.0
    for n, w in pairs:
        alone = 0.5**n
        s += w * (alone + step**2 * np.sum(n * normal(x) * x * (t * x) * np.exp(-t * x) * below ** (n - 1)))
        q += w * (alone + n * step * np.sum(t[:, 0] ** 2 * squares * all_tokens ** (n - 1)))
    return s**2 / q


def hidden_mean(task, nu, n):
    """Mean of chi* at the hidden token."""
    if task == "spiked":
        return np.sqrt(nu)
    x, own = own_probability(nu, n)
    return float(np.sum(x * own * normal(x)) * (x[1] - x[0]))


def spiked_element_wise_gain(nu, n):
    """What the best weight for each chi* by itself gains in the spiked task; long sequences."""
    x = np.arange(-12.0, 2 * np.sqrt(nu) + 12.0, 0.02)
    ratio = np.exp(np.sqrt(nu) * x - nu / 2)
    return float(np.sum(normal(x, np.sqrt(nu)) * ratio / (ratio + n - 1)) * 0.02)


def max_element_wise_gain(nu, pairs):
    """The best weight for each chi* by itself gains the mean square of the probability given it."""
    x, _ = own_probability(nu, max(n for n, _ in pairs))
    total = 0.0
    for n, weight in pairs:
        nodes, here = own_probability(nu, n)
        total = total + weight * np.interp(x, nodes, here, left=0.0)
    return float(np.sum(total**2 * normal(x)) * (x[1] - x[0]) / sum(n * weight for n, weight in pairs))
