// Paying through Stripe's and PayPal's wires, and what a paid order needs besides.

import type { Page } from "@playwright/test";
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
  await page.getByRole("button", { name: "Cancel this order" }).click();
  await expect(shop.panel).toHaveAttribute("data-order-state", "canceled", { timeout: 30_000 });
  await expectAgreement(world, page, checkout, { state: "canceled", charges: 0 }, false);
});

test("a parcel whose answer is lost is being confirmed, and the order stays paid", async ({ page, world }) => {
  await world.tell("faults", { match: { operation: "create_shipment" }, steps: [{ answer: { kind: "drop_before_headers" } }] });
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_visa");
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  await expect(page.locator("[data-partner='parcel']")).toContainText("being confirmed by a person", { timeout: 30_000 });
  await expect(page.locator("[data-partner='invoice']")).toContainText(/INV-/, { timeout: 30_000 });
  await until("one parcel, and no more", async () => {
    const { effects } = await world.ask("partners/ledger");
    return effects.filter((it: any) => it.kind === "shipment").length === 1;
  });
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(/Your order is paid/);
});

/** What stands in for Stripe's script, which cannot be had here: the calls that its documentation names. */
const STRIPE_JS = `
  window.Stripe = (key) => ({
    elements: (options) => {
      window.stripeWas = { key, ...options };
      return {
        create: () => ({ mount: (place) => (place.innerHTML = '<label>Card <input data-card-number></label>') }),
        submit: async () => ({}),
      };
    },
    createConfirmationToken: async ({ params }) => {
      window.stripeWas.returnUrl = params.return_url;
      window.stripeWas.tokens = (window.stripeWas.tokens ?? 0) + 1;
      const card = document.querySelector("[data-card-number]").value;
      return card ? { confirmationToken: { id: "ctoken_" + card } } : { error: { message: "Your card number is incomplete." } };
    },
  });`;

test.describe("Stripe's own card form", () => {
  test.use({ options: { scale: "0.2", provider: {}, shop: { PAYONCE_STRIPE_PUBLISHABLE_KEY: "pk_test_payonce" } } });

  async function stripeScript(page: Page) {
    const asked: string[] = [];
    await page.route("https://js.stripe.com/**", (route) => {
      asked.push(route.request().url());
      return route.fulfill({ contentType: "text/javascript", body: STRIPE_JS });
    });
    return asked;
  }

  test("a card typed into it pays once, and its number never comes near the shop", async ({ page, world }) => {
    const asked = await stripeScript(page);
    const broken: string[] = [];
    page.on("console", (line) => /Content Security Policy|Refused to/i.test(line.text()) && broken.push(line.text()));
    const posts: string[] = [];
    page.on("request", (it) => it.method() === "POST" && posts.push(it.postData() ?? ""));
    for (const path of ["/", "/products/cups", "/cart", "/orders"]) {
      const answer = await page.goto(path);
      expect(answer?.headers()["content-security-policy"], path).not.toContain("stripe");
    }
    expect(asked, "loaded on the checkout page only").toEqual([]);
    const shop = new Shop(page);
    await shop.fill();
    await shop.awake();
    expect(asked).toEqual(["https://js.stripe.com/v3/"]);
    await page.locator("#card-element").check();
    await shop.payButton.click();
    await expect(page.getByRole("alert").filter({ hasText: "incomplete" })).toBeVisible();
    expect(world.rows("select 1 from orders")).toHaveLength(0);
    await page.locator("[data-card-number]").fill("pm_sim_lost_response");
    await shop.payButton.dblclick();
    const checkout = await shop.arrived();
    await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
    expect(world.payments(checkout).map((it) => it.provider)).toEqual(["stripe"]);
    expect(posts.filter((it) => it.includes("payment_token=stripe%3Actoken_pm_sim_lost_response"))).toHaveLength(1);
    expect(broken).toEqual([]);
  });

  test("after a no it is offered on a page of its own", async ({ page, world }) => {
    await stripeScript(page);
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_declined");
    await expectAgreement(world, page, checkout, { state: "rejected", charges: 0 });
    await page.locator("[data-with-stripe]").click();
    await shop.live();
    await page.locator("#card-element").check();
    await page.locator("[data-card-number]").fill("pm_card_visa");
    expect(await page.evaluate(() => (window as any).stripeWas)).toMatchObject({ key: "pk_test_payonce", amount: 2990, currency: "eur", mode: "payment" });
    await shop.payButton.click();
    await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
    expect(world.payments(checkout).map((it) => it.provider)).toEqual(["examplepay", "stripe"]);
  });

  test("where Stripe's script does not come, every other way to pay works", async ({ page, world }) => {
    await page.route("https://js.stripe.com/**", (route) => route.abort());
    const shop = new Shop(page);
    await shop.fill();
    await shop.awake();
    await expect(page.locator("#card-element")).toBeDisabled();
    await shop.choose("tok_visa");
    await shop.payButton.click();
    await expectAgreement(world, page, await shop.arrived(), { state: "succeeded", charges: 1 });
  });
});
