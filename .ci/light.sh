#!/bin/sh
# Builds what browsers get in production, as small as it becomes and compressed: `target/light`.
# The programs beside it are those that `make run` starts.
set -eu
cd "$(dirname "$0")/.."
. .ci/lib.sh

light=$PWD/target/light
mkdir -p "$light"
cargo build -p examplepay || die "the provider could not be built: see the lines above"
cargo build -p server || die "the shop could not be built: see the lines above"
# The list of hashed names stands beside the program that reads it.
LEPTOS_SITE_ROOT=target/light/site LEPTOS_HASH_FILE_NAME=$light/hash.txt \
  cargo leptos build --release --precompress --frontend-only || die "the wasm could not be built: see the lines above"
ln -f target/debug/payonce "$light/payonce" 2>/dev/null || cp -f target/debug/payonce "$light/payonce"
