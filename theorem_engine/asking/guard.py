"""The guard around every evaluation: what a library raises reaches a user as our own error, entry and point named."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theorem_engine.base.errors import DeclarationError, NotAvailable, NotConverged, TheoremEngineError
from theorem_engine.base.exact import to_text
from theorem_engine.language.catalogue import BUILT_IN
from theorem_engine.language.pack_loading import declared_at, plain_line

if TYPE_CHECKING:
    from theorem_engine.language.entry import Entry

#: Characters of a point that a message repeats.
_LONGEST = 240


@contextmanager
def guarded(entry: Entry, point: Mapping[str, Any] | None, doing: str) -> Iterator[None]:
    """Turn errors of NumPy, SciPy, mpmath or Python into ours; give ours the entry they lack.

    Warnings turned into errors, and what ends a program, pass as they are.
    """
    try:
        yield
    except DeclarationError as error:
        raise type(error)(f"{'' if entry.id in str(error) else f'{entry.id}: '}{error}{_place(entry)}") from None
    except TheoremEngineError as error:
        if entry.id in str(error):
            raise
        raise type(error)(f"{entry.id}: {error}") from error.__cause__
    except MemoryError as error:
        raise NotAvailable(f"{entry.id}: {doing} needs more memory than there is{at(point)}") from error
    except Warning:
        raise
    except OSError:
        # files have their own errors, which name the file
        raise
    except Exception as error:
        if isinstance(error, RecursionError) and (place := _place(entry)):
            raise DeclarationError(
                f"{entry.id}: its equations go round in a circle, or are nested too deeply{at(point)}{place}"
            ) from None
        text = plain_line(str(error))[:120]
        reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
        raise NotConverged(f"{entry.id}: {doing} failed ({reason}){at(point)}{_line(entry, error)}") from error


def _place(entry: Entry) -> str:
    """Where an entry from outside is declared, for its author; those built in are tested."""
    if entry.module.startswith(BUILT_IN):
        return ""
    file, line = declared_at(entry)
    return f" (declared in {file}, line {line})"


def _line(entry: Entry, error: BaseException) -> str:
    """The last line of the files beside an entry from outside on the way to an error."""
    if entry.module.startswith(BUILT_IN):
        return ""
    folder = Path(declared_at(entry)[0]).parent
    own = [f for f in traceback.extract_tb(error.__traceback__) if folder in Path(f.filename).parents]
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""


def at(point: Mapping[str, Any] | None) -> str:
    """A clause naming the point, cut where it is long; nothing without a point."""
    if not point:
        return ""
    shown = ", ".join(f"{name}={_shown(value)}" for name, value in point.items())
    return f" at {shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + '...'}"


def _shown(value: Any) -> str:
    if isinstance(value, int) and abs(value) > 10**60:
        return "a huge number"
    try:
        return to_text(value)[:80]
    except Exception:  # a user's object may fail to print itself
        return f"a {type(value).__name__}"
