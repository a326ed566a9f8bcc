# Every target sets up .venv by itself; `make help` lists them.

PYTHON ?= python3
VENV ?= .venv
LOCK := requirements.lock
READY := $(VENV)/.ready
RUN := $(VENV)/bin
ROOMS := $(patsubst %/py.typed,%,$(wildcard */py.typed))
SCRIPTS := $(sort $(dir $(wildcard examples/*.py benchmarks/*.py)))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# What the editable install knows of this checkout. In a copied or moved one it would still find the code in
# the old place, and a room that has come since it would not find at all: the environment is made anew.
INSTALLED := $(CURDIR): $(sort $(wildcard */__init__.py))
ifneq ($(shell cat $(READY) 2>/dev/null),$(INSTALLED))
$(READY): again
endif

# Written last, so that an environment that was left half-made is made anew. Compiled at once: where Python may
# write no bytecode (PYTHONDONTWRITEBYTECODE), each of Airflow's processes would compile thousands of modules.
$(READY): pyproject.toml $(LOCK)
	$(PYTHON) -m venv --clear $(VENV)
	$(RUN)/python -m pip install --quiet uv
	$(RUN)/uv pip install --quiet --python $(RUN)/python --require-hashes --compile-bytecode \
		--requirement $(LOCK)
	$(RUN)/uv pip install --quiet --python $(RUN)/python --no-deps --no-build-isolation --editable .
	@printf '%s\n' '$(INSTALLED)' > $@

.PHONY: again
again:

.PHONY: setup
setup: $(READY) ## make .venv from the lock (every other target does it when needed)

.PHONY: demo
demo: $(READY) ## run the demonstration on a real Airflow; KEEP=1 leaves it running to look at
	$(RUN)/python examples/demo.py

.PHONY: test
test: $(READY) ## run the fast tests
	$(RUN)/python -m pytest -m "not e2e and not slow" --numprocesses auto --dist loadscope

.PHONY: e2e
e2e: $(READY) ## run the tests on a real Airflow, but for the faults
	$(RUN)/python -m pytest -m e2e --ignore tests/faults --numprocesses auto --dist loadscope --durations 25

.PHONY: slow
slow: $(READY) ## run the tests that take long without an Airflow
	$(RUN)/python -m pytest -m "slow and not e2e" --ignore tests/packaging --numprocesses auto --dist loadscope \
		--durations 25

.PHONY: trials
trials: $(READY) ## inject every fault into about 100 waits
	$(RUN)/python -m pytest -m e2e tests/faults --durations 25

# How much harm: what `make faults` and `make soak` take when nothing else is said; tests/faults has CI's sizes.
FAULTS_WAITS ?= 1000
FAULTS_RELEASED ?= $(FAULTS_WAITS)
FAULTS_PARKED ?= 1000,2000
FAULTS_SOURCE_SECONDS ?= 120
FAULTS_POKE ?= 10
FAULTS_TEST_SECONDS ?= 14400
SOAK_SECONDS ?= 1200
SOAK_WAITS ?= 1000
HARM := FAULTS_WAITS FAULTS_RELEASED FAULTS_PARKED FAULTS_SOURCE_SECONDS FAULTS_POKE FAULTS_TEST_SECONDS
SOAKED := FAULTS_TEST_SECONDS SOAK_SECONDS SOAK_WAITS
RESULTS := build/faults.jsonl

.PHONY: faults
faults: $(READY) ## inject every fault into 1,000 waits (hours) and write the table of docs/reliability.md
	mkdir -p $(dir $(RESULTS)) && rm -f $(RESULTS)
	$(foreach name,$(HARM),$(name)=$($(name))) FAULTS_RESULTS=$(CURDIR)/$(RESULTS) \
		$(RUN)/python -m pytest -m slow tests/faults --deselect tests/faults/test_soak.py
	$(RUN)/python tests/faults/report.py $(RESULTS) docs/reliability.md

.PHONY: soak
soak: $(READY) ## inject random faults into 1,000 waits for 20 minutes; FAULTS_SEED=, SOAK_SECONDS=, SOAK_WAITS=
	$(foreach name,$(SOAKED),$(name)=$($(name))) $(RUN)/python -m pytest -m slow tests/faults/test_soak.py

.PHONY: bench
bench: $(READY) ## measure our trigger beside Airflow's own; BENCH=--quick or --full for shorter or longer
	$(RUN)/python benchmarks/triggers.py $(BENCH)

.PHONY: check
check: $(READY) types ## lint, formatting, types and packaging
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	MYPYPATH=.types $(RUN)/mypy --package airflow_landmark
	for folder in $(SCRIPTS); do MYPYPATH=.types $(RUN)/mypy "$$folder" || exit 1; done
	$(RUN)/python -m pytest --quiet tests/packaging

# mypy follows neither an editable install nor the mapping in pyproject.toml: the rooms are linked to
# the place where the import name says they are.
.PHONY: types
types:
	@rm -rf .types && mkdir -p .types/airflow_landmark
	@for room in $(ROOMS); do ln -s "../../$$room" ".types/airflow_landmark/$$room"; done

.PHONY: format
format: $(READY) ## format the code and mend what ruff can mend
	$(RUN)/ruff check --fix-only --quiet .
	$(RUN)/ruff format .

.PHONY: lock
lock: $(READY) ## resolve the development environment anew and write the lock
	$(RUN)/uv pip compile --quiet --upgrade --universal --python-version 3.10 --generate-hashes \
		--all-extras --group dev --custom-compile-command "make lock" --output-file $(LOCK) pyproject.toml

.PHONY: clean
clean: ## remove the environment and everything that was built
	rm -rf $(VENV) .types build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
