"""The files of a new pack: one entry, one simulator, one figure, one test, and what installs them.

They work as they are written; an author replaces the mathematics and keeps the form.
"""

from __future__ import annotations

import importlib.util
import keyword
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template

from theorem_engine.base.errors import BadRequest
from theorem_engine.base.files import refusal, write_whole
from theorem_engine.base.version import __version__
from theorem_engine.language.catalogue import papers
from theorem_engine.language.packs import GROUP, paper_name

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*", re.ASCII)
_LONGEST = 40


def make_pack(name: str, folder: Path) -> list[Path]:
    """Write the files of a new pack into a new folder of that name; the paths written, in order."""
    module = _module_name(name)
    target = folder / name
    if os.path.lexists(target):
        raise BadRequest(f"{target} is there already; choose another name, or another folder with --into")
    if not folder.is_dir():
        raise BadRequest(f"--into {folder} is not a folder")
    words = {"name": name, "module": module, "paper": paper_name(name), "group": GROUP, "version": __version__}
    written = []
    for place, text in _files(words).items():
        path = target / place
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refusal(path, error) from None
        write_whole(path, text, overwrite=False)
        written.append(path)
    return written


def _module_name(name: str) -> str:
    """The Python module of a pack; an error for what is no name, or that of something else."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise BadRequest(
            f"{name[: _LONGEST + 20]!r} is no name for a pack; names are small letters and digits, with single hyphens "
            f"or underscores inside, at most {_LONGEST} characters"
        )
    module = name.replace("-", "_")
    if paper_name(name) in papers():
        raise BadRequest(f"{name!r} is the name of a paper of the registry; choose another")
    is_taken = module in sys.stdlib_module_names or module == "theorem_engine" or _is_installed(module)
    if keyword.iskeyword(module) or module in ("tests", "test", "setup", "conftest") or is_taken:
        raise BadRequest(f"{name!r} is a word of Python or the name of another module; choose another")
    return module


def _is_installed(module: str) -> bool:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return True
    # a folder without a package file is in nobody's way
    return spec is not None and spec.origin is not None


def _files(words: Mapping[str, str]) -> dict[str, str]:
    module = words["module"]
    texts = {
        "pyproject.toml": _PROJECT, "README.md": _README, f"{module}/__init__.py": _PACKAGE,
        f"{module}/notation.py": _NOTATION, f"{module}/law.py": _LAW, f"{module}/draws.py": _DRAWS,
        f"{module}/figures.py": _FIGURES, f"{module}/examples.toml": _EXAMPLES,
        f"{module}/references.toml": _REFERENCES, f"tests/test_{module}.py": _TEST,
    }  # fmt: skip
    return {place: Template(text).substitute(words) for place, text in texts.items()}


_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "$name"
version = "0.1.0"
description = "A pack of theorems for Theorem Engine."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["theorem-engine[sweep,plot]"]

[project.entry-points."$group"]
$paper = "$module"

[tool.setuptools]
packages = ["$module"]

[tool.setuptools.package-data]
"*" = ["*.toml"]
"""

_README = """\
# $name

A pack of theorems for Theorem Engine. As it was made, it holds one: the mean of a rectified Gaussian.

    theorem-engine predict $paper.rectified-mean a=1 s=0.5 --pack .
    theorem-engine check $paper.rectified-mean a=1 s=0.5 --pack .
    theorem-engine figure $paper.rectified --out rectified.png --pack .
    theorem-engine lint .
    python -m pytest

After `pip install .` no `--pack` is needed.

| file | holds |
|---|---|
| `$module/notation.py` | letters: name, LaTeX, meaning, domain |
| `$module/law.py` | entries: functions that return equations |
| `$module/draws.py` | simulators, which know the model and never the formula |
| `$module/figures.py` | figures: a function that computes, one that lays out |
| `$module/references.toml` | works to cite, once there is something to cite |
| `$module/examples.toml` | a query for each page, and what it prints |
"""

_PACKAGE = '''\
"""Means of rectified Gaussians."""
'''

_NOTATION = '''\
"""Letters."""

from theorem_engine import POSITIVE, REAL, notation

var = notation("$paper")

a = var("a", "a", "mean of the Gaussian", REAL, typical=(-2, 2))
s = var("s", "s", "standard deviation of the Gaussian", POSITIVE, typical=(0.2, 2))
'''

_LAW = '''\
"""The mean of a rectified Gaussian."""

from theorem_engine import NONNEGATIVE, Interval, Output, Source, lemma, normal_cdf, normal_pdf

from .notation import a, s


@lemma(
    "$paper.rectified-mean",
    title="Mean of a rectified Gaussian",
    source=Source.unpublished("a textbook exercise"),
    given=(a, s),
    outputs={
        "mean": Output("E max(0, a + s G)", NONNEGATIVE),
        "share": Output("probability that a + s G is positive", Interval(0, 1)),
    },
    assumes=("G is standard normal",),
    checks=("draws.rectified",),
)
def rectified_mean(a, s):
    """A Gaussian that is cut off at zero keeps the part of its mean that lies above, and gains what its width adds."""
    return {"mean": a * normal_cdf(a / s) + s * normal_pdf(a / s), "share": normal_cdf(a / s)}
'''

_DRAWS = '''\
"""Samples of rectified Gaussians. Nothing here knows the formula: only NumPy is used."""

import numpy as np

from theorem_engine import simulator


@simulator(covers=("mean", "share"))
def rectified(point, rng, count):
    """max(0, a + s G), and whether it is positive."""
    drawn = point["a"] + point["s"] * rng.standard_normal(count)
    return {"mean": np.maximum(0, drawn), "share": (drawn > 0).astype(float)}
'''

_FIGURES = '''\
"""The mean over the mean of the Gaussian, for three widths."""

import theorem_engine as te
from theorem_engine import Axis, Curve, Panel, declare_figure

WIDTHS = ("0.25", "1", "2")


@declare_figure(
    "$paper.rectified", title="Mean of a rectified Gaussian", settings=(("$paper.rectified-mean", {"a": 1, "s": 1}),),
    least={"points": 2},
)
def rectified(points=41):
    """The wider the Gaussian, the more of it survives the cut."""
    lines = {f"s = {s}": ("$paper.rectified-mean", {"s": s}) for s in WIDTHS}
    return te.curves("a", te.grid(-3, 3, points), lines, "mean")


@rectified.panels
def _(data):
    curves = [Curve(data["a"], data[name], tone=tone, label=name) for tone, name in enumerate(data.data_vars)]
    return [Panel(tuple(curves), x=Axis("a"), y=Axis("mean"))]
'''

_EXAMPLES = """\
# A query for the page of each entry, and what it prints.

["$paper.rectified-mean"]
point = { a = 1, s = "0.5" }
prints = ["mean = 1.0042453", "share = 0.97724987"]
"""

_REFERENCES = """\
# Works that entries cite, as Source("smith2026", "Theorem 1"):
#
# [smith2026]
# type = "article"
# author = "Smith, Ada"
# title = "On rectification"
# year = 2026
"""

_TEST = '''\
"""The entry against an integral, against its simulator, and against the rules for entries."""

from pathlib import Path

from mpmath import inf, mp, npdf, quad

import theorem_engine as te
from theorem_engine.showing.lint import lint

te.register(Path(__file__).parent.parent)


def test_the_mean_is_the_integral():
    for a, s in ((1, "0.5"), (-2, "1.5")):
        found = te.predict("$paper.rectified-mean", a=a, s=s)
        with mp.workdps(25):
            truth = quad(lambda x: x * npdf(x, a, mp.mpf(s)), [0, 1, 5, inf])
        assert abs(found.value - truth) <= found.error + 1e-15


def test_the_simulator_agrees():
    verdict = te.check("$paper.rectified-mean", a=1, s="0.5", samples=200_000)
    assert verdict.verdict == "agrees", verdict


def test_the_figure_has_a_curve_for_each_width():
    assert len(te.figure("$paper.rectified", points=3).data.data_vars) == 3


def test_the_entries_follow_the_rules():
    report = lint(Path(__file__).parent.parent, seconds=5)
    assert not report.findings, report
'''
