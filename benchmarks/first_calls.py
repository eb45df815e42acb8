"""Processor seconds of the first call of every entry, each in a process of its own; a few minutes in all."""

import subprocess
import sys
import tomllib
from pathlib import Path

REGISTRY = Path(__file__).parent.parent / "registry"
LIMIT = 5.0
CODE = """
import sys, time, warnings
warnings.simplefilter("ignore")
import theorem_engine as te
te.predict(sys.argv[1], **dict(word.split("=", 1) for word in sys.argv[2:])).errors
print(time.process_time())
"""


def examples():
    """The example of each entry, as words."""
    for path in sorted(REGISTRY.glob("*/examples.toml")):
        for id, example in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if "point" in example:
                yield id, [f"{name}={value}" for name, value in example["point"].items()]


def seconds(id, words):
    """Processor seconds of a process that predicts once, errors included; None where it fails."""
    done = subprocess.run([sys.executable, "-c", CODE, id, *words], capture_output=True, text=True, check=False)
    return float(done.stdout) if done.returncode == 0 else None


def report():
    """A line for each entry."""
    from benchmarks.timing import line

    for id, words in examples():
        taken = seconds(id, words)
        line(f"first call of {id}, processor seconds", "failed" if taken is None else f"{taken:.2f}",
             f"wanted: at most {LIMIT:g}")  # fmt: skip
