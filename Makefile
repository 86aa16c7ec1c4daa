# What a person types. Each target is one line of what it calls; the scripts are below .ci/.

.PHONY: help run test fmt lint unit e2e size lighthouse build setup clean

help: ## Show this list.
	@grep -E '^[a-z0-9-]+:.*## ' Makefile | sed 's/:.*## /	/'

run: ## Build and start the shop and its payment provider.
	@sh .ci/run.sh

test: ## Everything: formatting, lints, unit, process and browser tests.
	@sh .ci/test.sh all

fmt: ## Format the code.
	@cargo fmt --all

lint: ## Formatting and lints, native and wasm, no warning allowed.
	@sh .ci/test.sh lint

unit: ## Tests without a browser.
	@sh .ci/test.sh unit

e2e: ## Browser stories only.
	@sh .ci/test.sh e2e

size: ## Weigh each page's first load; fails over the budget of 90 KB.
	@sh .ci/test.sh size

lighthouse: ## Score five pages on a slow phone; fails below 95.
	@sh .ci/test.sh lighthouse

build: ## Build what `make run` starts.
	@sh .ci/setup.sh build && sh .ci/build.sh

setup: ## Install what building and testing need and is missing.
	@sh .ci/setup.sh test

clean: ## Remove everything built, and the demo's data.
	@rm -rf target data end2end/node_modules end2end/lighthouse/node_modules
