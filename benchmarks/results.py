"""RESULTS.md: what was measured, on which machine, with which versions, when."""

import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from benchmarks.timing import RECORDED, number

PLACE = Path(__file__).with_name("RESULTS.md")
VERSIONS = ("numpy", "scipy", "sympy", "mpmath", "python-flint", "numba", "gmpy2", "xarray", "jax")


def write(seconds, commit):
    """The report as a document."""
    PLACE.write_text("\n".join(_lines(seconds, commit)) + "\n", encoding="utf-8")
    return PLACE


def _lines(seconds, commit):
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    yield "# Measured"
    yield ""
    place = f", at {commit}" if commit else ""
    yield f"By `make bench` on {date} in {seconds / 60:.1f} minutes of processor time{place}."
    threads = os.environ.get("OMP_NUM_THREADS", "as many as there are cores")
    yield f"Load of the machine at the end, over 1, 5 and 15 minutes: {_load()}. Threads of linear algebra: {threads}."
    yield f"Machine: {_processor()}; Python {platform.python_version()}, {', '.join(map(_version, VERSIONS))}."
    yield "Times are processor times, the best of a few; a ratio is the rival's time over ours, both in this one run."
    ratios = [r for r in RECORDED if r["kind"] in ("ratio", "skipped")]
    if ratios:
        yield from ("", "## Ratios", "", "| work | rival | ratio | wanted | met |", "|---|---|---|---|---|")
        yield from map(_ratio, ratios)
    figures = [r for r in RECORDED if r["kind"] == "figure"]
    if figures:
        yield from ("", "## Figures", "", "| what | measured | wanted |", "|---|---|---|")
        yield from (f"| {r['work']} | {r['value']} | {r['wanted'].removeprefix('wanted: ')} |" for r in figures)


def _ratio(found):
    note = f" ({found['note']})" if found["note"] else ""
    if found["kind"] == "skipped":
        return f"| {found['work']} | {found['rival']} | skipped{note} | | |"
    limit = "" if found["wanted"] is None else f"{'at most ' if found['at_most'] else ''}{found['wanted']:g}"
    met = "" if found["met"] is None else "yes" if found["met"] else "**no**"
    return f"| {found['work']} | {found['rival']}{note} | {number(found['ratio'])} | {limit} | {met} |"


def _version(name):
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return f"no {name}"


def _load():
    try:
        return ", ".join(f"{x:.1f}" for x in os.getloadavg())
    except OSError:
        return "not known"


def _processor():
    try:
        models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    except OSError:
        return platform.machine()
    return f"{len(models)} cores, {models[0].partition(':')[2].strip()}" if models else platform.machine()
