// The whole way in Russian, and the switch between the languages.

import { expect, expectAgreement, expectNoControl, test, until } from "./harness.js";
import { Shop } from "./pages/shop.js";

const CYRILLIC = /[а-яё]/i;

test.describe("a browser that asks for Russian", () => {
  test.use({ locale: "ru-RU" });

  test("buys in Russian, and the live page goes on in Russian", async ({ page, world }) => {
    await world.tell("webhooks/mode", { mode: "off" });
    await world.tell("lookups", { status: 503, for_ms: 5_000 });
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_lost_response");
    await expect(page.locator("html")).toHaveAttribute("lang", "ru");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Проверяем, прошёл ли платёж");
    await expectNoControl(page, "pending_confirmation");
    await shop.live();
    await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Спасибо. Заказ оплачен.");
    await expect(page).toHaveTitle("Спасибо. Заказ оплачен. · Yuge");
    await expect(page.locator("[data-spoken]")).toContainText("Спасибо");
    await expect(page.locator("main")).toContainText("29,90");
    await expect(page.locator("time").first()).toHaveText(/декабря|января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября/);
    const { html } = await page.evaluate(async (id) => (await fetch(`/checkout/${id}/status`)).json(), checkout);
    expect(html).toMatch(CYRILLIC);
  });
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });

  test("the switch changes the language, stays where one was, and is kept", async ({ page, world }) => {
    const shop = new Shop(page);
    await shop.fill("teapot");
    await page.getByRole("button", { name: "Русский" }).click();
    await expect(page).toHaveURL(/\/checkout$/);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Оформление заказа");
    await expect(page.getByRole("button", { name: "Русский" })).toHaveAttribute("aria-pressed", "true");
    await shop.choose("tok_declined");
    await shop.payButton.click();
    const checkout = await shop.arrived();
    await expectAgreement(world, page, checkout, { state: "rejected", charges: 0 });
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Платёж отклонён.");
    await expect(page.locator("main")).toContainText("Деньги не списаны.");
    await page.getByRole("button", { name: "English" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Declined.");
    await page.goto("/orders");
    await expect(page.locator(".order-row")).toContainText("Declined");
  });
});

test.describe("when time goes faster", () => {
  test.use({ options: { scale: "0.05", provider: {} } });

  test("after a while of not knowing the page says so in other words, by itself", async ({ page, world }) => {
    await world.tell("webhooks/mode", { mode: "off" });
    await world.tell("lookups", { status: 503, for_ms: 60_000 });
    const shop = new Shop(page);
    const checkout = await shop.buy("tok_lost_response");
    const heading = page.getByRole("heading", { level: 1 });
    await expect(heading).toHaveText("Checking payment status");
    await shop.live();
    await expect(heading).toHaveText("Order received, payment not confirmed yet", { timeout: 30_000 });
    await expect(page.locator("[data-spoken]")).toContainText("Order received, payment not confirmed yet");
    await expect(page.locator("main")).toContainText("Do not pay again");
    await expect(page.locator(".progress")).toContainText("Next check");
    await expectNoControl(page, "pending_confirmation");
    await world.tell("lookups", {});
    await expectAgreement(world, page, checkout, { state: "succeeded", charges: 1 });
    await until("the payment", () => world.payments(checkout)[0].state === "succeeded");
  });
});
