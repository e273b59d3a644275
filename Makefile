# Everything runs in .venv, which `make` builds from pyproject.toml; nothing else is touched.
# Works with GNU make 3.81 and later. Choose an interpreter with `make PYTHON=python3.12 ...`.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two installs into one environment would trip over each other, so -j changes nothing.
.NOTPARALLEL:
.PHONY: help demo test test-slow matrix mutants stress lint types contracts docs bench wheel clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.stamp-package ## run the detachment wave; results in out/detachment-wave
	$(VENV)/bin/stiction run detachment-wave --out out/detachment-wave --overwrite

test: $(VENV)/.stamp-test ## run the tests, on all cores, but for the slowest
	@$(VENV)/bin/stiction compile
	$(PY) -m pytest -n auto --dist worksteal --speed quick

test-slow: $(VENV)/.stamp-test ## run the slowest tests, which `make test` leaves out
	@$(VENV)/bin/stiction compile
	$(PY) -m pytest -n auto --dist worksteal --speed slow

# MATRIX=--part takes minutes; names of environments choose among them: see tools/matrix.py.
matrix: $(VENV)/.stamp-venv ## try oldest and newest libraries on each Python, for hours
	$(PY) tools/matrix.py $(MATRIX)

mutants: $(VENV)/.stamp-test ## put ten small faults into a copy, which the tests must see
	$(PY) tools/mutate.py --sample 10 --glance

# STRESS=--quick takes minutes; names of campaigns choose among them.
stress: $(VENV)/.stamp-test ## try damage, kills and random systems at full size, for hours
	@$(VENV)/bin/stiction compile
	$(PY) tools/stress/all.py $(STRESS)

lint: $(VENV)/.stamp-lint ## check style and formatting
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(VENV)/.stamp-lint ## check the types
	$(PY) -m mypy

contracts: $(VENV)/.stamp-lint ## check who imports whom
	$(VENV)/bin/lint-imports

docs: $(VENV)/.stamp-docs ## build the documentation, running every example
	$(PY) -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: $(VENV)/.stamp-bench ## measure error against work, ours beside the peers
	@set -e; for script in benchmarks/bench_*.py; do \
	  echo "== $$script"; $(PY) "$$script"; \
	done

wheel: $(VENV)/.stamp-wheel ## build a wheel that carries its compiled kernels, in dist
	$(PY) tools/wheel.py

clean: ## remove the environment and everything that was built or computed
	rm -rf $(VENV) out build dist docs/_build docs/auto_examples docs/api/generated docs/_made \
	  docs/sg_execution_times.rst docs/layers.svg .mypy_cache .ruff_cache .pytest_cache .import_linter_cache \
	  .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---------------------------------------------------------------- the environment

# The first usable interpreter: PYTHON, then newer ones by name. It must be Python 3.11 or
# later and have ensurepip, which some Linux distributions ship separately.
$(VENV)/.stamp-venv:
	@found=; bare=; \
	for python in "$(PYTHON)" python3.13 python3.12 python3.11 python3.14; do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue; \
	  if "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then found=$$python; break; fi; \
	  if [ -z "$$bare" ]; then bare=$$python; fi; \
	done; \
	if [ -z "$$found" ] && [ -n "$$bare" ]; then \
	  echo "make: $$bare cannot create a virtual environment: its ensurepip module is missing." >&2; \
	  echo "Why: everything is installed into .venv, so that your system stays as it is." >&2; \
	  echo "Try: on Debian or Ubuntu, sudo apt install python3-venv; then run make again." >&2; \
	  exit 1; \
	fi; \
	if [ -z "$$found" ]; then \
	  got=`"$(PYTHON)" --version 2>/dev/null | head -n 1`; \
	  echo "make: got $(PYTHON) ($${got:-no working Python}); needs Python 3.11 or later." >&2; \
	  echo "Why: the package uses tomllib and the typing of Python 3.11." >&2; \
	  echo "Try: install a newer Python, then make PYTHON=/path/to/python3 ..." >&2; \
	  exit 1; \
	fi; \
	if [ "$$found" != "$(PYTHON)" ]; then echo "$(PYTHON) is too old or bare; using $$found"; fi; \
	echo "creating $(VENV) with `"$$found" --version`"; \
	"$$found" -m venv $(VENV)
	@touch $@

$(VENV)/.stamp-package: pyproject.toml $(VENV)/.stamp-venv
	@echo "installing stiction into $(VENV) (about a minute the first time)"
	@$(PIP) install --no-compile --constraint tools/constraints.txt --editable .
	@$(PY) tools/trim.py
	@touch $@

# One stamp per extra of pyproject.toml: .stamp-test, .stamp-lint, .stamp-docs, .stamp-bench, ...
$(VENV)/.stamp-test $(VENV)/.stamp-lint $(VENV)/.stamp-docs $(VENV)/.stamp-bench \
  $(VENV)/.stamp-wheel $(VENV)/.stamp-browser: $(VENV)/.stamp-package
	@echo "installing the extra '$(subst .stamp-,,$(notdir $@))'"
	@$(PIP) install --constraint tools/constraints.txt --editable ".[$(subst .stamp-,,$(notdir $@))]"
	@touch $@
