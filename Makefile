# What a developer types. Every target makes .venv first if it is missing or its requirements changed.

PYTHON := .venv/bin/python
LAYER := layers/shared
LOCK := $(PYTHON) -m uv pip compile -q --python-version 3.13 --generate-hashes --no-header
IMAGE_LOCK := tests/sam/image/requirements.txt
LOCKED := $(LAYER)/requirements.txt requirements-dev.txt requirements-sam.txt $(IMAGE_LOCK)

.DEFAULT_GOAL := help
SAM_ENVIRON := PATH="$(CURDIR)/.venv/bin:$$PATH" SAM_CLI_TELEMETRY=0

.PHONY: help install run demo replay indexes test check bench cost soak audit test-sam sam-install sam-build lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: ## Make .venv with Python 3.13 and the locked dependencies
	@sh scripts/install

run demo replay indexes bench cost: export PYTHONPATH := $(CURDIR)/$(LAYER):$(CURDIR)

run: install ## Serve everything locally on PORT (default 8000) until Ctrl-C
	@exec $(PYTHON) -m local --with-parent $$PPID run

demo: install ## Show an image and a video task go from a request to stored files
	@exec $(PYTHON) -m local --with-parent $$PPID demo

replay: install ## Run the poller once on a stored task: STATE=name; without STATE, list the names
	@exec $(PYTHON) -m local --with-parent $$PPID replay $(STATE)

indexes: install ## Create the missing indexes in the database that MONGODB_URI names
	@$(PYTHON) -m jimeng_tasks.store

test: check ## Run every check and every test that needs no Docker
	$(PYTHON) -m pytest tests --ignore=tests/sam

bench: install ## Measure all beside what a user would take instead; ROWS=names for some, BENCH_SCALE=0.01 to try
	@$(PYTHON) -m bench

cost: install ## Dollars a month by measured durations: TASKS_PER_DAY=1000 SERVICES=2 MEDIAN_SECONDS=60
	@$(PYTHON) -m bench.cost $(or $(TASKS_PER_DAY),1000) $(or $(SERVICES),2) $(or $(MEDIAN_SECONDS),60)

check: install ## Lint, formatting, types, import rules and lock files
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy
	PYTHONPATH=$(LAYER):. .venv/bin/lint-imports
	$(PYTHON) scripts/check_locks.py

soak: install ## The fault, crash and security suites at length: SECONDS=600
	SOAK_SECONDS=$(or $(SECONDS),600) $(PYTHON) -m pytest tests/reliability tests/faults tests/security -o timeout=7200

audit: install ## Ask the package index for known vulnerabilities of what is locked
	@$(PYTHON) scripts/audit.py

test-sam: sam-install ## Test the deployment in Lambda containers; starts Docker if none runs
	$(PYTHON) -m pytest tests/sam -o timeout=1800 -o log_cli=true -o log_cli_level=INFO

sam-install: install ## Make .venv-sam with the SAM CLI
	@$(PYTHON) scripts/sam_install.py

sam-build: sam-install ## Build the layer and the functions into .aws-sam
	@$(SAM_ENVIRON) .venv-sam/bin/sam build

lock: install ## Pin all dependencies anew, with hashes
	$(LOCK) --python-platform x86_64-manylinux_2_28 pyproject.toml -o $(LAYER)/requirements.txt
	$(LOCK) --universal pyproject.toml --group dev -c $(LAYER)/requirements.txt -o requirements-dev.txt
	echo aws-sam-cli | $(LOCK) --universal - -o requirements-sam.txt
	echo awslambdaric | $(LOCK) --python-platform x86_64-manylinux_2_28 - -o $(IMAGE_LOCK)
	@if grep -nE '://|^ *--[a-z-]*(index|links|host)' $(LOCKED); then echo 'error: a lock file names an index' >&2; exit 1; fi

clean: ## Remove everything that make has made
	rm -rf bench/agenda/node_modules .venv .venv-sam .aws-sam .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis logs
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
