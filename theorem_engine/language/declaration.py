"""Words that declare an entry: ``theorem``, ``lemma`` and the others, decorators of the function of its equations."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import sympy

from theorem_engine.base.errors import DeclarationError
from theorem_engine.language.catalogue import add_entry
from theorem_engine.language.entry import SETTING, Entry
from theorem_engine.language.letters import Letter
from theorem_engine.language.references import works_of
from theorem_engine.language.source import MARKS, Output, Source

_ID = re.compile(r"[a-z][a-z0-9]*\.[a-z0-9]+(?:-[a-z0-9]+)*")


def declare(
    kind: str,
    id: str,
    *,
    title: str,
    source: Source,
    given: tuple[Letter, ...] = (),
    outputs: Mapping[str, Output | str],
    identities: tuple[Any, ...] | Callable[[], tuple[Any, ...]] = (),
    **rest: Any,
) -> Callable[[Callable[..., Mapping[Any, Any]]], Entry]:
    """Declare an entry; the decorated function returns its equations.

    Its positional parameters are the given letters (None where an optional one is absent, the chosen value for
    options), or ``m``, the setting with all of them by name; its keyword-only ones are the entries it ``needs``.
    A ``model`` adds its letters to those given: the function sees what they come to.
    ``identities=lambda: (...)`` are written when they are asked for, so that no prediction waits for them.
    Keys of the returned mapping are letters (quantities), names (outputs) and ``Partial`` keys.
    """

    def decorate(body: Callable[..., Mapping[Any, Any]]) -> Entry:
        model = rest.get("model")
        letters = given if model is None else tuple(dict.fromkeys((*model.letters, *given)))
        if model is not None:
            rest["given_rules"] = (*model.rules, *rest.get("given_rules", ()))
            rest["requires"] = (*model.requires, *rest.get("requires", ()))
        meanings = {name: o if isinstance(o, Output) else Output(o) for name, o in outputs.items()}
        entry = Entry(
            id=id, kind=kind, title=title, given=letters, outputs=meanings, source=source, body=body,
            module=body.__module__, stated_identities=identities, **rest,
        )  # fmt: skip
        _check_declaration(entry)
        add_entry(entry)
        return entry

    return decorate


def _check_declaration(entry: Entry) -> None:
    """What can be seen before the equations are written."""
    if not _ID.fullmatch(entry.id):
        raise DeclarationError(f"{entry.id!r} is no id; ids are paper.meaning in lower case, hyphens inside")
    if not inspect.getdoc(entry.body):
        raise DeclarationError(f"{entry.id}: the function needs a docstring, the statement in words")
    unknown = set(entry.marks) - set(MARKS)
    if unknown:
        raise DeclarationError(f"{entry.id}: no provenance mark {sorted(unknown)}; there are {', '.join(MARKS)}")
    names = [x.name for x in entry.given]
    if len(set(names)) != len(names):
        raise DeclarationError(f"{entry.id}: a given letter is listed twice")
    for name, parameter in inspect.signature(entry.body).parameters.items():
        pool = [*entry.needs, *entry.cases] if parameter.kind is inspect.Parameter.KEYWORD_ONLY else [SETTING, *names]
        if name not in pool:
            what = "needs` or `cases" if parameter.kind is inspect.Parameter.KEYWORD_ONLY else "given"
            raise DeclarationError(f"{entry.id}: the function's parameter {name!r} is not in `{what}`")
    for name, relation in entry.cases.items():
        if isinstance(relation, sympy.logic.boolalg.BooleanAtom):
            raise DeclarationError(f"{entry.id}: the case {name!r} is {relation} for SymPy whatever the letters are")
    if not entry.source.is_published:
        return
    works = works_of(sys.modules.get(entry.module))
    if entry.source.work not in works:
        raise DeclarationError(f"{entry.id}: work {entry.source.work!r} is not in references.toml of its folder")


definition = partial(declare, "definition")
lemma = partial(declare, "lemma")
proposition = partial(declare, "proposition")
theorem = partial(declare, "theorem")
corollary = partial(declare, "corollary")
result = partial(declare, "result")
remark = partial(declare, "remark")
