"""The page "Add a theorem", done by the letter: its files are written, its commands and cells are run in a folder."""

import doctest
import os
import re
import shlex
import subprocess
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "add-a-theorem.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
#: A file is named on the line before the block that holds it.
_PART = re.compile(r"(?:^`([\w./]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def parts():
    """Code blocks of the page in order: the file they are, if they are one, their language, their text."""
    return [match.groups() for match in _PART.finditer(PAGE.read_text(encoding="utf-8"))]


def follow(folder, command, cell):
    """Do all that the page says, in an empty folder; what is printed must be what is shown.

    ``command`` runs a list of words and returns what it prints; ``cell`` runs examples and returns what they do wrong.
    """
    done = 0
    for name, language, text in parts():
        if name is not None:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        elif language == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, shown = part.partition("\n")
                program, *words = shlex.split(line)
                assert program == "theorem-engine"
                found = command(words)
                # a line of dots for all that may come, nothing too
                wanted = shown.replace("\n...\n", "\n...")
                assert doctest.OutputChecker().check_output(wanted, found, FLAGS), f"{line}\n{found}"
                done += 1
        elif language == "python":
            assert cell(text) == ""
            done += 1
    return done


class Apart:
    """Every command and every cell in a process of its own."""

    def __init__(self, folder, python, environment):
        self.folder, self.python, self.environment = folder, python, environment

    def command(self, words):
        return self._run([self.python, "-m", "theorem_engine", *words])

    def cell(self, text):
        (self.folder / "cell.txt").write_text(text, encoding="utf-8")
        code = f"import doctest; print(doctest.testfile('cell.txt', False, optionflags={FLAGS}).failed)"
        found = self._run([self.python, "-c", code])
        return "" if found.strip() == "0" else found

    def _run(self, command):
        done = subprocess.run(
            [str(word) for word in command], cwd=self.folder, capture_output=True, text=True, check=False,
            env={**os.environ, "COLUMNS": "100", **self.environment},
        )  # fmt: skip
        # what was refused is said on the other stream
        return done.stderr if done.returncode == 2 else done.stdout
