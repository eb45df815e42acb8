"""Entry point of the command: a prediction whose plan is kept is printed at once, all else goes to the commands.

Only what is written plainly is looked at here: ``predict ID name=value ... [--json]``. Nothing is refused: where a
word, a value or a result is out of the ordinary, the command reads everything again and says what there is to say.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

_ID = re.compile(r"[a-z][a-z0-9]*\.[a-z][a-z0-9-]*")
#: One number or word; grids, lists and functions are read elsewhere.
_LETTER = re.compile(r"([A-Za-z][A-Za-z0-9_]*)=([A-Za-z0-9.+/() -]{1,100})")


def main() -> None:
    """Entry point of the ``theorem-engine`` command."""
    if not served(sys.argv[1:]):
        from theorem_engine.showing.commandline.commands import main

        main()


def served(words: Sequence[str]) -> bool:
    """Print the answer to a plain prediction from a kept plan; False where there is none, and nothing was printed."""
    query = _plain(words)
    if query is None:
        return False
    from theorem_engine.asking.kept import answer

    id, letters, as_json = query
    found = answer(id, letters)
    if found is None:
        return False
    text = _text(found, as_json)
    try:
        print(text, flush=True)
    except OSError:
        # the command has words for a disk that is full and a reader that has gone
        return False
    return True


def _plain(words: Sequence[str]) -> tuple[str, dict[str, str], bool] | None:
    """Id, letters and whether data is asked for; None for any other command or way of writing it."""
    if len(words) < 2 or words[0] != "predict":
        return None
    rest = [word for word in words[1:] if word != "--json"]
    ids = [word for word in rest if _ID.fullmatch(word)]
    matches = [match for word in rest if (match := _LETTER.fullmatch(word)) is not None]
    letters = {match[1]: match[2] for match in matches}
    is_plain = len(ids) == 1 and len(letters) == len(matches) == len(rest) - 1 and words.count("--json") <= 1
    return (ids[0], letters, "--json" in words) if is_plain else None


def _text(found: Any, as_json: bool) -> str:
    from theorem_engine.asking.prediction_text import prediction_json, prediction_text

    if not as_json:
        return prediction_text(found)
    import json

    return json.dumps(prediction_json(found), indent=2, ensure_ascii=False, allow_nan=False)


if __name__ == "__main__":
    main()
