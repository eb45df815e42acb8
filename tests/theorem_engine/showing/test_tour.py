"""The guided run: every stop is real, and none fails for want of an extra."""

import io
import json
import sys

import pytest
from typer.testing import CliRunner

from theorem_engine.base.errors import NotAvailable
from theorem_engine.showing import tour
from theorem_engine.showing.commandline import commands as cli

TITLES = ["Find", "Show", "Predict", "Forty digits", "Explain", "Sweep", "Figure", "Cite", "A mistake"]


@pytest.fixture(autouse=True)
def _no_real_figure(monkeypatch):
    """A figure of a paper may take a minute; the tour's own part is to ask for one."""
    monkeypatch.setattr("theorem_engine.language.figure.figures", list)


def test_the_tour_shows_every_capability_and_what_to_try_next(capsys):
    report = tour.run_tour()
    text = capsys.readouterr().out
    assert [stop["stop"] for stop in report] == TITLES
    assert [stop["stop"] for stop in report if not stop["shown"]] == ["Figure"]
    for number, title in enumerate(TITLES, 1):
        assert f"[{number}/9] {title}" in text
    assert "OutOfDomain: " in text
    assert "@inproceedings{" in text
    assert text.rstrip().splitlines()[-1].startswith("In Python: ")


def test_every_command_the_tour_shows_works(tmp_path, monkeypatch):
    import shlex

    monkeypatch.chdir(tmp_path)
    for stop in tour.run_tour(quiet=True):
        program, *arguments = shlex.split(stop["command"])
        assert program == "theorem-engine"
        done = CliRunner().invoke(cli.app, arguments)
        assert done.exit_code == (2 if stop["stop"] == "A mistake" else 0), done.output


def test_the_tour_in_json_is_json():
    done = CliRunner().invoke(cli.app, ["tour", "--json"])
    assert done.exit_code == 0
    assert [stop["stop"] for stop in json.loads(done.stdout)] == TITLES


def test_without_xarray_the_tour_names_the_extra(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    report = tour.run_tour()
    assert [stop["stop"] for stop in report if not stop["shown"]] == ["Sweep", "Figure"]
    assert "theorem-engine[sweep]" in capsys.readouterr().out


def test_without_matplotlib_the_tour_names_the_extra(capsys, monkeypatch):
    from theorem_engine.language.figure import Figure
    from theorem_engine.showing.plot import Drawn

    figure = Figure("test.figure", "A figure", None, "", lambda: None, _panels=lambda data: [])
    monkeypatch.setattr("theorem_engine.language.figure.figures", lambda: [figure])
    monkeypatch.setattr("theorem_engine.showing.plot.figure", lambda id: Drawn(figure, {}))
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"] or ["matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    tour.run_tour()
    assert "theorem-engine[plot]" in capsys.readouterr().out


def test_a_figure_is_drawn_where_there_is_one(monkeypatch):
    from theorem_engine.language.figure import Figure
    from theorem_engine.language.panel import Panel
    from theorem_engine.showing.plot import Drawn

    figure = Figure("test.figure", "A figure", None, "", lambda: None, _panels=lambda data: [Panel([])])
    monkeypatch.setattr("theorem_engine.language.figure.figures", lambda: [figure])
    monkeypatch.setattr("theorem_engine.showing.plot.figure", lambda id: Drawn(figure, {}))
    assert "drew test.figure" in tour._figure(None)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def test_a_terminal_gets_a_progress_bar(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Terminal())
    tour.run_tour()
    text = sys.stdout.getvalue()
    assert "tour" in text
    assert "[9/9] A mistake" in text


def test_a_registry_without_a_script_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(tour.resources, "files", lambda package: tmp_path)
    with pytest.raises(NotAvailable, match=r"no tour\.toml"):
        tour.run_tour()


def test_a_long_output_is_shown_by_its_ends():
    lines = tour._shortened("\n".join(map(str, range(100)))).splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("0", "99", 24)
    assert lines[14] == "  ... 77 lines left out ..."
