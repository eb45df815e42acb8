"""A small book for the tests of pages and of browsers."""

import pytest

from theorem_engine.showing.book import curve
from theorem_engine.showing.book.build import build_book

#: A closed form that applies others, one with a curve over a logarithmic range, one with cases.
IDS = ("marion2025.manifold-risk", "liao2026.ridge-error", "duranthon2026.linear-risk")


@pytest.fixture(scope="session")
def book(tmp_path_factory):
    """The folder of the book; its simulated points are drawn in a moment."""
    folder = tmp_path_factory.mktemp("book") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curve, "SIMULATED_SECONDS", 0.05)
        build_book(folder, IDS, jobs=1, progress=False)
    return folder
