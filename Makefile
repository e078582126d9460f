# Everything lives in .venv and .cache below this folder, and the demo's server in the user's data
# folder. Run `make` for the list of targets.

PYTHON ?= $(or $(shell command -v python3.11),python3)
BIN := .venv/bin

.PHONY: help demo test soak lint docs bench bench-full bench-peers clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

demo: .venv/installed ## run the whole story on an embedded PostgreSQL
	$(BIN)/pyreplay demo

test: lint ## check the code, then run every test on both servers
	$(BIN)/python -m pytest

soak: .venv/installed ## run the tests that take minutes
	$(BIN)/python -m pytest -m soak

lint: .venv/installed ## check style, types and the syntax of every SQL file
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --processes 2 --disable-progress-bar db
	$(BIN)/python tests/lint_sql.py db

docs: .venv/installed ## write db/FUNCTIONS.md from the comments in the database
	$(BIN)/python docs/functions.py

# A fifth of the work, so that it takes 5 minutes.
COPIES ?= 2

bench: .venv/installed ## measure what matters most, and compare with the floors
	$(BIN)/python -m bench --copies $(COPIES)

bench-full: .venv/installed ## measure everything; a million open failures take 4 GB of disk
	$(BIN)/python -m bench --full

bench-peers: .venv/installed ## install what the benchmarks compare with: from PyPI, and with npm
	$(BIN)/python -m pip install --quiet --editable '.[bench-peers]'
	$(BIN)/python -m bench.peers

clean: ## remove what make made in this folder
	rm -rf .venv .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist *.egg-info

.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "Python 3.11 or newer is needed; name it: make PYTHON=...")'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@
