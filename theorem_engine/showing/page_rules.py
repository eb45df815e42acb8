"""Rules about the pages of an entry: mathematics and no code, all letters explained, LaTeX and HTML that render."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.checking.findings import Finding, finding
from theorem_engine.language.entry import Entry
from theorem_engine.showing.find import entry as shown_entry
from theorem_engine.showing.formula.lines import plain
from theorem_engine.showing.page import entry_html, entry_text
from theorem_engine.showing.stated import stated

#: Characters of a line of a page.
WIDTH = 80
CODE = re.compile(
    r"\*\*|\b(?:Tuple|Component|Piecewise|ABSENT|Integer|Rational|Eq|Min|Max|exp_polar|Symbol|Letter|Dummy)\(|"
    r"\w+(?:Mean|Recurrence|Minimum|Proximal|Root|Flow)\(|[a-z]+2\d{3}\.[a-z-]+:|\bABSENT\b|object at"
)
CUT = re.compile(r"\d+ characters|\[\.\.\.\]|…\s*\(")
#: Commands that LaTeX and amsmath know, beside Greek letters.
COMMANDS = re.compile(
    r"begin|end|paragraph|noindent|item|text|mathrm|mathcal|mathbf|operatorname|frac|sqrt|sum|int|"
    r"min|max|log|exp|sin|cos|tan|tanh|sinh|cosh|arctan|arcsin|arccos|lim|partial|infty|to|leq|"
    r"geq|neq|le|ge|sim|star|top|dagger|prime|ell|times|cdot|emptyset|nabla|hat|bar|tilde|dot|"
    r"underline|overline|quad|left|right|lvert|rvert|langle|rangle|surd|leftarrow|dots|mid|"
    r"usepackage|textbackslash|textasciicircum|textasciitilde|circ|pm|odot|otimes|det"
)
GREEK = re.compile(
    r"alpha|beta|gamma|delta|epsilon|varepsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|"
    r"rho|sigma|varsigma|tau|upsilon|phi|varphi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|"
    r"Upsilon|Phi|Psi|Omega"
)


def bad_pages(entry: Entry) -> Iterator[Finding]:
    """The three pages of an entry; a large statement is written once for all of them."""
    # makes it known how entries are shown
    shown_entry(entry)
    try:
        for page, problems in (("text", bad_text), ("latex", bad_latex), ("html", bad_html)):
            for says, fix in problems(entry):
                yield finding(page, entry, says, fix)
    except Exception as error:  # functions and operators from outside print themselves
        says = str(error) if isinstance(error, TheoremEngineError) else f"{type(error).__name__}: {error}"
        yield finding("text", entry, f"it has no page: {says[:200]}", "mend what the error names")


def bad_text(entry: Entry) -> Iterator[tuple[str, str]]:
    """What is wrong with the page for terminals, and what to do."""
    text = entry_text(entry)
    if match := CODE.search(text):
        yield f"its page shows code: {match[0]!r}", "give the function or operator a way to print itself"
    if match := CUT.search(text):
        yield f"its page is cut: {match[0]!r}", "define letters for the parts of the statement"
    for line in text.splitlines():
        if len(line) > WIDTH:
            yield f"a line of its page is longer than {WIDTH} characters: {line[:40]!r}", "shorten names and words"
    for tree, _, meaning in stated(entry).letters:
        name = plain(tree)
        if not meaning:
            yield f"the letter {name} of its page is not explained", "give every letter a meaning in the notation"
        if f"  {name} " not in text:
            yield f"the letter {name} is missing in its page", "give every letter a meaning in the notation"


def bad_latex(entry: Entry) -> Iterator[tuple[str, str]]:
    """What keeps the LaTeX from being set by amsmath alone, and what to do."""
    text = entry.latex()
    if match := CODE.search(text):
        yield f"its LaTeX shows code: {match[0]!r}", "give the function or operator a _latex"
    if not _has_matching_braces(text):
        yield "braces of its LaTeX do not match", "look at the LaTeX names of the letters in the notation"
    for letter in entry.given:
        if not _has_matching_braces(letter.latex_name) or not re.search(r"[A-Za-z0-9]", letter.latex_name):
            yield f"the LaTeX of {letter.name}, {letter.latex_name!r}, does not render", "write it as amsmath reads it"
    if not text.isascii():
        odd = next(c for c in text if not c.isascii())
        yield f"its LaTeX has the character {odd!r}", "write it as a command in the notation or the words"
    used = set(re.findall(r"\\([A-Za-z]+)", text))
    for name in sorted(used):
        if not COMMANDS.fullmatch(name) and not GREEK.fullmatch(name):
            yield rf"its LaTeX does not render: \{name} is no command of amsmath", "spell it as amsmath does"
    if sorted(re.findall(r"\\begin{(\w+\*?)}", text)) != sorted(re.findall(r"\\end{(\w+\*?)}", text)):
        yield "an environment of its LaTeX is not closed", "look at the LaTeX names of the letters in the notation"
    for letter in entry.given:
        if re.sub(r"\W", "", letter.meaning)[:8] not in re.sub(r"\W|textasciicircum|textbackslash", "", text):
            yield f"its LaTeX does not explain {letter.name}", "give the letter a meaning in the notation"


def _has_matching_braces(text: str) -> bool:
    depth = 0
    for character in text.replace(r"\{", "").replace(r"\}", ""):
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0


def bad_html(entry: Entry) -> Iterator[tuple[str, str]]:
    """What is wrong with the page for notebooks, and what to do."""
    html = entry_html(entry)
    try:
        ET.fromstring(f"<body>{html.replace('&#160;', ' ')}</body>")
    except ET.ParseError as error:
        yield f"its HTML is not well formed: {error}", "look at the LaTeX names and meanings of the letters"
    if "<script" in html:
        yield "its HTML holds a script", "take it out of the words"
    if "<math" not in html:
        yield "its HTML holds no mathematics", "return equations, not words alone"
