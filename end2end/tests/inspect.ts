// Looks at a page from all sides: nothing overflows, nothing is clipped, and axe finds nothing serious.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, type Page } from "@playwright/test";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const WIDTHS = [320, 768, 1280];
const THEMES = ["light", "dark"] as const;

/** At every width, in both themes; the page needs `bypassCSP`, since axe is put into it by hand. */
export async function inspect(page: Page, name: string, widths = WIDTHS) {
  // A colour on its way from one theme to the other is neither.
  await page.addStyleTag({ content: "*, *::before, *::after { transition: none !important; animation: none !important; }" });
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const where = `${name} at ${width} px, ${colorScheme}`;
      const broken = await page.evaluate(() => {
        const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
        const cut = (content: number, room: number, overflow: string) => content > room + 1 && overflow !== "visible";
        const clipped = [...document.querySelectorAll<HTMLElement>("a, button, input, select, summary, legend, span, strong, time, h1, h2, h3, p, dt, dd, th, td, label, li")]
          .filter((it) => it.offsetParent && !it.closest(".visually-hidden"))
          .filter((it) => cut(it.scrollWidth, it.clientWidth, getComputedStyle(it).overflowX) || cut(it.scrollHeight, it.clientHeight, getComputedStyle(it).overflowY))
          .map((it) => it.outerHTML.slice(0, 120));
        const outside = [...document.querySelectorAll<HTMLElement>("body *")]
          .filter((it) => it.offsetParent && !it.closest(".visually-hidden, svg") && it.getBoundingClientRect().right > innerWidth + 1)
          .map((it) => it.outerHTML.slice(0, 120));
        return { wide, clipped, outside };
      });
      expect(broken, where).toEqual({ wide: false, clipped: [], outside: [] });
      await page.evaluate(axe);
      const found = await page.evaluate(async () => {
        const { violations } = await (window as any).axe.run(document, { resultTypes: ["violations"] });
        return violations
          .filter((it: any) => it.impact === "serious" || it.impact === "critical")
          .map((it: any) => `${it.id}: ${it.nodes.map((node: any) => node.html.slice(0, 160)).join(" | ")}`);
      });
      expect(found, where).toEqual([]);
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}-${width}-${colorScheme}.png`, fullPage: true });
    }
  }
}
