// The shop as a shopper uses it.

import { expect, type Page } from "@playwright/test";

export class Shop {
  constructor(readonly page: Page) {}

  /** Puts a product into the cart and opens the payment form. */
  async fill(sku = "cups", quantity = 1) {
    await this.page.goto(`/products/${sku}`);
    // By what they are, not by their names: those are of one language.
    await this.page.locator("#quantity").fill(String(quantity));
    await this.page.locator("form.buy button").click();
    await expect(this.page).toHaveURL(/\/cart$/);
    await this.page.locator("a[href='/checkout']").click();
    await expect(this.page).toHaveURL(/\/checkout$/);
    // The address changes before the page has been read; the button stands at the form's end.
    await expect(this.payButton).toBeVisible();
  }

  async choose(token: string) {
    await this.page.locator(`input[name=payment_token][value="${token}"]`).waitFor({ state: "attached" });
    await this.page.evaluate((value) => document.querySelector(`input[value="${value}"]`)?.closest("details")?.setAttribute("open", ""), token);
    await this.page.locator(`input[name=payment_token][value="${token}"]`).check({ force: true });
  }

  /** The wasm has taken the form over: its address is the one kept for this cart. */
  async awake() {
    await this.page.waitForFunction(() => {
      const cart = document.querySelector<HTMLInputElement>("input[name=cart_id]")?.value;
      const id = localStorage.getItem(`payonce.checkout.${cart}`);
      return id && document.querySelector("form[data-pay-form]")?.getAttribute("action")?.includes(id);
    });
  }

  get payButton() {
    return this.page.locator("[data-pay-control]");
  }

  /** The id that the payment form carries. */
  async checkoutInForm(): Promise<string> {
    const action = await this.page.locator("form[data-pay-form]").getAttribute("action");
    return /\/checkout\/([^/]+)\/pay/.exec(action ?? "")![1]!;
  }

  /** Buys with a card; gives the checkout id once its page is shown. */
  async buy(token: string): Promise<string> {
    await this.fill();
    await this.awake();
    await this.choose(token);
    await this.payButton.click();
    return this.arrived();
  }

  /** Waits for a status page; gives its checkout id. */
  async arrived(): Promise<string> {
    await this.page.waitForURL(/\/checkout\/[0-9a-f-]{36}(\?.*)?$/);
    await expect(this.page.locator("[data-panel]")).toBeVisible();
    return /\/checkout\/([0-9a-f-]{36})/.exec(this.page.url())![1]!;
  }

  /** The wasm follows the payment from here on. */
  async live() {
    await expect(this.page.locator("[data-live]")).toBeAttached();
  }

  get panel() {
    return this.page.locator("[data-panel]");
  }
}
