# Shared by the scripts beside it; plain POSIX sh.

say() { printf '%s\n' "$*"; }
die() { printf 'payonce: %s\n' "$*" >&2; exit 1; }
want() { command -v "$1" >/dev/null 2>&1 || { printf 'payonce: %s is missing: %s\n' "$1" "$2" >&2; missing=1; }; }
need() { command -v "$1" >/dev/null 2>&1 || die "$1 is missing: $2"; }

# The project's own tools stand before those of the machine.
tools=$PWD/target/tools
PATH=$tools/bin:$PWD/end2end/node_modules/.bin:$PATH
export PATH

# Where Chromium is, if it is anywhere.
find_chromium() {
  for it in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable \
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
    "/Applications/Chromium.app/Contents/MacOS/Chromium"; do
    [ -n "$it" ] && command -v "$it" >/dev/null 2>&1 && { command -v "$it"; return 0; }
  done
  return 1
}
