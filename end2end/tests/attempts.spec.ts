// After a real no another attempt is offered, with a key of its own; before it, never.

import { expect, expectAgreement, expectNoControl, test, until } from "./harness.js";
import { Shop } from "./pages/shop.js";

test("a declined card, then another: a new attempt with a new key", async ({ page, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_declined");
  await expectAgreement(world, page, checkout, { state: "rejected", charges: 0 });
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Declined.");
  await expect(shop.panel).toContainText("No money was taken.");
  await shop.choose("tok_visa");
  await shop.payButton.dblclick();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
  const keys = (await world.sends(checkout)).map((it) => it.key);
  expect(keys).toEqual([`pay:${checkout}:v1:create`, `pay:${checkout}:v2:create`]);
  expect(world.payments(checkout).map((it) => it.state)).toEqual(["rejected", "succeeded"]);
});

test("a confirmation at the bank that is completed", async ({ page, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_3ds");
  await expect(shop.panel).toHaveAttribute("data-state", "requires_action");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Your bank asks you to confirm");
  await expectNoControl(page, "requires_action");
  await page.getByRole("link", { name: "Continue to your bank" }).click();
  await page.getByRole("button", { name: "Approve" }).click();
  await shop.arrived();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
});

test("a card typed on the provider's page never reaches the shop", async ({ page, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_hosted_card");
  await page.getByRole("link", { name: "Continue to your bank" }).click();
  await page.getByLabel("Card number").fill("4000 0000 0000 0002");
  await page.getByLabel("Expiry").fill("12/30");
  await page.getByLabel("Security code").fill("123");
  await page.getByRole("button", { name: "Pay" }).click();
  await expect(page.getByRole("alert")).toContainText("declined");
  expect(world.payments(checkout)[0].state, "it may still be paid there").toBe("requires_action");
  await page.getByLabel("Card number").fill("4242 4242 4242 4242");
  await page.getByLabel("Expiry").fill("12/30");
  await page.getByLabel("Security code").fill("123");
  await page.getByRole("button", { name: "Pay" }).click();
  await shop.arrived();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  expect(world.logs).not.toContain("4242424242424242");
  expect(world.logs).not.toContain("4242 4242");
});

test.describe("with little time to confirm", () => {
  test.use({ options: { scale: "0.05", provider: { EXAMPLEPAY_ACTION_MS: "3000" } } });

  test("an abandoned confirmation is canceled at the provider before another attempt is offered", async ({ page, world }) => {
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_3ds");
    await expect(shop.panel).toHaveAttribute("data-state", "requires_action");
    await expectNoControl(page, "requires_action");
    await expectAgreement(world, page, checkout, { state: "canceled", charges: 0 });
    await expect(shop.panel).toContainText("No money was taken.");
    const reference = world.rows("select reference from orders")[0].reference;
    const { payments } = await world.ask(`payments?reference=${reference}-1`);
    expect(payments[0].status).toBe("canceled");
    await shop.choose("tok_visa");
    await shop.payButton.click();
    await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  });
});

test("an order that is given up while its money arrives is refunded by itself", async ({ page, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_3ds");
  await expect(shop.panel).toHaveAttribute("data-state", "requires_action");
  const id = world.payments(checkout)[0].provider_operation_id;
  // The bank has the confirmation before anybody here can know of it.
  await world.tell("lookups", { status: 503, for_ms: 60_000 });
  await world.tell(`payments/${id}`, { status: "succeeded", silent: true });
  await page.getByRole("button", { name: "Cancel this order" }).click();
  await until("the wish to be recorded", () => world.rows("select 1 from orders where state <> 'awaiting_payment'")[0]);
  await world.tell("lookups", {});
  await until("the refund", () => world.rows("select 1 from operations where kind = 'refund' and state = 'succeeded'")[0]);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Refunded", { timeout: 30_000 });
  const { sum_minor_by_currency } = await world.ask("ledger");
  expect(sum_minor_by_currency).toEqual({ EUR: 0 });
  await expectNoControl(page, "succeeded");
});
