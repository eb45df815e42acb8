"""Letters: SymPy symbols that know their paper, their meaning and their domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy

from theorem_engine.language.domains import REAL, Domain


class _Sentinel:
    """A value that stands for no value, the same object in every process."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __lt__(self, other: Any) -> bool:
        return str(self) < str(other)


_REQUIRED: Any = _Sentinel("REQUIRED")
#: Default of a letter that may be left out; the statement is then written without it.
ABSENT: Any = _Sentinel("ABSENT")
#: A condition of an applied entry that its arguments leave open for now.
OPEN: Any = _Sentinel("OPEN")
#: Among the options of a statement: it is written for canonical letters, as whoever applies the entry sees it.
CANONICAL = "(canonical)"


class Letter(sympy.Symbol):
    """A symbol of one paper; two papers may both write nu and mean different things.

    ``typical`` is the range a plot or a random test takes when the domain is unbounded.
    """

    __slots__ = ("_default", "domain", "has_domain", "latex_name", "meaning", "scope", "typical")

    scope: str
    domain: Domain
    meaning: str
    latex_name: str
    typical: tuple[Any, ...] | None
    #: Whether its author said where it lies; a letter that is given should have a domain.
    has_domain: bool

    def __new__(
        cls,
        name: str,
        scope: str,
        *,
        latex: str | None = None,
        meaning: str = "",
        domain: Domain | None = None,
        default: Any = _REQUIRED,
        typical: tuple[Any, ...] | None = None,
        assumptions: Mapping[str, bool] | None = None,
    ) -> Letter:
        """Make the symbol without SymPy's cache by name: the scope is part of the identity."""
        where = REAL if domain is None else domain
        facts = dict(where.assumptions() if assumptions is None else assumptions)
        letter: Letter = sympy.Symbol.__xnew__(cls, name, **{"commutative": True, **facts})
        letter.scope = scope
        letter.domain = where
        letter.has_domain = domain is not None
        letter.meaning = meaning
        letter.latex_name = latex or name.replace("_", r"\_")
        letter._default = default
        letter.typical = typical
        return letter

    def __getnewargs_ex__(self) -> Any:
        """Refuse to travel: entries are looked up by id in each process."""
        raise TypeError("letters are not pickled; send the entry's id instead")

    def _hashable_content(self) -> tuple[Any, ...]:
        return (self.scope, *super()._hashable_content())

    def sort_key(self, order: Any = None) -> Any:
        """Order by name, then scope, so that generated code is the same in every process."""
        return self.class_key(), (1, (self.name, self.scope)), sympy.S.One.sort_key(), sympy.S.One

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return self.latex_name if exp is None else f"{{{self.latex_name}}}^{{{exp}}}"

    @property
    def is_required(self) -> bool:
        """Whether a query must give this letter."""
        return self._default is _REQUIRED

    @property
    def is_optional(self) -> bool:
        """Whether the statement can do without this letter."""
        return self._default is ABSENT

    @property
    def default(self) -> Any:
        """The value taken when the query is silent."""
        if self.is_required:
            raise AttributeError(f"{self.name} has no default")
        return self._default


#: What must be known to read the letters of a paper, by its name.
_CONVENTIONS: dict[str, tuple[str, ...]] = {}


def conventions_of(paper: str) -> tuple[str, ...]:
    """Sentences about how a paper writes things, where others write otherwise."""
    return _CONVENTIONS.get(paper, ())


def notation(scope: str, *, conventions: tuple[str, ...] = ()) -> Callable[..., Letter]:
    """The function that declares the letters of one paper; ``conventions`` are sentences that its pages show.

    >>> from theorem_engine.language.domains import Interval
    >>> var = notation("example")
    >>> var("kappa", r"\\kappa", "alignment", Interval(-1, 1)).domain.describe()
    '[-1, 1]'
    """

    if conventions:
        _CONVENTIONS[scope] = conventions

    def var(
        name: str,
        latex: str,
        meaning: str,
        domain: Domain | None = None,
        *,
        default: Any = _REQUIRED,
        typical: tuple[Any, ...] | None = None,
    ) -> Letter:
        """Declare one letter."""
        return Letter(name, scope, latex=latex, meaning=meaning, domain=domain, default=default, typical=typical)

    return var
