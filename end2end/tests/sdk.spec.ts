// Stripe's official library, unmodified, against the simulator's door: what our adapter meets there
// is the wire that Stripe's own clients speak.

import Stripe from "stripe";
import { expect, test } from "./harness.js";

test("Stripe's own library creates, confirms, is declined, refunds and reads what it made", async ({ world }) => {
  const { hostname, port } = new URL(world.stripe);
  const stripe = new Stripe("sk_test_payonce_stripe", { host: hostname, port, protocol: "http", maxNetworkRetries: 0 });
  const made = await stripe.paymentIntents.create(
    { amount: 2990, currency: "eur", metadata: { reference: "R-1" } },
    { idempotencyKey: "sdk:create" },
  );
  expect(made).toMatchObject({ object: "payment_intent", status: "requires_payment_method", amount: 2990, livemode: false });
  const again = await stripe.paymentIntents.create(
    { amount: 2990, currency: "eur", metadata: { reference: "R-1" } },
    { idempotencyKey: "sdk:create" },
  );
  expect(again.id).toBe(made.id);
  const confirm = { payment_method: "pm_card_visa", return_url: "http://127.0.0.1/" };
  const paid = await stripe.paymentIntents.confirm(made.id, confirm, { idempotencyKey: "sdk:confirm" });
  expect(paid).toMatchObject({ status: "succeeded", amount_received: 2990 });
  expect((await stripe.paymentIntents.retrieve(made.id)).status).toBe("succeeded");
  const declined = stripe.paymentIntents.create({ amount: 500, currency: "eur", confirm: true, payment_method: "pm_card_visa_chargeDeclined" });
  await expect(declined).rejects.toMatchObject({ type: "StripeCardError", code: "card_declined", payment_intent: { status: "requires_payment_method" } });
  const other = stripe.paymentIntents.create({ amount: 1, currency: "eur" }, { idempotencyKey: "sdk:create" });
  await expect(other).rejects.toMatchObject({ type: "StripeIdempotencyError" });
  const refund = await stripe.refunds.create({ payment_intent: made.id, amount: 1000, metadata: { reference: "R-1-C1" } }, { idempotencyKey: "sdk:refund" });
  expect(refund).toMatchObject({ object: "refund", status: "succeeded", amount: 1000 });
  const refunds = await stripe.refunds.list({ payment_intent: made.id });
  expect(refunds.data.map((it) => it.id)).toEqual([refund.id]);
  const listed: string[] = [];
  for await (const intent of stripe.paymentIntents.list({ limit: 1 })) listed.push(intent.id);
  expect(listed).toContain(made.id);
  const { effects } = await world.ask("ledger?reference_prefix=R-1");
  expect(effects.map((it: any) => it.amount_minor)).toEqual([2990, -1000]);
});
