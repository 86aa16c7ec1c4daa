// The browser's own uncertainty: killed tabs, cleared cookies, other devices, sleep, and whatever
// stands between a page and the shop and sends things twice.

import { expect, expectAgreement, expectNoControl, test, until } from "./harness.js";
import { Shop } from "./pages/shop.js";

const posted = "**/pay";

test("a tab that is killed while its payment is on the way leads to the same order when it is opened again", async ({ page, context, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  const checkout = await shop.checkoutInForm();
  const arrived = new Promise<void>((done) =>
    page.route(posted, async (route) => {
      await route.fetch({ maxRedirects: 0 });
      done();
      // The answer waits for a page that will not be there.
    }));
  await shop.payButton.click();
  await arrived;
  await page.close();
  const again = new Shop(await context.newPage());
  await again.page.goto("/checkout");
  // The cart was ordered, so there is nothing to pay with; the order is under "My orders".
  await expect(again.page.locator("[data-pay-control]")).toHaveCount(0);
  await again.page.goto("/orders");
  await again.page.locator(".order-row a").click();
  expect(await again.arrived()).toBe(checkout);
  await expectAgreement(world, again.page, checkout, { state: "succeeded", charges: 1 });
});

test("a tab that is killed before its payment left keeps the id of its cart", async ({ page, context, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  const checkout = await shop.checkoutInForm();
  // Not by holding the request: a page that closes may let go of what is held, and it arrives.
  world.proxy.cut(false);
  await shop.payButton.click();
  await expect(page.locator("[data-pay-unknown]")).toBeVisible();
  await page.close();
  world.proxy.letIn();
  expect(world.rows("select count(*) as n from orders")[0].n).toBe(0);
  const again = new Shop(await context.newPage());
  await again.page.goto("/checkout");
  await again.awake();
  expect(await again.checkoutInForm()).toBe(checkout);
  await again.payButton.click();
  expect(await again.arrived()).toBe(checkout);
  await expectAgreement(world, again.page, checkout, { state: "succeeded", charges: 1 });
});

test("with cookies cleared the link still shows where it stands, and nothing personal", async ({ page, context, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_processing");
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  await context.clearCookies();
  await page.goto(`/checkout/${checkout}`);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  await expect(page.locator("main")).not.toContainText(/Two cups|29\.90|Receipt/);
});

test("cookies that are cleared while the form is open charge nothing, and the page says what to do", async ({ page, context, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  await context.clearCookies();
  await shop.payButton.click();
  await expect(page.getByRole("heading", { name: "We do not recognise this browser" })).toBeVisible();
  await expect(page.locator("main")).toContainText("nothing was charged");
  expect(world.rows("select count(*) as n from orders")[0].n).toBe(0);
  expect((await world.ask("ledger")).effects).toHaveLength(0);
});

test("two devices of one shopper pay one cart once", async ({ page, context, browser, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  // The other device has the session, and nothing of this one's storage.
  const device = await browser.newContext({ baseURL: world.url });
  await world.watch(device);
  await device.addCookies(await context.cookies());
  const other = new Shop(await device.newPage());
  await other.page.goto("/checkout");
  await other.awake();
  expect(await other.checkoutInForm()).not.toBe(await shop.checkoutInForm());
  await Promise.all([shop.payButton.click(), other.payButton.click()]);
  const checkout = await shop.arrived();
  expect(await other.arrived(), "the first id of a cart wins").toBe(checkout);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  await expectAgreement(world, other.page, checkout, { state: "succeeded", charges: 1 });
  await device.close();
});

test("a proxy or a service worker that sends a post again makes no second payment", async ({ page, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  let answers: number[] = [];
  await page.route(posted, async (route) => {
    const copies = await Promise.all([0, 1, 2].map(() => route.fetch({ maxRedirects: 0 })));
    answers = copies.map((it) => it.status());
    await route.fulfill({ response: copies[2]! });
  });
  await shop.payButton.click();
  const checkout = await shop.arrived();
  expect(answers).toEqual([202, 202, 202]);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  expect(await world.sends(checkout)).toHaveLength(1);
});

test("a browser that keeps nothing still pays once", async ({ page, world }) => {
  await page.addInitScript(() => Object.defineProperty(window, "localStorage", { get: () => { throw new DOMException("denied", "SecurityError"); } }));
  const shop = new Shop(page);
  await shop.fill();
  const checkout = await shop.checkoutInForm();
  await shop.payButton.dblclick();
  expect(await shop.arrived()).toBe(checkout);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
});

test("a page that slept shows what is true when it wakes", async ({ page, context, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_processing");
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  await shop.live();
  const wire = await context.newCDPSession(page);
  await wire.send("Page.setWebLifecycleState", { state: "frozen" });
  await until("the payment", () => world.payments(checkout)[0].state === "succeeded");
  // A device that sleeps loses its connections without being told.
  world.proxy.cut();
  await wire.send("Page.setWebLifecycleState", { state: "active" });
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
});

test("an amount that was changed elsewhere is never charged in silence, also without JavaScript", async ({ browser, world }) => {
  const context = await browser.newContext({ baseURL: world.url, javaScriptEnabled: false });
  const shop = new Shop(await context.newPage());
  await shop.fill();
  const other = await context.newPage();
  await other.goto("/cart");
  await other.locator("input[name=quantity]").first().fill("3");
  await other.locator(".quantity button").click();
  await shop.payButton.click();
  await expect(shop.page.getByRole("heading", { name: "Your cart has changed" })).toBeVisible();
  expect((await world.ask("ledger")).effects).toHaveLength(0);
  // Looked at again, the new amount is what is paid.
  await shop.page.goto("/checkout");
  await expect(shop.payButton).toHaveText(/89\.70/);
  await shop.payButton.click();
  const checkout = await shop.arrived();
  await until("the payment", () => world.payments(checkout)[0].state === "succeeded");
  const { effects } = await world.ask("ledger");
  expect(effects.filter((it: any) => it.kind === "charge").map((it: any) => it.amount_minor)).toEqual([8970]);
  await context.close();
});

test("a shop that answers with errors for a while is asked about the same order, and nothing is paid twice", async ({ page, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  const checkout = await shop.checkoutInForm();
  let refused = 0;
  // A proxy in front of the shop is restarting: the first post never reaches it.
  await page.route(posted, (route) => (refused++ < 2 ? route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad gateway</h1>" }) : route.continue()));
  await shop.payButton.click();
  await expectNoControl(page, "unknown");
  expect(await shop.arrived()).toBe(checkout);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
});
