"""What the documents show is what happens: every example and every query in them is run."""

import doctest
import importlib
import re
import runpy
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from theorem_engine.showing.commandline import commands as cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "theorem_engine").rglob("*.md")),
]
#: Followed step by step in a folder of its own, by a test of its own.
TUTORIAL = "add-a-theorem.md"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language):
    """Code blocks of all pages with the place they stand at."""
    for page in (page for page in PAGES if page.name != TUTORIAL):
        text = page.read_text(encoding="utf-8")
        for match in _BLOCK.finditer(text):
            if match[1] == language:
                yield pytest.param(
                    match[2], id=f"{page.parent.name}/{page.name}:{text.count(chr(10), 0, match.start()) + 1}"
                )


def queries(block):
    """Commands of a console block, each with the output shown under it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        if command.startswith("theorem-engine "):
            yield command, shown


@pytest.mark.parametrize("block", list(blocks("python")))
def test_python_in_the_documents_does_what_it_says(block, tmp_path):
    if ">>>" in block:
        test = doctest.DocTestParser().get_doctest(block, {}, "document", None, 0)
        report = []
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
        assert not report, "".join(report)
    else:
        script = tmp_path / "block.py"
        script.write_text(block, encoding="utf-8")
        runpy.run_path(str(script))


@pytest.mark.parametrize("block", list(blocks("console")))
def test_commands_in_the_documents_print_what_is_shown(block):
    for command, shown in queries(block):
        done = CliRunner().invoke(cli.app, shlex.split(command)[1:])
        assert done.exit_code == 0 or (done.exit_code == 2 and shown), command
        if shown:
            assert doctest.OutputChecker().check_output(shown, done.output, FLAGS), f"{command}\n{done.output}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_links_inside_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_run_and_print_what_they_show(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) > 5


def test_the_readme_fits_on_a_screen():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 60


ENGINE = ROOT / "theorem_engine"
SHOWN = [
    path
    for path in sorted(ENGINE.rglob("*.py"))
    if re.search(r"^ *>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.relative_to(ENGINE).as_posix())
def test_examples_in_docstrings_run(path):
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
