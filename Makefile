# Every target makes what it needs: a fresh machine with Python 3.11+, pip and make is enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
RUN ?= runs/demo
OLDEST_TESTS ?= tests
.DEFAULT_GOAL := help
.PHONY: help demo test test-fast oldest lint types docs fuzz bench build clean

help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp per set of packages: a second call installs nothing.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[report]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(VENV)/.dev
	$(PIP) -e '.[docs]'
	@touch $@

demo: $(VENV)/.demo ## Compare the eight methods on the embedded digits data and write a report
	$(BIN)/unseen bench digits --out $(RUN)
	$(BIN)/unseen report $(RUN) --html $(RUN)/report.html

test: $(VENV)/.dev ## Run the whole test suite
	$(BIN)/python -m pytest

oldest: ## Run the fast tests with the oldest versions of all dependencies that pyproject.toml allows
	test -d $(VENV)-oldest || $(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python tests/oldest_versions.py > $(VENV)-oldest/constraints.txt
	$(VENV)-oldest/bin/python -m pip install --quiet -c $(VENV)-oldest/constraints.txt -e '.[dev]'
	$(VENV)-oldest/bin/python -m pytest -m 'not slow' -W default $(OLDEST_TESTS)  # old packages warn of new ones

test-fast: $(VENV)/.dev ## Run the tests that take less than about ten seconds each
	$(BIN)/python -m pytest -m 'not slow'

lint: $(VENV)/.dev ## Check style, formatting, and that imports follow the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.dev ## Check types with mypy
	$(BIN)/mypy

docs: $(VENV)/.docs ## Build the documentation into site/, warnings are errors
	$(BIN)/mkdocs build --strict

fuzz: $(VENV)/.dev ## Damage 12 000 files of every kind and see that each is read or refused
	$(BIN)/python tests/fuzzing.py 12000

bench: $(VENV)/.dev ## Run all speed benchmarks and write their ratios to runs/benchmarks.txt
	@mkdir -p runs
	$(BIN)/python -m benchmarks | tee runs/benchmarks.txt

build: $(VENV)/.dev ## Build the wheel and the source distribution into dist/
	$(BIN)/python -m build

clean: ## Remove everything that make created
	rm -rf $(VENV) $(VENV)-oldest runs site dist
