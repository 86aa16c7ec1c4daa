// What is promised by mail comes by mail, once; and a refund that is asked for ends as one.

import { expect, expectAgreement, test, until, type World } from "./harness.js";
import { Shop } from "./pages/shop.js";

const TOKEN = "an-operators-token-of-these-tests";
const ADDRESS = "anna.k@example.org";

/** A mail's text without its transfer encoding. */
function decoded(mail: string): string {
  const bytes = mail.replace(/=\r?\n/g, "").replace(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}

/** Waits for the mail that tells this; there is one, to the one who ordered. */
async function mail(world: World, fact: string): Promise<string> {
  const found = await until(`a mail tells ${fact}`, () => world.mails().find((it) => it.fact === fact));
  expect(world.mails().filter((it) => it.fact === fact)).toHaveLength(1);
  expect(found.text).toMatch(new RegExp(`^To: ${ADDRESS}\\r?$`, "m"));
  return decoded(found.text);
}

async function refund(world: World, reference: string, amount: number) {
  const answer = await fetch(`${world.url}/api/orders/${reference}/refunds`, {
    method: "POST",
    headers: { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" },
    body: JSON.stringify({ refund_request_id: crypto.randomUUID(), amount_minor: amount, currency: "EUR", reason: "asked for" }),
  });
  expect(answer.status, await answer.clone().text()).toBe(202);
}

for (const scripts of [true, false]) {
  test.describe(scripts ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled: scripts, options: { scale: "0.2", provider: {}, shop: { PAYONCE_OPERATOR_TOKEN: TOKEN } } });

    test("the outcome that was promised is written, and a refund that is asked for is confirmed", async ({ page, world }) => {
      await world.tell("webhooks/mode", { mode: "off" });
      await world.tell("lookups", { status: 503, for_ms: 60_000 });
      const shop = new Shop(page);
      await shop.fill();
      if (scripts) await shop.awake();
      await shop.choose("tok_lost_response");
      await page.getByLabel("E-mail (optional)").fill(ADDRESS);
      await shop.payButton.click();
      const checkout = await shop.arrived();
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("Checking payment status", { timeout: 15_000 });
      await expect(page.locator("main")).toContainText("We will write to you as soon as we know.");
      await expect(page.locator("main")).toContainText("a…@example.org");
      await expect(page.locator("main")).not.toContainText(ADDRESS);
      expect(world.mails()).toEqual([]);
      await world.tell("lookups", {});
      await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
      const receipt = await mail(world, "paid");
      for (const part of ["Thank you. Your order is paid.", "Two cups", "€29.90", `${world.url}/checkout/${checkout}`]) expect(receipt).toContain(part);
      await expect(page.locator("[data-mail-promise]")).toHaveCount(0);

      await page.locator("#ask-refund summary").click();
      await page.getByLabel("Why (you need not say)").selectOption("damaged");
      await page.getByRole("button", { name: "Send this request" }).click();
      await expect(page).toHaveURL(new RegExp(`/checkout/${checkout}$`));
      await expect(page.locator("[data-refund-request]")).toContainText("You asked for a refund on");
      await expect(page.locator("[data-refund-request]")).toContainText("a person answers within two working days.");
      await expect(page.locator("[data-ask-refund]")).toHaveCount(0);
      const [order] = world.rows("select id, reference from orders where checkout_id = ?", checkout);
      expect(world.rows("select asked_why from refund_requests where order_id = ? and state = 'open'", order.id)).toEqual([{ asked_why: "damaged" }]);
      expect(world.rows("select 1 from operations where kind = 'refund'"), "nothing moves by itself").toEqual([]);

      await refund(world, order.reference, 2990);
      await until("the refund is confirmed", () => world.rows("select 1 from operations where kind = 'refund' and state = 'succeeded'").length === 1);
      expect(await mail(world, "refund_sent")).toContain("€29.90: sent back");
      await page.goto(`/checkout/${checkout}`);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("Refunded");
      await expect(page.locator(".refunds")).toContainText("sent back");
      await expect(page.locator("[data-refund-request]")).toHaveCount(0);
      expect(world.mails().map((it) => it.fact).sort()).toEqual(["paid", "refund_sent"]);
    });

    test("an address with a slip of the finger loses nothing that was typed or chosen", async ({ page, world }) => {
      const shop = new Shop(page);
      await shop.fill();
      if (scripts) await shop.awake();
      await shop.choose("tok_3ds");
      await page.locator("#email").fill("anna@example");
      const before = await shop.checkoutInForm();
      await shop.payButton.click();
      const summary = page.getByRole("alert");
      await expect(summary).toContainText("We cannot write to this address");
      await expect(summary).toBeFocused();
      await expect(page).toHaveTitle(/^Please look at the e-mail address/);
      await summary.getByRole("link").click();
      await expect(page.locator("#email")).toBeFocused();
      await expect(page.locator("#email")).toHaveValue("anna@example");
      await expect(page.locator("input[name=payment_token][value=tok_3ds]")).toBeChecked();
      expect(await shop.checkoutInForm()).toBe(before);
      expect(world.rows("select 1 from orders")).toEqual([]);
      if (scripts) await shop.awake();
      await page.locator("#email").fill(ADDRESS);
      await shop.choose("tok_visa");
      await shop.payButton.click();
      const checkout = await shop.arrived();
      expect(checkout).toBe(before);
      await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1, amount: 2990 });
      await mail(world, "paid");
    });
  });
}
