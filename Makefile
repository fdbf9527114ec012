# Every target sets up what it needs: a virtual environment in this checkout, pinned dependencies.
.DEFAULT_GOAL := help
# The first of these that is 3.11 or later; the pins are tested most with the first.
PYTHONS := python3.11 python3 python3.14 python3.13 python3.12
IS_NEW_ENOUGH := 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for each in $(PYTHONS); do $$each -c $(IS_NEW_ENOUGH) 2>/dev/null && echo $$each && break; done)
VENV := .venv
BEAM := .venv-beam
BIN := $(VENV)/bin
TESTED := $(VENV)/.installed-dev
RUNNABLE := $(VENV)/.installed
HOT_PATH := $(BIN)/python native_attempt.py
PACKAGES := heron_core heron_io heron_api heron_connectors heron_frontends heronpy_compat heron_instance stream_manager topology_master scheduler heron_spark heron_graph heron_tester heron_tracker heron_cli
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check
# More of them than cores: half of the time a test waits for processes of its own.
PYTEST := $(BIN)/python -m pytest --durations 20 --durations-min 8 --numprocesses
PROCESSES := 3
# And one whose tests calculate in the pauses of the others (tests/by_server.py).
PROCESSES_OF_ALL := 4
CLUSTER_LONG := $(addprefix tests/cluster/,\
	test_kafka_registry.py test_speculation.py test_spark_scheduler.py test_first_topologies.py)
JVM_TESTS := $(shell command -v javac >/dev/null && echo tests/jvm)
# A folder that is left out is not searched, though it is named beside the one that it is in.
ALL_FOLDERS := "norecursedirs=.* __pycache__ extras"
# Tests stay compiled from one run to the next: to do it again takes each process as long as to import them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run site sbom test test-site test-again test-beam test-browser test-cluster test-cluster-long test-jvm test-hosts test-hosts-all test-kubernetes test-kwok test-prometheus test-drill test-python test-wheel test-extras test-image lint lint-code check fast-tests chaos mutants sanitizers bench format clean native native-wheel native-off

help: ## Show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

run: $(RUNNABLE) ## Count the words of Python's standard library, on real processes
	@$(HOT_PATH)
	$(BIN)/heronpy run examples/word_count.py

test: $(TESTED) ## The whole test suite, with the compiled hot path where it can be built
	@$(HOT_PATH)
	$(PYTEST) $(PROCESSES_OF_ALL)

test-again: $(TESTED) ## The tests that failed last, one after the other
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none --override-ini "norecursedirs=.* __pycache__" --ignore tests/extras/beam tests

# A file's tests share their servers: in one process each.
test-cluster: $(TESTED) ## Against a real YARN, HDFS and Kafka, whose jars Maven brings (mvn); and test-jvm
	@$(BIN)/python tests/cluster/jars.py
	@$(if $(JVM_TESTS),,echo "without tests/jvm: javac is not installed")
	$(PYTEST) $(PROCESSES) --dist loadfile tests/cluster $(JVM_TESTS) $(CLUSTER_LONG:%=--ignore=%)

test-cluster-long: $(TESTED) ## The longest of these: a schema registry, speculation, a lost scheduler, pages
	@$(BIN)/python tests/cluster/jars.py
	$(PYTEST) $(PROCESSES) --dist loadfile $(CLUSTER_LONG)

test-jvm: $(TESTED) ## Java spouts and bolts in real JVMs, with Storm's jars (mvn, javac)
	@$(BIN)/python -m tests.jvm.needs
	$(PYTEST) $(PROCESSES) --dist loadfile tests/jvm

test-browser: $(TESTED) ## The pages of `heronpy ui` in headless Chromium, with trouble caused for real
	@$(BIN)/python tests/browser/chromium.py
	$(BIN)/python -m pytest tests/browser

test-hosts: $(TESTED) ## A topology over six hosts (network namespaces, as root) whose hosts and network fail
	@$(BIN)/python -m tests.hosts.needs
	$(BIN)/python -m pytest tests/hosts

test-hosts-all: $(TESTED) ## The same with each kind of fault in both modes, three seeds, 200,000 ids (an hour)
	@$(BIN)/python -m tests.hosts.needs
	$(BIN)/python -m tests.hosts --fault tour --ids 200000 --seed 1 --seed 2 --seed 3

test-kubernetes: $(TESTED) ## Topologies on Kubernetes: real API server, controllers and scheduler (as root; four minutes)
	@$(BIN)/python -m tests.kubernetes.needs
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal --ignore tests/kubernetes/kwok tests/kubernetes

test-kwok: $(TESTED) ## A topology of 1,000 pods on kwok's nodes: its operator's requests are counted (as root; four minutes)
	@$(BIN)/python -m tests.kubernetes.kwok.needs
	$(BIN)/python -m pytest tests/kubernetes/kwok

test-prometheus: $(TESTED) ## Alerts of a real Prometheus, by the rules of `heronpy ui --alert-rules` (half a minute)
	@$(BIN)/python -m tests.prometheus.needs
	$(BIN)/python -m pytest tests/prometheus

test-drill: $(TESTED) ## Each kind of trouble, named in time in stats, page, API, metric and alert (three minutes)
	HERONPY_DRILL=1 $(BIN)/python -m pytest -n 2 --maxschedchunk 1 -p no:randomly tests/drill

test-wheel: $(TESTED) ## The wheel with the compiled hot path, repaired, in a clean environment (a minute)
	@$(BIN)/python -m tests.extras.needs
	$(BIN)/python -m pytest tests/extras/test_native_wheel.py

test-extras: $(TESTED) ## The wheel with each extra in a clean environment (minutes of pip)
	$(BIN)/python -m pytest tests/extras --ignore tests/extras/beam --ignore tests/extras/test_image.py

test-image: $(TESTED) ## The Containerfile's image on a base of Debian's packages, which runs a topology (as root; two minutes, with the base five)
	@$(BIN)/python -m tests.extras.image
	$(BIN)/python -m pytest tests/extras/test_image.py

# A test of Beam's own tests needs no plugin of ours, so tests/conftest.py is left out.
test-beam: $(BEAM)/.installed ## Beam's suite of runners, and pipelines on processes, in an environment with Beam (two minutes)
	$(BEAM)/bin/python -m pytest -q --noconftest -p no:cacheprovider --numprocesses $(PROCESSES) --dist worksteal -c tests/extras/beam/pytest.ini tests/extras/beam

$(BEAM)/.installed: requirements.txt requirements-beam.txt pyproject.toml
	$(PYTHON) -m venv $(BEAM)
	$(BEAM)/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt --requirement requirements-beam.txt --editable . || { echo "Beam cannot be installed: the lines above name the package, and why" >&2; exit 1; }
	@touch $@

lint: lint-code ## Format, lint, types, boundaries between packages, circles, sizes, names
	$(BIN)/python -m pytest -q tests/test_tidy.py

# Without the tests of it, which `make test` has.
lint-code: $(TESTED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: $(TESTED) ## What has to pass before a commit: lint and the fast tests (of Python's hot path), side by side
	@$(MAKE) --no-print-directory --jobs 2 lint fast-tests

fast-tests: export HERON_SIM_SEEDS ?= 0:12
fast-tests: export HERONPY_NATIVE := 0
fast-tests: $(TESTED)
	$(PYTEST) $(PROCESSES) -q tests/unit tests/property tests/sim tests/fuzz

test-python: $(TESTED) ## The fast tests on the newest Python that this machine has besides
	@$(BIN)/python -m tests.pythons
	$(MAKE) fast-tests VENV=.venv-newest PYTHON="$$($(BIN)/python -m tests.pythons)" HERON_SIM_SEEDS=0:2

chaos: $(TESTED) ## Five minutes of kill -9 and SIGSTOP in a running word count; nothing may be missing
	$(BIN)/python -m tests.chaos --seconds 300

sanitizers: $(TESTED) ## The compiled hot path's tests and the fuzzers, its C checked by gcc's sanitizers
	@$(INSTALL) --requirement requirements-native.txt
	$(BIN)/python -m tests.native.sanitizers

mutants: $(TESTED) ## 30 small changes of the cores, each of which a test has to notice (half an hour of a core)
	$(BIN)/python -m tests.mutants $(MUTANTS)

bench: $(TESTED) ## Every benchmark with its peers; see benchmarks/README.md
	$(BIN)/pip install --quiet --requirement benchmarks/requirements-peers.txt
	$(BIN)/python -m benchmarks.all

format: $(TESTED) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

native: $(RUNNABLE) ## Compile the hot path, also where that has failed; see docs/HACKING.md
	@$(HOT_PATH) again

native-off: $(RUNNABLE) ## Remove the compiled hot path, until `make native`
	@$(HOT_PATH) off

native-wheel: $(RUNNABLE) ## Make a wheel for this platform, with the compiled hot path, in dist
	@rm -rf dist/native
	HERONPY_BUILD_NATIVE=1 $(BIN)/pip wheel --quiet --no-deps --wheel-dir dist/native .
ifeq ($(shell uname -s),Linux)
	@$(INSTALL) --requirement requirements-wheel.txt || { echo "The packages of requirements-wheel.txt cannot be installed: the lines above name the one, and why" >&2; exit 1; }
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist dist/native/*.whl
else
	mv dist/native/*.whl dist
endif
	@rm -rf dist/native

# Where a link or a public name leads nowhere, this fails.
site test-site: $(TESTED) ## Build the site: guides, reference of the API, sources that pages name, in build/site
	@$(INSTALL) --requirement requirements-site.txt || { echo "The packages of requirements-site.txt cannot be installed: the lines above name the one, and why" >&2; exit 1; }
	$(BIN)/python -m docs.site

sbom: $(TESTED) ## Software bill of materials (CycloneDX) in dist, and the licences in docs/LIBRARIES.md
	@$(INSTALL) --requirement requirements-sbom.txt || { echo "The packages of requirements-sbom.txt cannot be installed: the lines above name the one, and why" >&2; exit 1; }
	$(BIN)/python -m docs.sbom

clean: ## Remove the virtual environment, the compiled hot path and all caches
	rm -f heron_core/hot_*_compiled.*
	rm -rf build $(VENV) $(BEAM) .venv-newest .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .cluster-jars .cache

$(VENV)/bin/python:
	@command -v "$(PYTHON)" >/dev/null || { echo "Python 3.11 or later is needed: set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c $(IS_NEW_ENOUGH) || { echo "$(PYTHON) is older than 3.11: set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUNNABLE): requirements.txt pyproject.toml | $(VENV)/bin/python
	@$(INSTALL) --requirement requirements.txt || { echo "The packages of requirements.txt cannot be installed: the lines above name the one, and why" >&2; exit 1; }
	@$(INSTALL) --no-deps --editable .
	@$(BIN)/python -m compileall -qq $(PACKAGES) || true # once, also where Python is told to write no bytecode
	@touch $@

$(TESTED): requirements-dev.txt $(RUNNABLE)
	@$(INSTALL) --requirement requirements-dev.txt || { echo "The packages of requirements-dev.txt cannot be installed: the lines above name the one, and why" >&2; exit 1; }
	@touch $@
