# Everything runs in a virtual environment of its own; a machine with Python ≥ 3.11 and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: run test check coverage bench docs clean help

help:  ## Say what there is to make
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("keat needs Python 3.11 or newer; this is %s. Try: make PYTHON=python3.12" % sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) (a few minutes the first time) …"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check torch==2.13.0
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev]'
	@touch $@

run: $(READY)  ## The main job on the embedded default: a table and a picture
	@$(BIN)/keat demo

check: $(READY)  ## Style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

test: check  ## Style, types and all tests with coverage
	@$(BIN)/python -m pytest --numprocesses auto --dist loadfile --cov --cov-report=term

bench: $(READY)  ## The quick version of every benchmark
	@$(BIN)/python -m benchmarks.read_parquet --quick
	@$(BIN)/python -m benchmarks.payments --quick
	@$(BIN)/python -m benchmarks.prepare --quick
	@$(BIN)/python -m benchmarks.scale --quick
	@$(BIN)/python -m benchmarks.heuristics --quick
	@$(BIN)/python -m benchmarks.tgn --quick
	@$(BIN)/python -m benchmarks.rank --quick
	@$(BIN)/python -m benchmarks.growth --quick
	@$(BIN)/python -m benchmarks.parallel --quick
	@$(BIN)/python -m benchmarks.serve --quick
	@$(BIN)/python -m benchmarks.dygformer --quick
	@$(BIN)/python -m benchmarks.shortcuts --quick

docs: $(READY)  ## The documentation as a site, in build/site; a broken link is an error
	@test -x $(BIN)/mkdocs || $(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[docs]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The site: build/site/index.html"

clean:  ## Remove the environment and everything that was made
	rm -rf $(VENV) keat-out build dist .pytest_cache .mypy_cache .ruff_cache .coverage
