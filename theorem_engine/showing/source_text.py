"""Where a statement is from, as people name it: authors and year before the key and the place."""

from __future__ import annotations

import re
import sys
import unicodedata

from theorem_engine.language.entry import Entry
from theorem_engine.language.references import works_of

#: Accents of BibTeX as combining signs.
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304",
            ".": "\u0307", "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b"}  # fmt: skip
_ACCENT = re.compile(r"\\(?:(['`^\"~=.])\s*|([cvuH])(?=[\s{]))\s*\{?\\?(\w)\}?")
#: More authors than this are one and others.
_MOST = 3


def source_text(entry: Entry) -> str:
    """The source of an entry with its authors and year, where the work is listed.

    >>> from theorem_engine.language.catalogue import find_entry
    >>> source_text(find_entry("marion2025.risk"))
    'Marion and others (2025): 2410.01537, Theorem 1'
    """
    source = entry.source
    work = works_of(sys.modules.get(entry.module)).get(source.work, {}) if source.is_published else {}
    names = authors(str(work.get("author", "")))
    year = f" ({work['year']})" if "year" in work else ""
    return f"{names}{year}: {source}" if names else str(source)


def authors(text: str) -> str:
    """The family names in a list of authors as BibTeX has them.

    >>> authors("Ding, Jian and Sun, Nike"), authors("A, B and C, D and E, F and G, H")
    ('Ding and Sun', 'A and others')
    """
    people = [person.strip() for person in re.split(r"\s+and\s+", text) if person.strip()]
    names = [_plain(p.partition(",")[0] if "," in p else p.split()[-1]) for p in people]
    if len(names) > _MOST or "others" in names[1:]:
        return f"{names[0]} and others"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _plain(text: str) -> str:
    def accented(found: re.Match[str]) -> str:
        return found[3] + _ACCENTS[found[1] or found[2]]

    shown = _ACCENT.sub(accented, text).replace("{", "").replace("}", "")
    return unicodedata.normalize("NFC", " ".join(shown.split()))
