#!/bin/sh
# Starts the shop and its payment provider, and stops both together.
set -eu
cd "$(dirname "$0")/.."
. .ci/lib.sh

# Settings that are set outside count before those of the file.
if [ -f .env ]; then
  number=0
  while IFS= read -r line || [ -n "$line" ]; do
    number=$((number + 1))
    # A line that is wrong is not shown: it may hold a secret.
    case $line in '' | \#*) continue ;; [A-Z]*=*) ;; *) die "line $number of .env is no NAME=value" ;; esac
    name=${line%%=*}
    case $name in *[!A-Z0-9_]*) die "line $number of .env is no NAME=value" ;; esac
    eval "[ -n \"\${$name+set}\" ]" || export "$name=${line#*=}"
  done <.env
fi

shop_addr=${PAYONCE_ADDR:-127.0.0.1:3000}
pay_addr=${EXAMPLEPAY_ADDR:-127.0.0.1:4010}
control_addr=${EXAMPLEPAY_CONTROL_ADDR:-127.0.0.1:4011}
stripe_addr=${EXAMPLEPAY_STRIPE_ADDR:-127.0.0.1:4012}
paypal_addr=${EXAMPLEPAY_PAYPAL_ADDR:-127.0.0.1:4013}
partners_addr=${EXAMPLEPAY_PARTNERS_ADDR:-127.0.0.1:4014}
data=${PAYONCE_DATA:-data}

mkdir -p "$data" 2>/dev/null || die "the folder $data cannot be made: set PAYONCE_DATA to a folder that can be written"
if ! : 2>/dev/null >"$data/.probe"; then
  die "the folder $data cannot be written: change its rights, or set PAYONCE_DATA to another folder"
fi
rm -f "$data/.probe"

# Beside real money nothing is simulated: the shop would refuse to start with both.
any_set() { env | grep -Eq "^PAYONCE_($1)(_FILE)?=."; }
key=${PAYONCE_STRIPE_API_KEY:-}
[ -z "${PAYONCE_STRIPE_API_KEY_FILE:-}" ] || key=$key$(cat "$PAYONCE_STRIPE_API_KEY_FILE" 2>/dev/null || true)
real=''
case $key in *_live_*) real=yes ;; esac
case ${PAYONCE_PAYPAL_URL:-} in https://api-m.paypal.com*) ! any_set PAYPAL_CLIENT_ID || real=yes ;; esac

# Told before minutes are spent on building; without curl the programs tell it when they start.
free() {
  code=0
  curl --silent --max-time 2 --output /dev/null "http://$1" 2>/dev/null || code=$?
  case $code in
    0 | 1 | 52 | 56) die "something listens on $1 already: stop it, or set $2 to another address, such as 127.0.0.1:$3" ;;
  esac
}
free "$shop_addr" PAYONCE_ADDR 3100
if [ -z "$real" ]; then
  free "$pay_addr" EXAMPLEPAY_ADDR 4110
  free "$control_addr" EXAMPLEPAY_CONTROL_ADDR 4111
  free "$stripe_addr" EXAMPLEPAY_STRIPE_ADDR 4112
  free "$paypal_addr" EXAMPLEPAY_PAYPAL_ADDR 4113
  free "$partners_addr" EXAMPLEPAY_PARTNERS_ADDR 4114
fi

sh .ci/setup.sh build
sh .ci/build.sh

# Both stop together: by Ctrl-C, by a signal to this script, or when one of them ends.
pay='' shop=''
stop() {
  trap '' INT TERM HUP
  for pid in $shop $pay; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in $shop $pay; do wait "$pid" 2>/dev/null || true; done
  rm -f "$data/.examplepay" "$data/.payonce"
}
trap 'stop; say "Stopped."; exit 0' INT
trap 'stop; say "Stopped."; exit 143' TERM HUP

# A moment that a signal may cut short.
moment() { sleep "$1" & wait $! || true; }

# ended <name> <pid>: tells with what status it ended, and stops the other one.
ended() {
  code=0
  wait "$2" || code=$?
  stop
  die "$1 ended by itself with status $code; nothing is left running. The lines above say why."
}

# until_ready <name> <pid> <file>: a program's first words are that it is ready.
until_ready() {
  until grep -qs "^$1 is ready at" "$3"; do
    kill -0 "$2" 2>/dev/null || ended "$1" "$2"
    moment 0.2
  done
}

say "Starting."
if [ -z "$real" ]; then
  EXAMPLEPAY_ADDR=$pay_addr EXAMPLEPAY_CONTROL_ADDR=$control_addr EXAMPLEPAY_DB=${EXAMPLEPAY_DB:-$data/examplepay.db} \
    EXAMPLEPAY_API_KEY=${EXAMPLEPAY_API_KEY:-sk_test_payonce} EXAMPLEPAY_WEBHOOK_SECRET=${EXAMPLEPAY_WEBHOOK_SECRET:-whsec_payonce} \
    EXAMPLEPAY_ACCOUNT=${EXAMPLEPAY_ACCOUNT:-acct_payonce} \
    EXAMPLEPAY_WEBHOOK_URL=${EXAMPLEPAY_WEBHOOK_URL:-http://$shop_addr/webhooks/examplepay} \
    EXAMPLEPAY_STRIPE_ADDR=$stripe_addr EXAMPLEPAY_PAYPAL_ADDR=$paypal_addr EXAMPLEPAY_PARTNERS_ADDR=$partners_addr \
    EXAMPLEPAY_STRIPE_WEBHOOK_URL=${EXAMPLEPAY_STRIPE_WEBHOOK_URL:-http://$shop_addr/webhooks/stripe} \
    EXAMPLEPAY_PAYPAL_WEBHOOK_URL=${EXAMPLEPAY_PAYPAL_WEBHOOK_URL:-http://$shop_addr/webhooks/paypal} \
    EXAMPLEPAY_WEBHOOK_DELAY_MS=${EXAMPLEPAY_WEBHOOK_DELAY_MS:-15000} RUST_LOG=${RUST_LOG:-warn} \
    target/debug/examplepay >"$data/.examplepay" &
  pay=$!
  until_ready ExamplePay "$pay" "$data/.examplepay"

  export PAYONCE_EXAMPLEPAY_URL=${PAYONCE_EXAMPLEPAY_URL:-http://$pay_addr}
  export PAYONCE_EXAMPLEPAY_API_KEY=${EXAMPLEPAY_API_KEY:-sk_test_payonce}
  export PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET=${EXAMPLEPAY_WEBHOOK_SECRET:-whsec_payonce}
  export PAYONCE_EXAMPLEPAY_ACCOUNT=${EXAMPLEPAY_ACCOUNT:-acct_payonce}
  # Stripe, PayPal and the partners are simulated where nothing of theirs is set. Half of it is left
  # as it is, so that the shop refuses it and says what is missing.
  if ! any_set 'STRIPE_(API_KEY|WEBHOOK_SECRET|PUBLISHABLE_KEY)'; then
    export PAYONCE_STRIPE_URL="http://$stripe_addr" PAYONCE_STRIPE_API_KEY=sk_test_payonce_stripe
    export PAYONCE_STRIPE_WEBHOOK_SECRET=whsec_payonce_stripe
  fi
  if ! any_set 'PAYPAL_(CLIENT_ID|CLIENT_SECRET|WEBHOOK_ID)'; then
    export PAYONCE_PAYPAL_URL="http://$paypal_addr" PAYONCE_PAYPAL_CLIENT_ID=payonce
    export PAYONCE_PAYPAL_CLIENT_SECRET=payonce_secret PAYONCE_PAYPAL_WEBHOOK_ID=WH-PAYONCE
    export PAYONCE_PAYPAL_SIMULATOR_ROOT=server/examplepay/certs/ca.pem
  fi
  if ! any_set 'INVOICING_URL|SHIPPING_URL|PARTNERS_API_KEY'; then
    export PAYONCE_INVOICING_URL="http://$partners_addr" PAYONCE_SHIPPING_URL="http://$partners_addr"
    export PAYONCE_PARTNERS_API_KEY=key_partners
  fi
fi
# A fault lab for others than this machine would be refused.
lab_url="http://$control_addr"
case "${PAYONCE_PUBLIC_URL:-}" in https://*) lab_url='' ;; esac
[ -z "$real" ] || lab_url=''
mail_folder=${PAYONCE_MAIL_FOLDER:-$data/mail}
PAYONCE_ADDR=$shop_addr PAYONCE_DATABASE=${PAYONCE_DATABASE:-$data/payonce.db} \
  PAYONCE_LAB_CONTROL_URL=${PAYONCE_LAB_CONTROL_URL-$lab_url} PAYONCE_MAIL_FOLDER=$mail_folder \
  target/debug/payonce >"$data/.payonce" &
shop=$!
until_ready Payonce "$shop" "$data/.payonce"

say ""
say "The shop:    $(sed -n 's/^Payonce is ready at //p' "$data/.payonce")"
[ -z "${PAYONCE_LAB_CONTROL_URL-$lab_url}" ] || say "Fault lab:   $(sed -n 's/^Payonce is ready at //p' "$data/.payonce")/lab"
[ -n "${PAYONCE_SMTP_URL:-}${PAYONCE_SMTP_URL_FILE:-}" ] || say "Mails:       $mail_folder  (one file each)"
if [ -n "$real" ]; then
  say "The keys that are set take real money: nothing is simulated, and there is no fault lab."
  say "Ctrl-C stops it."
else
  say "ExamplePay:  http://$control_addr  (its ledger and requests)"
  say "Ctrl-C stops both."
fi
runs() { [ -z "$1" ] || kill -0 "$1" 2>/dev/null; }
while runs "$shop" && runs "$pay"; do moment 1; done
if runs "$pay"; then ended "The shop" "$shop"; else ended ExamplePay "$pay"; fi
