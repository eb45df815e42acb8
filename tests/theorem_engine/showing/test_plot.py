"""Figures by name."""

import pytest

import theorem_engine as te
from theorem_engine.base.errors import BadRequest, DuplicateEntry, NotAvailable, UnknownFigure
from theorem_engine.language import figure as declared
from theorem_engine.language import panel as kinds
from theorem_engine.language.panel import (
    BLACK,
    Arrows,
    Axis,
    Band,
    Contours,
    Curve,
    Dots,
    Level,
    Panel,
    Surface,
    Words,
)
from theorem_engine.showing import drawing


@pytest.fixture
def example():
    """A little figure that leaves the registry again."""

    @declared.declare_figure("example.line", title="A line", marks="D")
    def line(points=3):
        """Numbers."""
        import xarray

        return xarray.Dataset({"y": ("x", list(range(points)))}, coords={"x": list(range(points))})

    yield line
    declared._figures.pop("example.line")


def test_a_figure_is_data_first(example):
    assert te.figure("example.line", points=5).data.sizes["x"] == 5
    assert example.options() == {"points": 3}


def test_a_figure_without_panels_says_so(example):
    with pytest.raises(NotAvailable, match="no panels"):
        te.figure("example.line").plot()


def test_a_figure_draws_its_own_data(example, tmp_path):
    @example.panels
    def panels(data):
        return [Panel([Curve(data["x"], data["y"])])]

    drawn = te.figure("example.line")
    drawn.save(str(tmp_path / "line.png"))
    assert (tmp_path / "line.png").read_bytes()[:4] == b"\x89PNG"
    assert drawn._repr_png_()[:4] == b"\x89PNG"


def shown(*panels, columns=0):
    """Panels on a canvas of matplotlib."""
    from matplotlib.figure import Figure

    canvas = Figure(layout="constrained")
    drawing.draw_panels(canvas, panels, columns, "A title", "A caption")
    canvas.draw_without_rendering()
    return canvas


def test_the_caption_tells_every_option_and_where_the_figure_is_from(example):
    assert te.figure("example.line").caption == "Numbers. Computed with points = 3."
    assert te.figure("example.line", points=4).caption == "Numbers. Computed with points = 4."
    assert "After 2410.01537, Figure 5. Computed with lam = 0.1, points = 25." in next(
        f.described({}) for f in te.figures() if f.id == "marion2025.fig-5"
    )


def test_every_kind_of_mark_is_drawn():
    """Each kind has its own function, and each leaves something on the panel."""
    x, z = [1.0, 2.0, 3.0], [[-1.0, 0.5, 1.0], [0.2, 0.3, 0.4], [1.0, 2.0, 3.0]]
    examples = [
        Curve(x, x, "dashed", dots=True), Dots(x, x, [0.1, 0.2, 0.1]), Band(x, [0, 1, 2], [2, 3, 4]), Level(2.0),
        Surface(x, x, z, "height"), Contours(x, x, z, [0.5], label="half"), Arrows(x, x, z, z, "speed"), Words("none"),
    ]  # fmt: skip
    assert {type(mark) for mark in examples} == set(drawing.DRAWN)
    assert set(drawing.DRAWN) == {k for k in vars(kinds).values() if isinstance(k, type) and kinds.Mark in k.__bases__}
    for mark in examples:
        axes = shown(Panel([mark])).axes[0]
        assert axes.lines or axes.collections or axes.texts, type(mark).__name__


def test_colours_are_those_of_the_palette_and_legends_tell_each_label_once():
    x = [1.0, 2.0]
    left = Panel([Curve(x, x, tone=1, label="a"), Level(1.5, tone=BLACK, label="b")])
    canvas = shown(left, left, Panel([Curve(x, x, tone=2, label="c")]), columns=2)
    first, second, third, empty = canvas.axes
    assert first.lines[0].get_color() == drawing.PALETTE[1]
    assert first.lines[1].get_color() == "black"
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["a", "b"]
    assert second.get_legend() is None
    assert third.get_legend() is not None
    assert not empty.axison


def test_axes_have_the_scale_the_range_and_the_ticks_they_are_given():
    symmetric = Axis("y", "symmetric", -1, 1, ticks=(-1, 0, 1), linear=1e-3)
    canvas = shown(Panel([Curve([1, 10], [0, 1])], Axis("x", "log", 1, 10), symmetric))
    axes = canvas.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "symlog")
    assert axes.get_xlim() == (1, 10)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["-1", "0", "1"]


@pytest.mark.parametrize("ends", [(130, 4100), (1e-3, 100), (30, 80), (0.06, 6)])
def test_labels_of_a_logarithmic_axis_do_not_meet(ends):
    canvas = shown(Panel([Curve(ends, [0, 1])], Axis("x", "log")))
    canvas.set_size_inches(4.5, 4)
    canvas.draw_without_rendering()
    axis = canvas.axes[0].xaxis
    labels = [x for x in (*axis.get_ticklabels(), *axis.get_ticklabels(minor=True)) if x.get_text()]
    low, high = canvas.axes[0].get_xlim()
    boxes = sorted((x.get_window_extent() for x in labels if low <= x.get_position()[0] <= high), key=lambda x: x.x0)
    assert len(boxes) >= 2
    assert all(left.x1 < right.x0 for left, right in zip(boxes, boxes[1:], strict=False))


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
