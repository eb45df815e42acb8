"""Numbers of the figures of liao2026, by the entries and by the figures."""

import numpy as np
import pytest

import theorem_engine as te
from tests.registry.liao2026_points import error
from theorem_engine.base.errors import BadRequest, OutOfDomain


@pytest.mark.parametrize(
    ("parameters", "letter", "places", "values"),
    [
        ({"nonlinearity": "tanh", "c": 4}, "gamma", ["1e-3", "1e-2", "0.1", 1, 10, 100],
         [0.025264, 0.081063, 0.269817, 0.666011, 0.923721, 0.990561]),
        ({"nonlinearity": "tanh", "c": "0.25", "gamma": "0.01", "weights": "aligned"}, "snr", [0, "0.5", 1, 2, 4, 8],
         [0.751396, 0.503512, 0.376763, 0.250720, 0.150317, 0.083492]),
        ({"nonlinearity": "clip", "level": 5, "c": "0.25", "gamma": 1, "weights": "aligned"}, "snr",
         [0, "0.5", 1, 2, 4, 8],
         [0.797456, 0.534481, 0.399759, 0.266039, 0.159521, 0.088609]),
        ({"nonlinearity": "exp-clip", "level": 5, "c": 4}, "gamma", ["1e-2", "0.1", 1, 10],
         [0.039663, 0.127727, 0.396785, 0.781855]),
        ({"nonlinearity": "softmax", "c": 4}, "gamma", ["1e-2", "0.1", 1, 10],
         [0.042654, 0.134668, 0.395054, 0.780167]),
        ({"nonlinearity": "tanh", "c": 1, "gamma": 1, "weights": "unit-aligned"}, "snr", [0, "0.5", 1, 2, 4],
         [0.742659, 0.524521, 0.394232, 0.259603, 0.153229]),
        ({"nonlinearity": "tanh", "c": 1, "gamma": 1, "weights": "orthogonal"}, "snr", [0, "0.5", 1, 2, 4],
         [0.742659, 0.592044, 0.461544, 0.299436, 0.168564]),
    ],
)  # fmt: skip
def test_the_curves_of_the_figures(parameters, letter, places, values):
    assert [error(**parameters, **{letter: place}) for place in places] == pytest.approx(values, abs=6e-7)


def test_sizes_stand_for_their_ratio():
    assert error(p=512, n=4096, gamma="0.01", nonlinearity="tanh") == pytest.approx(0.875001, abs=6e-7)
    assert error(p=512, n=2048, gamma=1, nonlinearity="tanh") == error(c="0.25", gamma=1, nonlinearity="tanh")


def test_softmax_and_imbalance_have_their_numbers():
    assert te.predict("liao2026.softmax", c=1, gamma=1).value == pytest.approx(0.519307330138836, rel=1e-12)
    assert te.predict("liao2026.softmax", c=1, gamma=1, masked=False).value == pytest.approx(5**-0.5, rel=1e-13)
    unscaled = te.predict("liao2026.softmax", p=100, n=200, gamma="0.0025", scaled=False).value
    assert unscaled == pytest.approx(te.predict("liao2026.softmax", c="0.5", gamma=1).value, rel=1e-12)
    cos = te.predict("liao2026.class-imbalance", c=1, gamma=1, nonlinearity="cos", imbalance=1).value
    assert cos == pytest.approx(0.637, abs=5e-4)
    balanced = te.predict("liao2026.class-imbalance", c=1, gamma=1, nonlinearity="cos", imbalance=0).value
    assert balanced == pytest.approx(
        te.predict("liao2026.null-error", c=1, gamma=1, nonlinearity="cos").value, rel=1e-12
    )
    odd = te.predict("liao2026.class-imbalance", c=1, gamma=1, nonlinearity="tanh", imbalance="0.7").value
    assert odd == pytest.approx(te.predict("liao2026.null-error", c=1, gamma=1, nonlinearity="tanh").value, rel=1e-10)


def test_the_figures_hold_the_numbers_of_their_entries():
    data = te.figure("liao2026.fig-4").data
    assert data["a_tanh_unit_aligned"].sel(a_snr=1).item() == pytest.approx(0.394232, abs=6e-7)
    assert data["a_tanh_orthogonal"].sel(a_snr=4).item() == pytest.approx(0.168564, abs=6e-7)
    data = te.figure("liao2026.fig-5", ratios=("0.25",)).data
    assert data["a_ridge_0.25"].sel(a_snr=2).item() == pytest.approx(0.316178, abs=6e-7)


def test_the_phase_map_orders_its_regions():
    """Where attention wins on noise a reversal exists too."""
    drawn = te.figure("liao2026.phase", count=7)
    exists, gap = drawn.data["exists"].values.astype(bool), drawn.data["gap"].values
    assert np.all(exists[gap < 0])
    assert 0 < exists.mean() < 1
    assert drawn.plot().axes


@pytest.mark.campaign
def test_simulated_dots_lie_near_their_curve():
    """Small sizes: tanh in the noise panel of Figure 2, within five standard errors and the diagonal's shift."""
    data = te.figure("liao2026.fig-2", runs=4).data
    curve = data["b_tanh"].interp(b_gamma=data["b_dots_gamma"].values).values
    gap = np.abs(data["b_tanh_simulated"].values - curve)
    assert np.all(gap <= 5 * data["b_tanh_spread"].values + 0.05)


def test_dots_are_simulations_anyone_can_ask_for():
    from theorem_engine.registry.liao2026.figures import STRIDE, as_defined

    point = {"nonlinearity": "tanh", "p": 40, "n": 20}
    drawn = as_defined(3, 2, lambda g: {**point, "gamma": g})(0.5, 7)
    asked = te.simulate(
        "liao2026.interpolation-error", **point, gamma="0.5", kernel_diagonal="kept", samples=3, seed=2 * STRIDE + 7
    )
    assert (drawn.value, drawn.error) == (asked["error"], asked.errors["error"])
    assert drawn.error > 0


def test_figures_refuse_options_without_a_standard_error_or_a_seed():
    for name in ("fig-1", "fig-2", "fig-3"):
        with pytest.raises(BadRequest, match="runs='1' is not a whole number of at least 2"):
            te.figure(f"liao2026.{name}", runs=1)
        with pytest.raises(BadRequest, match="seed='-1' is not a whole number of at least 0"):
            te.figure(f"liao2026.{name}", seed=-1)
    with pytest.raises(BadRequest, match="count='1' is not"):
        te.figure("liao2026.phase", count=1)


def test_ratios_of_figures_are_exact_text():
    data = te.figure("liao2026.fig-4", c="0.5").data
    assert data["a_tanh_orthogonal"].sel(a_snr=2).item() == pytest.approx(
        error(c="0.5", gamma=1, nonlinearity="tanh", snr=2, weights="orthogonal"), rel=1e-12
    )


@pytest.mark.campaign
def test_curves_against_the_dimension_are_smooth_and_pass_through_known_points():
    data = te.figure("liao2026.fig-1", runs=2).data
    assert data.sizes["b_p"] >= 40
    assert data.attrs["tokens"] == 1024
    ends = data["b_tanh"].isel(b_p=[0, -1]).values
    assert ends == pytest.approx([0.875001, error(c=4, gamma="0.01", nonlinearity="tanh")], abs=6e-7)


def test_dots_of_a_weights_file_use_its_own_matrix(tmp_path):
    """Identity weights, three times: the dots lie near the curve of noise, at the size of the file."""
    path = tmp_path / "layer.npz"
    np.savez(path, W_K=np.eye(128), W_Q=3 * np.eye(128))
    data = te.figure("liao2026.fig-2", runs=4, weights_file=str(path)).data
    curve = data["b_tanh"].interp(b_gamma=data["b_dots_gamma"].values).values
    assert np.all(np.abs(data["b_tanh_simulated"].values - curve) <= 5 * data["b_tanh_spread"].values + 0.08)


@pytest.mark.parametrize(("size", "says"), [(3, "needs at least 8"), (None, "is not a file that exists")])
def test_a_weights_file_of_no_use_is_refused_by_name(size, says, tmp_path):
    path = tmp_path / "layer.npz"
    if size:
        np.savez(path, W_K=np.eye(size), W_Q=np.eye(size))
    with pytest.raises(OutOfDomain, match=rf"liao2026\.fig-2: weights_file=.*{says}"):
        te.figure("liao2026.fig-2", weights_file=str(path))
