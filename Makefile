# conclave: `make demo` and `make test` are all that a new machine needs.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION := $(shell deploy/release/version)
PYTHON  ?= python3
BIN     := bin/conclave
CACHE   := $(or $(CONCLAVE_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/conclave)

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: tools build ## fetch, import, index and serve the demo on 127.0.0.1:8080
	@$(BIN) demo

test: tools build ## check formatting, vet, lint, and run every test
	@$(BIN) setup
	@PYTHON="$(PYTHON)" CACHE="$(CACHE)" .ci/test

evaluate: build ## make the tables of docs/evidence/experts.md: make evaluate DATA=../shared/data
	@research/bench/evaluate "$(DATA)" "$(or $(OUT),evaluation-out)"

build: ## build bin/conclave, and bin/conclave-lab, which measures
	@mkdir -p bin
	@go build -o $(BIN) ./cmd/conclave
	@go build -o $(BIN)-lab ./cmd/conclave-lab

sbom: build ## write the bill of materials of bin/conclave (CycloneDX): bin/conclave.cdx.json
	@go run ./internal/sbom $(BIN) $(VERSION) >$(BIN).cdx.json
	@echo "$(BIN).cdx.json: $$(grep -c '"bom-ref"' $(BIN).cdx.json) parts"

release: ## make what is published: archives, wheels, bills of materials, sums (out/release)
	@deploy/release/make

setup: build ## fetch the runtime and the base encoder into the cache, and import it and the experts
	@$(BIN) setup

# The Go client is a module of its own, which ./... leaves out.
ALL := ./... example.org/conclave/client/go/...

# What needs no cgo is vetted for arm64 too, which takes the Go kernels.
lint: ## formatting, style, go vet (for arm64 and macOS too), staticcheck, errcheck, known vulnerabilities
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "run gofmt -w on: $$unformatted"; exit 1; fi
	@go vet $(ALL)
	@GOARCH=arm64 CGO_ENABLED=0 go vet ./ann/... ./bm25/... ./store/folder/...
	@.ci/vetdarwin
	@go tool staticcheck $(ALL)
	@go tool errcheck -ignoretests -exclude .errcheck $(ALL)
	@go test -vet=off -run 'TestStyle|TestNamesInComments' ./internal/archtest
	@.ci/vulnerabilities

# Part of make test too; each of these is what one caller once took from all others.
attack: setup ## do to the server what callers did that took it from others, and print what one can cost another, in ten minutes
	@go test -vet=off -count 1 -run 'TestAttack|TestHostileFiles|TestInterruptedUpload|TestConnectionsOfOneKey|TestFirstSearch|TestOneProcessor|TestTurns|TestTenants|TestRest|TestFullQueue|TestShares|TestChatLinks|TestLinkFilter|TestIDs|TestImport[RP]|TestUnread|TestFramedTwice|TestUploadRejects|TestUploadEndsWithItsClient|TestOneDoor|TestDoor|TestNothingWithoutCost|TestStagesAreAdministrators|TestSlow[A-Z]|TestNoLists|TestToolsCite|TestHostileS|TestReach|TestRebinding|TestPublic|TestPostSite|TestReadTraps|TestHangingServer|TestFailures' \
		./endpoints ./internal/endtoend ./handlers ./handlers/adapters ./internal/overload ./encoder/batcher ./internal/corpus ./models/convert ./internal/sites
	@go test -vet=off -run '^$$' -bench 'Callers|UploadsBeside' -benchtime 1x ./internal/endtoend

bench: build setup ## run every benchmark beside its peer and print the ratios
	@research/bench/run

generate: ## rebuild what is generated: kernels, the OpenAPI document
	@go generate ./...

clean: ## remove what was built (the cache stays)
	@rm -rf bin demo-index demo

# What cannot be installed by the project itself: say what to install.
tools:
	@command -v go >/dev/null || { echo "Go is not installed: install Go 1.26 or newer (https://go.dev/dl, or your system's packages)"; exit 1; }
	@cc=$$(go env CC); command -v $${cc%% *} >/dev/null || { echo "no C compiler ($$cc): install one (Debian: apt-get install gcc libc6-dev; macOS: xcode-select --install)"; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "Python 3 is not installed: install it with pip (Debian: apt-get install python3 python3-pip; macOS: xcode-select --install)"; exit 1; }
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || { echo "$(PYTHON) has no pip: install it (Debian: apt-get install python3-pip; else: $(PYTHON) -m ensurepip)"; exit 1; }

.PHONY: help demo test build sbom release setup lint attack bench evaluate generate clean tools
