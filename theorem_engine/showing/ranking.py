"""How well a row answers the words of a search: where they stand, other words for the same thing, the nearest ones."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from theorem_engine.showing.index import Row

#: Words and phrases of the field, and others for the same thing.
SYNONYMS = {
    "transformer": ("attention",),
    "mmse": ("bayes risk", "bayes-optimal", "best estimator"),
    "bayes-optimal": ("bayes",),
    "state evolution": ("cavity", "order parameters", "self-consistent"),
    "replica": ("replica symmetry", "order parameters"),
    "amp": ("cavity", "order parameters"),
    "generalization error": ("test risk", "population risk"),
    "generalisation error": ("test risk", "population risk"),
    "test error": ("test risk", "population risk"),
    "training error": ("train_error", "interpolation error"),
    "sgd": ("stochastic",),
    "gradient descent": ("descent",),
    "random matrix": ("resolvent", "spectrum", "marchenko"),
    "stieltjes": ("resolvent",),
    "eigenvalues": ("spectrum", "resolvent"),
    "bbp": ("spiked", "outlier"),
    "phase transition": ("phase", "critical"),
    "memorization": ("interpolation",),
    "memorisation": ("interpolation",),
    "ridge regression": ("ridge",),
    "owen": ("erf",),
    "inverse temperature": ("temperature",),
    "loss": ("risk",),
    "plot": ("figure",),
}
#: What a word is worth where it stands: id or label, title, name of a letter or an output, any other text.
_ID, _TITLE, _LETTER, _TEXT = 8.0, 5.0, 3.0, 1.0
#: What a whole word is worth more than a part of one, and another word for the same thing less.
_WHOLE, _OTHER = 1.5, 0.5
#: What a phrase is worth more than a word: nobody writes one by chance.
_PHRASE = 3.0


def ranked(rows: Sequence[Row], text: str) -> list[Row]:
    """Rows in which every word of a text occurs, those first in which they stand in better places."""
    words = terms(text)
    scored = [(min((score(row, word) for word in words), default=0.0), sum(score(row, w) for w in words), row)
              for row in rows]  # fmt: skip
    found = [(total, row) for least, total, row in scored if least > 0 or not words]
    return [row for total, row in sorted(found, key=lambda item: (-item[0], item[1].id))]


def terms(text: str) -> list[str]:
    """The words of a text, phrases with a meaning of their own kept together.

    >>> terms("State evolution of attention")
    ['state evolution', 'of', 'attention']
    """
    words = text.casefold().split()
    found = []
    while words:
        pair = " ".join(words[:2])
        taken = pair if len(words) > 1 and pair in SYNONYMS else words[0]
        found.append(taken)
        words = words[len(taken.split()) :]
    return found


def score(row: Row, word: str) -> float:
    """How well one row answers one word; 0 if it does not."""
    own = _place(row, word) * (_PHRASE if " " in word else 1.0)
    return max([own, *(_OTHER * _place(row, other) for other in SYNONYMS.get(word, ()))])


def _place(row: Row, word: str) -> float:
    fields = (
        (_ID, "\n".join((row.id, *row.aliases))),
        (_TITLE, f"{row.title}\n{row.kind}"),
        (_LETTER, "\n".join((*row.needs, *row.optional, *row.gives))),
        (_TEXT, row.text),
    )
    best = 0.0
    for worth, text in fields:
        if word in (plain := text.casefold()):
            is_whole = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", plain) is not None
            best = max(best, worth * (_WHOLE if is_whole else 1))
    return best


def nearest_words(rows: Iterable[Row], text: str) -> str | None:
    """The text with words that occur nowhere replaced by the nearest that do; None if some have none."""
    listed = list(rows)
    known = sorted({word for row in listed for word in re.findall(r"[^\W\d_]{3,}", row.text)} | set(SYNONYMS))
    found = []
    for word in terms(text):
        if any(score(row, word) for row in listed):
            found.append(word)
            continue
        near = difflib.get_close_matches(word, known, 1, 0.75)
        if not near:
            return None
        found.append(near[0])
    changed = " ".join(found)
    return None if changed == " ".join(terms(text)) else changed
