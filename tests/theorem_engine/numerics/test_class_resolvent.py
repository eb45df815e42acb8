"""Resolvents of random matrices with classes, against closed forms and against matrices."""

import numpy as np
import pytest
import sympy

from theorem_engine import ClassResolvent, Coin, Normal, Variance
from theorem_engine.backends import get_backend
from theorem_engine.base.reports import listening

z, q = sympy.symbols("z q", real=True)
u, v, y, w = sympy.symbols("u v y w", real=True)


def values_of(form, place):
    """The form and its derivative in z."""
    run = get_backend("float64").function([z, q], [form, form.diff(z)])
    return [float(x) for x in run(*place)]


def test_one_class_with_a_coupling_is_marchenko_and_pastur():
    # S = X^T X/p: G = 1/(-z + 1/(1 + q G)), q = n/p
    form = ClassResolvent({(y, w): Coin()}, [[-z]], [[1]], q, [], [[0]], [1], [[1]])
    place, ratio = -0.7, 1.5
    value, slope = values_of(form, (place, ratio))

    def closed(z):
        # m = 1/(-z + 1/(1 + q m)): the positive root of -q z m^2 + (1 - q - z) m - 1 = 0
        return max(np.roots([-ratio * z, 1 - ratio - z, -1.0]).real)

    assert value == pytest.approx(closed(place), rel=1e-10)
    step = 1e-5
    assert slope == pytest.approx((closed(place + step) - closed(place - step)) / (2 * step), rel=1e-7)


def test_one_class_of_noise_is_the_semicircle():
    # W of variance q: G = 1/(-z - q G)
    form = ClassResolvent({(y, w): Coin()}, [[-z]], [[0]], 1, [Variance((0, 0), (0, 0), q)], [[0]], [1], [[1]])
    place, strength = -3.0, 1.2
    value, slope = values_of(form, (place, strength))
    root = np.sqrt(place**2 - 4 * strength)
    assert value == pytest.approx((-place - root) / (2 * strength), rel=1e-10)
    assert slope == pytest.approx((-1 - place / root) / (2 * strength), rel=1e-7)


def test_a_profile_and_a_mean_of_two_classes_are_those_of_drawn_matrices():
    # rows of class +-1 with normal letter; variance (1 + u v/2)(1 + y w/2), mean of rank one, vector u
    kernel = (1 + y * w / 2) * (2 + u * v / (1 + u**2) / (1 + v**2))
    mean = u * v / (1 + u**2) / (1 + v**2)
    form = ClassResolvent(
        {(y, w): Coin(q), (u, v): Normal(24)}, [[-z]], [[0]], 1, [Variance((0, 0), (0, 0), kernel)], [[mean]], [u],
        [[1]],
    )  # fmt: skip
    place, lean = -6.0, 0.4
    value, slope = values_of(form, (place, lean))
    rng, size, found = np.random.default_rng(0), 500, []
    for _ in range(12):
        sign = np.where(rng.random(size) < (1 + lean) / 2, 1.0, -1.0)
        normal = rng.standard_normal(size)
        bell = normal / (1 + normal**2)
        spread = np.sqrt((1 + np.outer(sign, sign) / 2) * (2 + np.outer(bell, bell)))
        noise = rng.standard_normal((size, size))
        matrix = spread * (np.triu(noise, 1) + np.triu(noise, 1).T) / np.sqrt(size)
        matrix += np.outer(bell, bell) / size - place * np.eye(size)
        image = np.linalg.solve(matrix, normal)
        found.append((normal @ image / size, image @ image / size))
    means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    # the diagonal is left out of the noise: of order 1/size
    assert abs(means[0] - value) < 5 * errors[0] + 2 * value / size
    assert abs(means[1] - slope) < 5 * errors[1] + 2 * slope / size


def test_a_second_derivative_is_refused():
    form = ClassResolvent({(y, w): Coin()}, [[-z]], [[1]], q, [], [[0]], [1], [[1]])
    with pytest.raises(TypeError, match="second derivative"):
        form.diff(z).diff(z)


def claimed(form, place):
    """What the form is said to be off by."""
    run = get_backend("float64").function([z, q], [form])
    with listening() as notes:
        value = float(run(*place)[0])
    return value, float(np.max(notes[-1].error))


def gauss(count, function):
    """A mean over a standard normal by so many nodes, by NumPy."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return weights @ function(nodes) / weights.sum()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_a_letter_of_few_nodes_is_said_to_be_off_by_what_more_nodes_change(count):
    """Classes of their own: the form is the mean of 1/(q + u^2/4), by more nodes than any rule has."""
    form = ClassResolvent({(u, v): Normal(count)}, [[q + u**2 / 4]], [[0]], 1, [], [[0]], [1], [[1]])
    value, said = claimed(form, (0.0, 1.5))
    off = abs(value - gauss(80, lambda x: 1 / (1.5 + x**2 / 4)))
    assert off > 1e-6
    assert 0.9 * off < said < 30 * off


def test_what_two_letters_leave_is_not_hidden_by_their_opposite_signs():
    """The mean of 3 + 1/(1 + u^2) - q/(1 + y^2), with q such that coarser rules of both leave it as it is."""
    bell = {count: gauss(count, lambda x: 1 / (1 + x**2)) for count in (2, 4, 7, 80)}
    share = (bell[4] - bell[2]) / (bell[7] - bell[4])
    local = 1 / (3 + 1 / (1 + u**2) - q / (1 + y**2))
    form = ClassResolvent({(u, v): Normal(4), (y, w): Normal(7)}, [[local]], [[0]], 1, [], [[0]], [1], [[1]])
    value, said = claimed(form, (0.0, share))
    off = abs(value - (3 + bell[80] - share * bell[80]))
    assert value == pytest.approx(3 + bell[4] - share * bell[7], rel=1e-12)
    assert off > 1e-3
    assert said > off
