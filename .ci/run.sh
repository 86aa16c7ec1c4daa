#!/bin/sh
# Starts the shop and its payment provider, and stops both together.
set -eu
cd "$(dirname "$0")/.."
. .ci/lib.sh

shop_addr=${PAYONCE_ADDR:-127.0.0.1:3000}
pay_addr=${EXAMPLEPAY_ADDR:-127.0.0.1:4010}
control_addr=${EXAMPLEPAY_CONTROL_ADDR:-127.0.0.1:4011}
data=${PAYONCE_DATA:-data}

mkdir -p "$data" 2>/dev/null || die "the folder $data cannot be made: set PAYONCE_DATA to a folder that can be written"
if ! : 2>/dev/null >"$data/.probe"; then
  die "the folder $data cannot be written: change its rights, or set PAYONCE_DATA to another folder"
fi
rm -f "$data/.probe"

sh .ci/setup.sh build
sh .ci/build.sh

say "Starting."
EXAMPLEPAY_ADDR=$pay_addr EXAMPLEPAY_CONTROL_ADDR=$control_addr EXAMPLEPAY_DB=${EXAMPLEPAY_DB:-$data/examplepay.db} \
  EXAMPLEPAY_API_KEY=${EXAMPLEPAY_API_KEY:-sk_test_payonce} EXAMPLEPAY_WEBHOOK_SECRET=${EXAMPLEPAY_WEBHOOK_SECRET:-whsec_payonce} \
  EXAMPLEPAY_WEBHOOK_URL=${EXAMPLEPAY_WEBHOOK_URL:-http://$shop_addr/webhooks/examplepay} \
  EXAMPLEPAY_WEBHOOK_DELAY_MS=${EXAMPLEPAY_WEBHOOK_DELAY_MS:-15000} RUST_LOG=${RUST_LOG:-warn} \
  target/debug/examplepay &
pay=$!
PAYONCE_ADDR=$shop_addr PAYONCE_DATABASE=${PAYONCE_DATABASE:-$data/payonce.db} \
  PAYONCE_EXAMPLEPAY_URL=${PAYONCE_EXAMPLEPAY_URL:-http://$pay_addr} \
  PAYONCE_EXAMPLEPAY_API_KEY=${EXAMPLEPAY_API_KEY:-sk_test_payonce} \
  PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET=${EXAMPLEPAY_WEBHOOK_SECRET:-whsec_payonce} \
  target/debug/payonce &
shop=$!

# Both stop together: by Ctrl-C, by a signal to this script, or when one of them ends.
stop() {
  trap '' INT TERM HUP
  kill -TERM "$shop" "$pay" 2>/dev/null || true
  wait "$shop" 2>/dev/null || true
  wait "$pay" 2>/dev/null || true
}
trap 'stop; say "Stopped."; exit 0' INT
trap 'stop; say "Stopped."; exit 143' TERM HUP

say "The shop:     http://$shop_addr"
say "ExamplePay:   http://$control_addr  (its ledger and requests)"
say "Ctrl-C stops both."
while kill -0 "$shop" 2>/dev/null && kill -0 "$pay" 2>/dev/null; do
  sleep 1 &
  wait $! || true
done
if kill -0 "$pay" 2>/dev/null; then gone="The shop" pid=$shop; else gone="ExamplePay" pid=$pay; fi
code=0
wait "$pid" || code=$?
stop
die "$gone ended by itself with status $code; the other one was stopped. Its last lines above say why."
