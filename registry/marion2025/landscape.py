"""Fixed points of the descent, their stability, and where it leads."""

from sympy import Eq, Gt, Integer, Matrix, Max, Min, Or, Rational, diff, oo, sign, sqrt
from sympy import pi as PI

from theorem_engine import (
    NONNEGATIVE,
    POSITIVE,
    Eigenvalues,
    Interval,
    Label,
    Output,
    Recurrence,
    Root,
    Search,
    Source,
    Warn,
    proposition,
    result,
    theorem,
)
from theorem_engine.registry.marion2025.dynamics import descent_step, flow_rates, slopes
from theorem_engine.registry.marion2025.notation import (
    PRODUCTS,
    UNIT,
    L,
    alpha,
    d,
    eta,
    gamma,
    kappa,
    lam,
    nu,
    rho,
    theta,
    var,
)
from theorem_engine.registry.marion2025.risk import EXCESS, MODEL

SPHERES = Source("2410.01537", "")
TRANSVERSE = (theta, eta, rho)
#: Steps after which a start that has still not chosen a quadrant is taken to lie on the boundary of two basins.
PATIENCE = 1_000_000

low = var("low", r"r_-", "lowest eigenvalue of the Hessian at the saddle")
rate_k = var("rate_k", r"\mu_k", "curvature of the risk along k at the oracle, on its sphere", NONNEGATIVE)
rate_v = var("rate_v", r"\mu_v", "curvature of the risk along v at the oracle, on its sphere", POSITIVE)


def at(expression, **values):
    """An expression with some of the five products given values."""
    places = {x: Integer(values[x.name]) for x in PRODUCTS if x.name in values}
    return expression.subs(places)


def kind(*eigenvalues):
    """The kind of a critical point; a curvature that underflows to zero is on the side of its partner."""
    return Label(((Min(*eigenvalues) >= 0, "minimum"), (Max(*eigenvalues) <= 0, "maximum")), "saddle")


@proposition(
    "marion2025.fixed-points",
    title="The five fixed points of the descent on the manifold",
    source=Source("2410.01537", "Propositions 8-9", guessed=True),
    aliases=("marion2025.proposition-8", "marion2025.proposition-9"),
    given=(lam, gamma, d, L),
    outputs={
        "rate_k": Output("curvature along k at the oracle, on its sphere (multiplicity d - 2)", NONNEGATIVE),
        "rate_v": Output("curvature along v at the oracle, on its sphere", NONNEGATIVE),
        "saddle_low": "lower eigenvalue of the Hessian in (kappa, nu) at (0, 0); its negative is the escape rate",
        "saddle_high": "upper eigenvalue of the Hessian in (kappa, nu) at (0, 0)",
        "points": "the five points, each with kappa, nu, kind and the two eigenvalues on the manifold",
    },
    needs={"risk": "marion2025.risk"},
    assumes=(*MODEL, "theta = eta = rho = 0"),
    checks=("marion2025_landscape.fixed_points",),
    marks="DVG",
    notes=(
        "On the manifold the slope in kappa is 2 gamma^2 c erf'(c kappa) (erf(b c kappa) - nu) and that in nu is "
        "-2 gamma^2 erf(c kappa): the nullclines meet in exactly five points.",
        "In the (kappa, nu) chart the rates of approach to (1, 1) are twice rate_k and rate_v.",
        "rate_k is exponentially small in c^2: 2e-54 at lam = 0.9, d = 400; the descent stalls before kappa = 1 there.",
    ),
)
def fixed_points(lam, gamma, d, L, *, risk):
    """(1, 1) and (-1, -1) minimise the risk on the manifold, (1, -1) and (-1, 1) maximise it, (0, 0) is a saddle."""
    here = risk.excess(kappa, nu, 0, 0, 0, lam, gamma, d, L, 0)
    k_slope, n_slope = here.diff(kappa), here.diff(nu)
    best_k, best_v = -at(k_slope, kappa=1, nu=1), -at(n_slope, kappa=1, nu=1)
    worst_k, worst_v = -at(k_slope, kappa=1, nu=-1), at(n_slope, kappa=1, nu=-1)
    a, b = at(k_slope.diff(kappa), kappa=0, nu=0), at(k_slope.diff(nu), kappa=0, nu=0)
    saddle = Matrix([[a, b], [b, at(n_slope.diff(nu), kappa=0, nu=0)]])
    root = sqrt(saddle[0, 0] ** 2 / 4 + b**2)
    # the product of the two eigenvalues is -b^2: the small one is never a difference of large numbers
    high = a / 2 + root
    table = [
        (1, 1, best_k, best_v),
        (-1, -1, best_k, best_v),
        (1, -1, worst_k, worst_v),
        (-1, 1, worst_k, worst_v),
        (0, 0, -(b**2) / high, high),
    ]
    return {
        "rate_k": best_k,
        "rate_v": best_v,
        "saddle_low": -(b**2) / high,
        "saddle_high": high,
        "points": [
            {"kappa": Integer(x), "nu": Integer(y), "kind": kind(first, second), "eigenvalues": [first, second]}
            for x, y, first, second in table
        ],
    }


@theorem(
    "marion2025.convergence",
    title="Descent on the manifold reaches an oracle",
    source=Source("2410.01537", "Theorem 5"),
    given=(kappa, nu, lam, gamma, d, alpha),
    outputs={
        "kappa": Output("kappa of the limit", UNIT),
        "nu": Output("nu of the limit", UNIT),
        "step_bound": Output("step size below which the quadrant kappa nu > 0 is never left", POSITIVE),
        "rate": Output("smallest rate of approach, on the spheres", NONNEGATIVE),
    },
    needs={"risk": "marion2025.risk", "points": "marion2025.fixed-points"},
    assumes=(*MODEL, "theta = eta = rho = 0 at the start"),
    warns=(
        Warn(
            Or(
                2 * alpha * gamma**2 >= 1,
                4 * alpha * gamma**2 * lam * sqrt(2 * d / PI) >= 1,
                4 * alpha * gamma**2 * lam**2 * d / PI >= 1,
            ),
            "the step size may exceed the bound under which convergence is shown; compare alpha with step_bound",
        ),
    ),
    checks=("marion2025_landscape.convergence",),
    marks="DV",
    notes=(
        "The open quadrants kappa nu > 0 are forward invariant and nu moves monotonically to the sign of kappa, so no "
        "genericity is needed there. From kappa nu < 0 the two basins meet in the stable curve of (0, 0).",
        "The limit is decided by following the recursion until kappa nu > 0; approaching it takes about 1/rate steps "
        "more, which can be exponentially long.",
        "The step bound is ours: alpha max(8 gamma^2 b c^2/pi, 8 gamma^2 c/sqrt(pi), 2 gamma^2) < 1.",
    ),
)
def convergence(m, *, risk, points):
    """Every start on the manifold that is no fixed point and not on the boundary ends at (1, 1) or (-1, -1)."""
    rates = (points.at(m, L=2), points.rate_v.at(m, L=2))
    a, b = (
        diff(risk.excess.at(m, theta=0, eta=0, rho=0, L=2, eps=0), *letters).subs({kappa: 0, nu: 0})
        for letters in ((kappa, kappa), (kappa, nu))
    )
    found = {
        # a = 8 gamma^2 b c^2/pi and |b| = 4 gamma^2 c/sqrt(pi) are the two second derivatives at the saddle
        "step_bound": 1 / Max(a, -2 * b, 2 * gamma**2),
        "rate": Min(*rates),
    }
    if m.when(kappa**2 + nu**2 <= 0) or m.when(kappa * nu <= -1):
        # at the saddle or at a maximum nothing moves
        return {"kappa": kappa, "nu": nu, **found}
    move = descent_step(slopes(risk.excess, lam, gamma, d, 2), alpha)
    here = {theta: Integer(0), eta: Integer(0), rho: Integer(0)}
    rules = {x: move[x].xreplace(here) for x in (kappa, nu)}
    law = Recurrence.of(rules, None, PATIENCE, until=Gt(kappa * nu, 0))
    return {"kappa": sign(law.at(kappa)), "nu": sign(law.at(kappa)), **found}


def transverse_matrix(excess, kappa_at, nu_at, lam, gamma, d, L):
    """Linearised flow of (theta, eta, rho) at a point of the manifold."""
    rates = flow_rates(slopes(excess, lam, gamma, d, L))
    here = {theta: Integer(0), eta: Integer(0), rho: Integer(0), kappa: kappa_at, nu: nu_at}
    return Matrix(3, 3, lambda i, j: rates[TRANSVERSE[i]].diff(TRANSVERSE[j]).subs(here))


@result(
    "marion2025.transverse-stability",
    title="Stability of the manifold against leaving it",
    source=SPHERES,
    given=(kappa, nu, lam, gamma, d, L),
    outputs={
        "growth": "largest real part of an eigenvalue; positive: perturbations off the manifold grow",
        "eigenvalues": "the three eigenvalues of the linearised flow of (theta, eta, rho), as real and imaginary parts",
    },
    needs={"risk": "marion2025.risk"},
    assumes=MODEL,
    checks=("marion2025_landscape.transverse_stability",),
    marks="DVN",
    notes=(
        "At the saddle (0, 0) the manifold is always unstable, more slowly than the saddle itself is left.",
        "At the oracle one eigenvalue is -(rate_k + rate_v), along rho - eta - theta: a second-order direction on the "
        "spheres, no eigenvalue of the Hessian there.",
        "Real at the fixed points, complex at about a fifth of random points.",
    ),
)
def transverse_stability(kappa, nu, lam, gamma, d, L, *, risk):
    """How fast theta, eta and rho grow or decay near a point of the manifold, under the gradient flow."""
    spectrum = Eigenvalues(transverse_matrix(risk.excess, kappa, nu, lam, gamma, d, L))
    return {
        "growth": spectrum.real(0),
        "eigenvalues": [{"re": spectrum.real(i), "im": spectrum.imaginary(i)} for i in range(3)],
    }


@result(
    "marion2025.critical-lambda",
    title="The inverse temperature above which the oracle is no local minimum",
    source=SPHERES,
    given=(gamma, d, L),
    outputs={
        "lam_critical": Output(
            "critical lam; infinite if there is none on [1e-4, 200]", Interval(0, oo, right_open=False)
        )
    },
    needs={"risk": "marion2025.risk"},
    recipe={lam: Search(Rational(1, 10_000), 200)},
    assumes=MODEL,
    checks=("marion2025_landscape.critical_lambda",),
    marks="DVN",
    notes=(
        "As d grows the critical value tends to sqrt(3)/2. None exists for one token, "
        "nor for gamma = 1.5, d = 16, L = 3.",
        "Never more than one root was met on [1e-4, 200].",
    ),
)
def critical_lambda(m, *, risk):
    """Where the Hessian in the two directions that leave the manifold at the oracle loses its positive determinant."""
    if m.when(Eq(L, 1)):
        return {"lam_critical": oo}
    x, y = (var(n, n, m) for n, m in (("x", "component of k along v*"), ("y", "component of v along k*")))
    key, value = Matrix([sqrt(1 - x**2), x]), Matrix([y, sqrt(1 - y**2)])
    block = sphere_hessian(risk.excess, key, value, (x, y), lam, gamma, d, L)
    return {"lam_critical": Root(block.det(), lam)}


def sphere_hessian(excess, key, value, chart, lam, gamma, d, L):
    """Hessian of the risk at the origin of a chart of k and v, given by coordinates in a frame starting with k*, v*."""
    products = {kappa: key[0], nu: value[1], theta: value[0], eta: key[1], rho: key.dot(value)}
    origin = dict.fromkeys(chart, Integer(0))
    risk = excess(*PRODUCTS, lam, gamma, d, L, 0)
    centre = {letter: products[letter].subs(origin) for letter in PRODUCTS}
    first = {a: risk.diff(a).subs(centre) for a in PRODUCTS}
    second = {(a, b): risk.diff(a, b).subs(centre) for a in PRODUCTS for b in PRODUCTS}
    moves = {(a, i): products[a].diff(c).subs(origin) for a in PRODUCTS for i, c in enumerate(chart)}
    return Matrix(
        len(chart),
        len(chart),
        lambda i, j: sum(
            first[a] * products[a].diff(chart[i], chart[j]).subs(origin)
            + sum(second[a, b] * moves[a, i] * moves[b, j] for b in PRODUCTS)
            for a in PRODUCTS
        ),
    )


@result(
    "marion2025.swapped-minimum",
    title="The spurious minimum with the roles of key and value exchanged",
    source=SPHERES,
    given=(lam, gamma, d, L),
    outputs={
        "theta": Output("inner product of v and k* there", UNIT),
        "excess": EXCESS,
        "stable": "whether the Hessian on the two spheres has no negative eigenvalue",
    },
    needs={"risk": "marion2025.risk"},
    assumes=(*MODEL, "k = v*, v = theta k* plus anything orthogonal to k* and v*"),
    checks=("marion2025_landscape.swapped_minimum",),
    marks="DVN",
    notes=(
        "erf works in its linear range on the value X.v*, and the value head reads the mean of the location.",
        "For lam < 0.0907 (d = 400, L = 10, gamma^2 = 1/2) its risk is below the oracle's.",
        "The null directions of the Hessian are rotations of the free part of v.",
    ),
)
def swapped_minimum(lam, gamma, d, L, *, risk):
    """A critical point off the manifold at which half of all random starts end when lam is small."""
    along = risk.excess(0, 0, theta, 1, 0, lam, gamma, d, L, 0)
    best = Min(1, -along.diff(theta).subs(theta, 0) / along.diff(theta, 2).subs(theta, 0))
    place = var("theta_s", r"\theta_s", "inner product of v and k* at the swapped point")
    spectrum = Eigenvalues(_swapped_hessian(risk.excess, place, lam, gamma, d, L))
    top, bottom = spectrum.real(0), spectrum.real(5)
    return {
        place: best,
        "theta": place,
        "excess": risk.excess(0, 0, place, 1, 0, lam, gamma, d, L, 0),
        "stable": bottom >= -Rational(1, 10**11) * (1 + top),
    }


def _swapped_hessian(excess, place, lam, gamma, d, L):
    """Hessian at k = v*, v = place k* + rest, in the chart k = sqrt(1 - |x|^2) v* + x, likewise v."""
    x = [var(f"x{i}", f"x_{i}", "coordinate of k") for i in range(3)]
    y = [var(f"y{i}", f"y_{i}", "coordinate of v") for i in range(3)]
    rest = sqrt(1 - place**2)
    k_far, v_far = sqrt(1 - sum(c**2 for c in x)), sqrt(1 - sum(c**2 for c in y))
    # the frame is (k*, v*, e3, e4); v moves along the rotation of k* and e3, along v*, and along e4
    key = Matrix([x[0], k_far, x[1], x[2]])
    value = Matrix([v_far * place + y[0] * rest, y[1], v_far * rest - y[0] * place, y[2]])
    return sphere_hessian(excess, key, value, (*x, *y), lam, gamma, d, L)
