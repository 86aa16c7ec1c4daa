// The weight of each page's first load: everything that a browser loads, as the running shop sends
// it, without images and live news. What is loaded a browser tells, scripts that are loaded by
// scripts included; what it weighs is counted from the bytes of a plain request.
// One KB is 1000 bytes.

import { request } from "node:http";
import { chromium } from "@playwright/test";
import { report, Shopper, until, withShop } from "./site.mjs";

const BUDGET_BYTES = 90_000;
const KINDS = [
  ["html", /^text\/html/],
  ["css", /^text\/css/],
  ["js", /^(text|application)\/javascript/],
  ["wasm", /^application\/wasm/],
  ["other", /(?:)/],
];
/** What is not counted. */
const APART = /^(image\/|text\/event-stream)/;

const kb = (bytes) => (bytes / 1000).toFixed(1);

/** The body of an answer in bytes, as it travels. */
function weigh(address, cookie) {
  return new Promise((done, failed) => {
    const sent = request(address, { headers: { "accept-encoding": "br", ...(cookie && { cookie }) } }, (answer) => {
      let bytes = 0;
      answer.on("data", (piece) => (bytes += piece.length));
      answer.on("end", () => (answer.statusCode === 200 ? done({ bytes, encoding: answer.headers["content-encoding"] }) : failed(new Error(`${address} answered ${answer.statusCode}`))));
      answer.on("error", failed);
    });
    sent.on("error", failed);
    sent.end();
  });
}

/** What a browser without any memory loads with a page: address and kind of each answer. */
async function loaded(browser, address, cookie) {
  const context = await browser.newContext();
  try {
    const pairs = cookie ? cookie.split("; ") : [];
    await context.addCookies(pairs.map((it) => ({ name: it.split("=")[0], value: it.slice(it.indexOf("=") + 1), url: address })));
    const page = await context.newPage();
    const answers = [];
    const open = new Set();
    page.on("request", (request) => open.add(request));
    for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => open.delete(request));
    page.on("response", (answer) => answers.push([answer.url(), answer.headers()["content-type"] ?? ""]));
    await page.goto(address, { waitUntil: "load" });
    const islands = await page.locator("leptos-island").count();
    // Islands arrive when the browser is idle; a page with an open stream is never without a request.
    if (islands) await until("the islands' wasm arrives", () => answers.some(([, type]) => type === "application/wasm"));
    // What the islands load when they wake is asked for before the browser is idle again.
    await page.evaluate(() => new Promise((idle) => requestIdleCallback(() => requestIdleCallback(idle))));
    await until("everything but live news has arrived", () => [...open].every((it) => it.resourceType() === "eventsource"));
    return { islands, answers };
  } finally {
    await context.close();
  }
}

const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: process.getuid?.() === 0 ? ["--no-sandbox", "--disable-gpu"] : [],
  });

const figures = {};
const wrong = [];
await withShop(async (url) => {
  const shopper = new Shopper(url);
  await shopper.fill();
  const pending = await shopper.pay("tok_processing", "pending_confirmation");
  await shopper.fill();
  const browser = await launch();
  try {
    for (const [name, path] of [["catalogue", "/"], ["product", "/products/cups"], ["cart", "/cart"], ["checkout", "/checkout"], ["status", pending], ["orders", "/orders"]]) {
      const { islands, answers } = await loaded(browser, url + path, shopper.cookie);
      const parts = Object.fromEntries(KINDS.map(([kind]) => [kind, 0]));
      for (const [address, type] of answers) {
        if (APART.test(type)) continue;
        const [kind] = KINDS.find(([, pattern]) => pattern.test(type));
        const { bytes, encoding } = await weigh(address, shopper.cookie);
        if (encoding !== "br") wrong.push(`${name}: ${new URL(address).pathname} is not sent as brotli`);
        parts[kind] += bytes;
      }
      const total = Object.values(parts).reduce((sum, it) => sum + it, 0);
      const shown = Object.entries(parts).filter(([, bytes]) => bytes > 0);
      for (const [kind, bytes] of shown) figures[`${name}_${kind}_bytes`] = bytes;
      figures[`${name}_total_bytes`] = total;
      console.log(`${name}: ${kb(total)} KB (${shown.map(([kind, bytes]) => `${kind} ${kb(bytes)}`).join(", ")})`);
      if (total > BUDGET_BYTES) wrong.push(`${name}: ${kb(total)} KB are more than the budget of ${kb(BUDGET_BYTES)} KB`);
      if (!islands && parts.wasm) wrong.push(`${name}: loads wasm, but no island is on it`);
    }
  } finally {
    await browser.close();
  }
});
report("size", figures);
for (const line of wrong) console.error(`over budget: ${line}`);
process.exitCode = wrong.length ? 1 : 0;
