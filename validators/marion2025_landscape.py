"""Exact cross-checks of the landscape of single-location regression: other methods on whole vectors.

Nothing here is sampled. The risk and its gradient in k and v come from quadrature over whole tokens; curvatures
are differences of that gradient along great circles, minima are searched, flows are integrated in R^d. Each
function returns ``count`` runs with different step sizes or accuracies: what they differ by is the error of the
method. An output named ``accuracy`` bounds what rounding alone may do to all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import special
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, minimize_scalar

from .marion2025 import PRODUCTS, Array, make_frame, make_vectors
from .marion2025_descent import descend, inner_products, population_gradient, population_risk, project_step
from .simulator import simulator

Point = Mapping[str, float]
#: Steps after which a descent that has not settled is given up.
PATIENCE = 8_000


def _frame(point: Point) -> tuple[Array, Array, Array, Array]:
    """Orthonormal k*, v* and two more vectors of R^d."""
    d = int(point["d"])
    if d < 4:
        raise ValueError(
            f"d = {d}: the cross-check turns k and v into two free directions, which needs four dimensions"
        )
    return tuple(make_frame(d).T)  # type: ignore[return-value]


def _steps(point: Point, count: int, lam: float | None = None) -> list[float]:
    """Angles for differences: small against the width of the erf, which is about 1/(lam sqrt(d))."""
    width = 1 / (1 + (point["lam"] if lam is None else lam) * np.sqrt(point["d"]))
    return [0.02 * width * 1.4**run for run in range(count)]


def _accuracy(point: Point, count: int) -> float:
    """Rounding of a gradient, whose largest term is of the size of d, in its differences."""
    return 1e-14 * (1 + point["gamma"] ** 2) * point["d"] / min(_steps(point, count))


def _slope(values: Callable[[float], Any], step: float) -> Any:
    """Derivative at zero by differences of fourth order."""
    far, near = values(2 * step) - values(-2 * step), values(step) - values(-step)
    return (8 * near - far) / (12 * step)


def _hessian(point: Point, k: Array, v: Array, of_k: list[Array], of_v: list[Array], lam: float, step: float) -> Array:
    """Second derivatives of the risk at k and v in the chart k = sqrt(1 - |x|^2) k0 + sum x_i of_k[i], likewise v."""
    _, _, k_star, v_star = k, v, *_frame(point)[:2]
    gamma, L, n = point["gamma"], int(point.get("L", 2)), len(of_k)
    turns_k, turns_v = np.array(of_k).reshape(n, -1), np.array(of_v).reshape(len(of_v), -1)

    def gradient(x: Array) -> Array:
        parts = []
        moved = []
        for base, turns, y in ((k, turns_k, x[:n]), (v, turns_v, x[n:])):
            moved.append(np.sqrt(1 - y @ y) * base + y @ turns if len(y) else base)
        for base, turns, y, g in zip(
            (k, v), (turns_k, turns_v), (x[:n], x[n:]), population_gradient(*moved, k_star, v_star, lam, gamma, L),
            strict=True,
        ):  # fmt: skip
            parts.append(turns @ g - y * (base @ g) / np.sqrt(1 - y @ y) if len(y) else np.zeros(0))
        return np.concatenate(parts)

    axes = np.eye(n + len(of_v))
    rows = np.array([_slope(lambda t, a=axis: gradient(t * a), step) for axis in axes])
    return (rows + rows.T) / 2


def _kind(first: float, second: float) -> str:
    noise = 1e-8 * max(abs(first), abs(second))
    if min(first, second) >= -noise:
        return "minimum"
    return "maximum" if max(first, second) <= noise else "saddle"


@simulator(deterministic=True, tolerance=1e-5, covers=("rate_k", "rate_v", "saddle_low", "saddle_high", "points"))
def fixed_points(point: Point, rng: np.random.Generator, count: int = 2) -> dict[str, list[Any]]:
    """Curvatures of the risk on the spheres at the four corners of the manifold, and its Hessian at the centre.

    >>> found = fixed_points({"lam": 0.3, "gamma": 1.0, "d": 9, "L": 3}, np.random.default_rng(0))
    >>> [place["kind"] for place in found["points"][0]]
    ['minimum', 'minimum', 'maximum', 'maximum', 'saddle']
    """
    k_star, v_star, third, fourth = _frame(point)
    runs: list[dict[str, Any]] = []
    for step in _steps(point, count):
        points = []
        for x, y in ((1, 1), (-1, -1), (1, -1), (-1, 1)):
            # each vector turns into a direction of its own, orthogonal to everything else
            hessian = _hessian(point, x * k_star, y * v_star, [third], [fourth], point["lam"], step)
            points.append((x, y, float(hessian[0, 0]), float(hessian[1, 1])))
        # at the centre kappa and nu themselves are coordinates: k = third and v = fourth turn to k* and v*
        centre = np.linalg.eigvalsh(_hessian(point, third, fourth, [k_star], [v_star], point["lam"], step))
        points.append((0, 0, float(centre[0]), float(centre[1])))
        runs.append(
            {
                "rate_k": points[0][2],
                "rate_v": points[0][3],
                "saddle_low": float(centre[0]),
                "saddle_high": float(centre[1]),
                "points": [
                    {"kappa": float(x), "nu": float(y), "kind": _kind(a, b), "eigenvalues": [a, b]}
                    for x, y, a, b in points
                ],
            }
        )
    return {"accuracy": [_accuracy(point, count)], **{name: [run[name] for run in runs] for name in runs[0]}}


@simulator(deterministic=True, tolerance=1e-5, covers=("kappa", "nu", "step_bound", "rate"))
def convergence(point: Point, rng: np.random.Generator, count: int = 2) -> dict[str, list[Any]]:
    """Where descent on whole vectors leads, read off once v is within a tenth of an oracle, and the rate there."""
    lam, gamma, alpha = point["lam"], point["gamma"], point["alpha"]
    k, v, k_star, v_star = make_vectors(point)
    for _ in range(PATIENCE):
        kappa, nu = float(k @ k_star), float(v @ v_star)
        if kappa * nu > 0 and abs(nu) > 0.9:
            break
        of_k, of_v = population_gradient(k, v, k_star, v_star, lam, gamma, 2)
        k, v = project_step(k, of_k, alpha), project_step(v, of_v, alpha)
    else:
        raise ValueError(f"the descent has not come near an oracle in {PATIENCE} steps")
    found = fixed_points({**point, "L": 2}, rng, count)
    rates = [min(pair) for pair in zip(found["rate_k"], found["rate_v"], strict=True)]
    limits = {"kappa": [float(np.sign(kappa))] * count, "nu": [float(np.sign(nu))] * count}
    _, _, third, fourth = _frame(point)
    bounds = []
    for step in _steps(point, count):
        bend = _hessian({**point, "L": 2}, third, fourth, [k_star], [v_star], lam, step)
        bounds.append(float(1 / max(bend[0, 0], 2 * abs(bend[0, 1]), 2 * gamma**2)))
    return {"accuracy": found["accuracy"], **limits, "rate": rates, "step_bound": bounds}


def _velocities(k: Array, v: Array, k_star: Array, v_star: Array, lam: float, gamma: float, L: int) -> tuple:
    of_k, of_v = population_gradient(k, v, k_star, v_star, lam, gamma, L)
    return -(of_k - (of_k @ k) * k), -(of_v - (of_v @ v) * v)


@simulator(deterministic=True, tolerance=1e-5, covers=("growth", "eigenvalues"))
def transverse_stability(point: Point, rng: np.random.Generator, count: int = 2) -> dict[str, list[Any]]:
    """Eigenvalues of the flow's linear part in (theta, eta, rho), by differences of velocities of whole vectors."""
    lam, gamma, L = point["lam"], point["gamma"], int(point["L"])

    def rates(theta: float, eta: float, rho: float) -> Array:
        k, v, k_star, v_star = make_vectors({**point, "theta": theta, "eta": eta, "rho": rho})
        k_dot, v_dot = _velocities(k, v, k_star, v_star, lam, gamma, L)
        return np.array([v_dot @ k_star, k_dot @ v_star, k_dot @ v + k @ v_dot])

    # the perturbed vectors must exist: stay well inside the unit square
    room = 0.2 * min(1 - abs(point["kappa"]), 1 - abs(point["nu"]))
    if room < 1e-4:
        raise ValueError("too close to the edge of the manifold for differences across it")
    runs = []
    for step in _steps(point, count):
        size = min(step, room)
        matrix = np.stack([_slope(lambda t, a=axis: rates(*(t * a)), size) for axis in np.eye(3)], axis=1)
        found = sorted(np.linalg.eigvals(matrix), key=lambda x: (-round(x.real, 9), -x.imag))
        runs.append([{"re": float(x.real), "im": float(x.imag)} for x in found])
    return {"accuracy": [_accuracy(point, count)], "growth": [run[0]["re"] for run in runs], "eigenvalues": runs}


@simulator(deterministic=True, tolerance=1e-5, covers=("lam_critical",))
def critical_lambda(point: Point, rng: np.random.Generator, count: int = 2) -> dict[str, list[float]]:
    """The lam at which the Hessian on the spheres at the oracle, turning k to v* and v to k*, stops being positive."""
    k_star, v_star = _frame(point)[:2]

    def lowest(lam: float, run: int) -> float:
        step = _steps(point, count, lam)[run]
        values = np.linalg.eigvalsh(_hessian(point, k_star, v_star, [v_star], [k_star], lam, step))
        return 0.0 if abs(values[0]) < 1e-9 * abs(values[1]) else float(values[0])

    grid = np.geomspace(1e-4, 200, 60)
    values = [lowest(lam, 0) for lam in grid]
    for a, b, low, high in zip(grid[:-1], grid[1:], values[:-1], values[1:], strict=True):
        if low > 0 > high:
            found = [
                float(brentq(lambda t, r=run: lowest(np.exp(t), r), np.log(a), np.log(b), xtol=1e-12))
                for run in range(count)
            ]
            return {"lam_critical": [float(np.exp(x)) for x in found]}
    if 0.0 in values:
        raise ValueError("the curvature sinks below the accuracy of the quadrature before it changes sign")
    return {"lam_critical": [float("inf")] * count}


@simulator(deterministic=True, tolerance=1e-5, covers=("theta", "excess", "stable"))
def swapped_minimum(point: Point, rng: np.random.Generator, count: int = 2) -> dict[str, list[Any]]:
    """The minimum over v of the risk at k = v*, with v in the plane of k* and a free direction, and its Hessian."""
    lam, gamma, L = point["lam"], point["gamma"], int(point["L"])
    k_star, v_star, third, fourth = _frame(point)

    def slope(angle: float) -> float:
        v = np.sin(angle) * k_star + np.cos(angle) * third
        return float(
            population_gradient(v_star, v, k_star, v_star, lam, gamma, L)[1]
            @ (np.cos(angle) * k_star - np.sin(angle) * third)
        )

    end = np.pi / 2
    # along the circle the slope also vanishes at its end, where v is k* itself
    near = end - 1e-4
    angle = float(brentq(slope, 0, near, xtol=1e-14)) if slope(near) > 0 else end
    theta, rest = float(np.sin(angle)), float(np.cos(angle))
    v = theta * k_star + rest * third
    risk = population_risk(v_star, v, k_star, v_star, lam, gamma, L)
    along = rest * k_star - theta * third
    stable = []
    for step in _steps(point, count):
        hessian = _hessian(point, v_star, v, [k_star, third, fourth], [along, v_star, fourth], lam, step)
        values = np.linalg.eigvalsh(hessian)
        stable.append(bool(values[0] >= -1e-7 * (1 + values[-1])))
    return {"theta": [theta] * count, "excess": [risk] * count, "stable": stable}


def _best_lambda(point: Point) -> tuple[float, float]:
    """The minimiser of the oracle's risk over lam, and the risk there; infinite if the risk falls to the end."""
    k_star, v_star = make_frame(int(point["d"]))[:, :2].T
    gamma, L = point["gamma"], int(point["L"])

    def risk(log_lam: float) -> float:
        return population_risk(k_star, v_star, k_star, v_star, float(np.exp(log_lam)), gamma, L)

    grid = np.linspace(np.log(1e-6), np.log(30.0), 80)
    values = [risk(x) for x in grid]
    best = int(np.argmin(values))
    if best == len(grid) - 1:
        return float("inf"), float("nan")
    inner = minimize_scalar(
        risk, bounds=(grid[max(best - 1, 0)], grid[best + 1]), method="bounded", options={"xatol": 1e-9}
    )
    if inner.fun < 1e-13 * gamma**2:
        raise ValueError(f"the smallest risk, {inner.fun:.1g}, is below the accuracy of the quadrature")
    return float(np.exp(inner.x)), float(inner.fun)


@simulator(
    deterministic=True, tolerance=1e-5,
    covers=("lam_star", "excess", "lam_first_order", "excess_first_order", "lam_lambert"),
)  # fmt: skip
def optimal_lambda(point: Point, rng: np.random.Generator, count: int = 2) -> dict[str, list[float]]:
    """The inverse temperature at which the quadrature risk of the oracle is smallest, by search; so to first order."""
    lam, risk = _best_lambda(point)
    first = _first_order(float(point["gamma"]), float(point["d"]), int(point["L"]))
    best = {"lam_star": [lam] * count, **({"excess": [risk] * count} if np.isfinite(lam) else {})}
    return {**best, **{name: [value] * count for name, value in first.items()}}


def _first_order(gamma: float, d: float, L: int) -> dict[str, float]:
    """Minimum of the excess where lam is small: a noise token lets in (2 lam/sqrt(pi))^2, the informative one misses
    the square of erfc of its mean score; and the place where the two sides balance but for powers of lam^2 d."""
    if L == 1:
        return {"lam_first_order": np.inf, "excess_first_order": 0.0, "lam_lambert": np.inf}

    def slope(log_x: float) -> float:
        # of the excess in lam^2 d, over its parts: their logarithms cross where it vanishes
        x = np.exp(log_x)
        missed = np.log(2 * gamma**2) + np.log(special.erfcx(np.sqrt(x / 2))) - x - 0.5 * np.log(2 * np.pi * x)
        return float(missed - np.log(4 * (L - 1) / (np.pi * d)))

    x = float(np.exp(brentq(slope, -600.0, 9.0, xtol=1e-13, rtol=1e-13)))
    excess = gamma**2 * special.erfc(np.sqrt(x / 2)) ** 2 + (L - 1) * 4 * x / (np.pi * d)
    log_a = np.log(gamma**2 * d / (2 * (L - 1)))
    leading = brentq(lambda u: u + np.exp(u) - log_a, -700.0, 9.0, xtol=1e-13, rtol=1e-13)
    return {
        "lam_first_order": float(np.sqrt(x / d)),
        "excess_first_order": float(excess),
        "lam_lambert": float(np.exp(leading / 2) / np.sqrt(d)),
    }


@simulator(deterministic=True, tolerance=1e-5, covers=("ratio", "excess"))
def optimal_rate(point: Point, rng: np.random.Generator, count: int = 2) -> dict[str, list[float]]:
    """The searched minimum of the risk over (4/pi) ((L - 1)/d) log(gamma^2 d/(2 L)), what the ratio is defined by."""
    gamma, d, L = point["gamma"], point["d"], point["L"]
    leading = 4 * (L - 1) / (np.pi * d) * np.log(gamma**2 * d / (2 * L))
    return {"ratio": [_best_lambda(point)[1] / leading] * count, "excess": [float(leading)] * count}


# products of unit vectors: a nearly vanishing one is zero up to rounding
@simulator(deterministic=True, tolerance=1e-5, scale=1.0, covers=("transverse",))
def manifold_invariance(point: Point, rng: np.random.Generator, count: int = 2) -> dict[str, list[float]]:
    """The largest product off the manifold after one step of descent on whole vectors, randomly placed in R^d."""
    start = make_vectors({**point, "theta": 0.0, "eta": 0.0, "rho": 0.0})
    coordinates = [make_frame(int(point["d"])).T @ vector for vector in start]
    results = []
    for _ in range(count):
        placed = np.linalg.qr(rng.standard_normal((int(point["d"]), len(coordinates[0]))))[0]
        log, _ = descend(
            *(placed @ c for c in coordinates), lam=point["lam"], gamma=point["gamma"], L=int(point["L"]),
            alpha=point["alpha"], steps=1,
        )  # fmt: skip
        results.append(max(abs(float(log[name][-1])) for name in ("theta", "eta", "rho")))
    return {"transverse": results}


# products of unit vectors: a nearly vanishing one is zero up to rounding
@simulator(deterministic=True, tolerance=1e-5, scale=1.0, covers=("kappa", "nu", "theta", "eta", "rho", "risk"))
def gradient_flow(point: Point, rng: np.random.Generator, count: int = 2) -> dict[str, list[float]]:
    """The five products and the risk at the end of the flow of k and v on their spheres, integrated in R^d."""
    lam, gamma, L, d = point["lam"], point["gamma"], int(point["L"]), int(point["d"])
    k, v, k_star, v_star = make_vectors(point)

    def velocity(_: float, state: Array) -> Array:
        return np.concatenate(_velocities(state[:d], state[d:], k_star, v_star, lam, gamma, L))

    results: dict[str, list[float]] = {name: [] for name in (*PRODUCTS, "risk")}
    for run in range(count):
        settings: dict[str, Any] = {"method": "DOP853", "rtol": 1e-10 * 10.0**run, "atol": 1e-13}
        end = solve_ivp(velocity, (0.0, float(point["time"])), np.concatenate([k, v]), **settings).y[:, -1]
        last_k, last_v = (x / np.linalg.norm(x) for x in (end[:d], end[d:]))
        for name, value in inner_products(last_k, last_v, k_star, v_star).items():
            results[name].append(float(value))
        results["risk"].append(population_risk(last_k, last_v, k_star, v_star, lam, gamma, L))
    return results
