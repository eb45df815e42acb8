"""What a build before this one left: pages that need not be made again, and pages that have no place any more."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from theorem_engine.base.errors import BadRequest
from theorem_engine.base.files import refusal, write_whole
from theorem_engine.base.sources import digest

NAME = "book.json"
_FORM = 1


class Kept:
    """The folder of a book, and the list of its pages with their fingerprints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before = _read(folder / NAME)
        if folder.exists() and not folder.is_dir():
            raise BadRequest(f"{folder} is there already and is not a folder")
        if self.before is None and folder.is_dir() and any(folder.iterdir()):
            raise BadRequest(f"{folder} is not empty and holds no book; choose an empty folder or a new name")
        self.pages: dict[str, dict[str, Any]] = {}
        self.written: list[str] = []

    def unchanged(self, place: str, fingerprint: str) -> Mapping[str, Any] | None:
        """What was kept with a page of this fingerprint that still stands as it was written; else None."""
        old = (self.before or {}).get(place)
        if old is None or old["fingerprint"] != fingerprint or old["sum"] != _sum(self.folder / place):
            return None
        self.pages[place] = old
        found: Mapping[str, Any] = old["kept"]
        return found

    def last(self, place: str) -> Mapping[str, Any]:
        """What was kept with the page that the build before this one made, whatever it said."""
        old = (self.before or {}).get(place)
        found: Mapping[str, Any] = {} if old is None else old["kept"]
        return found

    def put(self, place: str, text: str, fingerprint: str = "", kept: Mapping[str, Any] | None = None) -> None:
        """Write a page, unless it stands there already."""
        path = self.folder / place
        own = digest([text])
        if _sum(path) != own:
            self._make(path.parent)
            write_whole(path, text)
            self.written.append(place)
        self.pages[place] = {"fingerprint": fingerprint, "sum": own, "kept": dict(kept or {})}

    def note(self) -> None:
        """Write the list of all pages known so far, so that a build that is stopped here can go on."""
        self._write({**(self.before or {}), **self.pages})

    def close(self) -> None:
        """Remove pages of the build before that are no page any more, and write the list."""
        for place in set(self.before or {}) - set(self.pages):
            # only what a build has written and nobody has changed
            if (self.before or {})[place]["sum"] == _sum(self.folder / place):
                (self.folder / place).unlink()
        self._write(self.pages)

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refusal(folder, error) from None

    def _write(self, pages: Mapping[str, Any]) -> None:
        self._make(self.folder)
        write_whole(self.folder / NAME, json.dumps({"form": _FORM, "pages": pages}, indent=1))


def _sum(path: Path) -> str:
    try:
        return digest([path.read_bytes()])
    except OSError:
        return ""


def _read(path: Path) -> dict[str, dict[str, Any]] | None:
    """Pages by their places; None where there is no list, or it is not of this form."""
    try:
        data = json.loads(path.read_bytes())
        pages: dict[str, dict[str, Any]] = data["pages"]
        good = data["form"] == _FORM and all(
            isinstance(page["fingerprint"], str) and isinstance(page["sum"], str) and isinstance(page["kept"], dict)
            and ".." not in Path(place).parts and not Path(place).is_absolute()
            for place, page in pages.items()
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return pages if good else None
