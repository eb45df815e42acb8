"""Names of letters as people write them: Greek characters stand for their names."""

from __future__ import annotations

import unicodedata

#: Names that are shortened in code, where the whole word is taken by a language or is the first half of another.
_SHORT = {"lamda": "lam", "lambda": "lam", "epsilon": "eps"}


def spelled(name: str) -> str:
    """A name with every Greek character spelled, in lower case; names without one are as they were.

    >>> spelled("λ"), spelled("κ_0"), spelled("ν"), spelled("x")
    ('lam', 'kappa_0', 'nu', 'x')
    """
    return "".join(_spelled(character) for character in name)


def _spelled(character: str) -> str:
    if character.isascii():
        return character
    words = unicodedata.name(unicodedata.normalize("NFKC", character)[:1], "").split()
    # "GREEK SMALL LETTER FINAL SIGMA", "GREEK LUNATE EPSILON SYMBOL", "GREEK THETA SYMBOL"
    if not words or words[0] != "GREEK":
        return character
    letter = [word for word in words[1:] if word not in ("SMALL", "CAPITAL", "LETTER", "FINAL", "LUNATE", "SYMBOL")]
    if len(letter) != 1:
        return character
    return _SHORT.get(letter[0].lower(), letter[0].lower())
