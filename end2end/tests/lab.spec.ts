// The fault lab: one click and Pay, and both columns are what the ledger and the database hold.

import { expect, test, type World } from "./harness.js";
import { inspect } from "./inspect.js";
import type { Page } from "@playwright/test";

const options = { scale: "0.05", provider: { EXAMPLEPAY_PROCESSING_MS: "2500" }, lab: true };
test.use({ options });
test.setTimeout(90_000);

const SCENARIOS = [
  "never_arrived", "lost_response", "processing", "webhook_first", "same_moment", "other_payload", "worker_dies", "hour_of_timeouts",
  "payment_story", "news_after_loss", "too_slow", "overtaken", "two_orders", "refund_twice", "refund_behind_500",
  "half_a_request", "news_and_question", "hidden_retries", "patience_too_long", "invoice_without_keys",
  "behind_500", "cut_body", "busy", "copies", "webhook_never", "webhook_decides", "forged", "wrong_amount", "not_found_yet", "outage", "done_late",
  "refused", "processing_declined", "news_reversed", "foreign_news", "refund_pending", "refund_refused", "refund_refused_later", "refund_comes_back",
];

/** How refunds end, where a scenario has any. */
const REFUNDS: Record<string, string[]> = {
  refund_twice: ["succeeded", "succeeded"],
  refund_behind_500: ["succeeded"],
  refund_pending: ["succeeded"],
  refund_refused: ["rejected"],
  refund_refused_later: ["rejected"],
  refund_comes_back: ["reversed"],
};

class Lab {
  constructor(readonly page: Page) {}

  /** Starts a scenario by one click; gives its checkout id. */
  async start(scenario: string): Promise<string> {
    await this.page.goto("/lab");
    await this.page.locator(`li[data-scenario=${scenario}]`).getByRole("button").click();
    return this.opened();
  }

  async opened(): Promise<string> {
    await this.page.waitForURL(/\/lab\/[0-9a-f-]{36}$/);
    return this.page.url().slice(-36);
  }

  get payButton() {
    return this.page.locator("[data-lab] [data-pay-control]");
  }

  /** Presses Pay; the browser stays on this page. */
  async pay() {
    await this.payButton.click();
    await expect(this.side("shop")).toBeVisible();
  }

  side(which: "provider" | "shop") {
    return this.page.locator(`section[data-side=${which}]`);
  }

  /** The facts of a side, with what they say for programs. */
  facts(which: "provider" | "shop") {
    return this.side(which).locator("dl.facts");
  }

  lines(what: string) {
    return this.page.locator(`.lab-lines > li[data-what=${what}]`);
  }

  /** The states of what goes back, as the shop's side shows them. */
  refunds() {
    return this.side("shop").locator("[data-refund]").evaluateAll((all) => all.map((it) => (it as HTMLElement).dataset.refund));
  }

  /** Gives money back for the nth time. */
  async giveBack(number: number) {
    await this.page.locator(`[data-lab-refund="${number}"] button`).click();
    await expect(this.side("shop").locator("[data-refund]")).toHaveCount(number);
  }

  /** Nothing moves by itself any more. */
  async over() {
    // Beside a person's review questions go on, without an end.
    await expect(this.page.locator(".lab-parts:is(:not([data-again]), [data-agreement=review])")).toBeVisible({ timeout: 45_000 });
  }
}

/** Both columns say what the ledger and the database hold. */
async function expectColumns(world: World, lab: Lab, checkout: string, invoice = false) {
  const reference = world.rows("select reference from orders where checkout_id = ?", checkout)[0].reference;
  const { effects } = await world.ask(`ledger?reference_prefix=${reference}-`);
  const charges = effects.filter((it: any) => it.kind === "charge").map((it: any) => it.amount_minor);
  const sum = charges.reduce((all: number, it: number) => all + it, 0);
  await expect(lab.facts("provider")).toHaveAttribute("data-charges", String(charges.length));
  await expect(lab.facts("provider")).toHaveAttribute("data-sum", String(sum));
  await expect(lab.facts("shop")).toHaveAttribute("data-state", world.payments(checkout).at(-1).state);
  await expect(lab.side("shop")).toContainText(reference);
  const refunds = world.rows(
    "select operations.state from operations join orders on orders.id = order_id where checkout_id = ? and kind = 'refund' order by attempt", checkout).map((it) => it.state);
  await expect(async () => expect(await lab.refunds()).toEqual(refunds)).toPass({ timeout: 10_000 });
  const history = world.rows(
    `select to_state from transitions join operations on operations.id = operation_id join orders on orders.id = transitions.order_id
     where checkout_id = ? and kind in ('payment', 'refund', ?) order by order_sequence`, checkout, invoice ? "invoice" : "payment").map((it) => it.to_state);
  const shown = await lab.lines("moved").evaluateAll((all) => all.map((it) => (it as HTMLElement).dataset.to));
  expect(shown).toEqual(history);
  await expect(async () => {
    const { requests } = await world.ask(`requests?reference_prefix=${reference}-`);
    const invoices = invoice ? (await world.ask(`requests?reference_prefix=INV-${reference}`)).requests : [];
    await expect(lab.lines("request")).toHaveCount(requests.length + invoices.length, { timeout: 500 });
  }).toPass({ timeout: 20_000 });
  return { charges, history, refunds };
}

for (const scenario of SCENARIOS) {
  test(`one click and Pay: ${scenario}`, async ({ page, world }) => {
    const broken: string[] = [];
    page.on("console", (line) => /Content Security Policy|Refused to/i.test(line.text()) && broken.push(line.text()));
    page.on("pageerror", (reason) => broken.push(String(reason)));
    const lab = new Lab(page);
    const checkout = await lab.start(scenario);
    await lab.pay();
    expect(page.url()).toContain(`/lab/${checkout}`);
    if (scenario === "hour_of_timeouts") {
      await expect(lab.lines("heard").nth(2)).toBeVisible({ timeout: 30_000 });
      await expect(lab.side("provider")).toContainText("1 charge:");
      await expect(lab.side("shop")).toContainText("Checking payment status");
      await page.locator("[data-lab-calm] button").click();
    }
    await lab.over();
    const refunds = REFUNDS[scenario] ?? [];
    for (const place of refunds.keys()) {
      await lab.giveBack(place + 1);
      await lab.over();
    }
    await expect(page.locator("[data-lab-refund]")).toHaveCount(0);
    const seen = await expectColumns(world, lab, checkout, scenario === "invoice_without_keys");
    const declined = scenario === "processing_declined";
    expect(seen.charges).toHaveLength(declined ? 0 : 1);
    expect(seen.refunds).toEqual(refunds);
    const no = declined || refunds.includes("rejected");
    expect(seen.history.includes("rejected")).toBe(no);
    await expect(page.locator(".lab-parts")).toHaveAttribute("data-agreement", scenario === "wrong_amount" ? "review" : "agree");
    expect(world.rows("select 1 from orders")).toHaveLength(1);
    expect(broken).toEqual([]);
    const next = SCENARIOS[SCENARIOS.indexOf(scenario) + 1];
    if (next) await expect(page.locator("[data-lab-next] input")).toHaveValue(next);
    else await expect(page.locator("[data-lab-next]")).toHaveCount(0);
  });
}

test("the same id with another amount is refused on the shop's own page", async ({ page, world }) => {
  const lab = new Lab(page);
  const checkout = await lab.start("other_payload");
  await lab.pay();
  await lab.over();
  const sends = (await world.sends(checkout)).length;
  await page.locator("[data-lab-conflict] button").click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("You have already ordered from this form");
  expect((await world.sends(checkout)).length).toBe(sends);
  await page.getByRole("link", { name: "Fault lab" }).click();
  await page.locator("[data-lab-running] a").click();
  await expectColumns(world, lab, checkout);
});

test("the same cart under another id leads to the first order", async ({ page, world }) => {
  const lab = new Lab(page);
  const checkout = await lab.start("two_orders");
  await lab.pay();
  await lab.over();
  await page.locator("[data-lab-conflict] button").click();
  await page.waitForURL(new RegExp(`/checkout/${checkout}\\?`));
  expect(world.rows("select 1 from orders")).toHaveLength(1);
});

test("a refund that is answered 500 goes back once here and twice in the naive shop", async ({ page, world }) => {
  const lab = new Lab(page);
  const checkout = await lab.start("refund_behind_500");
  await lab.pay();
  await lab.over();
  await lab.giveBack(1);
  await lab.over();
  expect((await expectColumns(world, lab, checkout)).refunds).toEqual(["succeeded"]);
  await page.getByRole("button", { name: "Let the naive shop try the same" }).click();
  await expect(page.locator("[data-naive-charges]")).toHaveAttribute("data-naive-refunds", "2", { timeout: 20_000 });
});

test("stories about many payments are a click away, and all name their test", async ({ page, request, world }) => {
  await page.goto("/lab");
  await page.locator("[data-told=many_at_once] a.button").click();
  await expect(page.locator("[data-storm] [data-row=busiest] td")).toHaveText(["50", "20,000"]);
  await page.getByRole("link", { name: "All scenarios" }).click();
  await page.locator("[data-told=numbers] a.button").click();
  await expect(page.locator("main .notice")).toContainText("not played anything yet");
  const lab = new Lab(page);
  await lab.start("lost_response");
  await lab.pay();
  await lab.over();
  await page.goto("/lab/numbers");
  await expect(page.locator("[data-row=lost-paid] td")).toHaveText("1 (100.0 %)");
  await page.goto("/lab");
  const links = page.locator("[data-told] .lab-proof a");
  const paths = await links.evaluateAll((all) => all.map((it) => new URL((it as HTMLAnchorElement).href).pathname));
  expect(paths).toHaveLength(4);
  for (const path of paths) expect((await request.get(world.url + path)).status(), path).toBe(200);
});

test("the naive shop charges twice where this one charges once, and then calls an hour of silence failed", async ({ page, world }) => {
  const lab = new Lab(page);
  const naive = page.locator("[data-naive-charges]");
  await lab.start("lost_response");
  await lab.pay();
  await lab.over();
  await page.getByRole("button", { name: "Let the naive shop try the same" }).click();
  await expect(naive).toHaveAttribute("data-naive-charges", "2", { timeout: 20_000 });
  await expect(lab.facts("provider")).toHaveAttribute("data-charges", "1");
  const { effects } = await world.ask("ledger?reference_prefix=naive-");
  expect(effects).toHaveLength(2);
  await lab.start("hour_of_timeouts");
  await lab.pay();
  await page.getByRole("button", { name: "Let the naive shop try the same" }).click();
  await expect(naive).toHaveAttribute("data-naive-charges", "3", { timeout: 20_000 });
  await expect(naive).toHaveAttribute("data-naive-told", "failed");
  await page.locator("[data-lab-calm] button").click();
  await lab.over();
  await expect(lab.facts("provider")).toHaveAttribute("data-charges", "1");
  expect(world.rows("select 1 from operations where kind = 'payment'")).toHaveLength(2);
});

test("two visitors at once, one in an outage without end", async ({ page, browser, world }) => {
  const lab = new Lab(page);
  const checkout = await lab.start("hour_of_timeouts");
  await lab.pay();
  const other = new Lab(await (await browser.newContext({ baseURL: world.url })).newPage());
  const theirs = await other.start("same_moment");
  await other.pay();
  await other.over();
  await expectColumns(world, other, theirs);
  expect((await other.page.goto(`/lab/${checkout}`))?.status()).toBe(404);
  await expect(lab.facts("shop")).toHaveAttribute("data-state", /requested|pending_confirmation/);
  await page.locator("[data-lab-calm] button").click();
  await lab.over();
  await expectColumns(world, lab, checkout);
});

test("a fault of one's own, chosen from lists", async ({ page, world }) => {
  const lab = new Lab(page);
  await page.goto("/lab");
  await page.getByLabel("Then the answer").selectOption("cut");
  await page.getByLabel("The news (webhook)").selectOption("forged");
  await page.getByLabel("Questions (lookups) are answered").selectOption("dropped");
  await page.locator("[data-lab-own]").getByRole("button").click();
  const checkout = await lab.opened();
  await lab.pay();
  await lab.over();
  await expectColumns(world, lab, checkout);
  await expect(lab.lines("request").filter({ hasText: "dropped before any answer" })).toHaveCount(3);
});

test("where the browser cannot stay, the order's page leads back", async ({ page, world }) => {
  await page.addInitScript(() => Object.defineProperty(window, "navigation", { value: undefined }));
  const lab = new Lab(page);
  const checkout = await lab.start("cut_body");
  await page.waitForLoadState("networkidle");
  await lab.payButton.click();
  await page.waitForURL(new RegExp(`/(checkout|lab)/${checkout}$`));
  await page.getByRole("link", { name: "Fault lab" }).click();
  await page.locator("[data-lab-running] a").click();
  await lab.over();
  await expectColumns(world, lab, checkout);
});

test("the two summaries alone are read out", async ({ page }) => {
  const lab = new Lab(page);
  await lab.start("lost_response");
  await lab.pay();
  await lab.over();
  await expect(page.locator("[data-lab] [aria-live]")).toHaveText([/1 charge: €/, "Thank you. Your order is paid."]);
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });

  test("a scenario is started, paid, watched and compared", async ({ page, world }) => {
    const lab = new Lab(page);
    const checkout = await lab.start("lost_response");
    await lab.payButton.click();
    await page.waitForURL(`**/checkout/${checkout}`);
    await page.getByRole("link", { name: "Fault lab" }).click();
    await page.locator("[data-lab-running] a").click();
    await page.waitForURL(`**/lab/${checkout}`);
    // The page loads itself again while something is open.
    await lab.over();
    await expectColumns(world, lab, checkout);
    await page.getByRole("button", { name: "Let the naive shop try the same" }).click();
    await expect(page.locator("[data-naive-charges]")).toHaveAttribute("data-naive-charges", "2", { timeout: 20_000 });
  });
});

test.describe("looks", () => {
  test.use({ bypassCSP: true });

  for (const lang of ["en", "ru"]) {
    test(`the lab and a watched page, ${lang}`, async ({ page, context, world }) => {
      test.setTimeout(300_000);
      await context.addCookies([{ name: "language", value: lang, url: world.url }]);
      const lab = new Lab(page);
      await page.goto("/lab");
      await inspect(page, `lab-${lang}`);
      await lab.start("lost_response");
      await inspect(page, `lab-to-pay-${lang}`);
      await lab.pay();
      await lab.over();
      await page.locator("[data-lab-naive] button").click();
      await expect(page.locator("[data-naive-charges]")).toBeVisible({ timeout: 20_000 });
      await lab.over();
      await inspect(page, `lab-watched-${lang}`);
      await lab.start("hour_of_timeouts");
      await lab.pay();
      await expect(lab.lines("heard").nth(2)).toBeVisible({ timeout: 30_000 });
      await page.route("**/watch", (route) => route.abort());
      await inspect(page, `lab-open-${lang}`);
      await page.unroute("**/watch");
      await lab.start("refund_twice");
      await lab.pay();
      await lab.over();
      await inspect(page, `lab-gives-back-${lang}`);
      await lab.giveBack(1);
      await lab.over();
      await lab.giveBack(2);
      await lab.over();
      await page.locator("[data-lab-naive] button").click();
      await expect(page.locator("[data-naive-charges]")).toBeVisible({ timeout: 20_000 });
      await inspect(page, `lab-given-back-${lang}`);
      await lab.start("wrong_amount");
      await lab.pay();
      await lab.over();
      await inspect(page, `lab-review-${lang}`);
      await page.goto("/lab/storm");
      await inspect(page, `lab-storm-${lang}`);
      await page.goto("/lab/numbers");
      await inspect(page, `lab-numbers-${lang}`);
    });
  }
});
