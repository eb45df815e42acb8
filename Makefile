# Each target does its own set-up: a virtual environment in .venv, made once and reused.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.PHONY: tour test lint fast-test latex-test campaign bench clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[sweep,cluster,plot,fast,book,dev]"
	@touch $@

tour: $(VENV)/.ready
	@$(BIN)/theorem-engine tour

test: lint
	$(BIN)/python -m pytest -n $(JOBS) -q -m "not campaign"

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fast-test: $(VENV)/.ready
	$(BIN)/python -m pytest -n $(JOBS) -q -x -m "not campaign"

# TeX comes from Debian's packages where it is missing
latex-test: $(VENV)/.ready
	@command -v pdflatex > /dev/null || apt-get install -y texlive-latex-base texlive-latex-recommended
	$(BIN)/python tests/registry/compile_latex.py

campaign: $(VENV)/.ready
	$(BIN)/theorem-engine check --all --seconds 300 --jobs $(JOBS) --tolerate-undecided
	$(BIN)/python -m pytest -n $(JOBS) -q -m campaign

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
