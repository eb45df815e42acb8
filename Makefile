# Each target does its own set-up: a virtual environment in .venv, made once and reused.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
# processes that the tests start need not compile the sources anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: tour test lint fast-test latex-test campaign mutants bench clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[sweep,cluster,plot,fast,book,web,mcp,dev]"
	@touch $@

tour: $(VENV)/.ready
	@$(BIN)/theorem-engine tour

test: lint
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -q -m "not campaign and not browser"

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fast-test: $(VENV)/.ready
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -q -x -m "not campaign and not browser"

# TeX comes from Debian's packages where it is missing
latex-test: $(VENV)/.ready
	@command -v pdflatex > /dev/null || apt-get install -y texlive-latex-base texlive-latex-recommended
	$(BIN)/python tests/registry/compile_latex.py

.PHONY: book browser-test
# pages for reading; those of unchanged entries are kept
book: $(VENV)/.ready
	$(BIN)/theorem-engine book build/book --jobs $(JOBS)

# Chromium and its driver come from Debian's packages where they are missing, Selenium from the index
browser-test: $(VENV)/.ready
	@command -v chromium > /dev/null && command -v chromedriver > /dev/null || \
	  { apt-get update; DEBIAN_FRONTEND=noninteractive apt-get install -y chromium chromium-driver; }
	@$(BIN)/python -c "import selenium" 2> /dev/null || $(BIN)/python -m pip install --quiet "selenium>=4.20"
	$(BIN)/python -m pytest -q -m browser

campaign: $(VENV)/.ready
	$(BIN)/theorem-engine check --all --seconds 1800 --jobs $(JOBS) --ledger --tolerate-undecided
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -q -m campaign

# hours; stopped, it goes on where it was
mutants: $(VENV)/.ready
	$(BIN)/python -m tests.mutants --jobs $(JOBS) --tests --table docs/mutants.md

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
