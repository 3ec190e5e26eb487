# Each target sets up what it needs; PYTHON names the interpreter to make the environment from.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup test lint quickstart clean

setup: .venv/complete

.venv/complete: requirements.txt requirements-dev.txt requirements-quickstart.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.txt --requirement requirements-dev.txt
	$(BIN)/pip install --quiet --no-deps --requirement requirements-quickstart.txt
	touch $@

test: setup lint
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

quickstart: setup
	$(BIN)/python quickstart.py

clean:
	rm -rf .venv quickstart models
