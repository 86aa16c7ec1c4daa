// Answers that never arrive: the browser's own, and the provider's.

import { expect, expectAgreement, expectNoControl, test, until } from "./harness.js";
import { Shop } from "./pages/shop.js";

test("the shop's answer to Pay is lost after it committed", async ({ page, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  const checkout = await shop.checkoutInForm();
  let posts = 0;
  await page.route("**/pay", async (route) => {
    posts += 1;
    await route.fetch({ maxRedirects: 0 });
    await route.abort("connectionreset");
  });
  await shop.payButton.click();
  expect(await shop.arrived()).toBe(checkout);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
  expect(posts, "the order had arrived: nothing was posted again").toBe(1);
});

test("the request to Pay is lost before it arrives, and the same one is sent again", async ({ page, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  const checkout = await shop.checkoutInForm();
  const bodies: (string | null)[] = [];
  await page.route("**/pay", async (route) => {
    bodies.push(route.request().postData());
    if (bodies.length === 1) await route.abort("connectionreset");
    else await route.continue();
  });
  await page.route("**/status", async (route) => {
    await new Promise((next) => setTimeout(next, 300));
    await route.continue();
  });
  await shop.payButton.click();
  await expect(page.getByRole("heading", { name: "Checking payment status" })).toBeVisible();
  await expectNoControl(page, "unknown");
  await expect(page.locator("main")).not.toContainText(/failed|error|try again/i);
  expect(await shop.arrived()).toBe(checkout);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  expect(bodies).toHaveLength(2);
  expect(bodies[0]).toBe(bodies[1]);
});

test("the provider's answer is lost after it charged: checking, then the receipt, charged once", async ({ page, world }) => {
  await world.tell("webhooks/mode", { mode: "off" });
  // The provider cannot be asked for a moment, so that the page is seen not knowing.
  await world.tell("lookups", { status: 503, for_ms: 4_000 });
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_lost_response");
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Checking payment status");
  await expect(shop.panel).toContainText("Do not pay again: we check automatically.");
  await expect(shop.panel).toContainText("Outcome not known since");
  await expect(shop.panel).toContainText("Next check");
  await expect(shop.panel).toContainText("safe to close this page");
  await expectNoControl(page, "pending_confirmation");
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(/Your order is paid/);
  await expect(page.getByRole("heading", { name: "Receipt" })).toBeVisible();
  await expect(page).toHaveTitle(/Your order is paid/);
  expect(await world.sends(checkout)).toHaveLength(1);
});

test("after a webhook's commit the page shows the receipt without a reload", async ({ page, world }) => {
  // Lookups tell nothing, so only the webhook can; and the page must not be loaded again.
  await world.tell("lookups", { status: 503, for_ms: 60_000 });
  await world.tell("webhooks/mode", { mode: "paused" });
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_lost_response");
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  await page.evaluate(() => ((window as any).marked = true));
  await world.tell("webhooks/mode", { mode: "normal" });
  await until("the webhook's commit", () => world.payments(checkout)[0].state === "succeeded");
  await expect(shop.panel).toHaveAttribute("data-state", "succeeded", { timeout: 10_000 });
  expect(await page.evaluate(() => (window as any).marked)).toBe(true);
  await expect(page.locator("[data-spoken]")).toContainText("Your order is paid");
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
});

test("the shop is killed and restarted while the shopper watches", async ({ page, world }) => {
  await world.tell("webhooks/mode", { mode: "off" });
  await world.tell("lookups", { status: 503, for_ms: 60_000 });
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_lost_response");
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  await page.evaluate(() => ((window as any).marked = true));
  await shop.live();
  await world.killShop();
  await world.tell("lookups", {});
  await expectNoControl(page, "pending_confirmation");
  await world.startShop();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  expect(await page.evaluate(() => (window as any).marked)).toBe(true);
});

test("a cut stream is bridged by polling, and opened again", async ({ page, world }) => {
  await world.tell("webhooks/mode", { mode: "paused" });
  await world.tell("lookups", { status: 503, for_ms: 60_000 });
  const shop = new Shop(page);
  const streamed = page.waitForResponse("**/events");
  const checkout = await shop.buy("tok_lost_response");
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  // What is not there yet cannot be cut.
  await streamed;
  // No stream can be opened, but a poll gets through.
  await page.route("**/events", (route) => route.abort());
  const polled = page.waitForRequest("**/status");
  world.proxy.cut();
  await polled;
  // Then it can be opened again, and from there on nothing is polled.
  const reopened = page.waitForResponse((it) => it.url().endsWith("/events") && it.ok());
  await page.unroute("**/events");
  await reopened;
  await page.route("**/status", (route) => route.abort());
  await world.tell("webhooks/mode", { mode: "normal" });
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
});

test("a page whose scripts were lost on the way gets them, and then the receipt", async ({ page, world }) => {
  await world.tell("webhooks/mode", { mode: "off" });
  await world.tell("lookups", { status: 503, for_ms: 60_000 });
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  await shop.choose("tok_lost_response");
  let losses = 0;
  await page.route("**/*.wasm", (route) => (losses++ ? route.continue() : route.abort()));
  await shop.payButton.click();
  const checkout = await shop.arrived();
  await until("the loss", () => losses > 0);
  expect(await page.locator("[data-live]").count()).toBe(0);
  await expectNoControl(page, "pending_confirmation");
  await shop.live();
  await world.tell("lookups", {});
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
});

test("Pay pressed without a network is not lost, and is one payment", async ({ page, context, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  const checkout = await shop.checkoutInForm();
  await context.setOffline(true);
  await shop.payButton.dblclick();
  await expect(page.getByRole("heading", { name: "Checking payment status" })).toBeVisible();
  await expect(page.locator("[data-pay-offline]")).toBeVisible();
  await expect(page.locator("[data-pay-control]")).toHaveCount(0);
  expect(world.rows("select 1 from orders")).toHaveLength(0);
  await context.setOffline(false);
  expect(await shop.arrived()).toBe(checkout);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
});

test("the shop is killed while its request is on the wire, and finds out by itself", async ({ page, world }) => {
  // The provider executes at once and answers long after the shop is dead.
  await world.tell("webhooks/mode", { mode: "off" });
  await world.tell("faults", { match: { operation: "create_payment" }, steps: [{ delay_ms: 5000 }] });
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_visa");
  await until("the charge", async () => (await world.ask("ledger")).effects.length === 1);
  expect(world.payments(checkout)[0].state).toBe("requested");
  await shop.live();
  await world.killShop();
  await world.startShop();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
});

test("offline the page says so, and online again it knows", async ({ page, context, world }) => {
  await world.tell("webhooks/mode", { mode: "paused" });
  await world.tell("lookups", { status: 503, for_ms: 60_000 });
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_lost_response");
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  await expect.poll(() => page.evaluate(() => document.querySelector("[data-offline]")?.hasAttribute("hidden"))).toBe(true);
  await shop.live();
  await context.setOffline(true);
  world.proxy.cut(false);
  await expect(page.locator("[data-offline]")).toHaveText("You are offline. Your payment is not affected.");
  await expect(page.locator("[data-offline]")).toBeVisible();
  await expectNoControl(page, "pending_confirmation");
  await world.tell("webhooks/mode", { mode: "normal" });
  await until("the webhook's commit", () => world.payments(checkout)[0].state === "succeeded");
  world.proxy.letIn();
  await context.setOffline(false);
  await expect(page.locator("[data-offline]")).toBeHidden();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
});
