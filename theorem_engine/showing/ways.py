"""The ways to describe a model: what the letters of each make of the letters of the statement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.base.exact import to_text
from theorem_engine.language.entry import Entry
from theorem_engine.showing.formula.lines import plain
from theorem_engine.showing.formula.writing import Pen
from theorem_engine.showing.stated import Line


def ways_of(entry: Entry) -> Iterator[tuple[str, list[Line]]]:
    """For each way, what is given and the definitions that follow; of an option with many values, the first."""
    if entry.model is None:
        return
    for _, part in entry.model.parts:
        for way in part.ways:
            for words, options in _asked(entry, way):
                lines = _definitions(entry, part, options)
                if lines:
                    yield words, lines


def _asked(entry: Entry, way: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a query gives to take this way: its letters, or the values of its option."""
    letters = [x for x in way.letters if x in entry.given]
    options = [x for x in letters if x.domain.is_option]
    if not letters:
        return
    if not options:
        yield f"given {', '.join(x.name for x in letters)}", {x.name: x for x in letters}
        return
    (option,) = options[:1]
    names = getattr(option.domain, "names", ())
    for name in names if len(names) <= 4 else names[:1]:
        more = f" (of {', '.join(names)})" if len(names) > 4 else ""
        yield f"given {option.name} = {to_text(name)}{more}", {option.name: option.domain.read(name)}


def _definitions(entry: Entry, part: Any, options: dict[str, Any]) -> list[Line]:
    pen = Pen()
    try:
        found = entry.setting(entry.options_with(options)).definitions
    except TheoremEngineError:
        return []
    lines = [Line(pen.name(x), pen.write(found[x])) for x in part.to if x in found]
    return [line for line in lines if plain(line.left) != plain(line.right)]
