"""Figures by name."""

import pytest

import theorem_engine as te
from theorem_engine.base.errors import BadRequest, DuplicateEntry, NotAvailable, UnknownFigure
from theorem_engine.language import figure as declared


@pytest.fixture
def example():
    """A little figure that leaves the registry again."""

    @declared.declare_figure("example.line", title="A line", marks="D")
    def line(points=3):
        """Numbers."""
        import xarray

        return xarray.Dataset({"y": ("x", list(range(points)))})

    yield line
    declared._figures.pop("example.line")


def test_a_figure_is_data_first(example):
    assert te.figure("example.line", points=5).data.sizes["x"] == 5
    assert example.options() == {"points": 3}


def test_a_figure_without_a_drawing_says_so(example):
    with pytest.raises(NotAvailable, match="no drawing"):
        te.figure("example.line").plot()


def test_a_figure_draws_its_own_data(example, tmp_path):
    @example.drawing
    def draw(data, canvas):
        canvas.subplots().plot(data["y"])

    drawn = te.figure("example.line")
    drawn.save(str(tmp_path / "line.png"))
    assert (tmp_path / "line.png").read_bytes()[:4] == b"\x89PNG"
    assert drawn._repr_png_()[:4] == b"\x89PNG"


def test_unknown_figures_and_options_are_named(example):
    with pytest.raises(UnknownFigure, match=r"no figure 'example\.lin'; nearest: example\.line"):
        te.figure("example.lin")
    with pytest.raises(BadRequest, match="no option 'pints'; nearest: points"):
        te.figure("example.line", pints=2)


def test_a_figure_is_declared_once(example):
    with pytest.raises(DuplicateEntry, match="declared twice"):
        declared.declare_figure("example.line", title="Again")(lambda: None)


def test_figures_are_listed():
    assert {"marion2025.fig-3", "marion2025.fig-4", "marion2025.fig-5", "marion2025.swapped"} <= {
        f.id for f in te.figures()
    }


def test_settings_of_figures_are_points_of_entries():
    """Campaigns check them, so each must be readable and have equations."""
    from theorem_engine.asking.point import read_point
    from theorem_engine.language.catalogue import find_entry
    from theorem_engine.language.figure import figures

    settings = [pair for figure in figures() for pair in figure.settings]
    assert len(settings) >= 8
    for name, point in settings:
        entry = find_entry(name)
        assert entry.statement(dict(read_point(entry, point).options)).outputs
