# Every target sets itself up in a fresh clone: an environment in .venv with the exact versions
# of requirements.txt, and this project installed into it.
PYTHON ?= python3
CORES ?= all
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help paper smoke test check benchmark clean

help:
	@echo "make paper      every table and figure of the paper, on all cores (CORES=n for fewer)"
	@echo "make smoke      the same on one fold with reduced settings, in minutes: results/smoke/"
	@echo "make test       the test suite"
	@echo "make check      formatting, lint, and a dry run of the whole workflow"
	@echo "make benchmark  the timing ratios that docs/benchmarks.md reports"
	@echo "make clean      remove the environment and everything the workflow made"

$(READY): requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $(READY)

paper: $(READY)
	$(BIN)/snakemake --cores $(CORES)

smoke: $(READY)
	$(BIN)/snakemake --cores $(CORES) --config smoke=true

test: $(READY)
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check workflow
	$(BIN)/snakemake --lint
	$(BIN)/snakemake --cores 1 --quiet --until fetch
	$(BIN)/snakemake --cores 1 --dry-run --quiet

benchmark: $(READY)
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf .venv .snakemake results/*
	git checkout --quiet -- results
