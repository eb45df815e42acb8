"""BibTeX of the works whose entries were used."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from theorem_engine.language.references import bibtex, works_of

if TYPE_CHECKING:
    from theorem_engine.language.catalogue import Named
    from theorem_engine.language.entry import Entry

_used: dict[str, str] = {}


def remember(entry: Entry) -> None:
    """Note that an entry was used in this process."""
    if entry.id not in _used:
        _used[entry.id] = entry.module


def cite(*ids: Named) -> str:
    """BibTeX of the entries named, or of everything queried in this session, and of what they rest on.

    >>> cite("marion2025.linear-risk").splitlines()[0]
    '@inproceedings{2410.01537,'
    """
    from theorem_engine.language.catalogue import find_entry, is_known

    # an entry of a notebook may have been taken out again
    queue = [find_entry(name) for name in (ids or filter(is_known, _used))]
    works: dict[str, str] = {}
    seen: set[str] = set()
    while queue:
        entry = queue.pop(0)
        if entry.id in seen:
            continue
        seen.add(entry.id)
        if entry.source.is_published:
            known = works_of(sys.modules[entry.module])
            works.setdefault(entry.source.work, bibtex(entry.source.work, known[entry.source.work]))
        else:
            works.setdefault(entry.id, f"% {entry.id} is {entry.source}")
        queue.extend(find_entry(name) for name in entry.needs.values())
    return "\n\n".join(works.values())
