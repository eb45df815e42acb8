"""Building the book: what is there, what has changed since, pages in worker processes, the rest from their results."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theorem_engine.asking.citation import cite
from theorem_engine.base.errors import BadRequest
from theorem_engine.base.sources import digest, engine_digest, module_digest
from theorem_engine.checking.simulators import named_simulators
from theorem_engine.language.catalogue import all_entries, find_entry
from theorem_engine.language.entry import Entry
from theorem_engine.language.figure import figures
from theorem_engine.showing.book.entry_page import entry_page
from theorem_engine.showing.book.evidence import Evidence, evidence_of, from_json, record_of
from theorem_engine.showing.book.frame import ASSETS, SEARCH_DATA, asset, entry_place, guide_place, paper_place
from theorem_engine.showing.book.guide import guide_page, guides
from theorem_engine.showing.book.index_page import index_page
from theorem_engine.showing.book.kept import Kept
from theorem_engine.showing.book.paper_page import paper_page
from theorem_engine.showing.book.search_data import search_script
from theorem_engine.showing.example import example_of
from theorem_engine.sweeping.executors import default_executor
from theorem_engine.sweeping.sweep import cluster


@dataclass(frozen=True)
class Built:
    """What a build did: pages in all, entries made anew, files written, seconds."""

    folder: Path
    pages: int
    made: tuple[str, ...]
    written: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.folder / 'index.html'}: {self.pages} pages; {len(self.made)} entries made anew, "
            f"{len(self.written)} files written, {self.seconds:.0f} s"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "index": str(self.folder / "index.html"), "pages": self.pages, "made": list(self.made),
            "written": list(self.written), "seconds": self.seconds,
        }  # fmt: skip


def build_book(
    folder: Path | str,
    ids: Iterable[str] | None = None,
    *,
    jobs: int | None = None,
    progress: bool | None = None,
    scheduler: str | None = None,
) -> Built:
    """The book in a folder; of some entries, and those they rest on, if ids are given.

    With ``scheduler``, the address of a Dask scheduler, pages are made by the workers there and written here. A build
    that was stopped goes on with the pages that are missing.
    """
    begin = time.perf_counter()
    if scheduler is not None and jobs is not None:
        raise BadRequest("scheduler and jobs each say where pages are made; give one of them")
    elsewhere = None if scheduler is None else cluster(scheduler, "book", progress)
    kept = Kept(Path(folder))
    entries = all_entries() if ids is None else with_needs(ids)
    used_by = users(entries)
    evidence: dict[str, Evidence] = {}
    waiting = []
    for entry in entries:
        mark = entry_fingerprint(entry, used_by[entry.id])
        found = kept.unchanged(entry_place(entry.id), mark)
        if found is None:
            waiting.append((entry.id, tuple(used_by[entry.id]), mark))
        else:
            evidence[entry.id] = from_json(found["evidence"])
    # those that take long come first, so that no worker is left alone with one at the end
    waiting.sort(key=lambda item: _expected(kept, find_entry(item[0])), reverse=True)
    if waiting:
        kept.note()
    executor = elsewhere or default_executor(jobs, len(waiting), "book", progress)
    for (id, _, mark), (html, found, seconds) in zip(waiting, executor.map(made_entry, waiting), strict=True):
        evidence[id] = from_json(found)
        kept.put(entry_place(id), html, mark, {"evidence": found, "seconds": seconds})
        kept.note()
    _put_the_rest(kept, entries, evidence)
    kept.close()
    made = tuple(id for id, _, _ in waiting)
    pages = sum(place.endswith(".html") for place in kept.pages)
    return Built(kept.folder, pages, made, tuple(kept.written), time.perf_counter() - begin)


def made_entry(item: tuple[str, tuple[str, ...], str]) -> tuple[str, dict[str, Any], float]:
    """The page of an entry, what is known of it, and the seconds of work, made in whatever process this is."""
    begin = time.process_time()
    id, used_by, _ = item
    entry = find_entry(id)
    evidence = evidence_of(entry)
    html = entry_page(entry, evidence, used_by)
    # through JSON, so that what is used now is what is read back from the list
    return html, json.loads(json.dumps(evidence.to_json())), round(time.process_time() - begin, 1)


def _expected(kept: Kept, entry: Entry) -> tuple[float, bool, int]:
    """What tells how long a page takes: the last time, if there was one; else the kind and the size of the entry."""
    seconds = kept.last(entry_place(entry.id)).get("seconds")
    known = float(seconds) if isinstance(seconds, (int, float)) else math.inf
    return known, entry.costly, len(entry.given) * len(entry.outputs)


def _put_the_rest(kept: Kept, entries: Sequence[Entry], evidence: Mapping[str, Evidence]) -> None:
    """Pages that are made in no time: papers, guide, index, and what all pages share."""
    papers: dict[str, list[Entry]] = {}
    for entry in entries:
        papers.setdefault(entry.paper, []).append(entry)
    known = {entry.id for entry in entries}
    drawn = [f for f in figures() if f.id.partition(".")[0] in papers and {id for id, _ in f.settings} <= known]
    for paper, mine in papers.items():
        own = [figure for figure in drawn if figure.id.partition(".")[0] == paper]
        kept.put(paper_place(paper), paper_page(paper, mine, own, evidence))
    documents = guides()
    for guide in documents:
        kept.put(guide_place(guide.name), guide_page(guide, documents, known))
    kept.put("index.html", index_page(papers, documents, evidence))
    kept.put(f"assets/{SEARCH_DATA}", search_script(entries, drawn, documents))
    for name in ASSETS:
        kept.put(f"assets/{name}", asset(name))


def with_needs(ids: Iterable[str]) -> list[Entry]:
    """The entries named and all that they rest on, ordered by id."""
    found: dict[str, Entry] = {}
    waiting = [find_entry(id) for id in ids]
    while waiting:
        entry = waiting.pop()
        if entry.id not in found:
            found[entry.id] = entry
            waiting += [find_entry(need) for need in entry.needs.values()]
    return [found[id] for id in sorted(found)]


def users(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """For each entry, those that need it."""
    found: dict[str, list[str]] = {entry.id: [] for entry in entries}
    for entry in entries:
        for need in dict.fromkeys(entry.needs.values()):
            found[need].append(entry.id)
    return found


def entry_fingerprint(entry: Entry, used_by: Sequence[str]) -> str:
    """All that decides what the page of an entry says: code, equations, those it rests on, example, checks, users."""
    # whether the record is about the equations as they are follows from it and from the modules that state them
    parts = [engine_digest(), json.dumps(record_of(entry), sort_keys=True), cite(entry.id)]
    parts += [module_digest(other.module) for other in with_needs([entry.id])]
    for name, _ in named_simulators(entry):
        parts.append(module_digest(f"theorem_engine.validators.{name.rpartition('.')[0]}"))
    example = example_of(entry)
    parts += [entry.id, "" if example is None else json.dumps([dict(example.point), example.prints], default=str)]
    parts += [f"{id} {find_entry(id).title}" for id in used_by]
    return digest(parts)
