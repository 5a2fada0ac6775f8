# Every target installs what it needs: a new machine with Python 3.11 or later, pip and make is enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
RUN ?= runs/demo
OLDEST_TESTS ?= tests
.DEFAULT_GOAL := help
.PHONY: help demo test test-all oldest lint types docs fuzz bench build clean

help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp file per set of packages: a second call installs nothing.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[report]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(VENV)/.dev
	$(PIP) -e '.[docs]'
	@touch $@

demo: $(VENV)/.demo ## Compare all methods on the embedded letters and write a report
	$(BIN)/unseen bench letters --gamma retention --out $(RUN)
	$(BIN)/unseen report $(RUN) --html $(RUN)/report.html

test: $(VENV)/.dev ## Run the tests, except those marked slow
	$(BIN)/python -m pytest -m 'not slow'

test-all: test ## Run the tests, then their long forms: 90 kills, 12 000 damaged files, every page, the wheel
	$(BIN)/python -m pytest -m slow

oldest: ## Run the tests with the oldest version of every dependency that pyproject.toml allows
	test -d $(VENV)-oldest || $(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python tests/oldest_versions.py > $(VENV)-oldest/constraints.txt
	$(VENV)-oldest/bin/python -m pip install --quiet -c $(VENV)-oldest/constraints.txt -e '.[dev]'
	$(VENV)-oldest/bin/python -m pytest -m 'not slow' -W default $(OLDEST_TESTS)  # old packages warn of new ones

lint: $(VENV)/.dev ## Check style, formatting, and that imports follow the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.dev ## Check types with mypy --strict
	$(BIN)/mypy --strict

docs: $(VENV)/.docs ## Build the documentation into site/, warnings are errors
	$(BIN)/mkdocs build --strict

fuzz: $(VENV)/.dev ## Damage 12 000 files and check that each is read, or refused in one line
	$(BIN)/python tests/fuzzing.py 12000

bench: $(VENV)/.dev ## Run all speed benchmarks (20 minutes), write runs/benchmarks.txt, name what got slower
	@mkdir -p runs
	$(BIN)/python -m benchmarks | tee runs/benchmarks.txt

build: $(VENV)/.dev ## Build the wheel and the source distribution into dist/
	$(BIN)/python -m build

clean: ## Remove everything that make creates
	rm -rf $(VENV) $(VENV)-oldest runs site dist
