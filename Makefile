# Every target installs what it needs: a new machine with Python 3.11 or later, pip and make is enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# the first pip that reads dependency groups
NEW_PIP := pip>=25.1
RUN ?= runs/demo
OLDEST_TESTS ?= tests
# tests that draw samples and check what holds of them on average
SEED_TESTS ?= tests/calibration tests/selection/test_confidence.py tests/selection/test_gamma.py \
  tests/selection/test_sets.py tests/methods/test_lda.py tests/methods/test_few_shot.py \
  tests/benchmark/test_intervals.py tests/test_card.py tests/test_metrics.py
SEEDS ?= 1 2 3 4 5 6 7 8 9 10
MUTANTS ?=
MINUTES ?= 30
SEED ?= 0
# the time that built files carry: that of the commit, or hatchling's own without Git
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --pretty=%ct 2>/dev/null || echo 1580601600)
.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-seeds mutants soak oldest lint types docs fuzz bench build sbom audit fixtures clean

help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp file per set of packages: a second call installs nothing.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[report]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) --upgrade '$(NEW_PIP)'
	$(PIP) -e '.[all]' --group dev
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(VENV)/.dev
	$(PIP) --group docs
	@touch $@

demo: $(VENV)/.demo ## Compare all methods on the embedded letters, write a report and a gallery of new letters
	$(BIN)/unseen bench letters --out $(RUN)
	$(BIN)/unseen report $(RUN) --html $(RUN)/report.html
	$(BIN)/unseen fit letters --method lda --model $(RUN)/letters.model
	$(BIN)/unseen predict $(RUN)/letters.model letters --html $(RUN)/gallery.html

test: $(VENV)/.dev ## Run the tests, except those marked slow
	$(BIN)/python -m pytest -m 'not slow'

test-all: test ## Run the tests, then their long forms: 90 kills, 12 000 damaged files, every page, the wheel
	$(BIN)/python -m pytest -m slow

test-seeds: $(VENV)/.dev ## Run the statistical tests with ten other seeds
	@for seed in $(SEEDS); do echo "seed $$seed"; \
	  UNSEEN_TEST_SEED=$$seed $(BIN)/python -m pytest -q -m 'not slow' $(SEED_TESTS) || exit 1; done

mutants: $(VENV)/.dev ## Change calibration, gamma and LDA in small ways; list the changes that no test notices (hours)
	$(PIP) --group mutants
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/mutmut run $(MUTANTS)
	$(BIN)/mutmut results

soak: $(VENV)/.dev ## Run random commands on random data for MINUTES (30), some killed at random moments
	$(BIN)/python tests/soak.py --minutes $(MINUTES) --seed $(SEED)

oldest: ## Run the tests with the oldest version of every dependency that pyproject.toml allows
	test -d $(VENV)-oldest || $(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python tests/oldest_versions.py > $(VENV)-oldest/constraints.txt
	$(VENV)-oldest/bin/python -m pip install --quiet --upgrade '$(NEW_PIP)'
	$(VENV)-oldest/bin/python -m pip install --quiet -c $(VENV)-oldest/constraints.txt -e '.[all]' --group dev
	$(VENV)-oldest/bin/python -m pytest -m 'not slow' -W default $(OLDEST_TESTS)  # old packages warn of new ones

lint: $(VENV)/.dev ## Check style, formatting, and that imports follow the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/zizmor --offline --quiet .github

types: $(VENV)/.dev ## Check types with mypy --strict
	$(BIN)/mypy --strict

docs: $(VENV)/.docs ## Build the documentation into site/, warnings are errors
	$(BIN)/mkdocs build --strict

fuzz: $(VENV)/.dev ## Damage 12 000 files and check that each is read, or rejected in one line
	$(BIN)/python tests/fuzzing.py 12000

bench: $(VENV)/.dev ## Run all speed benchmarks (11 minutes), write runs/benchmarks.txt, name what got slower
	@mkdir -p runs
	$(BIN)/python -m benchmarks | tee runs/benchmarks.txt

build: $(VENV)/.dev ## Build the wheel and the source distribution into dist/, the same bytes every time
	$(BIN)/python -m build

# What a user installs with the extra `all`, and nothing else.
$(VENV)-sbom/.installed: pyproject.toml | $(VENV)/.dev
	test -d $(VENV)-sbom || $(PYTHON) -m venv --without-pip $(VENV)-sbom
	$(BIN)/python -m pip --python $(VENV)-sbom/bin/python install --quiet --disable-pip-version-check '.[all]'
	@touch $@

sbom: $(VENV)-sbom/.installed ## Write dist/unseen.cdx.json: every package that the library can use, with its license (CycloneDX)
	@mkdir -p dist
	sed "s/^dynamic = .*/version = \"$$($(BIN)/python -c 'import unseen; print(unseen.__version__)')\"/" \
	  pyproject.toml > $(VENV)-sbom/pyproject.toml
	$(BIN)/cyclonedx-py environment --pyproject $(VENV)-sbom/pyproject.toml --mc-type library --output-reproducible \
	  --output-file dist/unseen.cdx.json $(VENV)-sbom/bin/python

audit: $(VENV)-sbom/.installed ## Look every package that the library can use up among known vulnerabilities
	$(BIN)/python -m pip --python $(VENV)-sbom/bin/python freeze --exclude unseen > $(VENV)-sbom/requirements.txt
	$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement $(VENV)-sbom/requirements.txt

fixtures: $(VENV)/.dev ## Write the files of this version into tests/data/, which every later version must read
	$(BIN)/python tests/data/make_fixtures.py

clean: ## Remove everything that make creates
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-sbom runs site dist mutants
