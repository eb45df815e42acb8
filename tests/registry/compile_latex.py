"""Compiles the LaTeX of every entry in one document: python compile_latex.py [FOLDER]; needs pdflatex."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import theorem_engine as te
from theorem_engine.showing.latex_page import document


def compile_all(folder: Path) -> int:
    """Write the document, run pdflatex, say what came out; the exit status of pdflatex."""
    entries = te.entries()
    (folder / "entries.tex").write_text(document([entry.latex() for entry in entries]), encoding="ascii")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "entries.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=300)
    if done.returncode:
        print(done.stdout[-3000:])
        return done.returncode
    pages = re.search(r"Output written on entries.pdf \((\d+) pages", done.stdout)
    print(f"{len(entries)} entries, {pages[1] if pages else '?'} pages, {done.stdout.count('Overfull')} lines too wide")
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(compile_all(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as place:
        sys.exit(compile_all(Path(place)))
