"""Finding the reference simulators that entries name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from theorem_engine.errors import DeclarationError, nearest


def simulator(name: str) -> Callable[..., Any]:
    """The function an entry names as ``module.function`` of the validators.

    >>> simulator("gaussian.erf_mean").__name__
    'erf_mean'
    """
    module_name, _, function = name.rpartition(".")
    try:
        module = importlib.import_module(f"theorem_engine.validators.{module_name}")
    except ModuleNotFoundError:
        raise DeclarationError(f"no module {module_name!r} among the validators, wanted for {name!r}") from None
    found = getattr(module, function, None)
    if not callable(found):
        raise DeclarationError(f"validators.{module_name} has no function {function!r}{nearest(function, dir(module))}")
    result: Callable[..., Any] = found
    return result
