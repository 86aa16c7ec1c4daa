#!/bin/sh
# The tests: `test.sh all`, or one part of them: lint, unit, e2e.
set -eu
cd "$(dirname "$0")/.."
. .ci/lib.sh

part=${1:-all}
heading() { printf '\n== %s (usually %s)\n' "$1" "$2"; }

lint() {
  heading "Formatting" "seconds"
  cargo fmt --all --check || die "run 'make fmt'"
  heading "Lints, native" "4 minutes the first time"
  cargo clippy -p domain -p payments -p examplepay -p server --all-targets -- -D warnings
  cargo clippy -p app --features ssr --all-targets -- -D warnings
  heading "Lints, wasm" "1 minute the first time"
  cargo clippy -p frontend --target wasm32-unknown-unknown --target-dir target/front --profile wasm-dev -- -D warnings
}

unit() {
  heading "Building the programs" "3 minutes the first time"
  cargo build -p examplepay
  cargo build -p server
  heading "Tests without a browser" "4 minutes"
  cargo test -p domain -p payments -p examplepay -p server
  cargo test -p app --features ssr
}

e2e() {
  sh .ci/build.sh
  heading "Browser stories" "2 minutes"
  CHROMIUM=$(find_chromium) || die "no Chromium was found: run 'make setup'"
  export CHROMIUM
  (cd end2end && npx playwright test)
}

case $part in
  lint) sh .ci/setup.sh build; lint ;;
  unit) sh .ci/setup.sh build; unit ;;
  e2e) sh .ci/setup.sh test; e2e ;;
  all) sh .ci/setup.sh test; lint; unit; e2e; printf '\nEverything passed.\n' ;;
  *) die "usage: test.sh all|lint|unit|e2e" ;;
esac
