// For everybody: by keyboard alone, at twice the size, with a screen reader's ears, without motion.

import type { Page } from "@playwright/test";
import { expect, expectAgreement, test, until } from "./harness.js";
import { Shop } from "./pages/shop.js";

/** Whether what has the focus shows it, is on the screen, and is not covered by anything. */
async function focusIsSeen(page: Page) {
  const seen = await page.evaluate(() => {
    const it = document.activeElement as HTMLElement;
    const shown = it.closest<HTMLElement>(".card-choice, .tile") ?? it;
    const ring = (element: HTMLElement, pseudo?: string) => {
      const style = getComputedStyle(element, pseudo);
      return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    };
    const box = it.getBoundingClientRect();
    const [x, y] = [box.left + Math.min(box.width, 20) / 2, box.top + box.height / 2];
    const top = document.elementFromPoint(x, y);
    const within = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    return {
      ring: ring(it) || ring(shown) || ring(it, "::after"),
      within,
      covered: !(top && (it.contains(top) || top.contains(it) || shown.contains(top))),
      what: it.outerHTML.slice(0, 120),
    };
  });
  expect(seen, seen.what).toMatchObject({ ring: true, within: true, covered: false });
}

/** Goes on with Tab until something has the focus; every stop on the way can be seen. */
async function tabTo(page: Page, what: string) {
  for (let stop = 0; stop < 60; stop++) {
    await page.keyboard.press("Tab");
    const onPage = await page.evaluate(() => document.activeElement !== document.body && document.activeElement !== document.documentElement);
    if (!onPage) continue;
    await focusIsSeen(page);
    if (await page.evaluate((selector) => document.activeElement!.matches(selector), what)) return;
  }
  throw new Error(`no way by Tab to ${what}`);
}

test("a purchase by keyboard alone, and the focus is seen at every stop", async ({ page, world }) => {
  const shop = new Shop(page);
  await page.goto("/");
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement!.getAttribute("href"))).toBe("#content");
  await focusIsSeen(page);
  await page.keyboard.press("Enter");
  expect(await page.evaluate(() => document.activeElement!.id)).toBe("content");
  await tabTo(page, "a[href='/products/cups']");
  await page.keyboard.press("Enter");
  await page.waitForURL(/cups$/);
  await tabTo(page, "form.buy button");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/cart$/);
  await tabTo(page, "a[href='/checkout']");
  await page.keyboard.press("Enter");
  await shop.awake();
  await tabTo(page, "input[name=payment_token]");
  // Arrows choose among the cards.
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await tabTo(page, "[data-pay-control]");
  await page.keyboard.press("Enter");
  const checkout = await shop.arrived();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
});

test.describe("while the provider takes its time", () => {
  test.use({ options: { scale: "0.2", provider: { EXAMPLEPAY_PROCESSING_MS: "600000" } } });

  test("a screen reader hears each new state once, and no check", async ({ page, world }) => {
    await world.tell("webhooks/mode", { mode: "off" });
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_processing");
    await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
    const region = page.locator("[data-spoken]");
    // The region is there, and silent, before there is anything to say.
    await expect(region).toHaveAttribute("role", "status");
    await expect(region).toHaveAttribute("aria-live", "polite");
    await expect(region).toHaveAttribute("aria-atomic", "true");
    await page.evaluate(() => {
      (window as any).heard = [];
      const spoken = document.querySelector("[data-spoken]")!;
      new MutationObserver(() => (window as any).heard.push(spoken.textContent)).observe(spoken, { childList: true, characterData: true, subtree: true });
      (window as any).focused = document.activeElement;
    });
    await until("two more questions", () => world.rows("select count(*) as n from attempts where step is null")[0].n >= 3);
    expect(await page.evaluate(() => (window as any).heard)).toEqual([]);
    const [held] = world.rows("select provider_operation_id as id from operations where kind = 'payment'");
    await world.tell(`payments/${held.id}`, { status: "succeeded" });
    await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
    await expect(region).toContainText("Your order is paid");
    expect(await page.evaluate(() => (window as any).heard.length)).toBe(1);
    expect(await page.evaluate(() => document.activeElement === (window as any).focused), "the focus is not moved").toBe(true);
  });
});

/** What has the focus: never nothing. */
const focused = (page: Page) => page.evaluate(() => {
  const it = document.activeElement;
  return !it || it === document.body || it === document.documentElement ? "nothing" : it.id || it.closest("[id], [data-pay-unknown]")?.id || "the browser's own news";
});

test("what a page has to say while it lives is said politely, whole, and from a place that was silent before", async ({ page, world }) => {
  const shop = new Shop(page);
  const silent = (regions: string) =>
    page.locator(regions).evaluateAll((all: HTMLElement[]) => all.map((it) => ({ live: it.getAttribute("aria-live"), whole: it.getAttribute("aria-atomic"), said: it.innerText.trim() })));
  await shop.fill();
  await shop.awake();
  const told = { live: "polite", whole: "true", said: "" };
  expect(await silent("main [role=status]")).toEqual([told]);
  await shop.payButton.click();
  const checkout = await shop.arrived();
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  await page.goto(`/checkout/${checkout}`);
  // The state, the network, and what the browser does not know.
  expect(await silent("main [role=status]")).toEqual([told, told, told]);
});

for (const by of ["keyboard", "pointer"] as const) {
  test(`when the answer to Pay is lost the focus goes on to what is told in the form's place: by ${by}`, async ({ page, world }) => {
    const shop = new Shop(page);
    await shop.fill();
    await shop.awake();
    for (const path of ["**/pay", "**/status"]) await page.route(path, (route) => route.abort("connectionreset"));
    if (by === "pointer") await shop.payButton.click();
    else {
      await tabTo(page, "[data-pay-control]");
      await page.keyboard.press("Enter");
    }
    const region = page.locator("[role=status]", { has: page.locator("[data-pay-unknown]") });
    await expect(region).toBeVisible();
    await expect(region).toContainText("Do not pay again");
    await expect(region).toHaveAttribute("aria-live", "polite");
    await expect(region).toHaveAttribute("aria-atomic", "true");
    await expect(region.getByRole("heading")).toBeFocused();
    if (by === "keyboard") await focusIsSeen(page);
    // The way goes on from there.
    await page.keyboard.press("Tab");
    expect(await focused(page)).not.toBe("nothing");
    await page.unrouteAll();
    await expectAgreement(world, page, await shop.arrived(), { state: "succeeded", charges: 1 });
  });
}

test.describe("on the page of a declined order", () => {
  const declined = async (page: Page) => {
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_declined");
    await expect(shop.panel).toHaveAttribute("data-state", "rejected");
    await shop.live();
    await shop.choose("tok_visa");
    return { shop, checkout };
  };

  test("the stream tells that the payment arrived before its answer does: the focus goes to the new heading", async ({ page, world }) => {
    const { shop, checkout } = await declined(page);
    let answer = () => {};
    const held = new Promise<void>((done) => (answer = done));
    await page.route("**/pay", async (route) => {
      await route.fetch({ maxRedirects: 0 });
      await held;
      await route.abort("connectionreset");
    });
    await shop.payButton.focus();
    await page.keyboard.press("Enter");
    await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
    await expect(page.locator("#status-heading")).toBeFocused();
    answer();
    await expect(page.locator("[data-pay-unknown]")).toBeHidden();
    await expect(page.locator("#status-heading")).toBeFocused();
  });

  test("the browser does not know, and another tab pays: the focus goes on from its news to the new heading", async ({ page, context, world }) => {
    const { shop, checkout } = await declined(page);
    for (const path of ["**/pay", "**/status"]) await page.route(path, (route) => route.abort("connectionreset"));
    await shop.payButton.focus();
    await page.keyboard.press("Enter");
    await expect(page.locator("[data-pay-unknown]").getByRole("heading")).toBeFocused();
    const other = new Shop(await context.newPage());
    await other.page.goto(`/checkout/${checkout}`);
    await other.live();
    await other.choose("tok_visa");
    await other.payButton.click();
    await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
    await expect(page.locator("[data-pay-unknown]")).toBeHidden();
    await expect(page.locator("#status-heading")).toBeFocused();
  });
});

test.describe("while the provider takes its time, somebody stands on Check again", () => {
  test.use({ options: { scale: "0.2", provider: { EXAMPLEPAY_PROCESSING_MS: "600000" } } });

  test("the focus stays there over checks, and goes to the heading with the outcome", async ({ page, world }) => {
    await world.tell("webhooks/mode", { mode: "off" });
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_processing");
    await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
    await shop.live();
    await tabTo(page, "#check-again");
    const asked = () => world.rows("select count(*) as n from attempts where step is null")[0].n as number;
    const before = asked();
    await until("another question", () => asked() > before);
    expect(await focused(page)).toBe("check-again");
    const [held] = world.rows("select provider_operation_id as id from operations where kind = 'payment'");
    await world.tell(`payments/${held.id}`, { status: "succeeded" });
    await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
    await expect(page.locator("#status-heading")).toBeFocused();
  });
});

test("a decline is an alert", async ({ page, world }) => {
  const shop = new Shop(page);
  // Declined while the page is watched.
  await world.tell("faults", { match: { operation: "create_payment" }, steps: [{ delay_ms: 1500 }] });
  const checkout = await shop.buy("tok_declined");
  await expect(shop.panel).toHaveAttribute("data-state", /requested|rejected/);
  await expectAgreement(world, page, checkout, { state: "rejected", charges: 0 });
  await expect(page.locator("[data-alert]")).toHaveAttribute("role", "alert");
});

test("twice the text and twice the page: nothing is cut, nothing runs out", async ({ page, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_wrong_amount");
  await until("review", () => world.payments(checkout)[0].state === "requires_review");
  await shop.fill("kettle", 2);
  for (const path of ["/", "/products/kettle", "/cart", "/checkout", `/checkout/${checkout}`, "/orders"]) {
    await page.goto(path);
    // 200 % of 1280 is 640 wide; and 200 % of the text alone on a page of 1280.
    for (const [width, size] of [[640, "100%"], [1280, "200%"], [640, "200%"]] as const) {
      await page.setViewportSize({ width, height: 800 });
      await page.evaluate((it) => (document.documentElement.style.fontSize = it), size);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(wide, `${path} at ${width} px and ${size}`).toBeLessThanOrEqual(0);
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll<HTMLElement>("a, button, h1, h2, h3, p, dt, dd, th, td, label, li, span")]
          .filter((it) => it.offsetParent && !it.closest(".visually-hidden") && getComputedStyle(it).overflowX !== "visible" && it.scrollWidth > it.clientWidth + 1)
          .map((it) => it.outerHTML.slice(0, 100)));
      expect(cut, `${path} at ${width} px and ${size}`).toEqual([]);
    }
    await page.evaluate(() => (document.documentElement.style.fontSize = ""));
  }
});

test("what can be pressed is large enough, has a name, and its field has a label", async ({ page }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_3ds");
  await expect(shop.panel).toHaveAttribute("data-state", "requires_action");
  await shop.fill("kettle", 2);
  await page.setViewportSize({ width: 320, height: 800 });
  for (const path of ["/", "/products/kettle", "/cart", "/checkout", `/checkout/${checkout}`]) {
    await page.goto(path);
    const found = await page.evaluate(() => {
      const visible = [...document.querySelectorAll<HTMLElement>("a, button, input:not([type=hidden]), select, textarea, summary")].filter((it) => it.offsetParent && !it.closest(".skip-link"));
      const large = (it: HTMLElement) => {
        // A link within a sentence is as tall as its line; a radio is pressed by its label.
        if (it.matches("p a, dd a")) return true;
        const box = (it.closest("label") ?? it.closest(".tile") ?? it).getBoundingClientRect();
        return box.width >= 24 && box.height >= 24;
      };
      const named = (it: HTMLElement) => it.matches("input, select, textarea") ? (it as HTMLInputElement).labels!.length > 0 || !!it.getAttribute("aria-labelledby") : !!it.textContent!.trim() || !!it.getAttribute("aria-label");
      return visible.filter((it) => !large(it) || !named(it)).map((it) => it.outerHTML.slice(0, 140));
    });
    expect(found, path).toEqual([]);
  }
});

test("who wants no motion gets none", async ({ page, world }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  const shop = new Shop(page);
  await world.tell("lookups", { status: 503, for_ms: 60_000 });
  await world.tell("webhooks/mode", { mode: "off" });
  await shop.buy("tok_lost_response");
  await expect(shop.panel).toHaveAttribute("data-state", "pending_confirmation");
  const moving = await page.evaluate(() => document.getAnimations().filter((it) => it.playState === "running" && Number(it.effect?.getComputedTiming().duration) > 1).length);
  expect(moving).toBe(0);
});

test("the receipt on paper is the receipt alone", async ({ page, world }) => {
  const shop = new Shop(page);
  const checkout = await shop.buy("tok_visa");
  await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  for (const gone of ["nav", ".choice", ".site-footer", ".afterwards", ".status-mark"]) await expect(page.locator(gone).first()).toBeHidden();
  for (const kept of ["[data-receipt]", ".lines", ".brand", "h1"]) await expect(page.locator(kept).first()).toBeVisible();
  const ink = await page.evaluate(() => [getComputedStyle(document.body).color, getComputedStyle(document.documentElement).backgroundColor]);
  expect(ink[0]).toBe("rgb(34, 38, 31)");
  expect(ink[1]).toMatch(/rgba\(0, 0, 0, 0\)|transparent/);
});
