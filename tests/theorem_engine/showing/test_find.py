"""Search: words in, a table of entries out."""

import json

import pytest

import theorem_engine as te
from theorem_engine.base.errors import BadRequest, UnknownEntry
from theorem_engine.language import catalogue
from theorem_engine.showing import index
from theorem_engine.showing.find import Entries, entry_json, search
from theorem_engine.showing.ranking import ranked

ENTRIES = te.entries()


def ids(found):
    return [entry.id for entry in found]


def test_an_empty_search_lists_every_entry_in_order_of_ids():
    assert ids(te.find()) == ids(ENTRIES) == sorted(ids(ENTRIES))


def test_all_words_must_match():
    both = set(ids(te.find("risk"))) & set(ids(te.find("oracle")))
    assert set(ids(te.find("risk oracle"))) == both
    assert "marion2025.oracle-risk" in both


@pytest.mark.parametrize(
    "words",
    [
        "ORACLE",
        "marion2025.oracle-risk",
        "Corollary 2",
        "corollary-2",
        "inverse temperature",
        "excess",
        "perfect parameters",
    ],
)
def test_id_title_docstring_label_outputs_and_letters_are_searched(words):
    assert "marion2025.oracle-risk" in ids(te.find(words))


def test_a_paper_narrows_the_search():
    assert {entry.paper for entry in te.find(paper="gaussian")} == {"gaussian"}
    assert set(ids(te.find("mean", paper="gaussian"))) <= set(ids(te.find("mean")))


def test_an_unknown_paper_offers_the_nearest():
    with pytest.raises(BadRequest, match="no paper 'gausian'; nearest: gaussian"):
        te.find(paper="gausian")


def test_words_must_be_text():
    with pytest.raises(BadRequest, match="find takes words, not a int"):
        te.find(5)


def test_the_table_shows_each_entry_and_fits():
    lines = str(te.find(paper="gaussian")).splitlines()
    assert [line.split()[0] for line in lines if line.startswith("gaussian.")] == ids(te.find(paper="gaussian"))
    assert all(len(line) <= 80 for line in str(te.find()).splitlines())
    assert "show ID" in lines[-1] or "show ID" in lines[-2]


@pytest.mark.parametrize(
    ("words", "best"),
    [
        ("square", "gaussian.erf-square"),
        ("oracle risk", "marion2025.oracle-risk"),
        ("MMSE", "classics.spiked-wigner"),
        ("attention transformer", "duranthon2026.erf-risk"),
        ("hermite", "liao2026.hermite"),
        ("resolvant", "liao2026.noise-resolvent"),
    ],
)
def test_the_best_answer_comes_first(words, best):
    assert te.find(words)[0].id == best


def test_a_word_for_the_same_thing_finds_what_the_other_finds():
    assert "duranthon2026.erm-risk" in ids(te.find("state evolution"))
    assert "duranthon2026.bayes-risk" in ids(te.find("MMSE"))
    assert set(ids(te.find("attention"))) <= set(ids(te.find("transformer")))


def test_a_word_with_no_hit_is_answered_with_the_nearest():
    table = te.find("resolvant")
    assert "Nothing with 'resolvant'; these are about 'resolvent'." in str(table)


def test_figures_are_found_beside_entries():
    table = te.find("vector field")
    assert [row.id for row in table.figures] == ["marion2025.fig-5"]
    assert "marion2025.fig-5" in str(table)


def test_a_letter_with_a_default_stands_in_brackets():
    assert "gamma, L, [eps]" in str(te.find("linear predictor"))


def test_a_search_without_result_says_what_to_do():
    nothing = te.find("no such words")
    assert len(nothing) == 0
    assert str(nothing) == "No entry with 'no such words'; `theorem-engine find` lists all."


def test_the_result_is_a_sequence():
    found = te.find(paper="gaussian")
    assert found[0] in found
    assert isinstance(found[:2], Entries)
    assert ids(found[:2]) == ids(found)[:2]


def test_the_html_table_escapes_what_users_typed():
    html = te.find("<b>")._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html


def test_an_entry_is_found_by_id_and_by_label():
    assert te.entry("marion2025.theorem-1") is te.entry("marion2025.risk")
    with pytest.raises(UnknownEntry, match=r"nearest: marion2025\.risk"):
        te.entry("marion2025.rsk")


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_every_entry_is_plain_data(entry):
    data = json.loads(json.dumps(entry_json(entry), allow_nan=False))
    assert data["id"] == entry.id
    assert [letter["name"] for letter in data["given"]] == [letter.name for letter in entry.given]
    assert list(data["outputs"]) == list(entry.outputs)
    assert all(equation["latex"] for equation in data["equations"])


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setattr(index, "cache_folder", lambda: tmp_path)
    return tmp_path


def test_the_index_gives_the_table_that_find_gives(cache):
    for _ in range(2):
        assert str(search("risk")) == str(te.find("risk"))
        assert search("risk").to_json() == te.find("risk").to_json()
    assert len(list(cache.iterdir())) == 1


def test_a_second_search_imports_no_paper(cache, monkeypatch):
    first = index.all_rows()
    monkeypatch.setattr(catalogue, "all_entries", None)
    assert index.all_rows() == first


@pytest.mark.parametrize("name", ["new_entries.py", "references.toml"])
def test_the_index_is_made_anew_when_a_file_changes(cache, tmp_path_factory, monkeypatch, name):
    folder = tmp_path_factory.mktemp("registry")
    monkeypatch.setattr(index, "_places", lambda: [folder])
    index.all_rows()
    (folder / name).write_text("# something new")
    monkeypatch.setattr(catalogue, "all_entries", lambda: ENTRIES[:1])
    assert [row.id for row in index.all_rows() if row.kind != "figure"] == [ENTRIES[0].id]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"state": 1}', '{"state": "STATE", "rows": [{"id": 3}]}'])
def test_a_damaged_index_is_ignored(cache, text):
    rows = index.all_rows()
    (path,) = cache.iterdir()
    path.write_text(text.replace("STATE", index._state()))
    assert index.all_rows() == rows


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setattr(index, "cache_folder", lambda: blocked / "folder")
    assert len([row for row in index.all_rows() if row.kind != "figure"]) == len(ENTRIES)


def test_the_cache_is_where_users_keep_theirs(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert index.cache_folder() == tmp_path / "theorem-engine"


def test_a_phrase_that_stands_in_an_entry_counts_more_than_other_words_for_it():
    found = [row.id for row in ranked(index.all_rows(), "state evolution")]
    assert found.index("duranthon2026.bayes-learner") < found.index("duranthon2026.gradient-descent")
    # what only the notes of an entry name is found too
    assert "classics.ridge-risk" in [row.id for row in ranked(index.all_rows(), "double descent")]
