# make demo and make test are all that a newcomer needs. Everything is installed into .venv, once.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh

PYTHON ?= python3
VENV := .venv
OPENDP := .venv-opendp
DP_ACCOUNTING := .venv-dp-accounting
DIFFPRIVLIB := .venv-diffprivlib
OPENDP_MBI := .venv-opendp-mbi
SMARTNOISE := .venv-smartnoise
MBI := .venv-mbi
OPENDP_POLARS := .venv-opendp-polars
SMARTNOISE_SQL := .venv-smartnoise-sql
PIPELINEDP := .venv-pipelinedp
TUMULT := .venv-tumult
PIP := -m pip -qq --disable-pip-version-check --no-input install
LOCK := $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links $(UPGRADE)

.PHONY: help demo test test-full format pictures lock bench-noise bench-accounting bench-selection bench-sparse bench-median bench-offline \
	bench-factored bench-contract bench-dense bench-interactive bench-engine bench-session clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## /  make \1	/p' $(firstword $(MAKEFILE_LIST)) | expand -t 28

demo: $(VENV)/.plot  ## install, then ask the census table private questions, ten thousand of them on one budget
	@$(VENV)/bin/discreet demo

test: $(VENV)/.test  ## format, lint, types, tests, examples in docs
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	OPENBLAS_NUM_THREADS=1 $(VENV)/bin/pytest -q -n auto

test-full:  ## the same at full sample sizes
	@DISCREET_TEST_SIZE=full $(MAKE) test

format: $(VENV)/.test  ## put the code in the form that make test wants
	@$(VENV)/bin/ruff check --quiet --fix . ; $(VENV)/bin/ruff format .

pictures: $(VENV)/.test  ## draw the pictures of the guides again
	@PYTHONPATH=. $(VENV)/bin/python docs/draw.py

bench-noise: $(VENV)/.test $(OPENDP)/.peer  ## speed of the noise, against OpenDP and NumPy
	$(VENV)/bin/python bench/noise.py --peer-python $(OPENDP)/bin/python

bench-accounting: $(VENV)/.test $(DP_ACCOUNTING)/.peer  ## what releases cost together, against dp-accounting
	$(VENV)/bin/python bench/accounting.py --peer-python $(DP_ACCOUNTING)/bin/python

bench-selection: $(VENV)/.test $(OPENDP)/.peer  ## choosing one of a million, against OpenDP
	$(VENV)/bin/python bench/selection.py --peer-python $(OPENDP)/bin/python

bench-sparse: $(VENV)/.test $(OPENDP)/.peer  ## watching a stream for values above a threshold, against OpenDP and NumPy
	$(VENV)/bin/python bench/sparse.py --peer-python $(OPENDP)/bin/python
	$(VENV)/bin/python bench/sparse_noise.py

bench-median: $(VENV)/.test $(OPENDP)/.peer $(DIFFPRIVLIB)/.peer  ## private medians: speed beside sorting, error beside OpenDP and diffprivlib
	$(VENV)/bin/python bench/median.py --peer-python $(OPENDP)/bin/python --other-python $(DIFFPRIVLIB)/bin/python

# DATA is a folder with nltcs.csv, see bench/data/README.md; OFFLINE is further options, as --peers all --limit 1200.
bench-offline: $(VENV)/.test $(MBI)/.peer $(OPENDP_MBI)/.peer $(SMARTNOISE)/.peer  ## synthetic tables against OpenDP, SmartNoise and mbi
	$(VENV)/bin/python bench/offline.py --mbi-python $(MBI)/bin/python --opendp-python $(OPENDP_MBI)/bin/python \
		--smartnoise-python $(SMARTNOISE)/bin/python $(if $(DATA),--data $(DATA)) $(OFFLINE)
	$(VENV)/bin/python bench/factored.py --runs 1 --mbi-python $(MBI)/bin/python

bench-factored: $(VENV)/.test $(MBI)/.peer $(OPENDP_MBI)/.peer  ## synthetic tables of 14 columns, against MST and AIM: half an hour
	$(VENV)/bin/python bench/factored.py --mbi-python $(MBI)/bin/python --opendp-python $(OPENDP_MBI)/bin/python

bench-interactive: $(VENV)/.test  ## ten thousand questions on one budget: errors, times, and what each improvement is worth
	$(VENV)/bin/python bench/interactive.py $(if $(DATA),--data $(DATA))

bench-contract: $(VENV)/.test  ## 34,425 predicates within an error that was agreed on, against Turbo's algorithm
	$(VENV)/bin/python bench/contract.py

bench-dense: $(VENV)/.test  ## a universe of 1e8 cells: time and memory of measuring, fitting and asking
	$(VENV)/bin/python bench/dense.py

# ENGINE is further options, as --peers none --only duckdb memory.
bench-engine: $(VENV)/.test $(OPENDP_POLARS)/.peer $(SMARTNOISE_SQL)/.peer $(PIPELINEDP)/.peer $(TUMULT)/.peer  ## questions to 1e7 rows, against the engines alone and against OpenDP, SmartNoise, PipelineDP, Tumult
	PYTHONPATH=. $(VENV)/bin/python bench/engine.py --opendp-python $(OPENDP_POLARS)/bin/python \
		--smartnoise-python $(SMARTNOISE_SQL)/bin/python --pipelinedp-python $(PIPELINEDP)/bin/python \
		--tumult-python $(TUMULT)/bin/python $(ENGINE)

bench-session: $(VENV)/.test $(OPENDP_POLARS)/.peer $(SMARTNOISE_SQL)/.peer $(PIPELINEDP)/.peer $(TUMULT)/.peer $(DIFFPRIVLIB)/.peer  ## what a session costs beside the bare query, and what a newcomer writes in ours and in five peers
	$(VENV)/bin/python bench/session.py
	$(VENV)/bin/python bench/ledger.py
	$(VENV)/bin/python bench/newcomer.py --opendp-python $(OPENDP_POLARS)/bin/python --smartnoise-python $(SMARTNOISE_SQL)/bin/python \
		--pipelinedp-python $(PIPELINEDP)/bin/python --tumult-python $(TUMULT)/bin/python --diffprivlib-python $(DIFFPRIVLIB)/bin/python

lock: $(VENV)/.lock  ## write the lock files from pyproject.toml (UPGRADE=--upgrade for newer versions)
	@$(LOCK) pyproject.toml -o requirements.lock
	@$(LOCK) pyproject.toml --extra pandas -c requirements.lock -o requirements-pandas.lock
	@$(LOCK) pyproject.toml --extra plot -c requirements.lock -o requirements-plot.lock
	@$(LOCK) pyproject.toml --extra polars -c requirements.lock -o requirements-polars.lock
	@$(LOCK) pyproject.toml --extra postgres -c requirements.lock -o requirements-postgres.lock
	@$(LOCK) pyproject.toml --extra spark -c requirements.lock -o requirements-spark.lock
	@$(LOCK) --group build -o requirements-build.lock
	@$(LOCK) pyproject.toml --extra test -c requirements.lock -c requirements-build.lock -o requirements-test.lock
	@$(LOCK) --group lock -o requirements-lock.lock
	@$(LOCK) --group bench-opendp -o requirements-bench-opendp.lock
	@$(LOCK) --group bench-dp-accounting -o requirements-bench-dp-accounting.lock
	@$(LOCK) --group bench-diffprivlib -o requirements-bench-diffprivlib.lock
	@$(LOCK) --group bench-opendp-mbi -o requirements-bench-opendp-mbi.lock
	@$(LOCK) --group bench-smartnoise -o requirements-bench-smartnoise.lock
	@$(LOCK) --group bench-mbi -o requirements-bench-mbi.lock
	@$(LOCK) --group bench-opendp-polars -o requirements-bench-opendp-polars.lock
	@$(LOCK) --group bench-smartnoise-sql -o requirements-bench-smartnoise-sql.lock
	@$(LOCK) --group bench-pipelinedp -o requirements-bench-pipelinedp.lock
	@$(LOCK) --group bench-tumult -o requirements-bench-tumult.lock

clean:  ## remove the environments and caches
	rm -rf $(VENV) $(OPENDP) $(DP_ACCOUNTING) $(DIFFPRIVLIB) $(OPENDP_MBI) $(SMARTNOISE) $(MBI) build dist
	rm -rf $(OPENDP_POLARS) $(SMARTNOISE_SQL) $(PIPELINEDP) $(TUMULT)
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The first interpreter that runs and is new enough: $(PYTHON), then the versions by name.
define find_python
found=; for candidate in "$(PYTHON)" python3.13 python3.12 python3.11 python3.14; do \
	if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		found=$$candidate; break; fi; done; \
if [ -z "$$found" ]; then \
	echo "discreet needs Python 3.11 or later; '$(PYTHON)' is older or missing." >&2; \
	echo "Install one, or name it: make demo PYTHON=/path/to/python3.12" >&2; exit 1; fi
endef

$(VENV)/.made:
	@$(find_python); echo "Creating $(VENV) with $$("$$found" --version)"; "$$found" -m venv $(VENV)
	@touch $@

$(VENV)/.core: $(VENV)/.made pyproject.toml requirements.lock requirements-build.lock
	@echo "Installing discreet into $(VENV) (once)"
	@$(VENV)/bin/python $(PIP) --require-hashes -r requirements.lock -r requirements-build.lock
	@$(VENV)/bin/python $(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.plot: $(VENV)/.core requirements-plot.lock
	@$(VENV)/bin/python $(PIP) --require-hashes -r requirements-plot.lock
	@touch $@

$(VENV)/.test: $(VENV)/.core requirements-test.lock
	@echo "Installing what the tests need (once)"
	@$(VENV)/bin/python $(PIP) --require-hashes -r requirements-test.lock
	@touch $@

$(VENV)/.lock: $(VENV)/.made requirements-lock.lock
	@$(VENV)/bin/python $(PIP) --require-hashes -r requirements-lock.lock
	@touch $@

# A peer has an environment of its own, .venv-NAME, from requirements-bench-NAME.lock.
.venv-%/.peer: requirements-bench-%.lock
	@$(find_python); "$$found" -m venv $(@D)
	@$(@D)/bin/python $(PIP) --require-hashes -r $<
	@touch $@
