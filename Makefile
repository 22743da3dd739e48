# What contributors run. `make` alone explains; each target's explanation stands behind its name.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help go-flags demo test check format vet lint build golden soak mutate bench

# The one place where the build is set: the Dockerfile and CI build by these targets. The embedded SQLite is C, so
# cgo is on; the tag gives it FTS5, which search needs. It is in GOFLAGS so that vet, lint and tests see it too.
export CGO_ENABLED := 1
export GOFLAGS := $(strip $(shell go env GOFLAGS) -tags=sqlite_fts5)
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Go's own stamp is off: it fails the build where git mistrusts the clone, as root does one that another user made.
GO_BUILD := go build -buildvcs=false -trimpath -ldflags '-X main.version=$(VERSION)'

# The tests' command; CI puts a runner that also counts skips in its place.
GO_TEST ?= go test
GOLANGCI_LINT ?= go tool -modfile=tools/go.mod golangci-lint

# How many proxies of ours stand in front of a server started here: none.
export TRUSTED_PROXY_COUNT ?= 0

# What scripts/with-services builds with.
go-flags:
	@echo '$(GOFLAGS)'

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## install what is missing, build, transcribe a recording, hit a limit; DEMO_FLAGS=--exit ends it then
	scripts/install-dependencies run
	$(GO_BUILD) -o bin/server ./cmd/server
	bin/server demo $(DEMO_FLAGS)

# The slowest package stands first, so that the others are tested beside it and not before. Many tests wait, for a window
# or a heartbeat: one more than there are processors, of packages and of tests of each, keeps those busy.
test: ## install what is missing, start Redis and PostgreSQL, run all tests with the race detector
	scripts/install-dependencies test
	at_once=$$(( $$(nproc) + 1 )); scripts/with-services $(GO_TEST) -race -p $$at_once -parallel $$at_once -timeout 15m ./tests ./recordings ./limits ./...

check: vet lint test ## everything that CI asks: format, vet, modules, lint, tests

format: ## rewrite Go files in the house format
	$(GOLANGCI_LINT) fmt

vet: ## fast checks: gofmt, go vet, go.mod in order
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted, run make format:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	go mod tidy -diff
	cd bench && go vet ./... && go mod tidy -diff

lint: ## golangci-lint with the house rules; the first run builds it, which takes minutes
	$(GOLANGCI_LINT) run
	$(GOLANGCI_LINT) fmt --diff

build: ## build bin/server
	$(GO_BUILD) -o bin/server ./cmd/server

golden: ## rewrite the expected files that tests compare with; review the diff
	STENOMETER_UPDATE_GOLDEN=1 go test -count=1 -run Golden ./...

soak: ## the tests that take real minutes
	scripts/install-dependencies test
	STENOMETER_SOAK=1 scripts/with-services go test -race -count=1 -timeout 60m -v -run 'Soak|TestFiftyWritersAndFiftyReaders|TestManyWritersAndReadersOnSQLite' ./tests/...

mutate: ## take each guard out of the code in turn and show the test that notices; takes minutes
	scripts/install-dependencies test
	scripts/with-services go run ./tests/mutate

bench: ## measure the server beside what one would otherwise run, 10 minutes; BENCH_FLAGS=-short proves it runs
	scripts/install-dependencies bench
	$(GO_BUILD) -o bin/server ./cmd/server
	cd bench && TMPDIR=$${TMPDIR:-/tmp} ../scripts/with-services go run -buildvcs=false . $(BENCH_FLAGS)
