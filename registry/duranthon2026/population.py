"""Risk away from the invariant manifold: seven order parameters."""

from sympy import Eq, Rational, Symbol, sqrt

from theorem_engine import (
    NONNEGATIVE,
    Blurred,
    GaussianMean,
    LengthMean,
    Normalised,
    Output,
    Source,
    Total,
    result,
)
from theorem_engine.errors import NotAvailable
from theorem_engine.registry.duranthon2026.notation import (
    GRAM,
    IS_ARGMAX,
    MODEL,
    ORDER,
    RISK,
    SHIFT_RULES,
    L,
    activation,
    delta,
    m_kk,
    m_kv,
    m_vk,
    m_vv,
    nu,
    p,
    q_kk,
    q_kv,
    q_vv,
    shift,
    sigma,
    task,
    var,
    x,
    z,
)
from theorem_engine.registry.duranthon2026.weights import (
    hidden_score,
    meaning,
    pair_tokens,
    posterior_tokens,
    refuse_infinite_spike,
    score_tokens,
    smoothed,
)

SCORE = Symbol("chi_0", real=True)
#: A letter of its own: a small difference of large numbers is rounded once.
rest = var("rest", r"\bar R_{kk}", "what k* does not see of k.k/D, q_kk - m_kk^2", NONNEGATIVE)
#: A rest of k that is a difference of equal numbers to rounding, and one so small that its square is.
ROUNDED = q_kk * (1 - Rational(1, 10**15)) <= m_kk**2
NEAR = q_kk * (1 - Rational(1, 10**14)) - m_kk**2 <= Rational(1, 10**10)


@result(
    "duranthon2026.population-risk",
    title="Risk of attention as a function of seven order parameters, and its gradient",
    source=Source("2509.21936", "Section 4", guessed=True),
    given=(task, nu, L, activation, *ORDER, shift, delta),
    given_rules=SHIFT_RULES,
    outputs={
        "risk": RISK,
        **{f"d_{q.name}": Output(f"derivative of the risk in {q.name}", optional=True) for q in ORDER},
    },
    symbol=r"\mathcal{E}",
    assumes=MODEL,
    requires=(GRAM,),
    cases={
        "is_argmax": IS_ARGMAX,
        "has_no_rest": Eq(q_kk, m_kk**2),
        "is_near": NEAR,
        "is_rounded": ROUNDED,
        "has_no_key": Eq(q_kk, 0),
        "is_off": (m_kv**2 + m_vk**2 + q_kv**2) > 0,
    },
    checks=("duranthon2026.attention_risk", "duranthon2026.reduced_attention_risk"),
    marks="DV",
    notes=(
        "Affine in m_vv, in m_kv and in q_vv; even under (m_kv, m_vk, q_kv) -> -(m_kv, m_vk, q_kv), so the manifold "
        "where these vanish is invariant.",
        "Never below the Bayes risk.",
        "At nu = oo only points of the manifold are evaluated (centred linear weights: all).",
        "Weights with kinks (relu) have a risk here but no gradient: those that vanish jump from 0 to 1 where a token "
        "is the only one with a positive score.",
        "Where k is a multiple of k* (max task) or zero, the risk is written with its first-order terms in the order "
        "parameters that vanish there, so that its gradient is the one-sided limit.",
    ),
)
def population_risk(
    task, nu, L, activation, m_kk, m_kv, m_vk, m_vv, q_kk, q_vv, q_kv, shift, delta, *, is_argmax, has_no_rest,
    is_near, is_rounded, has_no_key, is_off,
):  # fmt: skip
    """Mean squared error of sum_l sigma_l z_l, exact at any dimension: 1 - 2 E[z*_eps f] + E f^2.

    Given all scores, z and z* are Gaussian with means linear in the scores; what is left are means of
    weights times powers of the scores of one, two or three tokens.
    """
    refuse_infinite_spike(task, is_argmax)
    gradient = {f"d_{q.name}": Total("risk", q) for q in ORDER}
    if activation == "centred-linear":
        return {"risk": delta**2 + 1 + _centred(task, is_argmax), **gradient}
    if is_argmax and is_off:
        raise NotAvailable("duranthon2026.population-risk: at nu=inf only points with m_kv = m_vk = q_kv = 0 are known")
    chosen = meaning(activation, task, is_argmax, shift)
    if chosen is None:
        raise NotAvailable(f"duranthon2026.population-risk: {activation} weights are not known at nu=inf")
    is_normalised = isinstance(chosen, Normalised)
    if chosen.breaks:
        # these have no first-order terms, and a rest that is none in double precision
        has_no_rest = has_no_rest or is_rounded
    if has_no_key:
        excess = _without_key(task, chosen, is_argmax) if is_normalised else _flat_weights(task, chosen, is_argmax)
    elif is_normalised:
        label = _label_normalised(task, chosen, is_argmax, has_no_rest, is_near)
        excess = _square_normalised(task, chosen) - 2 * label
    else:
        label = _label_element_wise(task, chosen, is_argmax, has_no_rest)
        excess = _square_element_wise(task, chosen) - 2 * label
    # where weights jump, or bend on the way to a multiple of k*, terms from that place would be missing
    known = {rest: q_kk - m_kk**2} if rest in excess.free_symbols else {}
    return {**known, "risk": delta**2 + 1 + excess, **({} if chosen.breaks else gradient)}


def _centred(task, is_argmax):
    """Weights 1/L + chi - mean chi, closed: f = mean z + C with C the sum of (chi - mean chi)(z - mean z) over tokens.

    The means are independent of the deviations, and C is a sum of L - 1 products of Gaussian pairs. The spike adds
    c to chi and a to z at the hidden token, hence terms of first order in its deviations and a constant.
    """
    variance = q_kk * q_vv + q_kv**2
    square = q_vv / L + (L - 1) * variance + (L - 1) ** 2 * q_kv**2
    if task == "max":
        label = m_vv * LengthMean(1 / L, L) + hidden_score(is_argmax) * (m_kk * m_vv + m_vk * m_kv)
        return LengthMean(square, L) - 2 * label
    c, a, rest = m_kk * sqrt(nu), m_vk * sqrt(nu), 1 - 1 / L
    constant = a * (1 / L + c * rest)
    square += constant**2 + 2 * constant * (L - 1) * q_kv + rest * (c**2 * q_vv + a**2 * q_kk + 2 * a * c * q_kv)
    return LengthMean(square - 2 * (m_vv / L + rest * (c * m_vv + a * m_kv)), L)


def _square_normalised(task, chosen):
    """E f^2 with s = sqrt(q_kk), b = q_kv/s, and a the mean of z at the hidden token."""
    s = sqrt(q_kk)
    b = q_kv / s
    tokens = score_tokens(task, chosen, s, m_kk * sqrt(nu))
    if task == "max":
        own, cross = tokens.mean(each=(sigma**2,)), tokens.mean(each=(sigma * x, sigma * x))
        return (q_vv - b**2) * own + b**2 * (tokens.mean(each=(sigma**2 * x**2,)) + cross)
    a = m_vk * sqrt(nu)
    i4, i5, i6 = (tokens.mean(hidden=sigma**2 * x**k) for k in range(3))
    i7, i8 = (tokens.mean(hidden=1, each=(sigma**2 * x**k,)) for k in (0, 2))
    i9, i10 = (tokens.mean(hidden=sigma * x**k, each=(sigma * x,)) for k in (0, 1))
    i11 = tokens.mean(hidden=1, each=(sigma * x, sigma * x))
    return (q_vv - b**2) * (i4 + i7) + a**2 * i4 + 2 * a * b * (i5 + i9) + b**2 * (i6 + i8 + 2 * i10 + i11)


def _label_normalised(task, chosen, is_argmax, has_no_rest, is_near):
    """E[z*_eps f]."""
    if task == "spiked":
        s = sqrt(q_kk)
        b, b_star, a = q_kv / s, m_kv / s, m_vk * sqrt(nu)
        tokens = score_tokens(task, chosen, s, m_kk * sqrt(nu))
        i0, i1, i2 = (tokens.mean(hidden=sigma * x**k) for k in range(3))
        i3 = tokens.mean(hidden=x, each=(sigma * x,))
        return (m_vv - b * b_star) * i0 + b_star * (a * i1 + b * i2 + b * i3)
    if has_no_rest or (is_near and not chosen.breaks):
        return _label_aligned(chosen, is_argmax, has_no_rest)
    if is_argmax:
        return m_vv * pair_tokens(chosen, True, m_kk, sqrt(rest)).mean(each=(p * sigma,))
    s = sqrt(rest)
    a, b = m_kv / s, (q_kv - m_kk * m_vk) / s
    pair = pair_tokens(chosen, False, m_kk, s)
    # t2 is of the order of the rest: a difference of two means would keep the rounding of both
    t0, t1, t2 = (pair.mean(each=(p * sigma * f,)) for f in (1, z * x, z**2 - 1))
    t3, t4 = (pair.mean(each=(p * z, sigma * f)) for f in (x, z))
    return m_vv * t0 + a * (m_vk * (t1 + t3) + b * (t2 + t4))


def _label_aligned(chosen, is_argmax, has_no_rest):
    """k along k*, or nearly so: the value, and what Stein's lemma and the heat equation give to first order beside it.

    Where there is a rest, m_kv and q_kv - m_kk m_vk are of the order of its root, and their product counts too.
    """
    pair = pair_tokens(chosen, is_argmax, m_kk, 0)
    if chosen.breaks:
        return m_vv * pair.mean(each=(p * sigma,))
    score = m_kk * x
    rate, bend = (chosen.log_at(SCORE).diff(SCORE, k).xreplace({SCORE: score}) for k in (1, 2))
    own = sigma * (1 - sigma)
    heat = pair.mean(each=(p * (own * (1 - 2 * sigma) * rate**2 + own * bend),)) - pair.mean(
        each=(p * sigma, sigma * (1 - 2 * sigma) * rate**2 + sigma * bend)
    )
    slope = pair.mean(each=(p * x * own * rate,)) - pair.mean(each=(p * sigma * rate, sigma * x))
    first_order = m_vv * rest * heat / 2 + m_kv * m_vk * slope
    if not has_no_rest:
        mixed = pair.mean(each=(p * (own * (1 - 2 * sigma) * rate**2 + own * bend),)) - pair.mean(
            each=(p * sigma * rate, sigma * (1 - 2 * sigma) * rate)
        )
        first_order += m_kv * (q_kv - m_kk * m_vk) * mixed
    return m_vv * pair.mean(each=(p * sigma,)) + first_order


def _square_element_wise(task, chosen):
    """E f^2 from moments of one token."""
    s = sqrt(q_kk)
    b = q_kv / s
    pairs, others = LengthMean(L * (L - 1), L), LengthMean(L, L)

    def moment(power, degree, centre=0):
        return _over_score(lambda score: chosen.at(score) ** power * x**degree, chosen, centre, s, x)

    if task == "max":
        return (q_vv - b**2) * others * moment(2, 0) + b**2 * (others * moment(2, 2) + pairs * moment(1, 1) ** 2)
    c, a = m_kk * sqrt(nu), m_vk * sqrt(nu)
    others, pairs = others - 1, LengthMean((L - 1) * (L - 2), L)
    cross = others * moment(1, 1)
    return (
        (q_vv - b**2) * (moment(2, 0, c) + others * moment(2, 0))
        + a**2 * moment(2, 0, c)
        + 2 * a * b * (moment(2, 1, c) + moment(1, 0, c) * cross)
        + b**2 * (moment(2, 2, c) + others * moment(2, 2) + 2 * moment(1, 1, c) * cross + pairs * moment(1, 1) ** 2)
    )


def _over_score(function, chosen, centre, width, letter):
    """Gaussian mean over a letter of a function of the score centre + width letter, kinks included."""
    breaks = tuple((b - centre) / width for b in chosen.breaks)
    return GaussianMean(function(centre + width * letter), letter, breaks=breaks)


def _label_element_wise(task, chosen, is_argmax, has_no_rest):
    """E[z*_eps f] from moments of the hidden token."""
    if task == "spiked":
        s = sqrt(q_kk)
        b, b_star, a = q_kv / s, m_kv / s, m_vk * sqrt(nu)
        i0, i1, i2 = (
            _over_score(lambda score, k=k: chosen.at(score) * x**k, chosen, m_kk * sqrt(nu), s, x) for k in range(3)
        )
        return (m_vv - b * b_star) * i0 + b_star * (a * i1 + b * i2)
    tokens = posterior_tokens("max", is_argmax)

    def tilted(function):
        return tokens.mean(each=(p * function,))

    if chosen.breaks:
        if has_no_rest:
            return m_vv * tilted(chosen.at(m_kk * x))
        s = sqrt(rest)
        a, b = m_kv / s, (q_kv - m_kk * m_vk) / s
        t0, t1, t2 = (
            tilted(_over_score(lambda score, f=f: chosen.at(score) * f, chosen, m_kk * x, s, z))
            for f in (1, z * x, z**2 - 1)
        )
        return m_vv * t0 + a * (m_vk * t1 + b * t2)
    # Stein: E zeta f(y + s zeta) and E (zeta^2 - 1) f are s times and s^2 times derivatives of the smoothed weight
    smooth = smoothed(chosen, SCORE, sqrt(rest))
    if smooth is None:
        level, slope, bend = (Blurred(chosen.at(SCORE).diff(SCORE, k), SCORE, m_kk * x, rest) for k in range(3))
    else:
        level, slope, bend = (smooth.diff(SCORE, k).xreplace({SCORE: m_kk * x}) for k in range(3))
    return m_vv * tilted(level) + m_kv * m_vk * tilted(x * slope) + m_kv * (q_kv - m_kk * m_vk) * tilted(bend)


def _without_key(task, chosen, is_argmax):
    """k = 0, normalised: weights 1/L, and the first-order terms of a small k."""
    level = chosen.log_at(SCORE)
    if chosen.extra != 0 or chosen.breaks:
        raise NotAvailable("duranthon2026.population-risk: q_kk = 0 is known for weights that sum to one only")
    rate = level.diff(SCORE).xreplace({SCORE: 0})
    inverse = LengthMean(1 / L, L)
    others = LengthMean((L - 1) / L**2, L)
    start = inverse * (q_vv - 2 * m_vv)
    if task == "max":
        # the mean of chi* over L, which depends on L twice; the linear terms need E[mu_L / L]
        score = _score_over_length(is_argmax)
        return start - 2 * rate * score * (m_vv * m_kk + m_vk * m_kv) + rate**2 * others * q_vv * q_kk
    thirds = LengthMean((L - 1) / L**3, L)
    linear = (
        2
        * rate
        * sqrt(nu)
        * (-others * (m_vv * m_kk + m_vk * m_kv) + thirds * nu * m_vk**2 * m_kk + others * m_vk * q_kv)
    )
    return (
        start + nu * m_vk**2 * LengthMean(1 / L**2, L) + linear
        + rate**2 * (others * q_vv + thirds * nu * m_vk**2) * q_kk
    )  # fmt: skip


def _score_over_length(is_argmax):
    """E[mu_L / L]: the mean of chi* at one given token, if it is the hidden one."""
    from theorem_engine import Hardmax, Tokens

    kernel = Hardmax(x) if is_argmax else nu * x
    # L E[p_1 x_1] / L: a single token stands for all of them
    single = Tokens(L, (x,), {p: (kernel, kernel)})
    return single.mean(hidden=p * x)


def _flat_weights(task, chosen, is_argmax):
    """k = 0, element-wise: equal weights, and the first-order terms of a small k."""
    level, slope, bend = (chosen.at(SCORE).diff(SCORE, k).xreplace({SCORE: 0}) for k in range(3))
    mean_length = LengthMean(L, L)
    a = m_vk * sqrt(nu)
    if task == "max":
        square, score = mean_length * q_vv, hidden_score(is_argmax)
        linear = score * (m_vv * m_kk + m_vk * m_kv)
        return (
            level**2 * square - 2 * level * m_vv - 2 * slope * linear
            + q_kk * ((level * bend + slope**2) * square - bend * m_vv)
        )  # fmt: skip
    square = mean_length * q_vv + a**2
    label = m_kv * a + m_vv * m_kk * sqrt(nu)
    cross = a * q_kv + m_kk * sqrt(nu) * q_vv + a * (mean_length * q_kv + m_kk * sqrt(nu) * a)
    return (
        level**2 * square - 2 * level * m_vv - 2 * slope * label + 2 * level * slope * cross
        + q_kk * ((level * bend + slope**2) * square - bend * m_vv)
    )  # fmt: skip
