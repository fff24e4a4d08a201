# One entry for people and for CI: every target sets up what it needs.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
VENV := .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=
RUNS ?= $(dir $(filter-out runs/latest/%,$(wildcard runs/*/run.json runs/*/*/run.json)))
MUTANTS ?= 200
MUTANTS_ARGS ?=
GUEST_ARGS ?=
SOAK := RESET-5 DECAY-6 DECAY-7
STRESS_JUDGED := quick neighbours rules configurations demand replicas
STRESS_SOAK := official storm-110 knee shapes settled costs revert aftermath full at-the-cap
# What a busy host leaves open (3) does not end the rest; FAIL, ERROR and wrong usage do so afterwards.
STRESS_EACH = worst=0; for profile in $(1); do $(BIN)/crashloop stress $$profile || { code=$$?; [ $$code -eq 3 ] || worst=$$code; }; done; exit $$worst
# A run whose evidence leaves something open ends with 3: ok shows it, retry judges once more and then shows it, fail ends with an error.
INCONCLUSIVE ?= fail
JUDGE = run() { $(BIN)/crashloop run $(1); }; code=0; run || code=$$?; \
[ $$code -ne 3 ] || [ "$(INCONCLUSIVE)" != retry ] || { echo "INCONCLUSIVE: judged once more." >&2; code=0; run || code=$$?; }; \
[ $$code -ne 3 ] || { echo "INCONCLUSIVE (3): evidence is missing, often on a busy host; nothing accuses Kubernetes." >&2; \
case "$(INCONCLUSIVE)" in ok|retry) code=0 ;; fail) echo "INCONCLUSIVE=retry judges once more, INCONCLUSIVE=ok ends with 0." >&2 ;; \
*) echo "INCONCLUSIVE=$(INCONCLUSIVE): expected ok, retry or fail." >&2; code=2 ;; esac; }; exit $$code
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
export TAG ?=
# Without it every process, and there are many, compiles this project again: 2 to 8 s of CPU each.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help arm setup python tools browser binaries conformance conformance-full test lint generated workflows selftest selftest-whole docs provider quick versions kind kindlike guest soak stress stress-full stress-judged stress-soak stress-suite quality wheel-test mutants bugs rewriter bench matrix diff outputs summary dist krew image publish down

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

setup: python tools binaries ## Prepare everything: .venv, tools, binaries

python: $(VENV)/.complete

$(VENV)/.complete: requirements.lock pyproject.toml
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "python3 is older than 3.11")'
	@python3 -c 'import ensurepip, venv' 2>/dev/null || { [ "$$(id -u)" -eq 0 ] && apt-get -qq update && apt-get -qq install -y python3-venv; } || \
	{ echo "python3 has no venv: install it (Debian, Ubuntu: sudo apt-get install python3-venv)." >&2; exit 1; }
	python3 -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

tools: ## Plain tools from the distribution, if they are missing (Debian and Ubuntu)
	@missing=""; \
	command -v nsenter >/dev/null || missing="$$missing util-linux"; \
	command -v mount >/dev/null || missing="$$missing mount"; \
	command -v dpkg >/dev/null || exit 0; \
	[ -z "$$missing" ] || { apt-get -qq update && apt-get -qq install -y $$missing; }

browser: | tools ## A Chromium for the tests of the report; one apt at a time
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { apt-get -qq update && apt-get -qq install -y chromium; }

binaries: python tools
	$(BIN)/crashloop setup

conformance: setup ## Judge the quick scope on real kubelets (minutes)
	@$(call JUDGE,$(PYTEST_ARGS))

conformance-full: setup ## Judge the full scope (about 20 minutes)
	@$(call JUDGE,--scope full $(PYTEST_ARGS))

versions: python tools ## Judge kubelets of every release that can join in one cluster (5 minutes; 8 more for each release that is not in the cache)
	$(BIN)/crashloop setup --every-release
	@$(call JUDGE,--scope versions $(PYTEST_ARGS))

test: ## Prove the suite itself right
	@# lint and docs need one core each beside the self-tests; what each says is shown in one piece when it has ended.
	@$(MAKE) --no-print-directory --jobs=3 --keep-going --output-sync=target lint docs selftest
	@# Live clusters have the host alone: the kit asks what is left, and processes of self-tests come and go.
	@$(MAKE) --no-print-directory provider
	@$(MAKE) --no-print-directory quick

lint: python ## Format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/zizmor --offline --no-progress --quiet .github action.yml

generated: python ## Write every generated page and data file that needs no run (needs Go; the last, the fault matrix, takes minutes)
	$(BIN)/python -m tools.kubelet_api
	$(BIN)/python -m tools.default_costs --write
	$(BIN)/python -m tools.coverage --write
	$(BIN)/python -m tools.upstream --write
	$(BIN)/python -m tools.cli_reference --write
	$(BIN)/python -m tools.schemas docs/schema
	$(BIN)/python -m tools.sensitivity --write
	$(BIN)/python -m tools.fault_matrix --write

workflows: ## Check the GitHub workflows once more, with actionlint (needs Go)
	go run $(ACTIONLINT)

selftest: python browser ## Self-tests, without a cluster
	$(BIN)/pytest suites/selftest -n 2 -q
	$(BIN)/python -m tools.coverage

selftest-whole: python ## Every cell of docs/fault-matrix.md and 12,000 random kubelets; nightly, and in selftest after a change of what judges
	$(BIN)/pytest suites/selftest/tools suites/selftest/checks -n 2 -q --whole --seeds 30

docs: python ## Build the site of the documentation in site/; a broken link fails, and a page for upstream that is not of today's data
	$(BIN)/python -m tools.upstream
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

provider: setup ## The kit that every provider passes, on a real cluster (PYTEST_ARGS="--provider kind" for another)
	$(BIN)/pytest suites/provider -q $(PYTEST_ARGS)

quick: setup ## One live quick run
	@$(call JUDGE,-q $(PYTEST_ARGS))
quick: INCONCLUSIVE := retry

kind: python ## One live quick run on kind, with Docker 23 or newer (`.ci/docker start` where there is none)
	$(BIN)/crashloop run --provider kind $(PYTEST_ARGS)

kindlike: python ## Provider kit and quick scope on nodes with systemd, as in kind's images (root, Docker, Go; 12 minutes)
	image=$$($(BIN)/python -m contrib.kindlike); \
	$(BIN)/pytest suites/provider -q --provider kind --node-image "$$image"; \
	$(BIN)/crashloop run --provider kind --node-image "$$image" $(PYTEST_ARGS)

guest: setup ## Doctor, a cluster, requirements and loads on a host with cgroup v2 and systemd: User-mode Linux (root, Debian; GUEST_ARGS="up loads down" for some steps, "more provider clock" for those on demand, "--emulated" for Debian's own kernel in QEMU)
	$(BIN)/python -m tools.guest $(GUEST_ARGS)

soak: setup ## Judge what needs half an hour, and write docs/soak.md (31 minutes); then stress-soak
	run=runs/$$(date -u +%Y%m%dT%H%M%SZ)-soak; \
	$(BIN)/crashloop run --scope soak $(foreach id,$(SOAK),--requirement $(id)) --run-dir $$run $(PYTEST_ARGS); \
	$(BIN)/python -m tools.soak $$run --write
	$(MAKE) stress-soak

stress: setup ## One stress run within the official preconditions, with its report (under 5 minutes)
	$(BIN)/crashloop stress quick

stress-full: setup ## Maximum 1 s against 300 s: four shares of crashing pods at the official number, then 110 pods (about 30 minutes)
	$(BIN)/crashloop stress full

stress-judged: setup ## Stress runs that judge the requirements of the scope full (about 35 minutes)
	$(call STRESS_EACH,$(STRESS_JUDGED))

stress-soak: setup ## Stress runs that judge those of the scope soak (about 2 h 45 min)
	$(call STRESS_EACH,$(STRESS_SOAK))

stress-suite: setup ## Live tests of stress runs, faults included (about 9 minutes)
	$(BIN)/pytest suites/stress -q

quality: setup ## Prove that wrong kubelets are caught, live (about 4 minutes)
	$(BIN)/python -m quality

mutants: setup rewriter ## Mutants of the kubelet's restart code, live (at most an hour; MUTANTS=20 for a small sample; needs Go)
	$(BIN)/python -m mutants --mutants $(MUTANTS) $(MUTANTS_ARGS)

bugs: setup rewriter ## Bugs that upstream had, put back into the kubelet, live (at most an hour; BUGS=136910 for one; needs Go), and docs/bugs.md
	$(BIN)/python -m mutants --bugs $(BUGS) --write $(BUGS_ARGS)

rewriter: ## Test the Go program that makes the mutants (needs Go)
	cd mutants/rewriter && test -z "$$(gofmt -l .)" && go vet ./... && go test ./...

arm: ## Compile this project's Go programs for arm64 (needs Go; ten minutes the first time)
	for module in crashloop/cluster/kube_build mutants/rewriter suites/selftest/model/client_go; do \
	  (cd $$module && GOARCH=arm64 CGO_ENABLED=0 go build -mod=readonly -tags providerless -o /dev/null .) || exit 1; done

bench: conformance ## Measure the figures of docs/numbers.md and write the page (about 15 minutes); 1 if one is worse by more than a quarter
	@# kind needs Docker, and status_writes measures what predictions use.
	for script in $(filter-out figures kind_bring_up status_writes,$(basename $(notdir $(wildcard bench/*.py)))); do $(BIN)/python -m bench.$$script --write; done
	$(BIN)/python -m bench.figures --check

matrix: python ## Put all conformance runs below runs/ side by side, as Markdown (RUNS=... for others)
	$(BIN)/crashloop compare --by version --markdown $(filter-out %-stress/,$(RUNS))

diff: python ## Compare the two runs below runs/, as Markdown (RUNS=... for others); 1 if anything got worse
	@[ $(words $(RUNS)) -eq 2 ] || { echo "make diff compares two runs; below runs/, or named by RUNS, are: $(words $(RUNS))."; \
	echo "\`make conformance\` makes one; RUNS=\"runs/A runs/B\" names two."; exit 2; } >&2
	@$(BIN)/crashloop compare --markdown $(RUNS)

outputs: python ## Outcome and counts of the newest run, one NAME=VALUE a line
	@$(BIN)/python -m tools.action_outputs

summary: ## The summary of the newest run, as Markdown
	@cat runs/latest/summary.md 2>/dev/null || echo "No run was judged."

wheel-test: setup ## Install wheel and sdist outside of the checkout, and use every command (about 3 minutes)
	$(BIN)/pytest suites/wheel -q $(PYTEST_ARGS)

dist: python ## Build sdist and wheel; with TAG=v1.2.3 only if that is the version
	@version=v$$($(BIN)/python -c 'import crashloop; print(crashloop.__version__)'); \
	[ -z "$$TAG" ] || [ "$$TAG" = "$$version" ] || \
	{ echo "TAG $$TAG: expected $$version, the version of this checkout." >&2; exit 2; }
	$(BIN)/python -m build --no-isolation

krew: dist ## Also write archive and manifest for krew; RELEASE_URL is where the files of the release are
	$(BIN)/python -m contrib.krew dist "$${RELEASE_URL:?where the files of the release are}"

image: dist ## Build the container image `crashloop` of the Dockerfile (IMAGE_ARGS for docker build)
	docker build --tag crashloop $(IMAGE_ARGS) .

publish: ## Attach dist/ to a GitHub release of TAG (needs gh and GH_TOKEN)
	gh release create "$$TAG" --verify-tag --generate-notes dist/*

down: python ## Remove whatever any run left
	$(BIN)/crashloop down --all
