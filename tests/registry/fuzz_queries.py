"""Queries made from a seed and an index: a valid point of an entry with a letter or two moved to a hostile value."""

import zlib
from dataclasses import dataclass
from functools import cache

import numpy as np

import theorem_engine as te
from tests.registry.fuzz_values import DIGITS, EXTREME, FOREIGN, evaluate, special
from theorem_engine.asking.random_point import draw_point

#: Points of costly entries are drawn with these: the guard is under test, not the precision of a mean.
CHEAP = {"draws": 256}
#: Entries that take a tenth of the others' share, as the costly ones do: one answer is many integrals.
LONG = (
    "classics.binary-capacity",
    "duranthon2026.erf-risk",
    "duranthon2026.information-sum-rule",
    "duranthon2026.signal-asymptotics",
    "duranthon2026.softplus-risk",
    "duranthon2026.variable-length",
    "liao2026.best-penalty",
    "liao2026.finite-size-error",
    "liao2026.signal-slope",
)


@dataclass(frozen=True)
class Query:
    """One call of ``te.predict``, its values as Python source."""

    entry: str
    parameters: tuple[tuple[str, str], ...]
    #: Names of what was moved, for reports.
    moved: tuple[str, ...]

    def __str__(self):
        listed = "".join(f", {name}={source}" for name, source in self.parameters)
        return f'te.predict("{self.entry}"{listed})'

    def values(self):
        """The keyword arguments themselves."""
        return {name: evaluate(source) for name, source in self.parameters}


def make_query(entry_id, seed, index, bases=24):
    """The query of this number; ``bases`` is the number of valid points that all queries of an entry start from."""
    entry = te.entry(entry_id)
    key = [seed, zlib.crc32(entry_id.encode())]
    fixed = {name: value for name, value in CHEAP.items() if entry.costly and name in {x.name for x in entry.given}}
    base = _base(entry_id, (*key, 0, index % bases), tuple(fixed.items()))
    rng = np.random.default_rng([*key, 1, index])
    parameters = {name: repr(value) for name, value in base.items()}
    count = 1 if rng.random() < 0.8 else 2
    moved = [_move(entry, parameters, rng) for _ in range(count)] if entry.given else []
    # of an entry without letters nothing else can be moved
    if not moved or rng.random() < 0.1:
        parameters["digits"] = _pick(rng, DIGITS[:4] if rng.random() < 0.5 else DIGITS)
        moved.append("digits")
    if rng.random() < 0.02:
        moved.append(_misname(parameters, rng))
    return Query(entry_id, tuple(parameters.items()), tuple(dict.fromkeys(moved)))


@cache
def _base(entry_id, seeds, fixed):
    """A valid point; one that many queries start from is drawn once."""
    return draw_point(te.entry(entry_id), np.random.default_rng(list(seeds)), dict(fixed))


def _move(entry, parameters, rng):
    """Give one letter a hostile value; mostly a letter of the point, sometimes one that was left out."""
    present = [x for x in entry.given if x.name in parameters]
    letter = _pick(rng, present if present and rng.random() < 0.9 else entry.given)
    chance = rng.random()
    if letter.domain.is_option:
        pool = special(letter) if chance < 0.85 else FOREIGN
    elif not letter.domain.can_be_drawn:
        pool = special(letter) if chance < 0.6 else FOREIGN
    else:
        pool = special(letter) if chance < 0.45 else EXTREME if chance < 0.8 else FOREIGN
    parameters[letter.name] = _pick(rng, pool or EXTREME)
    return letter.name


def _misname(parameters, rng):
    """Leave a letter out, or add one that is not there."""
    if parameters and rng.random() < 0.5:
        name = _pick(rng, list(parameters))
        del parameters[name]
        return name
    parameters["lamda"] = "1"
    return "lamda"


def _pick(rng, pool):
    return pool[int(rng.integers(len(pool)))]


def shares(entries, count):
    """How many of ``count`` queries each entry gets: what takes long a tenth of what others get, and at least one."""
    weights = [0.1 if entry.costly or entry.id in LONG else 1.0 for entry in entries]
    edges = np.floor(np.cumsum([0.0, *weights]) / sum(weights) * count + 1e-9).astype(int)
    return {entry.id: max(1, int(n)) for entry, n in zip(entries, np.diff(edges), strict=True)}
