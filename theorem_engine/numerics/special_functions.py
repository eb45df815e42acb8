"""SciPy's compiled functions without the package around them, which takes most of a cold start to import."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_PACKAGE, _COMPILED = "scipy.special", "scipy.special._ufuncs"


@contextmanager
def compiled_functions_only() -> Iterator[None]:
    """Inside the block ``scipy.special`` is its compiled functions; whoever asks it for more gets the package itself.

    They are the same objects, so that what was imported inside the block goes on outside it. Where SciPy has no such
    module the package is imported as ever. For programs of one thread, at their start.
    """
    if _PACKAGE in sys.modules:
        yield
        return
    place = _put_in()
    try:
        yield
    finally:
        if place is not None:
            _take_out(place)


class _Compiled(ModuleType):
    """A stand-in for the package."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(sys.modules.get(_COMPILED), name, None)
        if found is None:
            _take_out(self)
            found = getattr(importlib.import_module(_PACKAGE), name)
        return found


def _put_in() -> _Compiled | None:
    import scipy

    place = _Compiled(_PACKAGE)
    place.__path__ = [f"{folder}/special" for folder in scipy.__path__]
    sys.modules[_PACKAGE] = place
    try:
        importlib.import_module(_COMPILED)
    except (ImportError, AttributeError):
        _take_out(place)
        return None
    return place


def _take_out(place: ModuleType) -> None:
    import scipy

    if sys.modules.get(_PACKAGE) is place:
        del sys.modules[_PACKAGE]
        # an import inside the block leaves the stand-in as an attribute
        vars(scipy).pop("special", None)
