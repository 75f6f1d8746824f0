# The same commands for people and CI. `make demo` and `make test` set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# How long each target of the coverage-guided fuzzer runs, and kills of each of the six kill tests.
SOAK_SECONDS ?= 60
SOAK_KILLS ?= 50
# Options of pip, such as --no-compile: bytecode of what is imported is written when it is.
PIP_OPTIONS ?=
# Options of the demo, such as: make demo DEMO="--set seeds=[1,2,3]"
DEMO ?=

# Tests start hundreds of processes: what they import is compiled once, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo test soak lint format wheel clean

help:
	@echo "make demo    run the quickstart experiment and print the comparison"
	@echo "make test    run the tests"
	@echo "make soak    fuzzers and kill tests with many more inputs and kills, 200,000 sentences (an hour or two)"
	@echo "make lint    ruff and mypy"
	@echo "make format  let ruff format the code"
	@echo "make wheel   build the wheel into dist/"
	@echo "make clean   remove the environment and build outputs"

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later expected, %s is %s; name another with PYTHON=..." % (sys.executable, sys.version.split()[0]) if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(PIP_OPTIONS) --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet $(PIP_OPTIONS) --constraint constraints.txt --editable '.[dev,demo]'
	@touch $(READY)

install: $(READY)

demo: $(READY)
	$(BIN)/featbert run experiments/quickstart.toml $(DEMO)

test: $(READY)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

# Each step ends by itself within its limit; atheris is not to be had for every Python.
soak: $(READY)
	FEATBERT_SOAK=1 timeout 1800 $(BIN)/python -m pytest tests/hostile tests/features/test_fitting.py
	FEATBERT_SOAK_KILLS=$(SOAK_KILLS) timeout 1800 $(BIN)/python -m pytest tests/faults --ignore tests/faults/test_killed_runs.py
	FEATBERT_SOAK_KILLS=$(SOAK_KILLS) timeout 1800 $(BIN)/python -m pytest tests/faults/test_killed_runs.py
	FEATBERT_SOAK=1 timeout 1800 $(BIN)/python -m pytest tests/faults/test_long_run.py
	@if $(BIN)/python -m pip install --quiet --constraint constraints.txt 'atheris>=3.0'; then \
		for target in conll jsonl tags layers experiment record; do \
			timeout $$(($(SOAK_SECONDS) + 60)) $(BIN)/python -m tests.hostile.coverage_fuzz \
				$(SOAK_SECONDS) $$target || exit 1; \
		done; \
	else echo "no atheris for this Python: the coverage-guided fuzzer is left out"; fi

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

wheel: $(READY)
	$(BIN)/python -m build --wheel --no-isolation --outdir dist

clean:
	rm -rf $(VENV) build dist
