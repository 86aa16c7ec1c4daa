#!/bin/sh
# The tests: `test.sh all`, or one part of them: lint, unit, e2e, size; and `lighthouse`, which is
# apart: its scores are those of the machine too.
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
  heading "Tests without a browser" "10 minutes"
  cargo test -p domain -p payments -p examplepay -p server
  cargo test -p app --features ssr
}

e2e() {
  sh .ci/build.sh
  heading "Browser stories" "8 minutes"
  CHROMIUM=$(find_chromium) || die "no Chromium was found: run 'make setup'"
  export CHROMIUM
  (cd end2end && npx playwright test)
}

size() {
  heading "Building what browsers get, as small as it becomes" "3 minutes the first time"
  sh .ci/light.sh
  heading "The weight of each page's first load" "seconds"
  CHROMIUM=$(find_chromium) || die "no Chromium was found: run 'make setup'"
  export CHROMIUM
  node end2end/measure/size.mjs
}

lighthouse() {
  if [ ! -f end2end/lighthouse/node_modules/.package-lock.json ] ||
    [ end2end/lighthouse/package-lock.json -nt end2end/lighthouse/node_modules/.package-lock.json ]; then
    say "Installing Lighthouse with npm (usually a minute)."
    (cd end2end/lighthouse && npm ci --no-audit --no-fund --loglevel=error) || die "npm could not install Lighthouse: see the lines above"
    touch end2end/lighthouse/node_modules/.package-lock.json
  fi
  sh .ci/light.sh
  heading "Lighthouse" "4 minutes"
  CHROME_PATH=$(find_chromium) || die "no Chromium was found: run 'make setup'"
  export CHROME_PATH
  node end2end/lighthouse/lighthouse.mjs
}

case $part in
  lint) sh .ci/setup.sh build; lint ;;
  unit) sh .ci/setup.sh build; unit ;;
  e2e) sh .ci/setup.sh test; e2e ;;
  size) sh .ci/setup.sh test; size ;;
  lighthouse) sh .ci/setup.sh test; lighthouse ;;
  all) sh .ci/setup.sh test; lint; unit; e2e; size; printf '\nEverything passed.\n' ;;
  *) die "usage: test.sh all|lint|unit|e2e|size|lighthouse" ;;
esac
