"""Errors a user can meet, each also a builtin so that ordinary ``except`` clauses work.

Every message says what was asked, what is true, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable


class TheoremEngineError(Exception):
    """Anything this library reports on purpose."""

    def __str__(self) -> str:
        # KeyError would print the repr of its argument; a message is a sentence.
        return str(self.args[0]) if self.args else ""


class UnknownEntry(TheoremEngineError, KeyError):
    """No entry has this id or label."""


class UnknownFigure(TheoremEngineError, KeyError):
    """No figure has this id."""


class UnknownOutput(TheoremEngineError, KeyError):
    """An output that a result does not have."""


class UnknownParameter(TheoremEngineError, TypeError):
    """The entry has no letter of this name."""


class MissingParameter(TheoremEngineError, TypeError):
    """A letter without a default was not given."""


class BadNumber(TheoremEngineError, ValueError):
    """The value given for a letter cannot be read as a number (or as one of its choices)."""


class OutOfDomain(TheoremEngineError, ValueError):
    """The value is a number, but the statement does not speak about it."""


class Infeasible(OutOfDomain):
    """Every letter is in its domain, but together they describe nothing."""


class BadRequest(TheoremEngineError, ValueError):
    """An option of the query itself (digits, method, outputs) makes no sense."""


class NotConverged(TheoremEngineError, ArithmeticError):
    """A numerical method stopped without reaching its tolerance; no number is returned."""


class NotAvailable(TheoremEngineError, RuntimeError):
    """The request is meaningful, but this entry, backend or installation cannot serve it."""


class NoDerivative(NotAvailable, TypeError):
    """An operator is not differentiated in a letter: where a statement asks for it, there is no value."""


class FileError(TheoremEngineError, OSError):
    """A file cannot be written: a full disk, a folder without permission. What was there before is still there."""


class JournalError(TheoremEngineError, OSError):
    """A journal of finished work cannot be read or written: a full disk, a folder without permission."""


class FolderInUse(JournalError):
    """Another process is at work in the folder of a journal."""


class DeclarationError(TheoremEngineError, TypeError):
    """An entry is declared wrongly; raised to its author, not to its users."""


class BrokenPack(TheoremEngineError, ImportError):
    """Theorems from outside cannot be loaded; what is built in, and other packs, work all the same."""


class DuplicateEntry(DeclarationError):
    """Two declarations claim one id."""


class MissingDefinition(DeclarationError):
    """A letter is used but neither given nor defined."""


class AmbiguousDefinition(DeclarationError):
    """A letter is defined twice, or both given and defined."""


class UnsolvableCycle(DeclarationError):
    """Letters depend on each other and no method was declared to solve for them."""


class ValidityWarning(UserWarning):
    """The point is in the domain, but where the statement is known to describe finite sizes badly."""


class PackWarning(UserWarning):
    """Theorems from outside that were left out because they cannot be loaded."""


def nearest(word: str, known: Iterable[str], count: int = 3) -> str:
    """A clause naming the known words closest to this one, or nothing.

    >>> nearest("lamda", ["lam", "gamma"])
    '; nearest: lam, gamma'
    """
    # imported where something is misspelt, not at every start
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=count, cutoff=0.5)
    return f"; nearest: {', '.join(close)}" if close else ""
