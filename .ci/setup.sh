#!/bin/sh
# Installs what is missing to build (`setup.sh build`) and to test (`setup.sh test`).
# Takes seconds when nothing is missing; a call that was interrupted is repaired by the next one.
set -eu
cd "$(dirname "$0")/.."
. .ci/lib.sh

missing=0
want rustup "install it from https://rustup.rs and open a new shell"
want cargo "install Rust with rustup: rustup toolchain install stable"
want cc "install a C compiler: 'apt install build-essential' on Debian, 'xcode-select --install' on macOS"
want git "install git"
if [ "${1:-build}" = test ]; then
  want node "install Node.js 20 or newer, from https://nodejs.org or your system's packages"
  want npm "it comes with Node.js"
fi
[ $missing = 0 ] || exit 1

# The set-up of a toolchain is told by rustup itself, whatever its version of the list.
if ! rustup target list --installed 2>/dev/null | grep -q '^wasm32-unknown-unknown$'; then
  say "Adding the wasm target to Rust (usually seconds)."
  rustup target add wasm32-unknown-unknown || die "the wasm target could not be added: see the lines above"
fi
for component in rustfmt clippy; do
  rustup component list --installed 2>/dev/null | grep -q "^$component" ||
    rustup component add "$component" || die "$component could not be added to Rust: see the lines above"
done

# install <crate> <version> <program> <usual time> [options of cargo install]
install() {
  crate=$1 version=$2 program=$3 time=$4
  shift 4
  case "$("$program" --version 2>/dev/null)" in *" $version") return 0 ;; esac
  if cargo binstall -V >/dev/null 2>&1; then
    say "Installing $crate $version with cargo binstall (usually seconds)."
    cargo binstall --no-confirm --root "$tools" "$crate@$version" && return 0
  fi
  say "Installing $crate $version from source into target/tools (usually $time)."
  CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    CARGO_TARGET_DIR="$PWD/target/tools-build" \
    cargo install --root "$tools" "$crate" --version "$version" "$@" || die "$crate could not be installed: see the lines above"
}

bindgen=$(sed -n '/^name = "wasm-bindgen"$/{n;s/version = "\(.*\)"/\1/p;}' Cargo.lock)
[ -n "$bindgen" ] || die "Cargo.lock names no wasm-bindgen: restore it with 'git checkout Cargo.lock'"
install wasm-bindgen-cli "$bindgen" wasm-bindgen "3 minutes"
install cargo-leptos 0.3.10 cargo-leptos "6 minutes" --locked --features no_downloads

[ "${1:-build}" = test ] || exit 0

node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' ||
  die "Node.js $(node --version) is too old: version 20 or newer is needed"
# npm writes its own list last, so it is there only after a whole installation; the database
# reader is built for one version of Node, so it is tried.
packages_work() {
  [ -f end2end/node_modules/.package-lock.json ] &&
    [ ! end2end/package-lock.json -nt end2end/node_modules/.package-lock.json ] &&
    (cd end2end && node -e 'new (require("better-sqlite3"))(":memory:")') 2>/dev/null
}
if ! packages_work; then
  say "Installing the browser tests' packages with npm (usually a minute)."
  (cd end2end && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --no-audit --no-fund --loglevel=error) || die "npm could not install the packages: see the lines above"
  touch end2end/node_modules/.package-lock.json
fi
if ! find_chromium >/dev/null; then
  command -v apt-get >/dev/null 2>&1 || die "no Chromium or Chrome was found: install one, or set CHROMIUM to its path"
  sudo=
  if [ "$(id -u)" != 0 ]; then
    need sudo "install Chromium by hand: apt install chromium"
    sudo=sudo
  fi
  say "Installing Chromium with apt (usually a minute)."
  log=$(mktemp)
  { $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium >"$log" 2>&1 ||
    { $sudo apt-get update >"$log" 2>&1 && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium >"$log" 2>&1; }; } ||
    { tail -n 5 "$log" >&2; die "Chromium could not be installed: install it by hand, or set CHROMIUM to its path"; }
  rm -f "$log"
fi
