"""The attention simulator against algebra, against itself, and against the limit theory.

Seeds are fixed, so nothing fails by chance on a rerun. Bounds against the theory are five standard errors plus
the finite-size shift measured at these sizes; under another seed a test fails with probability below 1e-5.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.validators import liao2026 as sim
from theorem_engine.validators import liao2026_controls as controls
from theorem_engine.validators import liao2026_kernel_controls as kernel_controls
from theorem_engine.validators import liao2026_matrices as matrices
from theorem_engine.validators import liao2026_model as model


def rng(seed=0):
    return np.random.default_rng(seed)


def large(point):
    """The point at a size at which finite-size shifts are those stated in the tests."""
    return {**point, "size": 400}


def close(samples, value, shift=0.0):
    samples = np.asarray(samples)
    spread = np.std(np.real(samples), ddof=1) + np.std(np.imag(samples), ddof=1)
    return abs(samples.mean() - value) <= 5 * spread / np.sqrt(samples.size) + shift


@pytest.mark.parametrize("shape", [(50, 50), (30, 80), (80, 30)])
def test_the_error_is_gamma_squared_over_n_times_the_squared_resolvent(shape):
    point = {"p": shape[0], "n": shape[1], "gamma": 0.3, "nonlinearity": "tanh"}
    assert np.all(np.abs(matrices.error_identity(point, rng(), 3)["gap"]) < 1e-12)


def test_the_prefactor_met_in_summaries_is_not_the_identity():
    """gamma/(2 n) y^T Q^2 y differs from the error by far more than rounding."""
    p = n = 50
    labels = model.draw_labels(rng(1), n)
    tokens = rng(2).standard_normal((p, n))
    features = tokens @ model.make_attention(model.make_logits(tokens, np.zeros(p), np.zeros(p)), np.tanh, p, None)
    gamma = 0.3
    image = np.linalg.solve(features.T @ features / n + gamma * np.eye(n), labels)
    loss = model.ridge_loss(features, labels, gamma)
    assert abs(loss - gamma**2 / n * image @ image) < 1e-13
    assert abs(loss - gamma / (2 * n) * image @ image) > 0.1


@pytest.mark.parametrize("shape", [(20, 60), (60, 20)])
def test_both_systems_give_the_ridge_solution(shape):
    features, gamma = rng(3).standard_normal(shape), 0.2
    labels = model.draw_labels(rng(4), shape[1])
    direct = np.linalg.solve(features @ features.T + shape[1] * gamma * np.eye(shape[0]), features @ labels)
    assert np.allclose(model.ridge_residual(features, labels, gamma), labels - features.T @ direct, atol=1e-11)


@pytest.mark.parametrize("weights", ["aligned", "unit-aligned", "orthogonal", "none", None])
def test_vectors_have_the_inner_products_asked_for(weights):
    products = {"key_norm2": 1.5, "query_norm2": 1.2, "mu_key": 0.7, "mu_query": -0.5, "key_query": 0.3}
    point = {"snr": 2.0, "weights": weights} if weights else {"snr": 2.0, **products}
    rows = model.make_vectors(point, 40)
    products = rows @ rows.T
    wanted = {
        "aligned": np.full((3, 3), 2.0),
        "unit-aligned": np.array([[2, 2**0.5, 2**0.5], [2**0.5, 1, 1], [2**0.5, 1, 1]]),
        "orthogonal": np.diag([2.0, 1, 1]),
        "none": np.diag([2.0, 0, 0]),
        None: np.array([[2, 0.7, -0.5], [0.7, 1.5, 0.3], [-0.5, 0.3, 1.2]]),
    }[weights]
    assert np.allclose(products, wanted, atol=1e-12)


def test_vectors_of_a_file_have_the_inner_products_of_its_rank_one_part():
    file = SimpleNamespace(strength=2.0, key_query=1.2, key_along=0.5, query_along=-0.3)
    rows = model.make_vectors({"snr": 4, "weights_file": file, "key_norm2": 0}, 30)
    assert rows @ rows.T == pytest.approx(np.array([[4, 1, -0.6], [1, 2, 1.2], [-0.6, 1.2, 2]]))


def test_impossible_inner_products_are_refused():
    with pytest.raises(ValueError, match="semidefinite"):
        model.make_vectors({"snr": 1.0, "mu_key": 2.0, "key_norm2": 1.0}, 10)
    with pytest.raises(ValueError, match="dimensions"):
        model.make_vectors({"snr": 1.0, "weights": "orthogonal"}, 2)


def test_logits_pair_rows_with_keys_and_columns_with_queries():
    tokens = rng(5).standard_normal((7, 5))
    key, query = rng(6).standard_normal((2, 7))
    logits = model.make_logits(tokens, key, query)
    assert logits[1, 3] == pytest.approx(
        (tokens[:, 1] @ tokens[:, 3] + tokens[:, 1] @ key * (query @ tokens[:, 3])) / 7**0.5
    )


def test_softmax_rows_sum_to_one_and_a_masked_token_ignores_itself():
    logits = 40 * rng(7).standard_normal((30, 30))
    for masked in (True, False):
        attention = model.softmax_attention(logits, masked=masked)
        assert np.allclose(attention.sum(axis=1), 1)
        assert np.all(np.diag(attention) == 0) == masked


@pytest.mark.parametrize(
    "point",
    [
        {"c": 1, "gamma": 1, "nonlinearity": "tanh"},
        {"c": 4, "gamma": 0.01, "nonlinearity": "tanh", "snr": 2},
        {"c": 0.25, "gamma": 1, "nonlinearity": "cos"},
        {"c": 1, "gamma": 1, "nonlinearity": "clip", "level": 5, "diagonal": 0.25, "snr": 1},
        {"c": 1, "gamma": 1, "nonlinearity": "clip", "level": 5, "snr": 2, "key_norm2": 1.5, "query_norm2": 1.2,
         "mu_key": 0.7, "mu_query": -0.5, "key_query": 0.3},
        {"c": 2, "gamma": 0.3, "a1": 0.6, "second_moment": 1, "snr": 1, "weights": "unit-aligned"},
    ],
)  # fmt: skip
def test_simulated_attention_meets_the_limit(point):
    samples = sim.attention_error(large(point), rng(8), 12)["error"]
    assert close(samples, te.predict("liao2026.interpolation-error", **point).value, 0.01)


def test_the_diagonal_is_the_dominant_finite_size_effect():
    """Kept as it comes, clip at 12 has a diagonal of 12/sqrt(p); given to the theory it explains the shift."""
    point = {"p": 400, "n": 400, "gamma": 1.0, "nonlinearity": "clip", "level": 12}
    samples = sim.attention_error_as_defined(point, rng(9), 10)["error"]
    plain = {"c": 1, "gamma": 1, "nonlinearity": "clip", "level": 12}
    limit = te.predict("liao2026.null-error", **plain).value
    corrected = te.predict("liao2026.null-error", **plain, diagonal="0.6").value
    assert not close(samples, limit, 0.01)
    assert close(samples, corrected, 0.01)


@pytest.mark.parametrize("point", [{"c": 0.5, "snr": 1, "weights": "aligned"}, {"c": 2, "snr": 0}])
def test_the_gaussian_surrogate_meets_the_same_limit(point):
    point = {"gamma": 0.5, "a1": 0.6, "second_moment": 0.9, **point}
    samples = sim.surrogate_error(large(point), rng(10), 10)["error"]
    assert close(samples, te.predict("liao2026.interpolation-error", **point).value, 0.01)


def test_traces_of_the_noise_resolvent_meet_the_fixed_point():
    point = {"c": 0.7, "gamma": 0.5, "nonlinearity": "tanh"}
    samples = matrices.noise_traces(large(point), rng(11), 6)
    predicted = te.predict("liao2026.noise-resolvent", **point).outputs
    for name in ("alpha", "beta", "delta"):
        assert close(samples[name], predicted[name], 0.01 * abs(predicted[name])), name


@pytest.mark.parametrize("z", [-0.6, 1.5 + 0.8j])
def test_spectral_forms_meet_their_closed_forms(z):
    point = {"c": 0.5, "snr": 1.5, "z": z}
    samples = matrices.spectral_forms(large(point), rng(12), 16)
    predicted = te.predict("liao2026.spiked-resolvent", **point).outputs
    for name, values in samples.items():
        assert close(values, predicted[name], 0.02 * abs(predicted[name]) + 0.003), name


def test_ridge_on_tokens_meets_its_closed_form():
    point = {"c": 0.5, "gamma": 0.2, "snr": 2}
    assert close(
        sim.raw_ridge_error(large(point), rng(13), 16)["error"],
        te.predict("liao2026.ridge-error", **point).value,
        0.005,
    )


def test_plain_softmax_is_ridge_and_masked_softmax_is_attention():
    plain = {"c": 1, "gamma": 1, "masked": False}
    assert close(
        sim.softmax_error(large(plain), rng(14), 10)["error"], te.predict("liao2026.softmax", **plain).value, 0.005
    )
    masked = {"c": 1, "gamma": 1}
    # measured shift: 0.035 at p = 400, falling like 1/sqrt(p)
    assert close(
        sim.softmax_error(large(masked), rng(15), 10)["error"], te.predict("liao2026.softmax", **masked).value, 0.045
    )


def test_unbalanced_labels_meet_their_remark():
    point = {"c": 1, "gamma": 1, "nonlinearity": "cos", "imbalance": 1}
    assert close(
        sim.attention_error(large(point), rng(16), 16)["error"],
        te.predict("liao2026.class-imbalance", **point).value,
        0.03,
    )


@pytest.mark.parametrize("weights", ["aligned", "orthogonal", "none"])
def test_the_kept_part_needs_three_projections_of_the_noise(weights):
    """Rank and norm from whole matrices, and from projections alone, at one size."""
    point = {"nonlinearity": "tanh", "snr": 1.5, "weights": weights, "p": 24, "n": 30}
    whole, reduced = matrices.kernel_remainder(point, rng(34), 300), matrices.kept_part(point, rng(35), 3000)
    assert set(whole["rank"]) == set(reduced["rank"])
    spread = np.hypot(whole["strength"].std() / 300**0.5, reduced["strength"].std() / 3000**0.5)
    assert abs(whole["strength"].mean() - reduced["strength"].mean()) < 5 * spread
    assert abs(whole["strength"].std() / reduced["strength"].std() - 1) < 0.25


def test_the_remainder_of_the_linearisation_falls():
    """Operator norm like 1/sqrt(p): from 100 to 400 it halves; the kept part stays and has its rank and norm."""
    base = {"nonlinearity": "tanh", "snr": 1.0, "weights": "unit-aligned"}
    small, large = (matrices.kernel_remainder({**base, "p": size, "n": size}, rng(17), 3) for size in (100, 400))
    assert 0.35 < large["remainder"].mean() / small["remainder"].mean() < 0.7
    predicted = te.predict("liao2026.kernel-linearization", c=1, **base).outputs
    assert np.all(large["rank"] == predicted["rank"])
    assert large["strength"].mean() == pytest.approx(predicted["strength"], rel=0.1)


@pytest.mark.parametrize("parameters", [{"nonlinearity": "relu"}, {"nonlinearity": "exp-clip", "level": 5}])
def test_sampled_moments_meet_the_hermite_data(parameters):
    samples = matrices.sampled_moments(parameters, rng(18), 200_000)
    predicted = te.predict("liao2026.hermite", **parameters).outputs
    for name, values in samples.items():
        assert close(values, predicted[name]), name
    b = matrices.nonlinear_part(parameters, rng(19), 6)["b"]
    assert b.mean() == pytest.approx(te.predict("liao2026.gaussian-equivalent", **parameters).value, rel=0.03)


def test_a_matrix_of_weights_is_used_as_it_stands():
    """The identity gives the plain kernel; softmax takes the same matrix."""
    point = {"p": 60, "n": 40, "gamma": 0.5, "nonlinearity": "tanh"}
    given = sim.given_weights_error({**point, "product": np.eye(60)}, rng(21), 30)["error"]
    plain = sim.attention_error_as_defined(point, rng(22), 30)["error"]
    assert close(given, plain.mean(), 5 * plain.std() / 30**0.5)
    soft = sim.given_weights_error({**point, "nonlinearity": "softmax", "product": np.eye(60)}, rng(23), 30)["error"]
    assert close(soft, sim.softmax_error(point, rng(24), 30)["error"].mean(), 5 * soft.std() / 30**0.5)


def test_equal_seeds_give_equal_samples_and_unknown_names_are_refused():
    point = {"p": 30, "n": 40, "gamma": 1.0, "nonlinearity": "tanh"}
    first, second = (sim.attention_error(point, rng(20), 2)["error"] for _ in range(2))
    assert np.array_equal(first, second)
    with pytest.raises(ValueError, match="gelu"):
        sim.attention_error({**point, "nonlinearity": "gelu"}, rng(), 1)


def test_controls_have_mean_zero():
    """Fifteen means of 4000 draws, each within 5 standard errors: a false alarm in 1e-5 of seeds."""
    products = {"snr": 2.0, "key_norm2": 1.0, "query_norm2": 1.0, "mu_key": 0.5, "mu_query": -0.3, "key_query": 0.2}
    mu, key, query = model.make_vectors(products, 20)
    source, found = rng(25), []
    for _ in range(4000):
        labels = model.draw_labels(source, 30)
        found.append(controls.token_controls(model.draw_tokens(source, mu, labels), labels, mu, (mu, key, query)))
    table = np.array(found)
    assert table.shape == (4000, 15)
    assert np.all(np.abs(table.mean(axis=0)) < 5 * table.std(axis=0) / 4000**0.5)


@pytest.mark.parametrize(
    ("point", "count"),
    [
        ({"nonlinearity": "tanh", "snr": 1.5, "weights": "aligned"}, 7),
        ({"nonlinearity": "clip", "level": 0.8, "snr": 0.7, "weights": "orthogonal", "diagonal": 0.3}, 21),
    ],
)
def test_controls_of_the_attention_matrix_have_mean_zero(point, count):
    """Each within 5 standard errors of 2500 draws; a mean that leaves out one coincidence of tokens is noticed."""
    p, n, f, diagonal = 18, 14, model.function_of(point), point.get("diagonal", 0.0)
    vectors = model.make_vectors(point, p)
    exact = kernel_controls.KernelControls(f, diagonal, n, vectors[0], vectors)
    source, found = rng(31), []
    for _ in range(2500):
        labels = model.draw_labels(source, n)
        tokens = model.draw_tokens(source, vectors[0], labels)
        kernel = model.make_attention(model.make_logits(tokens, 0 * vectors[0], 0 * vectors[0]), f, p, diagonal)
        found.append(exact(tokens, labels, kernel))
    table = np.array(found)
    assert table.shape == (2500, count)
    errors = table.std(axis=0) / 2500**0.5
    assert np.all(np.abs(table.mean(axis=0)) < 5 * errors)
    # the share of pairs of equal tokens, of order 1/n, is far beyond these errors
    assert np.max(np.abs(exact.means) / n / errors) > 20


@pytest.mark.parametrize("dimension", [1, 7, 5000])
def test_squared_lengths_have_the_moments_of_chi_squared(dimension):
    """E l^2 = k, E l^4 = k (k + 2) and so on, in any dimension: six nodes are exact for eleven powers."""
    nodes, weights = kernel_controls._squared_length(dimension)
    expected = 1.0
    for power in range(6):
        assert weights @ nodes**power == pytest.approx(expected, rel=1e-9)
        expected *= dimension + 2 * power


def test_controls_of_the_attention_matrix_are_for_odd_functions_without_jumps():
    suitable = {
        name: kernel_controls.is_suitable(model.make_function(name, 1.0, 0.5)) for name in ("tanh", "clip", "sin")
    }
    assert all(suitable.values())
    for name in ("cos", "relu", "sign", "exp-clip"):
        assert not kernel_controls.is_suitable(model.make_function(name, 1.0))


def test_controls_change_the_spread_and_not_the_mean(monkeypatch):
    point = {"p": 60, "n": 60, "gamma": 1.0, "nonlinearity": "tanh", "snr": 2.0}
    smooth = sim.attention_error(point, rng(26), 600)["error"]
    monkeypatch.setattr(controls, "_SLOPES", {})
    monkeypatch.setattr(controls, "_fit", lambda table, values: np.zeros(table.shape[1]))
    plain = sim.attention_error(point, rng(27), 600)["error"]
    assert smooth.std() < 0.6 * plain.std()
    assert abs(smooth.mean() - plain.mean()) < 5 * np.hypot(smooth.std(), plain.std()) / 600**0.5


def test_controls_fitted_at_a_smaller_size_still_help(monkeypatch):
    """The slope at large penalties at a size beyond that of the fit: the spread falls to less than half."""
    point = {"p": 70, "n": 210, "gamma": 1.0, "nonlinearity": "tanh", "snr": 0.4, "weights": "aligned"}
    smooth = sim.error_limits(point, rng(40), 60)["M1"]
    monkeypatch.setattr(controls, "_SLOPES", {})
    monkeypatch.setattr(controls, "PILOT", 4)
    monkeypatch.setattr(controls, "_fit", lambda table, values: np.zeros(table.shape[1]))
    plain = sim.error_limits(point, rng(41), 60)["M1"]
    assert smooth.std() < 0.5 * plain.std()
    assert abs(smooth.mean() - plain.mean()) < 5 * np.hypot(smooth.std(), plain.std()) / 60**0.5


def test_on_noise_the_error_is_a_mean_over_labels():
    """The mean stays, the spread falls to that of a trace."""
    point = {"p": 50, "n": 50, "gamma": 0.5, "nonlinearity": "tanh"}
    averaged = sim.attention_error(point, rng(28), 300)["error"]
    single = []
    source = rng(29)
    for _ in range(600):
        labels = model.draw_labels(source, 50)
        tokens = source.standard_normal((50, 50))
        features = sim.entrywise(point)(tokens, np.zeros(50), np.zeros(50), source)
        single.append(model.ridge_loss(features, labels, 0.5))
    assert averaged.std() < 0.4 * np.std(single)
    assert close(single, averaged.mean(), 5 * averaged.std() / 300**0.5)


@pytest.mark.parametrize("c", [0.0431, 0.189, 1.0, 3.37, 20.6])
def test_sizes_have_nearly_the_ratio_asked_for(c):
    for size in (60, 120, 240):
        p, n = model.sizes({"c": c, "size": size})
        assert p / n == pytest.approx(c, rel=0.004)
        assert (p * n) ** 0.5 == pytest.approx(size, rel=0.2)


@pytest.mark.parametrize("mean", [0.0, 0.143, -1.0, 1.0])
def test_labels_have_their_mean_on_average(mean):
    labels = model.draw_labels(rng(30), 31, mean, 4000)
    assert set(np.unique(labels)) <= {-1.0, 1.0}
    assert labels.mean() == pytest.approx(mean, abs=1e-3)
    assert np.ptp(labels.mean(axis=0)) <= 2 / 31 + 1e-12


def test_a_given_diagonal_is_not_ignored():
    with pytest.raises(ValueError, match="diagonal"):
        sim.attention_error_as_defined({"p": 9, "n": 9, "gamma": 1, "nonlinearity": "tanh", "diagonal": 0.5}, rng(), 1)


@pytest.mark.parametrize("point", [{"c": 0.5}, {"c": 0.5, "snr": 1.5}])
def test_simulated_limits_meet_theirs(point):
    """Largest gaps seen at this size: 1 %."""
    point = {**point, "nonlinearity": "tanh"}
    predicted = te.predict("liao2026.limits", **point).outputs
    samples = sim.error_limits(large(point), rng(31), 16)
    for output in ("M1", "floor"):
        assert close(samples[output], predicted[output], 0.02 * predicted[output])


def test_the_wide_limit_is_met_on_noise():
    point = {"c": 1, "gamma": 0.5, "nonlinearity": "tanh"}
    wide = te.predict("liao2026.limits", **point).outputs["wide"]
    assert close(sim.error_limits(large(point), rng(32), 12)["wide"], wide, 0.02)
    assert "wide" not in sim.error_limits({**point, "snr": 1.0}, rng(), 2)


def test_the_window_of_reversal_is_that_of_the_closed_form():
    point = {"c": 0.5, "gamma": 1.0, "nonlinearity": "tanh"}
    predicted = te.predict("liao2026.reversal", **point).outputs
    samples = matrices.reversal_window(large(point), rng(33), 8)
    for name in ("best_ratio_snr", "snr_low", "snr_high"):
        assert close(samples[name], predicted[name], 0.03 * predicted[name]), name
    assert set(matrices.reversal_window({**point, "c": 1, "weights": "aligned"}, rng(), 2)) == {"best_ratio_snr"}
    even = matrices.reversal_window({**point, "nonlinearity": "cos"}, rng(), 2)
    assert np.all(even["best_ratio_snr"] == 0)


def test_ends_of_a_window_lie_between_the_places_of_the_grid():
    """On a coarse grid the sign changes of 2 - |log s| are found exactly; ends off the grid are its own."""
    places = np.geomspace(0.01, 100, 12)
    assert matrices._ends(places, 2 - np.abs(np.log(places))) == pytest.approx((np.exp(-2), np.exp(2)), rel=1e-12)
    assert matrices._ends(places, np.ones(12)) == (places[0], places[-1])
    assert matrices._ends(places, -np.ones(12)) == (np.inf, 0.0)


def test_a_top_that_jumps_from_run_to_run_is_refused():
    point = {"p": 40, "n": 160, "gamma": 0.1, "nonlinearity": "tanh", "weights": "aligned"}
    with pytest.raises(ValueError, match="so flat in the signal"):
        matrices.reversal_window(point, rng(35), 2)


def test_softmax_without_its_factor_keeps_its_penalty_when_it_is_drawn_at_another_size():
    """Rescaling features and penalty together changes no error: at any size the numbers are those with the factor."""
    asked = {"p": 60, "n": 40, "snr": 0.0, "weights": "none", "gamma": 0.02, "scaled": "false"}
    small = sim.softmax_error.at_sizes(asked, {"p": 30, "n": 20})
    with_factor = {**small, "scaled": "true", "gamma": asked["gamma"] * 40**2 / 60}
    drawn = [sim.softmax_error(point, rng(36), 6)["error"].mean() for point in (small, with_factor)]
    # centring moves the error of features by one direction among twenty
    assert drawn[0] == pytest.approx(drawn[1], abs=0.05)
    assert sim.softmax_error.at_sizes({**asked, "scaled": "true"}, {"p": 30, "n": 20})["gamma"] == asked["gamma"]


def test_the_error_at_all_strengths_is_that_of_ridge_itself():
    """The rank-two formula of reversal_window against the regression as defined."""
    source = rng(34)
    noise, labels = source.standard_normal((30, 20)), model.draw_labels(source, 20)
    direction = np.ones(30) / 30**0.5
    gamma, strength = 0.4, 1.7
    loss = model.ridge_loss(noise + strength**0.5 * np.outer(direction, labels), labels, gamma)
    inverse = np.linalg.inv(noise.T @ noise / 20 + gamma * np.eye(20))
    y, h = labels / 20**0.5, noise.T @ direction / 20**0.5
    forms = [a @ inverse @ b for a, b in ((y, y), (y, h), (h, h))]
    slopes = [-(a @ inverse @ inverse @ b) for a, b in ((y, y), (y, h), (h, h))]
    assert gamma**2 * matrices._slope_of_form(forms, slopes, strength**0.5) == pytest.approx(loss, rel=1e-10)


def test_tokens_of_other_laws_have_the_same_variance_and_other_fourth_moments():
    from theorem_engine.validators.liao2026_model import TOKEN_LAWS, draw_noise

    fourth = {}
    for law in TOKEN_LAWS:
        drawn = draw_noise(np.random.default_rng(3), (500, 400), law)
        assert abs(drawn.mean()) < 0.015
        assert abs(drawn.var() - 1) < 0.05
        fourth[law] = float((drawn**4).mean())
    assert fourth["rademacher"] == 1
    assert abs(fourth["gaussian"] - 3) < 0.1
    # the fourth moment of Student's law is nine times the squared variance, and slow to show
    assert fourth["student-5"] > 5
    with pytest.raises(ValueError, match="laws gaussian"):
        draw_noise(np.random.default_rng(3), (2, 2), "cauchy")


def test_the_fourth_moment_of_the_tokens_moves_the_error_of_an_even_function_of_unbalanced_classes():
    """Limits .684 and .553 beside the Gaussian .622: far apart at a small size already. A line on noise sees no law."""
    point = {"nonlinearity": "cos", "c": 1, "gamma": 0.5, "imbalance": 0.6, "p": 120, "n": 120}
    found = {}
    for law in ("gaussian", "rademacher", "student-5"):
        drawn = sim.attention_error({**point, "tokens": law}, np.random.default_rng(5), 16)["error"]
        found[law] = drawn.mean(), drawn.std() / 4
    for low, high in (("student-5", "gaussian"), ("gaussian", "rademacher")):
        gap = found[high][0] - found[low][0]
        assert gap > 4 * np.hypot(found[high][1], found[low][1])


@pytest.mark.parametrize("point", [{"c": 0.5}, {"c": 0.357}, {"p": 214, "n": 208}, {"c": 3.1}])
def test_the_smallest_sizes_of_a_series_have_the_ratio_asked_for(point):
    c = point.get("c") or point["p"] / point["n"]
    begin = model.series_from(point)
    for size in (begin, 2 * begin):
        p, n = model.sizes({"c": c, "size": size})
        assert min(p, n) >= 0.8 * model.FEWEST
        assert abs(p / n / c - 1) < model.OFF


def test_there_is_no_series_where_it_would_need_sizes_out_of_reach():
    assert model.series_from({"c": 0.01}) == 0
