# Each target sets up what it needs; PYTHON names the interpreter to make the environment from.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(shell grep '^pytest' requirements-dev.txt)

.PHONY: setup test test-beam lint quickstart clean

setup: .venv/complete

.venv/complete: requirements.txt requirements-dev.txt requirements-quickstart.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.txt --requirement requirements-dev.txt
	$(BIN)/pip install --quiet --no-deps --requirement requirements-quickstart.txt
	touch $@

test: setup lint
	$(BIN)/python -m pytest

# Apache Beam needs an older protobuf, so its tests have an environment of their own.
test-beam: .venv-beam/complete
	.venv-beam/bin/python -m pytest tests/records/test_beam*.py

.venv-beam/complete: requirements-beam.txt
	$(PYTHON) -m venv .venv-beam
	.venv-beam/bin/pip install --quiet --requirement requirements-beam.txt "$(PYTEST)"
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

quickstart: setup
	$(BIN)/python quickstart.py

clean:
	rm -rf .venv .venv-beam quickstart models
