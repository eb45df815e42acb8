"""Figures on the command line: options as text, files that are refused before anything is computed."""

import pytest

import theorem_engine as te
from tests.theorem_engine.command_line import data_of, error_of, output_of


def test_figures_are_listed_by_id():
    assert [row["id"] for row in data_of("figure")] == [figure.id for figure in te.figures()]


@pytest.fixture
def parabola(monkeypatch):
    """A figure that exists for one test."""
    import xarray

    from theorem_engine.language import figure as declared

    monkeypatch.setattr(declared, "_figures", {})

    @declared.declare_figure("test.parabola", title="A parabola", least={"count": 2})
    def compute(count: int = 3, shifted=False, scale=1.0, kept=("a", "b")):
        """Squares."""
        values = [scale * i * i + shifted for i in range(count)]
        return xarray.Dataset({"y": ("x", values)}, {"x": list(range(count))}, {"kept": list(kept)})

    @compute.panels
    def panels(data):
        return [te.Panel([te.Curve(data["x"], data["y"])])]


@pytest.mark.usefixtures("parabola")
def test_a_figure_is_computed_and_drawn(tmp_path):
    picture = tmp_path / "parabola.png"
    assert output_of("figure") == "test.parabola  A parabola\n"
    assert data_of("figure", "test.parabola", "count=4")["outputs"]["y"]["values"] == [0, 1, 4, 9]
    assert output_of("figure", "test.parabola", "--out", str(picture)) == f"wrote {picture}\n"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert error_of("figure", "test.parabola", "--out", str(tmp_path / "parabola.odd")).startswith("BadRequest: --out")
    assert error_of("figure", "test.parabola", "count=x") == "BadRequest: count='x' is not a whole number"
    assert error_of("figure", "test.parabola", "size=1").startswith("BadRequest: test.parabola has no option 'size'")


@pytest.mark.usefixtures("parabola")
def test_the_data_of_a_figure_are_written_as_csv_and_netcdf(tmp_path):
    import xarray

    table, store = tmp_path / "parabola.csv", tmp_path / "parabola.nc"
    output_of("figure", "test.parabola", "--out", str(table))
    assert table.read_text() == "x,y\n0,0.0\n1,1.0\n2,4.0\n"
    te.figure("test.parabola").save(store)
    with xarray.open_dataset(store) as data:
        assert data["y"].values.tolist() == [0, 1, 4]
    assert "is there already" in error_of("figure", "test.parabola", "--out", str(table))


def test_variables_without_common_axes_are_written_number_by_number(tmp_path):
    """The panels of a figure may each have an axis of their own; their product would mean nothing."""
    import xarray

    from theorem_engine.sweeping.tables import write_dataset

    data = xarray.Dataset({"f": ("x", [0.5, 2.0]), "g": ("y", [1.0, 3.0, 7.0])}, {"x": [1, 2], "y": [0.1, 0.2, 0.3]})
    write_dataset(data, tmp_path / "two.csv")
    lines = (tmp_path / "two.csv").read_text().splitlines()
    assert lines[0] == "x,y,variable,value"
    assert lines[1:] == ["1,,f,0.5", "2,,f,2.0", ",0.1,g,1.0", ",0.2,g,3.0", ",0.3,g,7.0"]


@pytest.mark.usefixtures("parabola")
def test_options_of_a_figure_are_read_as_the_kind_of_their_defaults():
    def values(*options):
        return data_of("figure", "test.parabola", *options)["outputs"]["y"]["values"]

    assert values("shifted=false") == values() == [0, 1, 4]
    assert values("shifted=true", "scale=0.5") == [1, 1.5, 3]
    assert "['c', 'd', 'e']" in output_of("figure", "test.parabola", "kept=c,d,e")
    assert error_of("figure", "test.parabola", "shifted=maybe").endswith("shifted='maybe' is neither true nor false")
    assert error_of("figure", "test.parabola", "scale=x").endswith("scale='x' is not a number")
    assert error_of("figure", "test.parabola", "count=1").endswith("count='1' is not a whole number of at least 2")


def test_a_file_that_cannot_be_written_is_refused_before_the_figure_is_computed(monkeypatch, tmp_path):
    from theorem_engine.language import figure as declared

    def compute():
        """Something long."""
        raise AssertionError("computed")

    monkeypatch.setattr(declared, "_figures", {})
    declared.declare_figure("test.long", title="Long")(compute)
    for name in ("a.odd", "nowhere/a.png"):
        assert error_of("figure", "test.long", "--out", str(tmp_path / name)).startswith("BadRequest: --out")


def test_options_without_a_figure_are_refused(tmp_path):
    assert error_of("figure", "--out", str(tmp_path / "a.png")).startswith("BadRequest: figure needs the id")
    assert error_of("figure", "runs=3").startswith("BadRequest: figure needs the id")
