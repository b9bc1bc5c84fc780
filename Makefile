PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
UV := $(BIN)/uv

# Two processes of tests on two cores: threads of the linear algebra would only be in their way.
test test-slow: export OPENBLAS_NUM_THREADS = 1

.DEFAULT_GOAL := help
.PHONY: demo test test-slow lint bench serve reproduce docs lock clean help

demo: .venv/.ready ## run a whole survey on the embedded default
	$(BIN)/jrr demo $(ARGS)

test: .venv/.ready ## run every test but the slow ones (ARGS="-k name" picks some)
	$(BIN)/python -m pytest -n 2 -m "not slow" $(ARGS)

test-slow: .venv/.ready ## run the slow tests
	$(BIN)/python -m pytest -n 2 -m slow $(ARGS)

lint: .venv/.ready ## check style, types and layering
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.ready ## run the benchmarks
	@$(BIN)/python -m benchmarks $(ARGS)

serve: .venv/.ready ## run a dealer and a collector here, to try things out
	$(BIN)/jrr serve both --folder build/servers $(ARGS)

reproduce: .venv/.ready ## make every figure and table of the paper (ARGS="--figure 1 --runs 100")
	$(BIN)/jrr reproduce $(ARGS)

docs: .venv/.ready ## write docs/cli.md and the pictures anew
	$(BIN)/python docs/make_cli.py
	$(BIN)/jrr demo --seed 7 --out build/docs
	cp build/docs/survey.png docs/demo.png
	$(BIN)/jrr plan -n 10000 -e 0.1 -M 5 --curve docs/everything.png > build/docs/plan.txt
	$(BIN)/python -c "from jrr.attacks import draw_attacks; draw_attacks('docs/attacks')"
	[ ! -f build/benchmark.png ] || cp build/benchmark.png docs/benchmark.png

lock: $(UV) ## choose the newest versions that fit pyproject.toml, write requirements.lock
	rm -f uv.lock
	$(UV) lock --quiet --python $(BIN)/python
	$(UV) export --quiet --frozen --all-extras --all-groups --no-emit-project --no-header \
		--output-file requirements.lock
	rm -f uv.lock

clean: ## remove the virtual environment and everything generated
	rm -rf .venv uv.lock build dist jrr-demo jrr-reproduction .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "jrr needs Python 3.11 or newer, but $(PYTHON) is older or missing; try make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check uv

.venv/.ready: requirements.lock pyproject.toml | $(UV)
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@
