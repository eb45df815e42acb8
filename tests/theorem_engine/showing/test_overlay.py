"""te.plot: curves over each other, axes, bands, points of one's own."""

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.sweeping.pictures import PALETTE, is_logarithmic

GRID = te.grid("0.1", 2, 5)


def axes_of(picture):
    return picture.figure.axes[0]


def test_entries_are_drawn_over_each_other_with_colours_that_can_be_told_apart():
    picture = te.plot("marion2025.oracle-risk", "marion2025.linear-risk", gamma=GRID, L=[5, 20], lam="0.3", d=20)
    axes = axes_of(picture)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [f"marion2025.{name}, L={L}" for name in ("oracle-risk", "linear-risk") for L in (5, 20)]
    assert [line.get_color() for line in axes.lines] == list(PALETTE[:4])
    drawn = axes.lines[3].get_ydata()
    assert drawn == pytest.approx([g**2 * (1 - g**2 / (19 + g**2)) for g in map(float, GRID)], rel=1e-12)


def test_errors_are_bands_and_data_are_points():
    data = te.sweep("liao2026.ridge-error", gamma=GRID, c=1)
    data["error_error"] = 0.1 * data["error"]
    picture = te.plot(data, data={"gamma": [0.5, 1], "error": [0.3, 0.4], "error_error": 0.05})
    axes = axes_of(picture)
    assert len(axes.collections) == 2  # the band, the bars
    low, high = (axes.collections[0].get_paths()[0].vertices[:, 1].min(), data["error"].values.min())
    assert low == pytest.approx(0.9 * high)
    assert axes.containers


def test_axes_are_logarithmic_where_values_are():
    picture = te.plot("liao2026.ridge-error", gamma=te.grid("0.001", 100, 9, log=True), c=2)
    assert (axes_of(picture).get_xscale(), axes_of(picture).get_yscale()) == ("log", "log")
    plain = te.plot("liao2026.ridge-error", gamma=GRID, c="0.5")
    assert (axes_of(plain).get_xscale(), axes_of(plain).get_yscale()) == ("linear", "linear")
    assert is_logarithmic([10, 100, 1000, 10**6])
    assert not is_logarithmic([0, 10, 100, 1000])
    assert not is_logarithmic(np.linspace(1, 1000, 30))


def test_a_picture_is_saved_once_and_shown_in_a_notebook(tmp_path):
    picture = te.plot("liao2026.ridge-error", gamma=GRID, c=[1, 2], x="gamma", y="error")
    picture.save(tmp_path / "a.svg")
    assert picture._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(TheoremEngineError, match="there already"):
        picture.save(tmp_path / "a.svg")


@pytest.mark.parametrize(
    ("things", "options", "said"),
    [
        ((), {}, "needs an id"),
        ((3,), {}, "not a int"),
        (("liao2026.ridge-error",), {"gamma": GRID, "c": 1, "foo": 2}, "'foo'"),
        (("liao2026.ridge-error",), {"gamma": GRID, "c": 1, "x": "snr"}, "not swept"),
        (("liao2026.ridge-error",), {"gamma": GRID, "c": 1, "y": "risk"}, "no output 'risk'"),
        (("liao2026.ridge-error",), {"gamma": GRID, "c": 1, "data": {"gamma": [1]}}, "'error' is missing"),
        (("liao2026.ridge-error",), {"gamma": te.grid("0.1", 1, 40), "c": list(range(1, 31))}, "more than 28"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(things, options, said):
    with pytest.raises(TheoremEngineError) as refused:
        te.plot(*things, **options)
    assert said in str(refused.value)
