"""The tutorial works as it is printed, from the sources; in an environment of its own it belongs to the campaign."""

import doctest

import pytest

from tests.theorem_engine.command_line import run
from tests.theorem_engine.tutorial import FLAGS, follow, parts
from theorem_engine.language import catalogue, packs


def _lines(name):
    (text,) = [text for file, _, text in parts() if file == name]
    return [line for line in text.splitlines() if line.strip()]


def test_ten_lines_give_a_number_and_forty_a_figure_a_simulator_and_a_verdict():
    assert len(_lines("shrink.py")) == 10
    assert len(_lines("shrinkage/draws.py")) + len(_lines("shrinkage/law.py")) == 40


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """An empty folder to work in; the packs made there are forgotten afterwards."""
    before = set(packs.packs())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield folder
    for name in set(packs.packs()) - before:
        catalogue.forget_pack(packs.packs()[name])
        packs.remove(name)


def _command(words):
    done = run(*words)
    return done.stderr if done.exit_code == 2 else done.stdout


def _cell(text):
    report = []
    test = doctest.DocTestParser().get_doctest(text, {}, "cell", None, 0)
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    return "".join(report)


def test_the_tutorial_works_as_it_is_printed(empty):
    assert follow(empty, _command, _cell) >= 12
    assert (empty / "curves.png").stat().st_size > 1000
