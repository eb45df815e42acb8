"""The evidence ledger: what was checked, when, with which random numbers and how sharply; kept as data of the registry.

One file for each paper, ``registry/evidence/PAPER.json``, ordered by entry. A record belongs to the equations that were
checked: with every point stands their fingerprint, and an entry that states anything else by now counts as unchecked.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theorem_engine.base.errors import DeclarationError, FileError
from theorem_engine.base.exact import to_text
from theorem_engine.base.files import write_whole
from theorem_engine.base.version import __version__
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.entry import Entry

if TYPE_CHECKING:
    from theorem_engine.checking.campaign import Campaign

#: The folder of the registry that holds the ledger.
FOLDER = "evidence"
#: Digits of a fingerprint that are kept.
LENGTH = 20
UNCHECKED = "unchecked"
#: From the worst to the best: an entry is as good as its worst point, an output as it was at its best.
ORDER = ("disagrees", "cannot tell", "not tested", "given", "agrees")
_WORDS = {"agrees": "agrees", "given": "given by the prediction and consistent", "cannot tell": "cannot tell",
          "not tested": "not tested", "disagrees": "disagrees"}  # fmt: skip


@dataclass(frozen=True)
class Evidence:
    """What the ledger says about an entry as it is now."""

    #: ``agrees``, ``disagrees`` or ``cannot tell`` of all points together; ``unchecked`` if the equations are others.
    verdict: str
    date: str = ""
    seed: int = 0
    version: str = ""
    points: int = 0
    #: The best that was found of each output at any point, the worst where something disagrees.
    outputs: Mapping[str, str] | None = None
    #: The z-score furthest from zero, and the coarsest deviation, as a share, that an agreeing row would have shown.
    z: float | None = None
    sees: float | None = None
    #: Points that agree.
    agreeing: int = 0

    def __str__(self) -> str:
        if not self.date:
            return f"{UNCHECKED}: no campaign has written down a check of it"
        when = f"{self.date}, seed {self.seed}, version {self.version}"
        if self.verdict == UNCHECKED:
            return f"{UNCHECKED}: its equations are not those that were checked ({when})"
        parts = [f"{self.verdict} at {self.agreeing} of {self.points} points" if self.agreeing else self.verdict]
        for word, shown in _WORDS.items():
            named = [output for output, found in (self.outputs or {}).items() if found == word]
            if named:
                parts.append(f"{shown}: {', '.join(named)}")
        if self.z is not None:
            parts.append(f"largest |z| {abs(self.z):.1f}")
        if self.sees is not None:
            parts.append(f"deviations of {100 * self.sees:.2g} % would have been seen")
        return f"{'; '.join(parts)} ({when})"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(self).items()}


def ledger_folder() -> Path:
    """Where the ledger of the registry lies."""
    registry = importlib.import_module("theorem_engine.registry")
    return Path(next(iter(registry.__path__))) / FOLDER


def evidence_of(entry: Entry, folder: Path | None = None) -> Evidence:
    """What the ledger says about an entry; its equations are compared with those that were checked."""
    from theorem_engine.asking.fingerprint import equations_fingerprint

    record = read_paper(entry.paper, folder or ledger_folder()).get(entry.id)
    if record is None:
        return Evidence(UNCHECKED)
    when = {"date": record["date"], "seed": record["seed"], "version": record["version"]}
    checks = record["checks"]
    if any(equations_fingerprint(entry, check["point"])[:LENGTH] != check["equations"] for check in checks):
        return Evidence(UNCHECKED, **when)
    outputs: dict[str, str] = {}
    for check in checks:
        for output, found in check["outputs"].items():
            words = {found, outputs.get(output, found)}
            outputs[output] = "disagrees" if "disagrees" in words else max(words, key=ORDER.index)
    rows = [row for check in checks for row in check["rows"]]
    scores = [row["z"] for row in rows if row["z"] is not None]
    seen = [row["sees"] for row in rows if row["sees"] is not None and row["verdict"] == "agrees"]
    return Evidence(
        min((check["verdict"] for check in checks), key=ORDER.index), **when, points=len(checks), outputs=outputs,
        z=max(scores, key=abs, default=None), sees=max(seen, default=None),
        agreeing=sum(check["verdict"] == "agrees" for check in checks),
    )  # fmt: skip


def read_paper(paper: str, folder: Path) -> Mapping[str, Any]:
    """Records of a paper by entry; none where there is no file."""
    path = folder / f"{paper}.json"
    try:
        state = path.stat().st_mtime_ns
    except OSError:
        return {}
    return _read(path, state)


@cache
def _read(path: Path, state: int) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        entries = data["entries"]
        if not isinstance(entries, dict) or not all(_is_record(record) for record in entries.values()):
            raise TypeError("a record is not as it was written")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DeclarationError(f"{path} is no ledger: {error}; `check --ledger` writes it anew") from None
    return entries


def _is_record(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and all(isinstance(record.get(name), str) for name in ("date", "version"))
        and isinstance(record.get("seed"), int)
        and isinstance(record.get("checks"), list)
        and bool(record["checks"])
        and all(_is_check(check) for check in record["checks"])
    )


def _is_check(check: Any) -> bool:
    return (
        isinstance(check, dict)
        and all(isinstance(check.get(name), dict) for name in ("point", "outputs"))
        and isinstance(check.get("equations"), str)
        and all(found in ORDER for found in (check.get("verdict"), *check["outputs"].values()))
        and isinstance(check.get("rows"), list)
        and all(isinstance(row, dict) and {"z", "sees", "verdict"} <= set(row) for row in check["rows"])
    )


def write_ledger(campaign: Campaign, date: str, folder: Path | None = None) -> list[Path]:
    """Write what a campaign found, a file for each paper; entries that it did not check keep their records."""
    place = folder or ledger_folder()
    fresh: dict[str, dict[str, Any]] = {}
    for point, result in zip(campaign.points, campaign.results, strict=True):
        record = fresh.setdefault(
            result["entry"], {"date": date, "seed": campaign.seed, "version": __version__, "checks": []}
        )
        record["checks"].append(_check(point, result))
    papers = sorted({id.partition(".")[0] for id in fresh})
    written = []
    for paper in papers:
        kept = dict(_kept(paper, place))
        kept.update({id: record for id, record in fresh.items() if id.partition(".")[0] == paper})
        path = place / f"{paper}.json"
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{place} cannot be made: {error.strerror or error}; nothing was written") from None
        write_whole(path, _text({"paper": paper, "entries": dict(sorted(kept.items()))}))
        written.append(path)
    return written


def _kept(paper: str, folder: Path) -> Mapping[str, Any]:
    try:
        return read_paper(paper, folder)
    except DeclarationError:
        # what cannot be read is written anew
        return {}


def _check(point: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """One check in what is worth keeping: numbers in so many digits as mean something."""
    from theorem_engine.asking.fingerprint import equations_fingerprint

    given = {name: to_text(value) for name, value in point.items()}
    return {
        "point": given,
        "equations": equations_fingerprint(find_entry(result["entry"]), given)[:LENGTH],
        "verdict": result["verdict"],
        "outputs": {output: found["verdict"] for output, found in result["outputs"].items()},
        "samples": result["samples"],
        "rows": [
            {"output": row["output"], "simulator": row["simulator"], "verdict": row["verdict"],
             "z": _rounded(row["z"], 3), "sees": _rounded(row["visible"], 2), "samples": row["samples"]}
            for row in result["rows"]
        ],
        **({"reason": result["reason"]} if result["verdict"] != "agrees" else {}),
    }  # fmt: skip


def _rounded(value: Any, digits: int) -> float | None:
    return float(f"{value:.{digits}g}") if isinstance(value, (int, float)) else None


def _text(data: Mapping[str, Any]) -> str:
    """JSON with a line for every row, so that two ledgers can be compared line by line."""
    lines = ["{", f'  "paper": {json.dumps(data["paper"])},', '  "entries": {']
    entries = list(data["entries"].items())
    for number, (id, record) in enumerate(entries):
        head = {name: value for name, value in record.items() if name != "checks"}
        lines.append(f"    {json.dumps(id)}: {{")
        lines += [f"      {json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
        lines.append('      "checks": [')
        lines += _joined([_check_lines(check) for check in record["checks"]])
        lines += ["      ]", "    }" + ("," if number < len(entries) - 1 else "")]
    return "\n".join([*lines, "  }", "}", ""])


def _check_lines(check: Mapping[str, Any]) -> list[str]:
    head = {name: value for name, value in check.items() if name != "rows"}
    lines = ["        {"]
    lines += [f"          {json.dumps(name)}: {_plain(value)}," for name, value in head.items()]
    lines.append('          "rows": [')
    lines += _joined([[f"            {_plain(row)}"] for row in check["rows"]])
    return [*lines, "          ]", "        }"]


def _joined(blocks: Sequence[list[str]]) -> list[str]:
    """Blocks of lines with a comma after each but the last."""
    return [
        line + ("," if k == len(block) - 1 and n < len(blocks) - 1 else "")
        for n, block in enumerate(blocks)
        for k, line in enumerate(block)
    ]


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
