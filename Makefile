# Needs git, make and Python 3.11 or newer. Another interpreter: make PYTHON=python3.12 demo
# Paths are relative, so that a clone may lie anywhere; tools run as modules, so that it may also be moved.
PYTHON ?= python3
RUN := .venv/bin/python -m
INSTALLED := .venv/.installed
READY := .venv/.ready
RIG := tests/rig/node_modules/.ready

# Tests wait for git and the disk half of the time. Those of a module share what is made once, so neighbours stay on one
# worker; and what each of so many processes would compile anew is kept.
WORKERS = $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))')

# Types are checked meanwhile, on one core. Tests write many small files: in memory, where there is room.
SCRATCH = $(shell df -k --output=avail /dev/shm 2>/dev/null | awk 'NR == 2 && $$1 > 4000000 { print "-p /dev/shm" }')

.PHONY: help demo test types tests corpus scenarios kills e2e bench docs build clean

help:
	@echo "make demo       watch a simulated night in a throwaway repository"
	@echo "make test       format, lint, types, tests with branch coverage"
	@echo "make corpus     compare what is read of genuine sessions with what they hold"
	@echo "make scenarios  run the verbs that decide in forty-three states of a repository"
	@echo "make kills      kill the verbs that decide at their steps, and see what the next run makes of it"
	@echo "make e2e        the tests that need more than this checkout"
	@echo "make bench      every benchmark"
	@echo "make docs       write the generated pages anew"
	@echo "make build      wheel and sdist in dist/"
	@echo "make clean      remove what the other commands made"

demo: $(INSTALLED)
	@$(RUN) skillopt_git demo

test: $(READY) $(RIG)
	$(RUN) ruff format --check
	$(RUN) ruff check
	@$(MAKE) --no-print-directory --jobs=2 types tests

types: $(READY)
	$(RUN) mypy

tests: $(READY) $(RIG)
	@scratch=$$(mktemp -d $(SCRATCH)) && chmod 755 "$$scratch" && \
	PYTHONDONTWRITEBYTECODE= TMPDIR=$$scratch \
	$(RUN) pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term-missing; code=$$?; \
	rm -rf "$$scratch"; exit $$code

corpus: $(READY)
	@$(RUN) tests.corpus

kills: $(READY)
	@$(RUN) tests.broken

scenarios: $(READY)
	@$(RUN) tests.scenarios

# A real model, too: it is fetched once, into the user's cache.
e2e: $(READY) $(RIG)
	@$(RUN) pip install --quiet --disable-pip-version-check --group e2e
	@$(RUN) pytest -m e2e; code=$$?; \
	if [ $$code -eq 5 ]; then echo "There are no such tests."; else exit $$code; fi

bench: $(READY)
	@for file in benchmarks/[!_]*.py; do \
	echo "== $$file"; $(RUN) "benchmarks.$$(basename "$$file" .py)" || exit 1; done

docs: $(READY)
	.venv/bin/python docs/generate.py

build: $(READY)
	rm -rf dist
	$(RUN) build

clean:
	rm -rf tests/rig/node_modules .venv dist build .demo .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A working environment is brought up to date, a broken one is made anew.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed, but '$(PYTHON)' is not. Name another one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { \
		echo "'$(PYTHON)' cannot make virtual environments; on Debian and Ubuntu install python3-venv." >&2; exit 1; }
	@.venv/bin/python -c 'import pip' 2>/dev/null || $(PYTHON) -m venv --clear .venv
	@echo "Setting up .venv (once) ..."
	@$(RUN) pip install --quiet --disable-pip-version-check --editable .
	@touch $(INSTALLED)

# GitHub's API and the real clients for the tests, exactly as locked. Where there is no Node.js they are skipped, but not
# in CI.
$(RIG): tests/rig/package-lock.json
	@if command -v npm >/dev/null; then npm ci --loglevel=error --prefix tests/rig && touch $(RIG); \
	else echo "There is no npm: tests that need GitHub's API or a real client are skipped."; fi

# What tests and checks need comes on top. Dependency groups need pip 25.1.
$(READY): $(INSTALLED)
	@echo "Setting up what the tests need (once) ..."
	@$(RUN) pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(RUN) pip install --quiet --disable-pip-version-check --group dev
	@touch $(READY)
