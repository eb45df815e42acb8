"""The pages that say which entry carries a statement of a paper name every entry and figure, and no other."""

import re
from pathlib import Path

import pytest

import theorem_engine as te
from theorem_engine.language.figure import figures

DOCS = Path(__file__).parents[2] / "docs"
PAPERS = ("marion2025", "duranthon2026")


def named(paper):
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("coverage*.md"))
    return set(re.findall(rf"`({paper}\.[a-z0-9-]+)`", text))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_entry_and_figure_has_a_line_and_every_line_an_entry(paper):
    entries = {entry.id for entry in te.entries() if entry.paper == paper}
    drawn = {figure.id for figure in figures() if figure.id.startswith(f"{paper}.")}
    assert entries | drawn <= named(paper)
    for name in named(paper) - drawn:
        assert te.entry(name).id in entries
