PYTHON ?= python3
ARGS ?=
DIGEST ?=
ENGINE ?= podman
BIN := .venv/bin
UV := $(BIN)/uv

# Tests in several processes: threads of the linear algebra would only be in their way. Three processes
# on two cores, because many tests wait for servers and browsers. Each begins with tests that stand
# together, which share servers and browsers, and takes over from another when it has none left.
test test-fast test-slow coverage: export OPENBLAS_NUM_THREADS = 1

# Every server is a process of its own, and starts in half the time from compiled modules.
unexport PYTHONDONTWRITEBYTECODE

# Material for MkDocs announces its successor at every build (docs/decisions/0014-documentation-site.md).
docs-site: export NO_MKDOCS_2_WARNING = 1

.DEFAULT_GOAL := help
.PHONY: demo test browser proxies coq proofs spark test-fast test-slow coverage lint bench serve reproduce docs docs-site lock dist sbom audit image clean help

demo: .venv/.ready ## run a whole survey: two servers, 10,000 contributors, a report with pictures
	$(BIN)/jrr demo $(ARGS)

test: .venv/.ready browser proxies ## run every test but the slow ones (ARGS="-k name" picks some)
	$(BIN)/python -m pytest -n 3 --dist worksteal -m "not slow" $(ARGS)

browser: ## install Chromium and Node, if possible: without them tests of the answer page are skipped
	@for name in chromium chromium-browser google-chrome; do \
		command -v $$name > /dev/null && exit 0; done; \
	[ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
		{ apt-get install -qq -y chromium nodejs > /dev/null 2>&1 || { apt-get update -qq && \
		apt-get install -qq -y chromium nodejs; } > /dev/null 2>&1; } || \
		echo "no Chromium here (apt-get install chromium nodejs): tests of the answer page are skipped"

proxies: ## unpack nginx and Caddy into build/proxies, if possible: without them tests of deploy/ are skipped
	@for name in nginx caddy; do \
		command -v $$name > /dev/null || [ -x /usr/sbin/$$name ] || ls build/proxies/usr/*bin/$$name > /dev/null 2>&1 || { \
		mkdir -p build/proxies && cd build/proxies && \
		{ apt-get download -qq $$name > /dev/null 2>&1 || { [ "$$(id -u)" = 0 ] && apt-get update -qq > /dev/null 2>&1 && \
		apt-get download -qq $$name > /dev/null 2>&1; }; } && dpkg -x $${name}_*.deb . && cd ../.. || \
		echo "no $$name here (apt-get install $$name): its tests are skipped"; }; done

test-fast: .venv/.ready ## run the tests for the inner loop, in under a minute (no servers, no heavy statistics)
	$(BIN)/python -m pytest -n 2 -m "not slow and not heavy" $(ARGS)

spark: .venv/.ready ## install Spark and Java, if possible: without them tests of Spark are skipped
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements-spark.lock
	@command -v java > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
		{ apt-get install -qq -y openjdk-17-jre-headless > /dev/null 2>&1 || { apt-get update -qq && \
		apt-get install -qq -y openjdk-17-jre-headless > /dev/null; }; }; } || \
		echo "no Java here (apt-get install openjdk-17-jre-headless): tests of Spark are skipped"

test-slow: .venv/.ready spark ## run the slow tests, and those of properties on examples drawn anew
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "slow or hypothesis" --hypothesis-profile=explore $(ARGS)

coverage: .venv/.ready ## run what `make test` runs, show lines without a test, write pages to build/coverage
	@mkdir -p build
	$(BIN)/python -m pytest -n 2 -m "not slow" --cov --cov-report=term --cov-report=html $(ARGS)

lint: .venv/.ready ## check style, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_structure.py
	$(BIN)/python tools/check_documented.py
	$(BIN)/python tools/count_journeys.py
	$(BIN)/python tools/page_integrity.py --check
	$(BIN)/python tools/vendor_noble.py --check

bench: .venv/.ready ## measure speed beside bare numpy and other libraries (ARGS=domains runs one part)
	@$(BIN)/python -m benchmarks $(ARGS)

serve: .venv/.ready ## run dealer, collector and answer page here, with a sample survey and links to it
	$(BIN)/jrr serve all --folder build/servers --draft examples/survey.toml $(ARGS)

coq: ## install Coq, if possible: without it the proofs are not checked
	@command -v coqc > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
		{ apt-get install -qq -y coq libcoq-coquelicot libcoq-interval > /dev/null 2>&1 || { apt-get update -qq && \
		apt-get install -qq -y coq libcoq-coquelicot libcoq-interval; } > /dev/null 2>&1; }; } || true

proofs: coq ## check the proofs of proofs/ with Coq, and print their axioms (ARGS=--quick: the theorems alone)
	$(PYTHON) tools/check_proofs.py $(ARGS)

reproduce: .venv/.ready ## make every figure and table of the paper (ARGS="--figure 1 --runs 100")
	$(BIN)/jrr study reproduce $(ARGS)

docs: .venv/.ready ## write the generated pages and the pictures of the pages anew
	$(BIN)/python docs/make_cli.py
	$(BIN)/python docs/make_contents.py
	$(BIN)/python docs/make_api.py
	$(BIN)/python docs/make_coverage.py
	$(BIN)/python docs/make_notebooks.py
	$(BIN)/python docs/site/draw_rooms.py
	$(BIN)/jrr demo --seed 7 --out build/docs
	cp build/docs/survey.png docs/demo.png
	$(BIN)/jrr plan -n 10000 -e 0.1 -M 5 --curve docs/everything.png > build/docs/plan.txt
	$(BIN)/jrr plan -n 10000 -e 1 --lost-plot docs/lost-cards.png > build/docs/plan.txt
	$(BIN)/jrr study attacks --out docs/attacks > build/docs/attacks.txt
	$(BIN)/python -m benchmarks.interval_coverage docs/coverage-of-intervals.png
	for name in benchmark heavy_hitters limits ranges year scale; do [ ! -f build/$$name.png ] || \
		cp build/$$name.png docs/$$(echo $$name | tr _ -).png; done

docs-site: .venv/.ready ## build the documentation site in build/site
	$(BIN)/mkdocs build --strict $(ARGS)
	@echo "open build/site/index.html"

lock: $(UV) ## choose the newest versions that fit pyproject.toml, write requirements.lock
	rm -f uv.lock
	$(UV) lock --quiet --python $(BIN)/python
	$(UV) export --quiet --frozen --all-extras --no-extra spark --all-groups --no-emit-project --no-header \
		--output-file requirements.lock
	$(UV) export --quiet --frozen --extra cli --extra console --extra serve --no-default-groups --no-emit-project \
		--no-header --no-annotate --output-file requirements-serve.lock
	$(UV) export --quiet --frozen --extra spark --no-default-groups --no-emit-project --no-header \
		--output-file requirements-spark.lock
	rm -f uv.lock

dist: .venv/.ready ## build the wheel and the source archive in dist/, and check what they say of themselves
	rm -rf dist
	$(UV) build --quiet
	$(UV) tool run --quiet twine check --strict dist/*.whl dist/*.tar.gz
	@ls dist

sbom: $(UV) ## list what a server is made of (CycloneDX) in build/sbom.json
	@mkdir -p build
	$(UV) tool run --quiet --from cyclonedx-bom cyclonedx-py requirements requirements-serve.lock -o build/sbom.json
	@echo "build/sbom.json"

audit: $(UV) ## look for known weaknesses of what a server is made of, where their database can be reached
	@$(BIN)/python tools/audit_packages.py $(UV) tool run --quiet pip-audit

image: ## build the container image of the servers, on a base image by its digest (DIGEST=sha256:…)
	@case "$(DIGEST)" in sha256:*) ;; *) echo "which base image? make image DIGEST=sha256:…, as told by" \
		"skopeo inspect --format '{{.Digest}}' docker://docker.io/library/python:3.12-slim" >&2; exit 2;; esac
	$(ENGINE) build -f deploy/Containerfile --build-arg DIGEST=$(DIGEST) -t jrr .

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
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q src
	@touch $@
