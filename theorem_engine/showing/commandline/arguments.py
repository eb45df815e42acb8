"""What all commands share: reading values from the command line, and errors as one sentence."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from theorem_engine.base.errors import BadRequest, PackWarning, TheoremEngineError, ValidityWarning
from theorem_engine.base.files import refuse_existing
from theorem_engine.base.spelling import spelled

_NAMED = re.compile(r"([^\W\d]\w*)\s*=\s*(.*)", re.DOTALL)
_GRID = re.compile(r"[^:,]+:[^:,]+:[0-9]+(?::(?:log|whole)){0,2}")
#: Lengths with their weights, which together are one value.
_DISTRIBUTION = re.compile(r"\s*[0-9]+\s*:[^:,]+(?:,\s*[0-9]+\s*:[^:,]+)+")
#: Numbers with commas between them.
_LIST = re.compile(r"[-+.0-9eE/]+(?:,[-+.0-9eE/]+)+")
#: Ids of entries and figures, which no value of a letter looks like.
_ID = re.compile(r"[a-z][a-z0-9]*\.[a-z][a-z0-9.-]*")
_LETTERS, _LEFT_OVER = "theorem_engine.language.letters", "theorem_engine.left_over"
#: Paths of packs given with --pack, before a command or behind it.
PACKS = "theorem_engine.packs"
#: Parameters of the Python functions themselves, which no letter can be named after.
_TAKEN = ("id", "digits", "certified", "jobs", "progress", "errors", "executor", "mask", "store", "along", "scheduler")


class Query(TyperCommand):
    """A command whose errors are one sentence on stderr and exit status 2; every one takes ``--pack PATH``."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Set the packs aside and leave the rest to the parser."""
        return super().parse_args(ctx, _without_packs(ctx, args))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; warnings about validity go to stderr as sentences too."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", ValidityWarning)
            warnings.simplefilter("always", PackWarning)
            warnings.showwarning = _show_warning
            try:
                _add_packs(ctx.meta.get(PACKS, ()))
                result = super().invoke(ctx)
                # what the disk behind stdout does not take must be known before the command ends well
                sys.stdout.flush()
                return result
            except TheoremEngineError as error:
                problem: Exception = error
            except BrokenPipeError:
                raise
            except OSError as error:
                problem = error
                _give_up_stdout()
        if ctx.params.get("as_json"):
            _say(json.dumps({"error": type(problem).__name__, "message": str(problem)}))
        print(f"{type(problem).__name__}: {problem}", file=sys.stderr)
        raise typer.Exit(2)


def _without_packs(ctx: Any, args: Sequence[str]) -> list[str]:
    """The arguments but for ``--pack PATH`` and ``--pack=PATH``, whose paths are noted."""
    kept: list[str] = []
    found: list[str] = ctx.meta.setdefault(PACKS, [])
    words = iter(args)
    for word in words:
        if word == "--":
            kept.extend((word, *words))
        elif word == "--pack":
            found.append(next(words, ""))
        elif word.startswith("--pack="):
            found.append(word.partition("=")[2])
        else:
            kept.append(word)
    return kept


def _add_packs(paths: Sequence[str]) -> None:
    if not paths:
        return
    from theorem_engine.language.packs import add_place, foreign_ids

    for path in paths:
        if not path:
            raise BadRequest("--pack stands without a path; write --pack PATH")
        for pack in add_place(path, "--pack"):
            for id, file, line in foreign_ids(pack):
                _warn_of_taken(f"{pack}: {file}, line {line}", id)


def _warn_of_taken(where: str, id: str) -> None:
    """Say that an id of a pack is one of the registry's: whoever asks for it gets the registry's entry."""
    from theorem_engine.language.catalogue import papers

    paper = id.partition(".")[0]
    if paper in papers():
        words = f"{id!r} begins with the name of a paper of the registry, whose own entries are used; take another name"
        warnings.warn(f"{where}: {words}", PackWarning, stacklevel=2)


def _give_up_stdout() -> None:
    """Let go of what stdout does not take: Python would try once more at its end, and complain once more."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str) -> None:
    """Print on stdout, if it takes anything."""
    with suppress(OSError):
        print(text, flush=True)


class PointQuery(Query):
    """A query that takes an entry's letters, as ``name=value``, ``--name value`` or ``--name=value``."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Options, and behind an id the letters of its entry with an equals sign."""
        from click.shell_completion import CompletionItem

        from theorem_engine.showing.commandline.completion import letters_beginning

        given = [spelled(name) for name, _ in ctx.meta.get(_LETTERS, ())]
        found = letters_beginning(ctx.params.get("id"), given, incomplete)
        return [*(CompletionItem(text, help=about) for text, about in found), *super().shell_complete(ctx, incomplete)]

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Set the letters aside and leave the command's own options to the parser.

        The parser would take ``-0.5`` for an option; here whatever follows ``--name`` is its value.
        """
        flags: dict[str, bool] = {}
        room = 0.0
        parameter: Any
        for parameter in self.get_params(ctx):
            if parameter.param_type_name == "option":
                flags.update(dict.fromkeys((*parameter.opts, *parameter.secondary_opts), parameter.is_flag))
            else:
                room += parameter.nargs if parameter.nargs > 0 else float("inf")
        left_over: list[str] = []
        letters: list[tuple[str, str | None]] = []
        kept: list[str] = []
        tokens = iter(_joined(_without_packs(ctx, args)))
        for token in tokens:
            name, equals, value = token.partition("=")
            if token == "--":
                kept.extend((token, *tokens))
            elif name in flags:
                kept.append(token)
                if not equals and not flags[name]:
                    kept.extend(follower for follower in [next(tokens, None)] if follower is not None)
            elif len(token) > 2 and token.startswith("--"):
                letters.append((name[2:], value if equals else next(tokens, None)))
            elif match := _NAMED.fullmatch(token):
                if flags.get(f"--{match[1]}") is False:
                    kept.append(f"--{token}")
                else:
                    letters.append((match[1], match[2]))
            elif token.startswith("=") or (room <= 0 and not token.startswith("-")):
                left_over.append(token)
            else:
                kept.append(token)
                # an option in short form is no word
                room -= not token.startswith("-")
        if left_over and not _is_torn_letter(left_over, letters):
            # nothing we know: the parser says what it thinks of it
            kept, left_over = [*kept, *left_over], []
        ctx.meta[_LETTERS], ctx.meta[_LEFT_OVER] = letters, left_over
        return super().parse_args(ctx, kept)


def _joined(words: Sequence[str]) -> list[str]:
    """The words, letters written with spaces in one piece: ``lam = 1``, ``lam =1`` and ``lam= 1`` are ``lam=1``."""
    joined: list[str] = []
    for word in words:
        before = joined[-1] if joined else ""
        # behind an option whose value it may be, a name is left alone
        is_name = before.isidentifier() and not (len(joined) > 1 and joined[-2].startswith("--"))
        is_open = before.endswith("=") and before[:-1].isidentifier()
        if (is_name and word.startswith("=")) or (is_open and _is_value(word)):
            joined[-1] = before + word
        else:
            joined.append(word)
    return joined


def _is_value(word: str) -> bool:
    return "=" not in word and not word.startswith("--") and not _ID.fullmatch(word)


def _is_torn_letter(words: list[str], letters: list[tuple[str, str | None]]) -> bool:
    """Whether words left over are meant as a letter: ``lam 1``, or ``lam =`` with nothing behind it."""
    is_pair = len(words) > 1 and words[0].isidentifier()
    return is_pair or any(word.startswith("=") for word in words) or any(value == "" for _, value in letters)


def letters_of(ctx: Any) -> dict[str, str]:
    """The letters given on the command line, each once and with a value."""
    result: dict[str, str] = {}
    if words := ctx.meta[_LEFT_OVER]:
        raise BadRequest(f"{' '.join(words)[:60]!r} is left over; a letter is written name=value")
    for written, value in ctx.meta[_LETTERS]:
        name = spelled(written)
        if value is None:
            raise BadRequest(f"--{name} stands without a value; write --{name} VALUE or {name}=VALUE")
        if name in _TAKEN:
            raise BadRequest(f"{name}={value[:40]!r} is no letter of an entry; --help lists the options of a command")
        if name in result:
            raise BadRequest(f"{name} is given twice: {result[name][:40]!r} and {value[:40]!r}")
        result[name.replace("-", "_")] = value
    return result


def named_values(option: str, words: Sequence[str]) -> dict[str, str]:
    """The values of an option that is given as ``name=value``, perhaps several times."""
    found: dict[str, str] = {}
    for word in words:
        match = _NAMED.fullmatch(word)
        if match is None:
            raise BadRequest(f"{option} {word[:40]!r} is not of the form name=value")
        found[match[1]] = match[2]
    return found


def point_of(ctx: Any, more: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The letters of one point, those of the command line and ``more``; an error for a range of values."""
    letters = {**letters_of(ctx), **(more or {})}
    for name, value in letters.items():
        if _GRID.fullmatch(value):
            raise BadRequest(f"{name}={value[:40]!r} is a grid, and this is about one point; `sweep` evaluates grids")
        if _LIST.fullmatch(value) and not is_list(ctx, name):
            raise BadRequest(f"{name}={value[:40]!r} is a list, and this is about one point; `sweep` evaluates lists")
    return letters


def is_list(ctx: Any, name: str) -> bool:
    """Whether a value of this letter of the command's entry is a list itself, as the coordinates of a vector are."""
    from theorem_engine.language.catalogue import find_entry

    try:
        letters = find_entry(str(ctx.params.get("id"))).given
    except TheoremEngineError:
        # the command will say what is wrong with the name
        return False
    return any(letter.name == name and letter.domain.is_list for letter in letters)


def _show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    print(f"{category.__name__}: {message}", file=sys.stderr)


def whole_number(name: str, text: str | None) -> int | None:
    """A whole number given as text; typer's own check would print a page of usage."""
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise BadRequest(f"{name}={text[:40]!r} is not a whole number") from None


def positive_number(name: str, text: str | None) -> float | None:
    """A positive number given as text."""
    try:
        value = None if text is None else float(text)
    except ValueError:
        value = -1.0
    if value is not None and not 0 < value < float("inf"):
        raise BadRequest(f"{name}={(text or '')[:40]!r} is not a positive number")
    return value


def check_out(out: Path | None, known: tuple[str, ...], overwrite: bool, option: str = "--out") -> None:
    """Errors for a file that could not be written, or is there already, before anything is computed."""
    if out is not None and out.suffix not in known:
        raise BadRequest(f"{option} {out}: the ending of the name must be one of {', '.join(known)}")
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise BadRequest(f"{option} {out} is not a file in a folder that exists")
    check_replacing(out, overwrite, option)


def check_replacing(out: Path | None, overwrite: bool, option: str = "--out") -> None:
    """An error for a file that is there already, or where there is none to replace."""
    if out is None and overwrite:
        raise BadRequest(f"--overwrite says what {option} FILE may do; without a file there is nothing to replace")
    if out is not None and not overwrite:
        refuse_existing(out)


def check_picture(picture: Path | None, overwrite: bool) -> None:
    """The same for a picture."""
    if picture is None and not overwrite:
        return
    from theorem_engine.sweeping.pictures import picture_endings

    check_out(picture, tuple(picture_endings()), overwrite, "--plot")


def points_text(letters: Mapping[str, Any]) -> str:
    """How many points a sweep has, and along which letters.

    >>> points_text({"a": [1, 2], "b": [1, 2, 3], "c": "5"})
    '6 points (a 2, b 3)'
    """
    axes = {name: len(value) for name, value in letters.items() if not isinstance(value, str)}
    count = math.prod(axes.values())
    listed = ", ".join(f"{name} {size}" for name, size in axes.items())
    return f"{count} point{'s' if count != 1 else ''}{f' ({listed})' if listed else ''}"


def axis_of(name: str, text: str) -> Any:
    """One value, a grid ``low:high:count[:log][:whole]``, or a list ``a,b,c``."""
    from theorem_engine.sweeping.grids import grid

    if not text.strip():
        raise BadRequest(f"{name} has no value; a value, a grid low:high:count or a list a,b,c stands after {name}=")
    if _DISTRIBUTION.fullmatch(text):
        return text
    values = _split(text)
    if len(values) == 1 and ":" in text and not text.strip().startswith("{"):
        low, high, *rest = text.split(":")
        if not 1 <= len(rest) <= 3 or not set(rest[1:]) <= {"log", "whole"} or len(set(rest[1:])) < len(rest[1:]):
            raise BadRequest(
                f"{name}={text[:80]!r} is no grid; a grid is low:high:count, low:high:count:log or with :whole for "
                "whole numbers"
            )
        count = whole_number(f"{name}: count", rest[0]) or 0
        return grid(low, high, count, log="log" in rest, whole="whole" in rest)
    return values if len(values) > 1 else text


def accuracy_of(text: str) -> bool | str:
    """Where the errors of a sweep are worked out."""
    known: dict[str, bool | str] = {"every": True, "coarse": "coarse", "none": False}
    if text not in known:
        raise BadRequest(f"--errors {text[:40]!r} is not every, coarse or none")
    return known[text]


def _split(text: str) -> list[str]:
    """The parts of a list; a comma inside brackets belongs to a value, as in uniform(1,3)."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "({[") - (character in ")}]")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def option_like(name: str, default: Any, text: str) -> Any:
    """Text as the kind of value an option has by default."""
    if isinstance(default, bool):
        if text not in ("true", "false"):
            raise BadRequest(f"{name}={text[:40]!r} is neither true nor false")
        return text == "true"
    if isinstance(default, int):
        return whole_number(name, text)
    if isinstance(default, tuple):
        return tuple(text.split(","))
    try:
        return float(text) if isinstance(default, float) else text
    except ValueError:
        raise BadRequest(f"{name}={text[:40]!r} is not a number") from None
