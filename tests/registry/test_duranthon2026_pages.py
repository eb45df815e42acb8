"""Pages of duranthon2026 hold mathematics: no internal words, no options inside calls, no settings of searches."""

import re

import pytest

import theorem_engine as te

IDS = [entry.id for entry in te.find("duranthon2026") if entry.paper == "duranthon2026"]
#: ``name:option=value``, as a class of applied entries is called inside the engine.
CALL = re.compile(r"[a-z]:\(?\w+[^ ]*=")


@pytest.mark.parametrize("id", IDS)
def test_a_page_holds_no_internal_words(id):
    page = repr(te.entry(id))
    assert "ABSENT" not in page
    assert "OPEN" not in page
    assert not CALL.search(page)


def test_the_start_of_a_descent_is_not_printed():
    assert "7/20" not in repr(te.entry("duranthon2026.mismatched-minimum"))
