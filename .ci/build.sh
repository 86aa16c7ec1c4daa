#!/bin/sh
# Builds the provider, the shop, its wasm and its style.
set -eu
cd "$(dirname "$0")/.."
. .ci/lib.sh

say "Building (usually 5 minutes the first time, seconds afterwards)."
cargo build -p examplepay || die "the provider could not be built: see the lines above"
cargo leptos build || die "the shop could not be built: see the lines above"
