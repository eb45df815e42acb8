"""Packs: theorems from outside are found and used like built-in ones, and a broken one hurts nobody."""

import importlib
import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

import theorem_engine as te
from tests.theorem_engine.command_line import run
from theorem_engine.base.errors import BadRequest, BrokenPack, DeclarationError, PackWarning, TheoremEngineError
from theorem_engine.language import catalogue, packs
from theorem_engine.language.figure import _figures
from theorem_engine.language.references import works_of

ROOT = Path(__file__).resolve().parents[3]

NOTATION = '''
"""Letters."""
from theorem_engine import POSITIVE, notation
var = notation("{name}")
x = var("x", "x", "a number", POSITIVE, typical=(1, 3))
'''
ENTRY = '''
"""An entry and its simulator."""
from theorem_engine import Source, lemma
from .notation import x


@lemma("{name}.double", title="Twice", source=Source.unpublished("a test"), given=(x,), needs={needs},
       outputs={{"value": "2 x"}}, checks={checks})
def double(x):
    """Twice the number."""
    return {{"value": 2 * x}}
'''
DRAWS = '''
"""Samples."""
from theorem_engine import simulator


@simulator(covers=("value",))
def draws(point, rng, count):
    """A number whose mean is twice another."""
    return {"value": 2 * point["x"] + 0.01 * rng.standard_normal(count)}
'''


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Writes packs into an empty folder and forgets them afterwards."""
    before = dict(catalogue._entries)
    made = []

    def write(name, needs="{}", checks="()", **files):
        folder = tmp_path / name
        folder.mkdir()
        words = {"name": packs.paper_name(name), "needs": needs, "checks": checks}
        texts = {"__init__": '"""A pack."""', "notation": NOTATION.format(**words), "entries": ENTRY.format(**words)}
        texts |= {"draws": DRAWS, **files}
        for stem, text in texts.items():
            file = folder / (stem if "." in stem else f"{stem}.py")
            file.write_text(textwrap.dedent(text), encoding="utf-8")
        made.append(name)
        return folder

    monkeypatch.delenv(packs.VARIABLE, raising=False)
    yield write
    for name in made:
        pack = packs.Pack(packs.paper_name(name), name, tmp_path / name, "")
        catalogue.forget_pack(pack)
        packs.remove(pack.name)
    packs._refused.clear()
    packs._read_variable.clear()
    assert catalogue._entries == {**before, **catalogue._entries}
    assert not [id for id in catalogue._entries if id.startswith(("heat", "cold"))]


def test_a_folder_given_by_path_is_used_like_a_paper(make):
    (entry,) = te.register(make("heat", checks='("draws.draws",)'))
    assert te.predict("heat.double", x="1.5").value == 3.0
    assert te.entry("heat.double") is entry
    assert "unpublished: a test" in repr(entry)
    assert te.cite("heat.double") == "% heat.double is unpublished: a test"
    assert [float(v) for v in te.sweep("heat.double", x=[1, 2])["value"]] == [2.0, 4.0]
    assert te.check("heat.double", x=2, samples=4000).verdict == "agrees"


def test_a_pack_is_imported_when_one_of_its_entries_is_asked_for(make, monkeypatch):
    monkeypatch.setenv(packs.VARIABLE, os.pathsep.join(["", str(make("heat")), str(make("cold"))]))
    te.predict("gaussian.erf-mean", t=1, g=1)
    assert "heat" not in sys.modules
    assert te.predict("heat.double", x=2).value == 4.0
    assert "heat.entries" in sys.modules
    assert "cold" not in sys.modules


def test_a_single_file_and_a_project_are_packs_too(make, tmp_path):
    folder = make("heat")
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    folder.rename(project / "src" / "heat")
    (project / "pyproject.toml").write_text('[project.entry-points."theorem_engine.packs"]\nheat = "heat"\n')
    assert [entry.id for entry in te.register(project)] == ["heat.double"]
    single = tmp_path / "cold_file.py"
    text = NOTATION.format(name="coldfile") + ENTRY.format(name="coldfile", needs="{}", checks="()")
    single.write_text(text.replace("from .notation import x\n", ""))
    assert [entry.id for entry in te.register(single)] == ["coldfile.double"]
    catalogue.forget_pack(packs.packs()["coldfile"])
    packs.remove("coldfile")


def test_a_project_of_the_name_of_its_pack_may_lie_in_the_search_path(make, tmp_path, monkeypatch):
    """As when python -m runs where the project lies: its folder looks like a package without a file."""
    folder = make("heat")
    project = tmp_path / "work" / "heat"
    project.mkdir(parents=True)
    folder.rename(project / "heat")
    (project / "pyproject.toml").write_text('[project.entry-points."theorem_engine.packs"]\nheat = "heat"\n')
    monkeypatch.syspath_prepend(str(project.parent))
    assert [entry.id for entry in te.register(project)] == ["heat.double"]


def test_a_module_that_is_imported_already_is_registered(make, monkeypatch):
    monkeypatch.syspath_prepend(str(make("heat").parent))
    module = importlib.import_module("heat")
    assert [entry.id for entry in te.register(module)] == ["heat.double"]
    assert te.predict("heat.double", x=1).value == 2.0


def test_a_changed_pack_is_loaded_anew_and_what_applies_it_follows(make):
    user = """
        from theorem_engine import Source, lemma
        from .notation import x

        @lemma("heat.user", title="t", source=Source.unpublished("a test"), given=(x,), needs={"f": "heat.double"},
               outputs={"value": "three times that"})
        def user(x, *, f):
            "Uses the other."
            return {"value": 3 * f(x)}
    """
    folder = make("heat", user=user)
    te.register(folder)
    assert te.predict("heat.user", x=1).value == 6.0
    file = folder / "entries.py"
    file.write_text(file.read_text().replace("2 * x}", "5 * x}  # mended, and longer than before"))
    te.register(folder)
    assert te.predict("heat.user", x=1).value == 15.0


def test_a_cell_that_is_run_again_replaces_its_entry_and_renews_what_applies_it():
    def cell(factor):
        def law(x):
            """A multiple."""
            return {"value": factor * x}

        law.__module__ = "__main__"
        return te.lemma("heatcell.law", title="t", source=te.Source.unpublished("a test"), given=(x,),
                        outputs={"value": "a multiple"})(law)  # fmt: skip

    def user(x, *, law):
        """Applies it."""
        return {"value": law(x) + 1}

    user.__module__ = "__main__"
    x = te.notation("heatcell")("x", "x", "a number")
    try:
        cell(2)
        te.lemma("heatcell.user", title="t", source=te.Source.unpublished("a test"), given=(x,),
                 needs={"law": "heatcell.law"}, outputs={"value": "one more"})(user)  # fmt: skip
        assert te.predict("heatcell.user", x=1).value == 3.0
        cell(7)
        assert te.predict("heatcell.law", x=1).value == 7.0
        assert te.predict("heatcell.user", x=1).value == 8.0
    finally:
        for id in ("heatcell.user", "heatcell.law"):
            catalogue.forget(catalogue.find_entry(id))


def test_a_pack_brings_an_operator_a_domain_and_a_reader(make):
    parts = """
        import sympy
        from theorem_engine import Source, lemma, notation
        from theorem_engine.base.exact import NotANumber, read_number
        from theorem_engine.language.domains import Domain
        from theorem_engine.language.operators.base import Operator

        class Halves(Domain):
            def read(self, given):
                if not isinstance(given, str) or not given.endswith("/half"):
                    return super().read(given) if not isinstance(given, str) else read_number(given)
                return read_number(given.removesuffix("/half")) / 2
            def describe(self):
                return "a number, or one with /half behind it"
            def draw(self, rng, typical):
                return "3/half"

        class Cube(Operator):
            lowerings = {"float64": "heat.methods"}
            def __new__(cls, a):
                return sympy.Expr.__new__(cls, a)
            def partial(self, symbol):
                return 3 * self.args[0] ** 2 * self.args[0].diff(symbol)

        h = notation("heat")("h", "h", "a number", Halves())

        @lemma("heat.cube", title="t", source=Source.unpublished("a test"), given=(h,), outputs={"value": "cube"})
        def cube(h):
            "The cube."
            return {"value": Cube(h)}
    """
    methods = """
        def lower(operators, parameters, backend):
            (operator,) = operators
            inner = backend.function(parameters, [operator.args[0]])
            return lambda *values: [inner(*values)[0] ** 3]
    """
    te.register(make("heat", parts=parts, methods=methods))
    assert te.predict("heat.cube", h="3/half").value == 3.375


BROKEN = {
    "redefines a built-in id": ({"entries": ENTRY.format(name="gaussian", needs="{}", checks="()").replace(
        "gaussian.double", "gaussian.erf-mean")}, r"entries\.py, line 7: 'gaussian\.erf-mean' is declared twice: in "
        r"theorem_engine\.registry\.gaussian\.error_function and in heat\.entries"),
    "takes a place among built-in ids": ({"entries": ENTRY.format(name="gaussian", needs="{}", checks="()")},
        r"entries\.py, line 7: 'gaussian\.double': names that begin with gaussian\. belong to a paper"),
    "names an unknown dependency": ({"entries": ENTRY.format(name="heat", needs='{"f": "gaussian.erf-maen"}',
        checks="()")}, r"entries\.py, line 7: heat\.double needs 'gaussian\.erf-maen': no entry .*nearest: gaussian"),
    "raises at import": ({"notation": "1 / 0"}, r"notation\.py, line 1: it does not import: ZeroDivisionError: div"),
    "ends the program": ({"zzz": "import sys\nsys.exit(0)"}, r"zzz\.py, line 2: it does not import: SystemExit: 0"),
    "is no Python": ({"zzz": "x = (\n"}, r"zzz\.py, line 1: it does not import: SyntaxError"),
    "imports what is not there": ({"zzz": "\nimport no_such_module"}, r"zzz\.py, line 2: .*No module named 'no_such"),
    "declares one id twice": ({"zzz": ENTRY.format(name="heat", needs="{}", checks="()")},
        r"zzz\.py, line 7: 'heat\.double' is declared twice: in heat\.entries and in heat\.zzz"),
    "ships a cycle": ({"entries": ENTRY.format(name="heat", needs='{"f": "heat.other"}', checks="()"),
        "zzz": ENTRY.format(name="heat", needs='{"f": "heat.double"}', checks="()").replace(
            "heat.double\", title", "heat.other\", title")},
        r"entries\.py, line 7: the entries heat\.double -> heat\.other -> heat\.double need each other in a circle"),
    "imports in a circle": ({"entries": "from .zzz import a\nb = 1", "zzz": "from .entries import b\na = 1"},
        r"zzz\.py, line 1: it does not import: ImportError: cannot import name 'b'"),
    "speaks with control characters": ({"zzz": 'raise ValueError("a\\x1b[31m\\nb")'},
        r"zzz\.py, line 1: it does not import: ValueError: a \[31m b$"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_pack_is_one_sentence_with_its_name_and_line_and_leaves_nothing_behind(make, case):
    files, expected = BROKEN[case]
    folder = make("heat", **files)
    with pytest.raises(BrokenPack, match=rf"^pack heat \({folder}\): {expected}") as caught:
        te.register(folder)
    assert "\n" not in str(caught.value)
    assert not [name for name in sys.modules if name.startswith("heat")]
    assert not [id for id in _figures if id.startswith("heat")]
    assert te.predict("gaussian.erf-mean", t=1, g=1).value > 0
    with pytest.raises(BrokenPack, match="pack heat"):
        te.predict("heat.double", x=1)
    # mended, it works without a new process
    for stem in files:
        (folder / f"{stem}.py").write_text('"""Nothing."""')
    (folder / "notation.py").write_text(NOTATION.format(name="heat"))
    (folder / "entries.py").write_text(ENTRY.format(name="heat", needs="{}", checks="()"))
    assert [entry.id for entry in te.register(folder)] == ["heat.double"]


def test_a_huge_module_is_refused_before_it_is_compiled(make):
    folder = make("heat", zzz="x = [" + "1," * 600_000 + "]")
    with pytest.raises(BrokenPack, match=r"^pack heat .*zzz\.py: it is larger than 1048576 bytes") as caught:
        te.register(folder)
    assert len(str(caught.value)) < 400
    assert te.predict("gaussian.erf-mean", t=1, g=1).value > 0


RUDE = """
    import sympy
    from theorem_engine import Source, lemma
    from theorem_engine.language.operators.base import Operator
    from .notation import x

    class Rude(Operator):
        lowerings = {"float64": "heat.methods"}
        def __new__(cls, a):
            return sympy.Expr.__new__(cls, a)

    @lemma("heat.rude", title="t", source=Source.unpublished("a test"), given=(x,), outputs={"value": "v"})
    def rude(x):
        "Rude."
        return {"value": Rude(x)}
"""
LOWERINGS = {
    "raises when it is compiled": ("def lower(a, b, c):\n    raise RuntimeError('no\\nway\\x1b[31m')", 2),
    "raises when it is run": ("def lower(a, b, c):\n    def run(*v):\n        return {}[1]\n    return run", 3),
}


@pytest.mark.parametrize("case", LOWERINGS)
def test_an_operator_that_raises_is_one_sentence_with_its_line_wherever_it_is_asked_for(make, case):
    methods, line = LOWERINGS[case]
    te.register(make("heat", rude=RUDE, methods=methods))
    for ask in (
        lambda: te.predict("heat.rude", x=1),
        lambda: te.sweep("heat.rude", x=[1, 2, 3]),
        lambda: te.sweep("heat.rude", x=[1, 2, 3], errors=False),
    ):
        with pytest.raises(TheoremEngineError, match=rf"heat\.rude: .*heat/methods\.py, line {line}") as caught:
            ask()
        assert str(caught.value).isprintable()
    assert te.check("heat.rude", x=1, samples=10).verdict == "cannot tell"
    assert te.predict("heat.double", x=1).value == 2.0
    assert te.predict("gaussian.erf-mean", t=1, g=1).value > 0


def test_every_command_works_beside_a_broken_pack_and_refuses_what_is_in_it(make, tmp_path, monkeypatch):
    broken = str(make("heat", zzz="1/0"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("x,value,value_error\n1,0.6,0.1\n2,0.8,0.1\n")
    ours = {
        "find": ["find", "erf"], "show": ["show", "gaussian.erf-mean"],
        "predict": ["predict", "gaussian.erf-mean", "t=1", "g=1"],
        "sweep": ["sweep", "gaussian.erf-mean", "t=1,2", "g=1"],
        "check": ["check", "gaussian.erf-mean", "t=1", "g=1", "--samples", "20000", "--tolerate-undecided"],
        "export": ["export", "gaussian.erf-mean"], "explain": ["explain", "gaussian.erf-mean"],
    }  # fmt: skip
    for name, words in ours.items():
        done = run(*words, "--pack", broken)
        assert done.exit_code == 0, (name, done.stderr)
    for words in (["show", "heat.double"], ["predict", "heat.double", "x=1"], ["sweep", "heat.double", "x=1,2"],
                  ["check", "heat.double", "x=1"], ["export", "heat.double"], ["book", "b", "heat.double"],
                  ["fit", "heat.double", "data.csv", "--free", "x"], ["lint", broken]):  # fmt: skip
        done = run(*words, "--pack", broken)
        assert done.exit_code != 0, words
        said = done.stderr + done.stdout
        assert "Traceback" not in said, words
        assert "zzz.py, line 1" in said, (words, said)


def test_a_pack_that_redefines_a_built_in_id_is_named_with_its_line_where_the_built_in_entry_answers(make):
    """Without a word its author would take the number for that of the pack."""
    entry = ENTRY.format(name="gaussian", needs="{}", checks="()").replace("gaussian.double", "gaussian.erf-mean")
    done = run("predict", "gaussian.erf-mean", "t=1", "g=1", "--pack", str(make("heat", entries=entry)))
    assert done.exit_code == 0
    assert "gaussian.erf-mean at t=1, g=1" in done.stdout
    assert "pack heat" in done.stderr
    assert "entries.py, line 7: 'gaussian.erf-mean' begins with the name of a paper" in done.stderr
    assert done.stderr.count("PackWarning") == 1


CITING = ENTRY.format(name="heat", needs="{}", checks="()").replace(
    'Source.unpublished("a test")', 'Source("paper", "Lemma 1")'
)
HOSTILE = {
    "no TOML": ("[paper\n", r"references\.toml cannot be read: .*line 1"),
    "no text": (b"\xff\xfe\x00", r"cannot be read: 'utf-8'"),
    "nested": ("a = " + "[" * 100_000, "cannot be read: it is nested too deeply"),
    "huge": ("#" * 2_000_000, "cannot be read: it is larger than"),
    "a number as a work": ("\npaper = 3", r"references\.toml, line 2: 'paper' is no table"),
    "leaves its braces": ('[paper]\ntitle = "T},\\nurl = {"', r"line 1: 'title' of work 'paper' is no field"),
    "closes and opens": ('[paper]\ntitle = "a} @misc{b, x = {"', "'title' of work 'paper' is no field"),
    "colours the terminal": ('[paper]\ntitle = "\\u001b[31mred"', "'title' of work 'paper' is no field"),
    "an odd key": ('["a}{"]\ntitle = "T"\n[paper]\n', "is no key of a work"),
    "an odd type": ('[paper]\ntype = "misc{a}"', "'type' of work 'paper' is no word"),
    "an odd field": ('[paper]\n"a = {" = 1', "is no name of a field"),
    "a number of many digits": (f"[paper]\nyear = 0x{'f' * 6000}", "is a number too large"),
    "a table in a field": ("[paper.title]\na = 1", "is a dict; fields are texts"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_references_file_is_refused_in_one_sentence(make, case):
    text, expected = HOSTILE[case]
    folder = make("heat", entries=CITING)
    (folder / "references.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BrokenPack, match=rf"^pack heat \({folder}\): entries\.py, line 7: .*{expected}") as caught:
        te.register(folder)
    assert len(str(caught.value)) < 1000
    assert str(caught.value).isprintable()
    assert te.predict("gaussian.erf-mean", t=1, g=1).value > 0


def test_a_good_references_file_is_cited(make):
    folder = make("heat", entries=CITING)
    (folder / "references.toml").write_text('[paper]\ntype = "misc"\ntitle = "On {H}eat"\nyear = 2026\n')
    te.register(folder)
    assert te.cite("heat.double").startswith("@misc{paper,\n  title = {On {H}eat},")
    assert te.entry("heat.lemma-1").id == "heat.double"
    assert works_of(sys.modules["heat.entries"])["paper"]["year"] == 2026


def test_a_search_leaves_broken_packs_out_and_tells_each_once(make, monkeypatch):
    monkeypatch.setattr(catalogue, "_told", set())
    monkeypatch.setenv(packs.VARIABLE, os.pathsep.join([str(make("heat", zzz="1/0")), str(make("cold")), "/no/where"]))
    with pytest.warns(PackWarning) as caught:
        ids = [entry.id for entry in catalogue.all_entries()]
    assert "cold.double" in ids
    assert "heat.double" not in ids
    assert {"gaussian.erf-mean", "marion2025.risk"} <= set(ids)
    assert sorted(str(w.message).split()[0] for w in caught) == ["THEOREM_ENGINE_PACKS:", "pack"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        catalogue.all_entries()


def test_names_that_would_hide_other_modules_are_refused(make, tmp_path):
    for name in ("json", "numpy", "theorem_engine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").touch()
        with pytest.raises(BrokenPack, match=name):
            te.register(tmp_path / name)
    (tmp_path / "gaussian").mkdir()
    (tmp_path / "gaussian" / "a.py").touch()
    with pytest.raises(BrokenPack, match="gaussian is the name of a paper of the registry"):
        te.register(tmp_path / "gaussian")
    assert te.predict("gaussian.erf-mean", t=1, g=1).value > 0


@pytest.mark.parametrize("name", ["two words", "a-b", "1st", "é"])
def test_a_path_that_is_no_python_name_is_no_pack(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(BrokenPack, match="whose name is a Python name"):
        te.register(tmp_path / name)


def test_an_empty_folder_a_missing_one_and_a_number_are_no_packs(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BrokenPack, match="holds no Python module"):
        te.register(tmp_path / "empty")
    with pytest.raises(BrokenPack, match="there is no pack at"):
        te.register(tmp_path / "missing")
    with pytest.raises(BadRequest, match="not a int"):
        te.register(3)


@pytest.mark.parametrize("text", ["[", "a = 1", '[project.entry-points."theorem_engine.packs"]\nx = "a b"',
                                  '[project.entry-points."theorem_engine.packs"]\nx = "../a"',
                                  '[project.entry-points."theorem_engine.packs"]\nx = 3',
                                  '[project.entry-points."theorem_engine.packs"]\nx = "missing"'])  # fmt: skip
def test_a_project_that_names_no_pack_is_refused(tmp_path, text):
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(BrokenPack, match=r"pyproject\.toml"):
        te.register(tmp_path)


@pytest.mark.parametrize("words", ["", "  ", "two\nlines", 3, "\x1b[31m"])
def test_an_unpublished_source_is_one_line_of_words(words):
    with pytest.raises(DeclarationError, match=r"Source\.unpublished"):
        te.Source.unpublished(words)


def test_installed_distributions_name_their_packs(make, tmp_path):
    """By metadata on the search path, as pip leaves it; two broken ones beside it."""
    make("heat")
    info = tmp_path / "heat-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: heat\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[theorem_engine.packs]\nheat = heat\nodd = a b\ngone = not_here\n")
    code = (
        "import theorem_engine as te, warnings, sys\n"
        "print(te.predict('heat.double', x=4).value, 'theorem_engine.registry.gaussian' in sys.modules)\n"
        "warnings.simplefilter('always')\n"
        "print('heat.double' in [e.id for e in te.entries()])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.split() == ["8.0", "False", "True"]
    assert "pack 'odd' of heat: its entry point names 'a b', which is no module" in done.stderr
    assert "pack gone (not_here): it does not import: ModuleNotFoundError" in done.stderr


def test_worker_processes_know_the_packs_of_the_process_that_started_them(make):
    te.register(make("heat"))
    data = te.sweep("heat.double", x=[1, 2, 3], digits=20, jobs=2)
    assert [float(v) for v in data["value"]] == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("equations", ['{"value": 1 + f(x + 1)}', '{x0: x - x0**2, "value": x0}'])
def test_equations_in_a_circle_are_refused_with_their_line(make, equations):
    loop = f"""
        from theorem_engine import Source, lemma
        from .notation import var, x
        x0 = var("x0", "x_0", "a number")

        @lemma("heat.loop", title="t", source=Source.unpublished("a test"), given=(x,), outputs={{"value": "v"}},
               needs={{"f": "heat.loop"}})
        def loop(x, *, f):
            "A circle."
            return {equations}
    """
    folder = make("heat", loop=loop)
    te.register(folder)
    with pytest.raises(DeclarationError, match=r"heat\.loop: .*declared in .*heat/loop\.py, line 6"):
        te.predict("heat.loop", x=1)
