# The same commands for people and CI. `make demo` and `make test` set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_READY := $(VENV)/.demo-ready
READY := $(VENV)/.ready

# Options of pip, such as --no-compile.
PIP_OPTIONS ?=
# Packages go into the environment in the versions of constraints.txt.
INSTALL := $(BIN)/python -m pip install --quiet $(PIP_OPTIONS) --constraint constraints.txt
# Options of the demo, such as: make demo DEMO="--set 'seeds=[1,2,3]'"
DEMO ?=

# By default, old versions of pip build seqeval without the packages that its build needs.
export PIP_USE_PEP517 := 1

# The tests start many processes; compiled bytecode makes them start faster.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo test lint format docs pictures site wheel clean

help:
	@echo "make install  create .venv with featbert and a small encoder"
	@echo "make demo    run the quickstart experiment and print the comparison"
	@echo "make test    run the tests"
	@echo "make lint    ruff and mypy"
	@echo "make format  let ruff format the code"
	@echo "make docs    renew tables and example report, and build the site in build/site"
	@echo "make pictures  draw the README's pictures of the report and of a terminal"
	@echo "make wheel   build the wheel into dist/"
	@echo "make clean   remove the environment and build outputs"

$(DEMO_READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later expected, %s is %s; name another with PYTHON=..." % (sys.executable, sys.version.split()[0]) if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) torch
	$(INSTALL) --editable '.[demo]'
	@touch $@

# What tests, lint and docs need besides.
$(READY): $(DEMO_READY)
	$(INSTALL) --editable '.[dev,demo,docs]'
	@touch $@

install: $(DEMO_READY)

demo: $(DEMO_READY)
	$(BIN)/featbert run quickstart $(DEMO)

test: $(READY)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(READY)
	$(BIN)/python -m docs.generate
	$(MAKE) site

# Those of the README; they need Chromium.
pictures: $(READY)
	$(BIN)/python -m docs.pictures

# Links that go nowhere are errors.
site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

wheel: $(READY)
	$(BIN)/python -m build --wheel --no-isolation --outdir dist

clean:
	rm -rf $(VENV) build dist
