// However often Pay is pressed, there is one payment.

import { expect, expectAgreement, test } from "./harness.js";
import { Shop } from "./pages/shop.js";

test("a double click is one payment", async ({ page, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  await shop.payButton.dblclick();
  const checkout = await shop.arrived();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
  expect(await world.sends(checkout)).toHaveLength(1);
});

test("ten fast clicks and Enter held down are one payment", async ({ page, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  await page.evaluate(() => {
    const button = document.querySelector<HTMLButtonElement>("[data-pay-control]")!;
    for (let i = 0; i < 10; i++) button.click();
  });
  await page.keyboard.press("Enter").catch(() => {});
  const checkout = await shop.arrived();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  expect(await world.sends(checkout)).toHaveLength(1);
});

test("Enter held on the focused button is one payment", async ({ page, world }) => {
  const shop = new Shop(page);
  await shop.fill();
  await shop.awake();
  await shop.payButton.focus();
  for (let i = 0; i < 10; i++) await page.keyboard.down("Enter").catch(() => {});
  const checkout = await shop.arrived();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  expect(world.rows("select count(*) as n from operations where kind = 'payment'")[0].n).toBe(1);
});

test("ten clicks before the wasm arrives are one payment", async ({ page, world }) => {
  await page.route("**/pkg/*.wasm", (route) => route.abort());
  const shop = new Shop(page);
  await shop.fill();
  await page.evaluate(() => {
    const button = document.querySelector<HTMLButtonElement>("[data-pay-control]")!;
    for (let i = 0; i < 10; i++) button.click();
  });
  const checkout = await shop.arrived();
  await page.unroute("**/pkg/*.wasm");
  await page.reload();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
});

test("two tabs of one cart lead to one order", async ({ page, context, world }) => {
  const one = new Shop(page);
  await one.fill();
  await one.awake();
  const other = new Shop(await context.newPage());
  await other.page.goto("/checkout");
  await other.awake();
  expect(await other.checkoutInForm()).toBe(await one.checkoutInForm());
  await Promise.all([one.payButton.click(), other.payButton.click()]);
  const checkout = await one.arrived();
  expect(await other.arrived()).toBe(checkout);
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  await expectAgreement(world, other.page, checkout, { state: "succeeded", charges: 1 });
});
