// The providers' official libraries, unmodified, against the simulator's doors: what our adapters
// meet there is the wire that the providers' own clients speak.

import paypal from "@paypal/checkout-server-sdk";
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

test("PayPal's own library creates an order, captures what was approved, refunds and reads it", async ({ page, world }) => {
  const environment = new paypal.core.PayPalEnvironment("payonce", "payonce_secret", world.paypal, world.paypal);
  const client = new paypal.core.PayPalHttpClient(environment);
  const ask = async (request: any, body?: unknown, id?: string) => {
    request.headers["Prefer"] = "return=representation";
    if (id) request.headers["PayPal-Request-Id"] = id;
    if (body) request.requestBody(body);
    return (await client.execute(request)).result;
  };
  const amount = { currency_code: "EUR", value: "29.90" };
  const made = await ask(
    new paypal.orders.OrdersCreateRequest(),
    { intent: "CAPTURE", purchase_units: [{ custom_id: "R-1", amount }], application_context: { return_url: "http://127.0.0.1/", cancel_url: "http://127.0.0.1/" } },
    "sdk-create",
  );
  expect(made).toMatchObject({ status: "CREATED", purchase_units: [{ custom_id: "R-1" }] });
  const early = ask(new paypal.orders.OrdersCaptureRequest(made.id), {}, "sdk-early");
  await expect(early).rejects.toMatchObject({ statusCode: 422 });
  await page.goto(made.links.find((it: any) => it.rel === "approve").href);
  await page.route("http://127.0.0.1/**", (route) => route.fulfill({ body: "back" }));
  await page.getByRole("button", { name: /approve/i }).click();
  await expect.poll(async () => (await ask(new paypal.orders.OrdersGetRequest(made.id))).status).toBe("APPROVED");
  const paid = await ask(new paypal.orders.OrdersCaptureRequest(made.id), {}, "sdk-capture");
  const again = await ask(new paypal.orders.OrdersCaptureRequest(made.id), {}, "sdk-capture");
  const [capture] = paid.purchase_units[0].payments.captures;
  expect(capture).toMatchObject({ status: "COMPLETED", amount });
  expect(again.purchase_units[0].payments.captures).toHaveLength(1);
  const refund = await ask(new paypal.payments.CapturesRefundRequest(capture.id), { amount: { currency_code: "EUR", value: "10.00" }, custom_id: "R-1-C1" }, "sdk-refund");
  expect(refund.status).toBe("COMPLETED");
  expect((await ask(new paypal.payments.RefundsGetRequest(refund.id))).status).toBe("COMPLETED");
  const { effects } = await world.ask("ledger?reference_prefix=R-1");
  expect(effects.map((it: any) => it.amount_minor)).toEqual([2990, -1000]);
});
