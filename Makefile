# Rewarm. `make help` lists what there is; every step of .ci/run is a target here.

SHELL := /bin/sh
.DEFAULT_GOAL := help

VENV := .venv
PYTHON := $(VENV)/bin/python
# Our Python first: the tests of warmer/ start one some hundred times, and a system's may be a script that looks for it.
OWN_PATH := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"
SAM := SAM_CLI_TELEMETRY=0 $(OWN_PATH) .venv-sam/bin/sam
ZIG := $(CURDIR)/$(PYTHON) -m ziglang
CLANG_FORMAT := $(CURDIR)/$(VENV)/bin/clang-format
C_FORMATTED = $(wildcard local/aws/first_touch/src/*.[ch] local/aws/first_touch/tests/*.[ch])

# The tests start some hundred processes that load the same modules, so Python keeps what it has compiled.
unexport PYTHONDONTWRITEBYTECODE

# What zig has compiled once: 40 to 120 s a target.
export ZIG_GLOBAL_CACHE_DIR := $(CURDIR)/.local/zig

# Options of `make run`, and of pytest in `make test`.
ARGS ?=
PYTEST_ARGS ?=
# Whose release binaries `make test-agent` tests; `make test-long` tests those of all three systems.
SYSTEMS ?= linux-$(patsubst aarch64,arm64,$(shell uname -m)) windows-x86_64
# What the properties of `make test-long` and `make oracle` are drawn from; the same seed draws the same cases.
SEED := $(or $(SEED),$(shell date +%s))
# Each pytest worker runs an embedded AWS of its own. One more than two cores, because workflows wait rather than
# work; one for each where only some tests run. Each worker collects all tests and deploys the stack: half a minute
# of processor time before its first test.
WORKERS ?= $(if $(PYTEST_ARGS),2,3)

.PHONY: help setup run plan bench scale measurements soak test test-python test-long oracle test-agent test-agent-at-once lint format strategies-docs demo-docs permissions-docs messages-docs commands-docs schemas models version terraform release build deploy undeploy clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install everything that run and test need (Debian packages too, when root)
	@local/setup.sh test

run: ## restore a volume on the embedded AWS, watched live (ARGS="--strategy … --size-gib … --json")
	@local/setup.sh run >&2
	@$(PYTHON) -m local.tools.run $(ARGS)

plan: ## every strategy with time and price, nothing is made (ARGS="--size-gib … --deadline-minutes … --what-if")
	@local/setup.sh cli >&2
	@$(PYTHON) -m local.tools.plan $(ARGS)

bench: ## the agent beside dd and fio, about half an hour (ARGS="--quick --volume … --check-kill 100")
	@local/setup.sh bench >&2
	@$(PYTHON) -m local.tools.bench $(ARGS)

scale: ## the largest snapshots, or many restores at once (ARGS="--size-gib … --pattern … --restores … --json")
	@local/setup.sh run >&2
	@$(PYTHON) -m local.tools.scale $(ARGS)

measurements: ## published figures and thirty restores measured, 20 minutes (ARGS="--published --estimates --json")
	@local/setup.sh bench >&2
	@$(PYTHON) -m local.tools.measurements $(ARGS)

soak: ## random restores with random faults in virtual time (ARGS="--restores 5000 --seed 1", --only SEED, --json)
	@local/setup.sh soak >&2
	@$(PYTHON) -m local.soak $(ARGS)

test: setup ## every promise once, agent and sanitizers too; only Python tests with PYTEST_ARGS="tests/unit -k …"
	@$(MAKE) --no-print-directory -j2 test-python $(if $(PYTEST_ARGS),,test-agent-at-once)

# Beside the Python tests, because most of these wait rather than work; shown in one piece when they have ended.
test-agent-at-once:
	@$(MAKE) --no-print-directory test-agent >.local/test-agent.log 2>&1; status=$$?; cat .local/test-agent.log; exit $$status

test-python: ## the Python tests and linters (PYTEST_ARGS="-k …")
	@$(PYTHON) -m pytest -n $(WORKERS) -m "not long" $(PYTEST_ARGS)

test-long: setup ## what make test has no room for: the agent for arm64 too, new cases of each property (SEED=…)
	@local/setup.sh long
	@echo "The properties are tested with SEED=$(SEED)"
	@$(OWN_PATH) $(MAKE) --no-print-directory -C warmer check LAYERS=2000
	@$(OWN_PATH) $(MAKE) --no-print-directory -C warmer check-asan check-tsan check-release ZIG="$(ZIG)"
	@LONG_TESTS=1 $(PYTHON) -m pytest -n $(WORKERS) -m "long or matrix or hypothesis" --hypothesis-seed=$(SEED) $(PYTEST_ARGS)

oracle: setup ## plans beside exact solvers: 9,000 of one volume, 4,000 of a few, 1,000 of up to 200, in hours (SEED=…)
	@echo "Single volumes are drawn with SEED=$(SEED)"
	@LONG_TESTS=1 $(PYTHON) -m pytest -n $(WORKERS) -m oracle --hypothesis-seed=$(SEED) tests/unit/domain/plan $(PYTEST_ARGS)

test-agent: ## the agent's tests: its release binaries, and a build under sanitizers (SYSTEMS="linux-arm64 …")
	@$(OWN_PATH) $(MAKE) --no-print-directory -C warmer check-release SYSTEMS="$(SYSTEMS)" ZIG="$(ZIG)" QUICK=yes UNDO_CASES=8 KILLS=6
	@$(OWN_PATH) $(MAKE) --no-print-directory -C warmer check-asan QUICK=yes UNDO_CASES=8 UNDO_SEED=33

lint: setup ## all linters
	@$(PYTHON) -m pytest tests/lint $(PYTEST_ARGS)

format: ## rewrite Python and C in the house style
	@$(VENV)/bin/ruff check --fix-only --quiet .
	@$(VENV)/bin/ruff format .
	@$(MAKE) --no-print-directory -C warmer format CLANG_FORMAT="$(CLANG_FORMAT)"
	@$(CLANG_FORMAT) -i $(C_FORMATTED)

strategies-docs: ## write the tables and pictures of docs/strategies.md, plan.md and rewind.md from the rules
	@$(PYTHON) -m local.tools.plan --docs

demo-docs: ## write docs/demo.md and README.md's excerpt from a run
	@local/setup.sh run >&2
	@$(PYTHON) -m local.tools.run.demo

permissions-docs: ## write docs/permissions.md, docs/deployed.md and README.md's counts from the template
	@$(PYTHON) -m local.aws.permissions.documentation
	@$(PYTHON) -m local.aws.permissions.deployed

messages-docs: ## write the pictures of Slack's messages from what the product sends
	@$(PYTHON) -m local.tools.messages

commands-docs: ## write docs/commands.md from the commands' help
	@PYTHONPATH=cli $(PYTHON) -m rewarm_cli.clone.reference >docs/commands.md

schemas: ## write the schemas of events/, docs/openapi.json and api.json from the code
	@$(PYTHON) -m local.tools.schemas events/
	@$(PYTHON) -m local.tools.openapi .

models: ## write what is copied from botocore's models, for the functions, and from moto, for `make plan`
	@$(PYTHON) -m local.tools.models
	@$(PYTHON) -m local.tools.instance_types

version: ## put VERSION="0.2.0" wherever a version stands
	@$(PYTHON) -m local.tools.release.versions "$(VERSION)"
	@$(MAKE) --no-print-directory schemas terraform

terraform: ## write the Terraform module's variables and outputs from the template
	@$(PYTHON) -m local.tools.release.terraform

release: ## everything that a release has, in dist/, from a commit; prints the checksums
	@local/setup.sh release >&2
	@$(PYTHON) -m local.tools.release

build: ## the agent's release binaries, SSM documents, state machines and what `sam deploy` uploads
	@local/setup.sh deploy
	@$(MAKE) --no-print-directory -C warmer release ZIG="$(ZIG)"
	@$(PYTHON) -m local.built
	@$(SAM) build

deploy: build ## deploy to the AWS account of your credentials (ARGS="--parameter-overrides …")
	@$(SAM) deploy $(if $(AWS_REGION),--region "$(AWS_REGION)") $(ARGS)

undeploy: ## delete the stack from the AWS account of your credentials, and list what stays (ARGS="--stack-name … --yes")
	@local/setup.sh undeploy >&2
	@PYTHONPATH=cli $(PYTHON) -m rewarm_cli.clone.undeploy $(ARGS)

clean: ## remove what was built and installed
	@$(MAKE) --no-print-directory -C warmer clean
	@$(MAKE) --no-print-directory -C local/aws/first_touch clean
	rm -rf dist documents/build functions/rewarm/agents.json statemachine/build .aws-sam .local .mypy_cache .pytest_cache .ruff_cache .hypothesis .venv .venv-sam tests/lint/asl/node_modules
