"""The book: every link leads somewhere, formulas are well-formed, pages are small, what is unchanged is kept."""

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from typer.testing import CliRunner

from theorem_engine.base.errors import BadRequest
from theorem_engine.language.catalogue import find_entry
from theorem_engine.showing.book import build, curve
from theorem_engine.showing.book.build import build_book, entry_fingerprint, with_needs
from theorem_engine.showing.book.guide import ORDER, guides
from theorem_engine.showing.book.terms import all_terms
from theorem_engine.showing.commandline.commands import app

IDS = ("marion2025.manifold-risk", "liao2026.ridge-error", "duranthon2026.linear-risk")
LARGEST = 600_000
CODE = re.compile(
    r"\*\*|\b(?:Tuple|Component|Piecewise|ABSENT|Integer|Rational|Eq|Min|Max|exp_polar|Symbol|Letter|Dummy)\(|"
    r"\w+(?:Mean|Recurrence|Minimum|Proximal|Root|Flow)\(|[a-z]+2\d{3}\.[a-z-]+:|\bABSENT\b|object at|output:"
)
#: What the HTML standard closes by itself.
VOID = {"meta", "link", "input", "br", "img", "hr"}


class Page(HTMLParser):
    """What a page holds: anchors, links, scripts, whether its elements are closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.text, self.faults = [], [], [], [], []
        self.opens, self.terms, self.attributes = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.attributes.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        self.links += [found[name] for name in ("href", "src", "action") if name in found]
        if "data-opens" in found:
            self.opens.append(found["data-opens"])
        if "data-term" in found:
            self.terms.append(found["data-term"])

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> closes <{self.open[-1] if self.open else ''}>")
        else:
            self.open.pop()

    def handle_data(self, data):
        if not {"pre", "script", "style"} & set(self.open):
            self.text.append(data)


@pytest.fixture(scope="module")
def pages(book):
    return {p.relative_to(book).as_posix(): Page(p.read_text(encoding="utf-8")) for p in book.rglob("*.html")}


def test_every_link_inside_the_book_leads_somewhere(book, pages):
    checked = 0
    for place, page in pages.items():
        for link in page.links:
            if link.startswith(("https://", "http://", "mailto:", "data:")):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (book / place).parent / path if path else book / place
            assert target.is_file(), f"{place}: {link}"
            if anchor:
                assert anchor in pages[target.resolve().relative_to(book.resolve()).as_posix()].ids, f"{place}: {link}"
            checked += 1
    assert checked > 100


def test_nothing_is_loaded_from_elsewhere(book, pages):
    for place, page in pages.items():
        for tag, attributes in page.attributes:
            for name in ("src", "action") + (("href",) if tag == "link" else ()):
                assert not re.match(r"(https?:)?//", attributes.get(name, "")), place
    for script in (book / "assets").glob("*.js"):
        assert not re.search(r"\bfetch\(|XMLHttpRequest|import\(|\beval\(", script.read_text()), script.name


def test_pages_are_closed_anchors_are_unique_and_sizes_small(book, pages):
    for place, page in pages.items():
        assert not page.faults, f"{place}: {page.faults[:3]}"
        assert not page.open, place
        assert len(set(page.ids)) == len(page.ids), place
        assert (book / place).stat().st_size < LARGEST


def test_formulas_are_well_formed(book):
    count = 0
    for id in IDS:
        text = (book / id.replace(".", "/")).with_suffix(".html").read_text(encoding="utf-8")
        for math in re.findall(r"<math\b.*?</math>", text, re.DOTALL):
            root = ET.fromstring(math)
            assert root.tag == "{http://www.w3.org/1998/Math/MathML}math"
            assert "href" not in {name for node in root.iter() for name in node.attrib}
            count += 1
        for svg in re.findall(r"<svg\b.*?</svg>", text, re.DOTALL):
            ET.fromstring(svg)
    assert count > 20


def test_no_page_of_an_entry_shows_code_for_mathematics(pages):
    for entry in with_needs(IDS):
        text = "\n".join(pages[f"{entry.paper}/{entry.name}.html"].text)
        assert not CODE.search(text), CODE.search(text)


def test_an_entry_page_says_all_that_a_reader_asks(pages):
    page = pages["marion2025/manifold-risk.html"]
    wanted = {"statement", "applies", "curve", "example", "given", "gives", "letters", "assumes", "regime",
              "reliability", "evaluation-plan", "uses", "used-by", "cite"}  # fmt: skip
    assert wanted <= set(page.ids)
    text = " ".join(page.text)
    assert "on record" in text
    assert "proved in ball arithmetic" in text
    for letter in find_entry("marion2025.manifold-risk").given:
        assert letter.meaning in text


def test_definitions_that_formulas_open_are_there_and_none_is_orphaned(pages):
    seen = 0
    for place, page in pages.items():
        defined = [name for name in page.ids if name.startswith("definition-")]
        assert set(page.opens) == set(defined), place
        seen += len(defined)
    assert seen >= 3


def test_every_explained_word_is_used_and_every_used_word_is_explained(pages):
    used = {term for page in pages.values() for term in page.terms}
    assert used == set(all_terms())


def test_the_first_build_makes_what_was_asked_for_and_what_it_rests_on(book):
    kept = json.loads((book / "book.json").read_text())["pages"]
    assert {e.id for e in with_needs(IDS)} == {p["kept"]["evidence"]["id"] for p in kept.values() if p["kept"]}


def test_the_search_knows_every_page(book, pages):
    script = (book / "assets" / "search-data.js").read_text()
    data = json.loads(script.removeprefix("window.BOOK_SEARCH = ").rstrip(";\n"))
    places = {document["place"].partition("#")[0] for document in data["documents"]}
    assert places <= set(pages)
    assert {p for p in pages if p.startswith("guide/")} <= places
    assert {f"{e.paper}/{e.name}.html" for e in with_needs(IDS)} <= places


def test_an_unchanged_book_is_not_built_again(book, monkeypatch):
    before = {p: p.stat().st_mtime_ns for p in book.rglob("*.html")}
    again = build_book(book, IDS, jobs=1, progress=False)
    assert again.made == ()
    assert again.written == ()
    assert {p: p.stat().st_mtime_ns for p in book.rglob("*.html")} == before


def test_a_page_that_somebody_changed_is_made_again(book, monkeypatch):
    monkeypatch.setattr(curve, "SIMULATED_SECONDS", 0.05)
    place = book / "gaussian" / "erf-square.html"
    place.write_text("scribbled over", encoding="utf-8")
    again = build_book(book, IDS, jobs=1, progress=False)
    assert again.made == ("gaussian.erf-square",)
    assert "scribbled" not in place.read_text(encoding="utf-8")


def test_the_fingerprint_of_a_page_follows_what_it_shows():
    entry = find_entry("gaussian.erf-mean")
    assert entry_fingerprint(entry, []) == entry_fingerprint(entry, [])
    assert entry_fingerprint(entry, []) != entry_fingerprint(entry, ["gaussian.erf-square"])
    assert entry_fingerprint(entry, []) != entry_fingerprint(find_entry("gaussian.erf-square"), [])


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(BadRequest, match="holds no book"):
        build_book(tmp_path, ["gaussian.erf-mean"], jobs=1)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(BadRequest, match="not a folder"):
        build_book(tmp_path / "thesis.tex", ["gaussian.erf-mean"], jobs=1)


def test_the_command_writes_a_book_and_says_where(tmp_path, monkeypatch):
    monkeypatch.setattr(curve, "SIMULATED_SECONDS", 0.05)
    done = CliRunner().invoke(app, ["book", str(tmp_path / "b"), "gaussian.erf-mean", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert Path(found["index"]).is_file()
    assert found["made"] == ["gaussian.erf-mean"]
    refused = CliRunner().invoke(app, ["book", str(tmp_path / "c"), "gaussian.erf-meen"])
    assert refused.exit_code == 2
    assert "gaussian.erf-mean" in refused.output
    assert not (tmp_path / "c").exists()


def test_a_build_that_was_stopped_goes_on_where_it_was(tmp_path, monkeypatch):
    """The first build of all is stopped after one page: no folder of something else is left behind."""
    done = []

    def made_until_stopped(item):
        if done:
            raise KeyboardInterrupt
        done.append(item[0])
        return build.made_entry.whole(item)

    monkeypatch.setattr(curve, "SIMULATED_SECONDS", 0.05)
    made_until_stopped.whole = build.made_entry
    monkeypatch.setattr(build, "made_entry", made_until_stopped)
    with pytest.raises(KeyboardInterrupt):
        build_book(tmp_path / "b", ["gaussian.erf-mean", "gaussian.erf-moments"], jobs=1, progress=False)
    monkeypatch.setattr(build, "made_entry", made_until_stopped.whole)
    again = build_book(tmp_path / "b", ["gaussian.erf-mean", "gaussian.erf-moments"], jobs=1, progress=False)
    assert len(done) == 1
    assert set(again.made) == {"gaussian.erf-mean", "gaussian.erf-moments"} - set(done)
    assert (tmp_path / "b" / "index.html").is_file()


def test_a_book_without_its_scheduler_is_refused_and_nothing_is_written(tmp_path):
    done = CliRunner().invoke(app, ["book", str(tmp_path / "b"), "gaussian.erf-mean", "--scheduler", "127.0.0.1:1"])
    assert done.exit_code == 2
    assert "no scheduler answers at" in done.output
    assert not (tmp_path / "b").exists()
    with pytest.raises(BadRequest, match="give one of them"):
        build_book(tmp_path / "b", ["gaussian.erf-mean"], jobs=1, scheduler="127.0.0.1:1")


def test_the_guide_has_what_a_newcomer_reads():
    names = [guide.name for guide in guides()]
    assert [name for name in ORDER if name in names] == names[: sum(name in names for name in ORDER)]
    assert {"first-query", "conventions", "how-errors-are-known", "what-a-verdict-means", "reproduce-the-figures",
            "architecture"} <= set(names)  # fmt: skip
