"""The page that says which entry carries each statement of the paper."""

import re
from pathlib import Path

import theorem_engine as te

PAGE = (Path(__file__).parents[2] / "docs" / "coverage-liao2026.md").read_text(encoding="utf-8")


def test_every_label_on_the_page_is_found_and_leads_to_the_entry_beside_it():
    rows = re.findall(r"^\| [^|]+\| [^|]+\| `(liao2026\.[a-z0-9-]+)`[^|]*\| `(liao2026\.[a-z]+-[0-9]+)` \|", PAGE, re.M)
    assert len(rows) == 10
    assert [te.entry(label).id for _, label in rows] == [entry for entry, _ in rows]


def test_every_entry_and_figure_of_the_paper_stands_on_the_page():
    names = [entry.name for entry in te.entries() if entry.id.startswith("liao2026.")]
    assert len(names) > 20
    missing = [name for name in names if f"`{name}`" not in PAGE and f"liao2026.{name}`" not in PAGE]
    assert not missing
    assert all(f"`liao2026.fig-{number}`" in PAGE for number in range(1, 6))
