// Everything works without JavaScript.

import { expect, expectAgreement, expectNoControl, test } from "./harness.js";
import { Shop } from "./pages/shop.js";

test.use({ javaScriptEnabled: false });

for (const token of ["tok_visa", "tok_lost_response"]) {
  test(`buying with ${token} without JavaScript`, async ({ page, world }) => {
    await world.tell("webhooks/mode", { mode: "off" });
    // Long enough for the page to load itself again in between.
    if (token === "tok_lost_response") await world.tell("lookups", { status: 503, for_ms: 9_000 });
    const shop = new Shop(page);
    await shop.fill();
    await shop.choose(token);
    const inForm = await shop.checkoutInForm();
    await shop.payButton.click();
    const checkout = await shop.arrived();
    expect(checkout).toBe(inForm);
    if (token === "tok_lost_response") {
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("Checking payment status", { timeout: 15_000 });
      await expectNoControl(page, "pending_confirmation");
      await page.getByRole("link", { name: "Check again" }).click();
      await shop.arrived();
    }
    // The page loads itself again while something is open.
    await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
  });
}

test("a decline and another card without JavaScript", async ({ page, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.choose("tok_insufficient_funds");
  await shop.payButton.click();
  const checkout = await shop.arrived();
  await expectAgreement(world, page, checkout, { state: "rejected", charges: 0 });
  await shop.choose("tok_visa");
  await shop.payButton.click();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
});

test("two tabs of one cart have two ids without JavaScript, and still lead to one order", async ({ page, context, world }) => {
  const one = new Shop(page);
  await one.fill();
  const other = new Shop(await context.newPage());
  await other.page.goto("/checkout");
  expect(await other.checkoutInForm()).not.toBe(await one.checkoutInForm());
  await one.payButton.click();
  const checkout = await one.arrived();
  await other.payButton.click();
  expect(await other.arrived(), "the first id of a cart wins").toBe(checkout);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  await expectAgreement(world, other.page, checkout, { state: "succeeded", charges: 1 });
});
