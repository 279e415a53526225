# What a developer types. Every target makes .venv first if it is missing or its requirements changed.

PYTHON := .venv/bin/python
LAYER := layers/shared
LOCK := $(PYTHON) -m uv pip compile -q --python-version 3.13 --generate-hashes --no-header
LOCKED := $(LAYER)/requirements.txt requirements-dev.txt

.DEFAULT_GOAL := help
.PHONY: help install run demo test check lock indexes replay clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: ## Make .venv with Python 3.13 and the locked dependencies
	@sh scripts/install

run demo replay indexes: export PYTHONPATH := $(CURDIR)/$(LAYER):$(CURDIR)

run: install ## Serve everything locally on PORT (default 8000) until Ctrl-C
	@exec $(PYTHON) -m local --with-parent $$PPID run

demo: install ## Show an image and a video task go from a request to stored files
	@exec $(PYTHON) -m local --with-parent $$PPID demo

replay: install ## Run the poller once on a stored task: STATE=name; without STATE, list the names
	@exec $(PYTHON) -m local --with-parent $$PPID replay $(STATE)

indexes: install ## Create the missing indexes in the database that MONGODB_URI names
	@$(PYTHON) -m jimeng_tasks.store

test: check ## Run every check and every test that needs no Docker
	$(PYTHON) -m pytest tests --ignore=tests/sam --ignore=tests/bench

check: install ## Lint, formatting, types and import rules
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy
	PYTHONPATH=$(LAYER):. .venv/bin/lint-imports

lock: install ## Pin all dependencies anew, with hashes
	$(LOCK) --python-platform x86_64-manylinux_2_28 pyproject.toml -o $(LAYER)/requirements.txt
	$(LOCK) --universal pyproject.toml --group dev -c $(LAYER)/requirements.txt -o requirements-dev.txt
	@if grep -nE '://|^ *--[a-z-]*(index|links|host)' $(LOCKED); then echo 'error: a lock file names an index' >&2; exit 1; fi

clean: ## Remove everything that make has made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis logs
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
