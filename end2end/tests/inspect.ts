// Looks at a page from all sides: nothing overflows, nothing is clipped, and axe finds nothing serious.

import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { expect, type Page } from "@playwright/test";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const reports = resolve(import.meta.dirname, "../../target/reports");
/** A line for each look, from whatever process. */
const LOOKS = join(reports, "axe.ndjson");
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
        const grave = (it: any) => it.impact === "serious" || it.impact === "critical";
        const told = (it: any) => `${it.id}: ${it.nodes.map((node: any) => node.html.slice(0, 160)).join(" | ")}`;
        return { grave: violations.filter(grave).map(told), slight: violations.filter((it: any) => !grave(it)).map(told) };
      });
      mkdirSync(reports, { recursive: true });
      appendFileSync(LOOKS, `${JSON.stringify({ name, where, ...found })}\n`);
      expect(found.grave, where).toEqual([]);
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}-${width}-${colorScheme}.png`, fullPage: true });
    }
  }
}

/** Forgets the looks of an earlier run. */
export function forgetLooks() {
  rmSync(LOOKS, { force: true });
}

/** Says what axe found on all the pages that were looked at, and writes it for machines. */
export function reportLooks() {
  let lines: { name: string; grave: string[]; slight: string[] }[];
  try {
    lines = readFileSync(LOOKS, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  } catch {
    // No page was looked at.
    return;
  }
  const figures = {
    axe_pages_and_states: new Set(lines.map((it) => it.name)).size,
    axe_looks: lines.length,
    axe_serious_or_critical: lines.reduce((sum, it) => sum + it.grave.length, 0),
    axe_moderate_or_minor: lines.reduce((sum, it) => sum + it.slight.length, 0),
  };
  writeFileSync(join(reports, "axe.json"), `${JSON.stringify(figures, null, 2)}\n`);
  for (const [name, figure] of Object.entries(figures)) console.log(`${name}: ${figure}`);
}
