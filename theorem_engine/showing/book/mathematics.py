"""Formulas on pages of the book: MathML whose applied entries can be opened where they stand."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Collection

from theorem_engine.showing.formula.lines import mathml
from theorem_engine.showing.formula.tree import Tree

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_MATH = re.compile(r"<math\b.*?</math>", re.DOTALL)

ET.register_namespace("", NAMESPACE)


def inline(tree: Tree) -> str:
    """A formula within a line of text, without buttons."""
    return opening(f'<math xmlns="{NAMESPACE}">{mathml(tree)}</math>', ())


def opening(html: str, known: Collection[str]) -> str:
    """The same HTML, with a button wherever a formula applies one of the entries whose definitions are at hand."""
    return _MATH.sub(lambda match: _with_buttons(match[0], known), html)


def definition_name(id: str) -> str:
    """The name of the place on a page that holds the definition of an entry."""
    return f"definition-{id}"


def _with_buttons(math: str, known: Collection[str]) -> str:
    root = ET.fromstring(math)
    for parent in root.iter():
        before = None
        for child in parent:
            target = child.attrib.pop("href", "").removeprefix("#")
            if target in known:
                child.set("class", "applied")
                child.set("data-opens", definition_name(target))
                # an application is written in several pieces; one of them is enough for the keyboard
                if target != before:
                    child.set("role", "button")
                    child.set("tabindex", "0")
                    child.set("aria-label", f"definition of {target}")
            before = target
    return ET.tostring(root, encoding="unicode")
