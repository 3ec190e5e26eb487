# Each target sets up what it needs; PYTHON names the interpreter to make the environment from.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(shell grep -o '^pytest>[^ ]*' requirements-dev.txt)

.DEFAULT_GOAL := help
.PHONY: help setup test test-beam lint wheel quickstart clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1 /p' $(MAKEFILE_LIST) | awk '{printf "  make %-11s", $$1; $$1 = ""; print}'

setup: .venv/complete  ## make the environment in .venv, with bert-tf in it

.venv/complete: requirements.txt requirements-dev.txt requirements-quickstart.txt pyproject.toml
	@echo "Making the environment in .venv: pip fetches TensorFlow and the rest, about 2 minutes."
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.txt --requirement requirements-dev.txt
	$(BIN)/pip install --quiet --no-deps --requirement requirements-quickstart.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

quickstart: setup  ## run the whole path on real text and real weights
	$(BIN)/python quickstart.py

test: setup lint  ## run the linters and all tests, in two processes
	$(BIN)/python -m pytest --numprocesses=2 --dist=worksteal

# Apache Beam needs an older protobuf, so its tests have their own environment.
test-beam: .venv-beam/complete  ## run the tests of the Apache Beam pipeline
	.venv-beam/bin/python -m pytest tests/records/beam

.venv-beam/complete: requirements-beam.txt requirements-dev.txt
	$(PYTHON) -m venv .venv-beam
	.venv-beam/bin/pip install --quiet --requirement requirements-beam.txt "$(PYTEST)"
	touch $@

lint: setup  ## check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

wheel: setup  ## build the wheel in dist/
	rm -rf build dist
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	rm -rf build

clean:  ## remove everything that make and the quickstart write
	rm -rf .venv .venv-beam build dist quickstart models *.egg-info
