// Reload, back, other tabs, links, and the browser's memory of pages.

import { expect, expectAgreement, expectNoControl, test, until } from "./harness.js";
import { Shop } from "./pages/shop.js";

test("reload and a second tab show the same unknown payment, and neither pays again", async ({ page, context, world }) => {
  await world.tell("webhooks/mode", { mode: "off" });
  await world.tell("lookups", { status: 503, for_ms: 5_000 });
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_lost_response");
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  await page.reload();
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  await expectNoControl(page, "pending_confirmation");
  const other = await context.newPage();
  await other.goto(`/checkout/${checkout}`);
  await expect(other.locator("[data-panel]")).toHaveAttribute("data-state", "pending_confirmation");
  await expectNoControl(other, "pending_confirmation");
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  await expectAgreement(world, other, checkout, { state: "succeeded", charges: 1 });
});

test("back after paying offers no second payment", async ({ page, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_processing");
  await page.goBack();
  // The form of a cart that is ordered leads to its order, or is gone with the cart.
  await expect(page.locator("[data-pay-control]")).toHaveCount(0);
  await page.goto(`/checkout/${checkout}`);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
});

test("the browser's memory of a status page is brought up to date", async ({ page, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_processing");
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  await page.evaluate(() => ((window as any).marked = true));
  await page.goto("/orders");
  await expect.poll(() => world.payments(checkout)[0].state, { timeout: 30_000 }).toBe("succeeded");
  // A page out of the browser's memory fires no load event to wait for.
  await page.evaluate(() => history.back());
  await page.waitForURL(`**/checkout/${checkout}`, { waitUntil: "commit" });
  expect(await page.evaluate(() => (window as any).marked), "the very page that was left").toBe(true);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
});

test("closed and opened again by its link, the page shows where it stands", async ({ page, context, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_processing");
  await page.close();
  const again = await context.newPage();
  await again.goto(`/checkout/${checkout}`);
  await expectAgreement(world, again, checkout, { state: "succeeded", charges: 1 });
  await expect(again.getByRole("heading", { name: "Receipt" })).toBeVisible();
});

test("another person with the link sees state and reference, and nothing personal", async ({ page, browser, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_visa");
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  const elsewhere = await browser.newContext({ baseURL: world.url });
  await world.watch(elsewhere);
  const stranger = await elsewhere.newPage();
  await stranger.goto(`/checkout/${checkout}`);
  await expectAgreement(world, stranger, checkout, { state: "succeeded", charges: 1 });
  await expect(stranger.locator("main")).not.toContainText(/Two cups|29\.90|Receipt/);
  const told = await (await elsewhere.request.get(`/checkout/${checkout}/status`)).text();
  expect(told).not.toMatch(/Two cups|29\.90|Receipt/);
  await elsewhere.close();
});

test("another person is not asked to pay an order that was declined", async ({ page, browser, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_declined");
  await expectAgreement(world, page, checkout, { state: "rejected", charges: 0 });
  const elsewhere = await browser.newContext({ baseURL: world.url });
  await world.watch(elsewhere);
  const stranger = await elsewhere.newPage();
  await stranger.goto(`/checkout/${checkout}`);
  await expect(stranger.locator("[data-panel]")).toHaveAttribute("data-state", "rejected");
  await expect(stranger.locator("[data-panel] form")).toHaveCount(0);
  await expect(stranger.locator("main")).not.toContainText(/Two cups|29\.90|another card/);
  await elsewhere.close();
});

test("my orders and the cart count follow", async ({ page, world }) => {
  const shop = new Shop(page);
  await shop.fill("sencha", 3);
  await expect(page.locator("[data-cart-count]")).toHaveText("3");
  await shop.awake();
  await shop.payButton.click();
  const checkout = await shop.arrived();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 4350 });
  await page.goto("/orders");
  await expect(page.locator("[data-cart-count]")).toHaveText("0");
  await expect(page.locator(".order-row")).toContainText("Paid");
  // The reader's own time of day, with the server's beside it.
  const time = page.locator(".order-row time");
  await expect(time).not.toContainText("UTC");
  await expect(time).toHaveAttribute("title", /UTC$/);
});

test("a cart that changed in another tab is explained, and nothing is charged", async ({ page, context, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  const other = await context.newPage();
  await other.goto("/cart");
  await other.getByLabel(/How many of/).fill("2");
  await other.getByRole("button", { name: /^Change/ }).click();
  await expect(other.getByText("€59.80").first()).toBeVisible();
  await shop.payButton.click();
  await expect(page.getByRole("heading", { name: "Your cart has changed" })).toBeVisible();
  await expect(page.locator("main")).toContainText("nothing was charged");
  expect(world.rows("select count(*) as n from orders")[0].n).toBe(0);
  expect((await world.ask("ledger")).effects).toHaveLength(0);
});

test("a click that a change comes into still arrives", async ({ page, context, world }) => {
  await world.tell("webhooks/mode", { mode: "paused" });
  await world.tell("lookups", { status: 503, for_ms: 60_000 });
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_lost_response");
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  await shop.live();
  const wire = await context.newCDPSession(page);
  await wire.send("Network.enable");
  const told = new Promise<void>((done) => wire.on("Network.eventSourceMessageReceived", (it) => it.eventName === "end" && done()));
  await page.locator("#check-again").hover();
  await page.mouse.down();
  await world.tell("webhooks/mode", { mode: "normal" });
  await until("the webhook's commit", () => world.payments(checkout)[0].state === "succeeded");
  await told;
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  const followed = page.waitForRequest((it) => it.isNavigationRequest() && it.url().endsWith("/check"));
  await page.mouse.up();
  await followed;
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
});
