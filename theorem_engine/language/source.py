"""Where a statement stands, how far it is known, and what its outputs mean."""

from __future__ import annotations

import re
from dataclasses import dataclass

from theorem_engine.base.errors import DeclarationError
from theorem_engine.language.domains import Domain

_LABEL = re.compile(r"(Definition|Lemma|Proposition|Theorem|Corollary|Result|Remark) ([0-9.]+)")

#: Provenance marks and what they mean; entries carry the letters, pages the sentences.
MARKS = {
    "A": "exact algebra",
    "D": "derived independently of the paper's text",
    "V": "verified numerically",
    "N": "not in the paper, as far as is known",
    "E": "numerical evidence only",
    "G": "the attribution to this place of the paper is a guess",
}


@dataclass(frozen=True)
class Source:
    """Where a statement stands: a work of ``references.toml`` and a place in it, or words about what is not published.

    A ``guessed`` label is shown as a guess and gives no alias.

    >>> str(Source("2410.01537", "Theorem 1")), str(Source.unpublished("a note by the author"))
    ('2410.01537, Theorem 1', 'unpublished: a note by the author')
    """

    work: str
    label: str = ""
    version: str = ""
    guessed: bool = False
    #: Where it comes from, in words, if it stands in no work that can be cited.
    words: str = ""

    @classmethod
    def unpublished(cls, words: str) -> Source:
        """The source of a statement that stands in no work yet; it needs no ``references.toml``."""
        if not isinstance(words, str) or not words.strip() or not words.isprintable():
            raise DeclarationError(
                "Source.unpublished takes one line of words: whose statement it is, or where it stands"
            )
        return cls("", words=words.strip())

    @property
    def is_published(self) -> bool:
        """Whether there is a work to cite."""
        return not self.words

    def alias(self, paper: str) -> str | None:
        """``paper.theorem-1`` for a label that is known to be "Theorem 1"."""
        match = None if self.guessed else _LABEL.fullmatch(self.label)
        return f"{paper}.{match[1].lower()}-{match[2]}" if match else None

    def __str__(self) -> str:
        if not self.is_published:
            return f"unpublished: {self.words}"
        place = f", {self.label}" if self.label else ""
        return f"{self.work}{' ' + self.version if self.version else ''}{place}{' (guessed)' if self.guessed else ''}"


@dataclass(frozen=True)
class Output:
    """Meaning of an output and the range its values must lie in."""

    meaning: str
    range: Domain | None = None
    #: Whether the output is there only for some choices of the letters.
    optional: bool = False
    #: Whether the output says, by being True, that what the entry speaks of exists; if not, the other outputs are of
    #: nothing.
    existence: bool = False
