# make demo: train a real translator and see it work.  make test: everything that must hold.
# make bench: how fast it is beside its peers, as OPTIONS say; try OPTIONS="--only torch".
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test check slow bench

install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	@echo "installing into .venv, which takes a minute or two"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: install
	$(BIN)/weft demo

test: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 3 --dist loadfile --quiet

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --quiet tests/unit tests/laws

slow: install
	$(BIN)/pytest -n 2 --dist loadfile --quiet -m slow

bench: install
	$(BIN)/python -m benchmarks.speeds --json bench.json $(OPTIONS)
