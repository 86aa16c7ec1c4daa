// Paying through Stripe's and PayPal's wires, and what a paid order needs besides.

import { expect, expectAgreement, expectNoControl, test, until } from "./harness.js";
import { Shop } from "./pages/shop.js";

test("Stripe's answer is lost after the charge: the page does not know, and then shows the receipt", async ({ page, world }) => {
  await world.tell("webhooks/mode", { mode: "paused" });
  await world.tell("lookups", { status: 503, for_ms: 60_000 });
  const shop = new Shop(page);
  const checkout = await shop.buy("stripe:pm_sim_lost_response");
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Checking payment status");
  await expectNoControl(page, "pending_confirmation");
  await world.tell("webhooks/mode", { mode: "normal" });
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
  const keys = (await world.sends(checkout)).map((it) => it.key.split(":").at(-1));
  expect(keys).toEqual(["create", "confirm"]);
});

test("Stripe's bank asks, the shopper confirms and comes back", async ({ page, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("stripe:pm_card_threeDSecure2Required");
  await page.locator("[data-action]").click();
  await page.getByRole("button", { name: /approve/i }).click();
  expect(await shop.arrived()).toBe(checkout);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
});

test("a card that Stripe declines, and then PayPal: another attempt with another provider", async ({ page, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("stripe:pm_card_visa_chargeDeclined");
  await expectAgreement(world, page, checkout, { state: "rejected", charges: 0 });
  await shop.choose("paypal:wallet");
  await shop.payButton.click();
  await page.locator("[data-action]").click();
  await expect(page).toHaveURL(/checkoutnow/);
  await page.getByRole("button", { name: /approve/i }).click();
  expect(await shop.arrived()).toBe(checkout);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
  expect(world.payments(checkout).map((it) => it.provider)).toEqual(["stripe", "paypal"]);
});

test("PayPal's capture is lost and the page follows", async ({ page, world }) => {
  await world.tell("faults", { match: { operation: "capture_payment" }, steps: [{ answer: { kind: "drop_before_headers" } }] });
  const shop = new Shop(page);
  const checkout = await shop.buy("paypal:wallet");
  await page.locator("[data-action]").click();
  await page.getByRole("button", { name: /approve/i }).click();
  expect(await shop.arrived()).toBe(checkout);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
});

test("whoever turns back at PayPal has paid nothing and is not asked to pay twice", async ({ page, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("paypal:wallet");
  await page.locator("[data-action]").click();
  await page.getByRole("button", { name: /cancel/i }).click();
  expect(await shop.arrived()).toBe(checkout);
  await expectAgreement(world, page, checkout, { state: "requires_action", charges: 0 });
  await page.getByRole("button", { name: "Give this order up" }).click();
  await expect(shop.panel).toHaveAttribute("data-order-state", "canceled", { timeout: 30_000 });
  await expectAgreement(world, page, checkout, { state: "canceled", charges: 0 }, false);
});

test("a parcel whose answer is lost is being confirmed, and the order stays paid", async ({ page, world }) => {
  await world.tell("faults", { match: { operation: "create_shipment" }, steps: [{ answer: { kind: "drop_before_headers" } }] });
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_visa");
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  await expect(page.locator("[data-partner='Your parcel']")).toContainText("being confirmed by a person", { timeout: 30_000 });
  await expect(page.locator("[data-partner='Invoice']")).toContainText(/INV-/, { timeout: 30_000 });
  await until("one parcel, and no more", async () => {
    const { effects } = await world.ask("partners/ledger");
    return effects.filter((it: any) => it.kind === "shipment").length === 1;
  });
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(/Your order is paid/);
});
