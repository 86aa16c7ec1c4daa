// Every page and every state, at three widths, in both themes: nothing overflows, nothing is
// clipped, and axe finds nothing serious, contrast included.

import { join } from "node:path";
import type { Page } from "@playwright/test";
import Database from "better-sqlite3";
import { expect, test, until, type World } from "./harness.js";
import { inspect } from "./inspect.js";
import { Shop } from "./pages/shop.js";

// axe is put into the page by hand, which the shop's policy rightly forbids to anybody else.
test.use({ bypassCSP: true, options: { scale: "0.2", provider: { EXAMPLEPAY_PROCESSING_MS: "600000" } } });
test.setTimeout(120_000);

/** The narrowest and the widest: what is between them was looked at on the pages these share. */
const ENDS = [320, 1280];

/** Posts a form as a browser does, with these fields and no others. */
async function post(page: Page, path: string, fields: Record<string, string>, kind = "application/x-www-form-urlencoded") {
  const arrived = page.waitForResponse((it) => it.request().method() === "POST" && it.url().endsWith(path));
  await page.evaluate(
    ([path, fields, kind]) => {
      const form = document.createElement("form");
      Object.assign(form, { method: "post", action: path, enctype: kind });
      for (const [name, value] of Object.entries(fields)) {
        const field = document.createElement("input");
        Object.assign(field, { type: "hidden", name, value });
        form.append(field);
      }
      document.body.append(form);
      form.submit();
    },
    [path, fields, kind] as const,
  );
  return (await arrived).status();
}

/** What the payment form on a page says. */
const fieldsOf = (page: Page): Promise<Record<string, string>> =>
  page.evaluate(() => Object.fromEntries(new FormData(document.querySelector<HTMLFormElement>("form[data-pay-form]")!)) as Record<string, string>);

/** An act of the shop's people. */
async function act(world: World, path: string, body: unknown) {
  const headers = { Authorization: `Bearer ${OPERATOR}`, "Content-Type": "application/json" };
  const answer = await fetch(`${world.url}/api/orders/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  expect(answer.ok, await answer.clone().text()).toBe(true);
}
const OPERATOR = "an-operators-token-of-these-tests";

// Russian words are longer; colours are the same.
test.describe("in Russian", () => {
  test.use({ locale: "ru-RU" });

  test("the pages and the states", async ({ page, world }) => {
    const shop = new Shop(page);
    for (const [name, path] of [["catalogue", "/"], ["product", "/products/kettle"], ["empty-cart", "/cart"], ["no-orders", "/orders"], ["not-found", "/nowhere"]] as const) {
      await page.goto(path);
      await inspect(page, `ru-${name}`, [320, 1280]);
    }
    for (const [token, state] of [["tok_processing", "pending_confirmation"], ["tok_3ds", "requires_action"], ["tok_wrong_amount", "requires_review"], ["tok_visa", "succeeded"], ["tok_declined", "rejected"]] as const) {
      const checkout = await shop.buy(token);
      await until(state, () => world.payments(checkout)[0].state === state);
      await page.goto(`/checkout/${checkout}`);
      await expect(shop.panel).toHaveAttribute("data-state", state);
      await inspect(page, `ru-${state}`, [320, 1280]);
    }
    await page.goto("/orders");
    await inspect(page, "ru-orders", [320, 1280]);
    await shop.fill("whisk", 2);
    await inspect(page, "ru-checkout", [320, 1280]);
    await page.goto("/cart");
    await inspect(page, "ru-cart", [320, 1280]);
  });

  test("a refund that is asked for, and what the browser and the shop say of posts without an answer", async ({ page, context, world }) => {
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_visa");
    await until("the payment", () => world.payments(checkout)[0].state === "succeeded");
    await page.goto(`/checkout/${checkout}`);
    await page.locator("#ask-refund summary").click();
    await inspect(page, "ru-refund-form", ENDS);
    await page.locator("[data-ask-refund] button").click();
    await expect(page.locator("[data-refund-request=open]")).toBeVisible();
    await inspect(page, "ru-refund-asked", ENDS);
    await shop.fill();
    await shop.awake();
    await losesEveryAnswer(page);
    await shop.payButton.click();
    await expect(page.locator("[data-pay-unknown]")).toBeVisible();
    await inspect(page, "ru-checking-in-the-browser", ENDS);
    await page.unrouteAll();
    await shop.arrived();
    await shop.fill();
    await shop.awake();
    await context.clearCookies();
    await shop.payButton.click();
    await expect(page.locator("[data-problem]")).toBeVisible();
    await inspect(page, "ru-not-yours", ENDS);
  });
});

test("the pages", async ({ page }) => {
  const shop = new Shop(page);
  for (const [name, path] of [["catalogue", "/"], ["product", "/products/kettle"], ["empty-cart", "/cart"], ["no-orders", "/orders"], ["not-found", "/nowhere"], ["no-order", "/checkout/6f9619ff-8b86-4011-b42d-00cf4fc964ff"]] as const) {
    await page.goto(path);
    await inspect(page, name);
  }
  await shop.fill("kettle", 2);
  await inspect(page, "checkout");
  await page.goto("/cart");
  await inspect(page, "cart");
});

const STATES: [name: string, token: string, state: string, before?: (world: World) => Promise<unknown>][] = [
  ["sending", "tok_visa", "requested", (world) => world.tell("faults", { match: { operation: "create_payment" }, steps: [{ delay_ms: 5500, webhook: { mode: "never" } }] })],
  ["resending", "tok_visa", "retry_scheduled", (world) => world.tell("outage", { mode: "refuse", for_ms: 60_000 })],
  ["checking", "tok_processing", "pending_confirmation"],
  ["confirm", "tok_3ds", "requires_action"],
  ["confirm-paypal", "paypal:wallet", "requires_action"],
  ["review", "tok_wrong_amount", "requires_review"],
  ["paid", "tok_visa", "succeeded"],
  ["declined", "tok_declined", "rejected"],
  ["undone", "tok_visa", "reversed", async (world) => void turnBack(world)],
];

/** The bank takes the money back as soon as there is some. */
async function turnBack(world: World) {
  const id = await until("a charge", async () => (await world.ask("ledger")).effects[0]?.payment as string | undefined);
  await world.tell(`payments/${id}`, { status: "reversed" });
}

for (const [name, token, state, before] of STATES) {
  test(`the status page: ${name}`, async ({ page, world }) => {
    await before?.(world);
    const shop = new Shop(page);
    const checkout = await shop.buy(token);
    await until(state, () => world.payments(checkout)[0].state === state);
    // The state is kept still while it is looked at from all sides.
    await page.route("**/events", (route) => route.abort());
    await page.route("**/status", (route) => route.abort());
    await page.goto(`/checkout/${checkout}`);
    await expect(shop.panel).toHaveAttribute("data-state", state);
    await inspect(page, name);
    if (name === "paid") {
      await page.unroute("**/events");
      await page.goto("/orders");
      await inspect(page, "orders");
    }
  });
}

test.describe("when the time to confirm is over", () => {
  test.use({ options: { scale: "0.02", provider: { EXAMPLEPAY_ACTION_MS: "800", EXAMPLEPAY_PROCESSING_MS: "600000" } } });

  test("the status page: canceled", async ({ page, world }) => {
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_3ds");
    await until("canceled", () => world.payments(checkout)[0].state === "canceled");
    await page.goto(`/checkout/${checkout}`);
    await inspect(page, "canceled");
  });

  test("the status page: unknown until the deadline", async ({ page, world }) => {
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_processing");
    await until("review", () => world.payments(checkout)[0].state === "requires_review", 60_000);
    expect(world.payments(checkout)[0].review_reason).toBe("deadline");
    await page.goto(`/checkout/${checkout}`);
    await inspect(page, "review-deadline");
  });

  test("problems of forms", async ({ page, context }) => {
    const shop = new Shop(page);
    await shop.fill();
    await shop.awake();
    const other = await context.newPage();
    await other.goto("/products/tray");
    await other.getByRole("button", { name: "Put into the cart" }).click();
    await shop.payButton.click();
    await expect(page.getByRole("heading", { name: "Your cart has changed" })).toBeVisible();
    await inspect(page, "cart-changed");
  });
});

test("posts that are not taken: nonsense, another site's, what somebody else has bought", async ({ page, browser, world }) => {
  const shop = new Shop(page);
  await shop.fill("teapot", 2);
  await shop.awake();
  await page.evaluate(() => {
    const form = document.querySelector<HTMLFormElement>("form[data-pay-form]")!;
    form.querySelector<HTMLInputElement>("[name=amount_minor]")!.value = "1.5";
    form.submit();
  });
  await expect(page.getByRole("heading", { name: "We could not read that" })).toBeVisible();
  await inspect(page, "nonsense");
  await page.route("http://elsewhere.test/**", (route) =>
    route.fulfill({ contentType: "text/html", body: `<form method="post" action="${world.url}/cart/lines"><button>Win a kettle</button></form>` }));
  await page.goto("http://elsewhere.test/");
  await page.getByRole("button").click();
  await expect(page.getByRole("heading", { name: "This came from another site" })).toBeVisible();
  await inspect(page, "another-site");
  await page.goto("/checkout");
  await shop.awake();
  const other = new Shop(await (await browser.newContext({ baseURL: world.url })).newPage());
  for (;;) {
    const [{ left }] = world.rows("select on_hand - reserved - sold as left from stock where sku = 'teapot'");
    if (left < 2) break;
    await other.fill("teapot", Math.min(left, 20));
    await other.payButton.click();
    await other.arrived();
  }
  await shop.payButton.click();
  await expect(page.getByRole("heading", { name: "Not enough in stock" })).toBeVisible();
  const [{ left }] = world.rows("select on_hand - reserved - sold as left from stock where sku = 'teapot'");
  await expect(page.locator("main")).toContainText(left === 0 ? "(none left)" : `(${left} left)`);
  await inspect(page, "sold-out");
  expect(world.rows("select 1 from stock where reserved + sold > on_hand")).toHaveLength(0);
});

test("the form that comes back for an address nobody can be written to", async ({ page }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  await page.locator("#email").fill("anna@example");
  await shop.payButton.click();
  await expect(page.getByRole("alert")).toBeFocused();
  await inspect(page, "address-slip");
});

test.describe("with Stripe's own card form", () => {
  test.use({ options: { scale: "0.2", provider: {}, shop: { PAYONCE_STRIPE_PUBLISHABLE_KEY: "pk_test_payonce" } } });

  test("the checkout page", async ({ page }) => {
    const script = "window.Stripe = () => ({ elements: () => ({ create: () => ({ mount: (it) => (it.textContent = 'Card number, expiry, CVC') }) }) });";
    await page.route("https://js.stripe.com/**", (route) => route.fulfill({ contentType: "text/javascript", body: script }));
    const shop = new Shop(page);
    await shop.fill();
    await shop.awake();
    await page.locator("#card-element").check();
    await inspect(page, "checkout-element");
  });
});

test("the status page: given up, being given up, refunded", async ({ page, world }) => {
  const shop = new Shop(page);
  await shop.buy("tok_3ds");
  await page.getByRole("button", { name: "Cancel this order" }).click();
  await expect(shop.panel).toHaveAttribute("data-order-state", "canceled", { timeout: 30_000 });
  await expect(page.locator("[data-pay-control]")).toHaveCount(0);
  await inspect(page, "given-up");
  const checkout = await shop.buy("tok_3ds");
  await expect(shop.panel).toHaveAttribute("data-state", "requires_action");
  // Neither a lookup nor a cancel is answered while it is looked at.
  await world.tell("lookups", { status: 503, for_ms: 60_000 });
  await world.tell("faults", { match: { operation: "cancel_payment" }, steps: [{ execute: false, answer: { kind: "status", status: 503 } }], after_steps: "repeat_last" });
  await world.tell(`payments/${world.payments(checkout)[0].provider_operation_id}`, { status: "succeeded", silent: true });
  await page.getByRole("button", { name: "Cancel this order" }).click();
  await until("the wish to be recorded", () => world.rows("select 1 from orders where checkout_id = ? and state = 'cancel_requested'", checkout)[0]);
  await inspect(page, "giving-up");
  await world.tell("faults/clear", {});
  await world.tell("lookups", {});
  await expect(shop.panel).toHaveAttribute("data-order-state", "refunded", { timeout: 30_000 });
  await inspect(page, "refunded");
});

test("posts that meet another order, are too large, are no forms, or come from somebody unknown", async ({ page, context, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  const fields = await fieldsOf(page);
  await shop.payButton.click();
  const checkout = await shop.arrived();
  await until("the payment", () => world.payments(checkout)[0].state === "succeeded");
  const other = { ...fields, amount_minor: String(Number(fields.amount_minor) + 1) };
  expect(await post(page, `/checkout/${checkout}/pay`, other)).toBe(422);
  await expect(page.getByRole("heading", { name: "You have already ordered from this form" })).toBeVisible();
  await expect(page.getByRole("link", { name: "To the order" })).toHaveAttribute("href", `/checkout/${checkout}`);
  await inspect(page, "conflict", ENDS);
  // The cart of that order is empty now.
  expect(await post(page, "/cart/lines", { sku: "a".repeat(70_000), quantity: "1" })).toBe(413);
  await expect(page.getByRole("heading", { name: "That was too much at once" })).toBeVisible();
  await inspect(page, "too-large", ENDS);
  expect(await post(page, "/cart/lines", { sku: "cups", quantity: "1" }, "text/plain")).toBe(415);
  await expect(page.getByRole("heading", { name: "We could not read that" })).toBeVisible();
  await inspect(page, "not-a-form", ENDS);
  await shop.fill();
  await shop.awake();
  await context.clearCookies();
  await shop.payButton.click();
  await expect(page.getByRole("heading", { name: "We do not recognise this browser" })).toBeVisible();
  await inspect(page, "not-yours", ENDS);
});

test("a page that the shop cannot draw, because its own records are away", async ({ page, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  const database = new Database(join(world["folder"], "shop.db"));
  database.exec("alter table stock rename to stock_away");
  database.close();
  expect((await page.goto("/"))?.status()).toBe(500);
  await expect(page.getByRole("heading", { name: "Something broke on our side" })).toBeVisible();
  await inspect(page, "broken", ENDS);
});

test.describe("when a session may post one payment", () => {
  test.use({ options: { scale: "0.2", provider: {}, shop: { PAYONCE_PAY_RATE_PER_MINUTE: "1" } } });

  test("the second one is asked to wait", async ({ page }) => {
    const shop = new Shop(page);
    await shop.buy("tok_visa");
    await shop.fill();
    await shop.awake();
    await shop.payButton.click();
    await expect(page.getByRole("heading", { name: "Please wait a minute" })).toBeVisible();
    await inspect(page, "too-many", ENDS);
  });
});

/** No answer of the shop reaches the scripts of a page any more. */
async function losesEveryAnswer(page: Page) {
  for (const path of ["**/pay", "**/status", "**/events"]) await page.route(path, (route) => route.abort("connectionreset"));
}

test("the browser's own not knowing: on the checkout, offline there, and on the page of a declined order", async ({ page, context, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  await losesEveryAnswer(page);
  await shop.payButton.click();
  await expect(page.locator("[data-pay-unknown]")).toBeVisible();
  await expect(page.locator("[data-pay-control]")).toHaveCount(0);
  await inspect(page, "checking-in-the-browser", ENDS);
  await context.setOffline(true);
  await expect(page.locator("[data-pay-offline]")).toBeVisible({ timeout: 20_000 });
  await inspect(page, "checking-in-the-browser-offline", ENDS);
  await context.setOffline(false);
  await page.unrouteAll();
  const paid = await shop.arrived();
  await until("the payment", () => world.payments(paid)[0].state === "succeeded");
  const checkout = await shop.buy("tok_declined");
  await expect(shop.panel).toHaveAttribute("data-state", "rejected");
  await losesEveryAnswer(page);
  await page.goto(`/checkout/${checkout}`);
  await shop.live();
  await shop.payButton.click();
  await expect(page.locator("[data-pay-unknown]")).toBeVisible();
  await inspect(page, "checking-in-the-browser-again", ENDS);
});

test("the status page: offline", async ({ page, context, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_processing");
  await until("not knowing", () => world.payments(checkout)[0].state === "pending_confirmation");
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  await shop.live();
  await context.setOffline(true);
  await expect(page.locator("[data-offline]")).toBeVisible();
  await inspect(page, "offline", ENDS);
  await context.setOffline(false);
});

test.describe("when it is not known for longer than somebody waits", () => {
  // Two minutes are 2.4 seconds here.
  test.use({ options: { scale: "0.02", provider: { EXAMPLEPAY_PROCESSING_MS: "600000" } } });

  test("the status page: unknown for long, as its owner and as a stranger see it", async ({ page, browser, world }) => {
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_processing");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Order received, payment not confirmed yet", { timeout: 20_000 });
    // The state is kept still while it is looked at from all sides.
    await page.route("**/events", (route) => route.abort());
    await page.route("**/status", (route) => route.abort());
    await page.goto(`/checkout/${checkout}`);
    await expect(shop.panel).toContainText("Do not pay again");
    await inspect(page, "checking-long", ENDS);
    const elsewhere = await (await browser.newContext({ baseURL: world.url, bypassCSP: true })).newPage();
    await elsewhere.goto(`/checkout/${checkout}`);
    await expect(elsewhere.locator("[data-panel]")).toContainText("shown only in the browser that ordered it");
    await inspect(elsewhere, "stranger-checking", ENDS);
    await elsewhere.context().close();
  });
});

test.describe("money that goes back", () => {
  test.use({ options: { scale: "0.2", provider: {}, shop: { PAYONCE_OPERATOR_TOKEN: OPERATOR } } });

  test("the status page: a refund that is owed and not confirmed", async ({ page, world }) => {
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_3ds");
    await expect(shop.panel).toHaveAttribute("data-state", "requires_action");
    // Nothing that is asked or sent is answered any more; only news come.
    await world.tell("lookups", { status: 503, for_ms: 60_000 });
    for (const operation of ["cancel_payment", "create_refund"]) {
      await world.tell("faults", { match: { operation }, steps: [{ execute: false, answer: { kind: "status", status: 503 } }], after_steps: "repeat_last" });
    }
    await page.getByRole("button", { name: "Cancel this order" }).click();
    await until("the wish to be recorded", () => world.rows("select 1 from orders where checkout_id = ? and state = 'cancel_requested'", checkout)[0]);
    await world.tell(`payments/${world.payments(checkout)[0].provider_operation_id}`, { status: "succeeded" });
    await expect(shop.panel).toHaveAttribute("data-order-state", "refund_due", { timeout: 30_000 });
    await expect(shop.panel.locator(".refunds li")).toHaveAttribute("data-state", "pending_confirmation", { timeout: 30_000 });
    await expect(page.locator("[data-pay-control]")).toHaveCount(0);
    await inspect(page, "refund-due", ENDS);
    await page.goto("/orders");
    await expect(page.locator(".order-row")).toHaveAttribute("data-order-state", "refund_due");
    await inspect(page, "orders-refund-due", ENDS);
  });

  test("the status page: a refund that is owed and refused", async ({ page, world }) => {
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_3ds");
    await expect(shop.panel).toHaveAttribute("data-state", "requires_action");
    await world.tell("lookups", { status: 503, for_ms: 60_000 });
    await world.tell("faults", { match: { operation: "cancel_payment" }, steps: [{ execute: false, answer: { kind: "status", status: 503 } }], after_steps: "repeat_last" });
    const refused = { kind: "status", status: 422, body: JSON.stringify({ error: { type: "payment_not_refundable", message: "so it says" } }) };
    await world.tell("faults", { match: { operation: "create_refund" }, steps: [{ execute: false, answer: refused }], after_steps: "repeat_last" });
    await page.getByRole("button", { name: "Cancel this order" }).click();
    await until("the wish to be recorded", () => world.rows("select 1 from orders where checkout_id = ? and state = 'cancel_requested'", checkout)[0]);
    await world.tell(`payments/${world.payments(checkout)[0].provider_operation_id}`, { status: "succeeded" });
    await expect(shop.panel.locator(".refunds li")).toHaveAttribute("data-state", "rejected", { timeout: 30_000 });
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Your money has to go back to you");
    await inspect(page, "refund-held-up", ENDS);
  });

  test("the status page: a refund is asked for, part of the money went back, a person says no; and what a stranger sees", async ({ page, browser, world }) => {
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_visa");
    await expect(shop.panel).toHaveAttribute("data-state", "succeeded");
    const [{ reference }] = world.rows("select reference from orders where checkout_id = ?", checkout);
    await page.goto(`/checkout/${checkout}`);
    await page.locator("#ask-refund summary").click();
    await inspect(page, "refund-form", ENDS);
    await page.getByRole("button", { name: "Send this request" }).click();
    await expect(page.locator("[data-refund-request=open]")).toBeVisible();
    await inspect(page, "refund-asked", ENDS);
    await act(world, `${reference}/refunds`, { refund_request_id: crypto.randomUUID(), amount_minor: 1000, currency: "EUR", reason: "asked for" });
    await until("part of it to be back", () => world.rows("select 1 from orders where checkout_id = ? and state = 'partially_refunded'", checkout)[0]);
    await page.goto(`/checkout/${checkout}`);
    await expect(shop.panel).toHaveAttribute("data-order-state", "partially_refunded");
    await expect(page.locator(".left-paid")).toContainText("€19.90");
    await inspect(page, "partly-refunded", ENDS);
    await page.locator("#ask-refund summary").click();
    await page.getByRole("button", { name: "Send this request" }).click();
    await expect(page.locator("[data-refund-request=open]")).toBeVisible();
    await act(world, `${reference}/refund-request/decline`, { reason: "not_as_it_was" });
    await page.goto(`/checkout/${checkout}`);
    await expect(page.locator("[data-refund-request=declined]")).toBeVisible();
    await inspect(page, "refund-declined", ENDS);
    await page.goto(`/checkout/${checkout}?note=no-refund`);
    await expect(page.locator("[data-notice]")).toBeVisible();
    await inspect(page, "notice", ENDS);
    const elsewhere = await (await browser.newContext({ baseURL: world.url, bypassCSP: true })).newPage();
    await elsewhere.goto(`/checkout/${checkout}`);
    await expect(elsewhere.locator("[data-panel]")).toContainText("shown only in the browser that ordered it");
    await inspect(elsewhere, "stranger-paid", ENDS);
    await elsewhere.context().close();
  });
});

test("no page breaks its own content policy, and its nonce is fresh", async ({ browser, world }) => {
  const context = await browser.newContext({ baseURL: world.url, bypassCSP: false });
  const page = await context.newPage();
  const broken: string[] = [];
  page.on("console", (line) => {
    if (/Content Security Policy|Refused to/i.test(line.text())) broken.push(line.text());
  });
  page.on("pageerror", (reason) => broken.push(String(reason)));
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_visa");
  await expect(shop.panel).toHaveAttribute("data-state", "succeeded");
  for (const path of ["/", "/products/cups", "/cart", "/orders", `/checkout/${checkout}`]) await page.goto(path);
  expect(broken).toEqual([]);
  const nonces = await Promise.all([0, 1].map(async () => (await fetch(world.url)).headers.get("content-security-policy")?.match(/nonce-[^']+/)?.[0]));
  expect(nonces[0]).toBeTruthy();
  expect(nonces[0]).not.toBe(nonces[1]);
  await context.close();
});
