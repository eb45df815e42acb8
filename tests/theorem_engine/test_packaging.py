"""The wheel: nothing left out, nobody else's package broken, nothing heavy imported."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*command, cwd=None, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, env={**clean, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_folder_on_disk_is_in_the_packaged_list():
    """A folder of entries missing from the list would be missing from the wheel without a word."""
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = set()
    tops = {"theorem_engine": "", **dict.fromkeys(("docs", "registry", "validators"), "theorem_engine.")}
    for top, prefix in tops.items():
        for path in [ROOT / top, *(ROOT / top).rglob("*/")]:
            if (path.name != "__pycache__" and any(path.glob("*.py"))) or path in (ROOT / "docs", ROOT / "registry"):
                found.add(prefix + ".".join(path.relative_to(ROOT).parts))
    assert found == listed


def test_the_two_folders_have_no_package_file_of_their_own():
    """With one, `import validators` from the checkout would find ours instead of somebody else's."""
    assert not (ROOT / "registry" / "__init__.py").exists()
    assert not (ROOT / "validators" / "__init__.py").exists()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment with our wheel and a stand-in for the `validators` package of the Python index."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    # all that a release holds; a copy without git is as good as a checkout
    left_out = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "output", "*.egg-info")
    shutil.copytree(ROOT, source, ignore=left_out)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, source)
    (wheel,) = folder.glob("theorem_engine-*.whl")
    home = folder / "environment"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "validators").mkdir()
    (site / "validators" / "__init__.py").write_text("def url(text):\n    return text.startswith('http')\n")
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    # the dependencies are this environment's own: a plain path, so that our editable install stays out
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home, folder


def test_the_installed_wheel_answers_from_anywhere(installed):
    home, folder = installed
    out = run(home / "bin" / "theorem-engine", "find", "oracle", "--json", cwd=folder)
    assert "marion2025.oracle-risk" in out
    value = run(
        home / "bin" / "python", "-c",
        "import theorem_engine as te; print(te.__file__, te.predict('marion2025.linear-risk', gamma=1, L=10).value)",
        cwd=folder,
    )  # fmt: skip
    assert value.split()[0].startswith(str(home))
    assert float(value.split()[1]) == 0.9


def test_the_installed_wheel_writes_a_book_with_its_guide(installed):
    home, folder = installed
    run(home / "bin" / "theorem-engine", "book", "book", "gaussian.erf-mean", "--jobs", "1", cwd=folder)
    for place in ("index.html", "assets/book.css", "gaussian/erf-mean.html", "guide/first-query.html"):
        assert (folder / "book" / place).is_file(), place


def test_a_neighbour_called_validators_is_left_alone(installed):
    home, folder = installed
    question = "import theorem_engine, validators; print(validators.url('http://x'), validators.__file__)"
    assert run(home / "bin" / "python", "-c", question, cwd=folder).startswith("True")
    # in the checkout too the regular package wins over our folder
    assert run(home / "bin" / "python", "-c", question, cwd=ROOT).startswith("True")


def test_importing_the_package_imports_nothing_heavy():
    """No SciPy, xarray, SymPy or paper until a query needs one."""
    out = run(sys.executable, "-c", "import sys, theorem_engine; print(*sorted(sys.modules))", cwd=ROOT)
    loaded = set(out.split())
    assert not {"scipy", "xarray", "numpy", "sympy", "networkx", "matplotlib"} & loaded
    assert not any(name.startswith("theorem_engine.registry.") for name in loaded)


def test_a_query_of_one_paper_does_not_import_the_others():
    question = "import sys, theorem_engine as te; te.entry('gaussian.erf-mean'); print(*sorted(sys.modules))"
    loaded = run(sys.executable, "-c", question, cwd=ROOT).split()
    papers = {n.split(".")[2] for n in loaded if n.startswith("theorem_engine.registry.")}
    assert papers == {"gaussian"}
    assert "xarray" not in loaded


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_tutorial_skeleton_and_lint_work_from_the_installed_wheel(installed, tmp_path):
    """In an environment that has never seen this checkout, from an empty folder."""
    from tests.theorem_engine.tutorial import Apart, follow

    home, _ = installed
    python, program = home / "bin" / "python", home / "bin" / "theorem-engine"
    clean = {"PYTHONPATH": "", "THEOREM_ENGINE_PACKS": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    folder = tmp_path / "empty"
    folder.mkdir()
    apart = Apart(folder, python, clean)
    assert follow(folder, apart.command, apart.cell) >= 12
    run(program, "new", "warm-wire", cwd=folder, **clean)
    project = folder / "warm-wire"
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project, **clean)
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", project)
    # installed, it is found by its entry point, from anywhere
    assert "warmwire.rectified-mean" in run(program, "find", "rectified", cwd=tmp_path, **clean)
    assert "1.00424535" in run(program, "predict", "warmwire.rectified-mean", "a=1", "s=0.5", cwd=tmp_path, **clean)
    assert "nothing found" in run(program, "lint", "warmwire", cwd=tmp_path, **clean)
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project, **clean)
