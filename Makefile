# What runs here needs Go and make alone; each target says what it does with
# `make help`.

.DEFAULT_GOAL := help
.PHONY: help test integration nightly vet lint fuzz bench bench-go bench-compare

# The modules of the workspace, the root first. go.work ties them.
MODULES := $(shell go list -m -f '{{.Dir}}')
RACED := $(filter-out %/integration,$(MODULES))
# Packages with tests that the race detector would falsify: counts of allocations, and the like.
UNRACED := $(sort $(dir $(shell git grep -l '^//go:build !race' -- '*_test.go' | sed 's,^,./,')))

help: ## say what the targets do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: vet ## vet, and run every test of every module, with the race detector where it finds something
	@for m in $(RACED); do echo "== $$m" && (cd $$m && $(CURDIR)/.ci/race) || exit 1; done
	go test $(UNRACED)
	cd tools/golangci && GOWORK=off go test ./... # without -race, for which all of golangci-lint would be built again
	$(MAKE) integration

integration: ## test against real Prometheus, proxies, probes and a browser; installs what it needs and says so
	cd integration && go test -count=1 -timeout 15m ./...

nightly: ## a soak of ten minutes at more than twice the load, with faults
	cd integration && go test -count=1 -v -run Soak -soak 10m -timeout 15m .

vet: ## gofmt, go vet, and our own analyzers on our own code
	@unformatted=$$(git ls-files '*.go' | grep -v /testdata/ | xargs gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	@for m in $(MODULES); do (cd $$m && go vet ./...) || exit 1; done
	go build -o bin/offtakevet ./tools/cmd/offtakevet
	bin/offtakevet -selftest && bin/offtakevet -profile=strict ./... ./tools/...

lint: ## golangci-lint with the list of .golangci.yml; it is built from source the first time
	go test $(UNRACED)
	cd tools/golangci && GOWORK=off go build -o ../../bin/golangci-lint ./cmd/golangci-lint-offtake
	@for m in $(MODULES); do (cd $$m && $(CURDIR)/bin/golangci-lint run -c $(CURDIR)/.golangci.yml ./...) || exit 1; done

FUZZTIME ?= 10s
fuzz: ## run every fuzz test for FUZZTIME (10s)
	@for m in $(MODULES); do (cd $$m && \
	for p in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$p | grep ^Fuzz); do \
	echo "== $$p $$f" && go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done) || exit 1; done

bench: ## measure beside the peers, short, into bench/results
	cd bench && go run ./cmd/offtakebench -short -out results

bench-go: ## run every Go benchmark once, allocations included
	@for m in $(MODULES); do (cd $$m && go test -run '^$$' -bench . -benchmem -benchtime 200ms ./...) || exit 1; done

BASE ?= main
PACKAGES ?= ./bench/gate ./httpclient ./grpcclient ./admission ./capacity
bench-compare: ## compare the benchmarks of PACKAGES with those of BASE (main), by benchstat
	@old=$$(mktemp -d) && trap "git worktree remove --force $$old" EXIT && git worktree add -q --detach $$old $(BASE) && \
	bench() { go test -run '^$$' -bench . -benchmem -benchtime 200ms -count 6 $(PACKAGES); } && \
	(cd $$old && bench > $$old/bench.txt; true) && { bench > $$old/now.txt || { cat $$old/now.txt; exit 1; }; } && \
	{ grep -q ^Benchmark $$old/now.txt || { echo "there is no benchmark in $(PACKAGES)"; exit 1; }; } && \
	cd bench && go tool benchstat $$old/bench.txt $$old/now.txt
