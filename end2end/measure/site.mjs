// Starts the shop as browsers get it (`target/light`, see .ci/light.sh) and its provider, on free
// ports and new databases, and shops there without a browser.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");
const BOUND_MS = 30_000;

function freePort() {
  return new Promise((done, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** Waits for a condition, within a bound. */
export async function until(what, check) {
  const end = Date.now() + BOUND_MS;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`within ${BOUND_MS} ms it did not come to this: ${what}`);
    await new Promise((next) => setTimeout(next, 50));
  }
}

class Program {
  log = "";

  constructor(path, environment) {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(PAYONCE|EXAMPLEPAY)_/.test(name));
    this.child = spawn(join(root, path), [], { env: { ...Object.fromEntries(inherited), ...environment }, cwd: root, stdio: ["ignore", "pipe", "pipe"] });
    this.ended = new Promise((done) => this.child.once("close", done));
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on("data", (data) => (this.log += data));
    this.child.once("error", (reason) => (this.log += `${reason}\n`));
  }

  ready(words) {
    return until(words, () => {
      const address = new RegExp(`${words} (\\S+)`).exec(this.log)?.[1];
      if (!address && (this.child.exitCode !== null || !this.child.pid)) throw new Error(`it ended before it was ready:\n${this.log}`);
      return address;
    });
  }

  async stop() {
    if (!this.child.pid) return;
    this.child.kill("SIGKILL");
    await this.ended;
  }
}

/** Runs something against a shop and its provider, and stops both whatever comes of it. */
export async function withShop(run) {
  if (!existsSync(join(root, "target/light/payonce"))) throw new Error("there is no target/light: run 'sh .ci/light.sh'");
  const folder = mkdtempSync(join(tmpdir(), "payonce-"));
  const programs = [];
  const stop = async () => {
    await Promise.all(programs.map((it) => it.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  const interrupted = () => stop().then(() => process.exit(130));
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  try {
    const port = await freePort();
    const provider = new Program("target/debug/examplepay", {
      EXAMPLEPAY_ADDR: "127.0.0.1:0",
      EXAMPLEPAY_CONTROL_ADDR: "127.0.0.1:0",
      EXAMPLEPAY_DB: join(folder, "provider.db"),
      EXAMPLEPAY_WEBHOOK_URL: `http://127.0.0.1:${port}/webhooks/examplepay`,
      EXAMPLEPAY_STRIPE_WEBHOOK_URL: `http://127.0.0.1:${port}/webhooks/stripe`,
      EXAMPLEPAY_PAYPAL_WEBHOOK_URL: `http://127.0.0.1:${port}/webhooks/paypal`,
      // Longer than anybody measures.
      EXAMPLEPAY_PROCESSING_MS: "3600000",
    });
    programs.push(provider);
    const [url, stripe, paypal, partners] = await Promise.all(
      ["ExamplePay is ready at", "Stripe door is open at", "PayPal door is open at", "partners are open at"].map((words) => provider.ready(words)),
    );
    const shop = new Program("target/light/payonce", {
      PAYONCE_ADDR: `127.0.0.1:${port}`,
      PAYONCE_DATABASE: join(folder, "shop.db"),
      PAYONCE_SITE_ROOT: join(root, "target/light/site"),
      PAYONCE_EXAMPLEPAY_URL: url,
      PAYONCE_EXAMPLEPAY_API_KEY: "sk_test_payonce",
      PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET: "whsec_payonce",
      PAYONCE_STRIPE_URL: stripe,
      PAYONCE_STRIPE_API_KEY: "sk_test_payonce_stripe",
      PAYONCE_STRIPE_WEBHOOK_SECRET: "whsec_payonce_stripe",
      PAYONCE_PAYPAL_URL: paypal,
      PAYONCE_PAYPAL_CLIENT_ID: "payonce",
      PAYONCE_PAYPAL_CLIENT_SECRET: "payonce_secret",
      PAYONCE_PAYPAL_WEBHOOK_ID: "WH-PAYONCE",
      PAYONCE_PAYPAL_SIMULATOR_ROOT: join(root, "server/examplepay/certs/ca.pem"),
      PAYONCE_INVOICING_URL: partners,
      PAYONCE_SHIPPING_URL: partners,
      PAYONCE_PARTNERS_API_KEY: "key_partners",
    });
    programs.push(shop);
    await run(await shop.ready("Payonce is ready at"));
  } finally {
    process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
    await stop();
  }
}

/** Somebody who shops without a browser. */
export class Shopper {
  cookie = "";

  constructor(url) {
    this.url = url;
  }

  async send(path, form) {
    const headers = this.cookie ? { cookie: this.cookie } : {};
    const answer = await fetch(this.url + path, { method: form ? "POST" : "GET", body: form && new URLSearchParams(form), headers, redirect: "manual" });
    const cookies = answer.headers.getSetCookie().map((it) => it.split(";")[0]);
    if (cookies.length) this.cookie = cookies.join("; ");
    return answer;
  }

  /** Puts something into the cart. */
  async fill(sku = "cups") {
    const answer = await this.send("/cart/lines", { sku, quantity: "1", add: "1" });
    if (answer.status !== 303) throw new Error(`the cart was not filled: ${answer.status}`);
  }

  /** Pays the cart with a card; gives the path of its page once the payment is in this state. */
  async pay(token, state) {
    const page = await (await this.send("/checkout")).text();
    const form = /<form[^>]*data-pay-form[\s\S]*?<\/form>/.exec(page)?.[0] ?? "";
    const [tag, ...inputs] = form.match(/<(form|input)[^>]*>/g) ?? [];
    const value = (text, name) => new RegExp(`\\b${name}="([^"]*)"`).exec(text ?? "")?.[1] ?? "";
    const hidden = inputs.filter((it) => value(it, "type") === "hidden").map((it) => [value(it, "name"), value(it, "value")]);
    const answer = await this.send(value(tag, "action"), { ...Object.fromEntries(hidden), payment_token: token });
    const path = answer.headers.get("location");
    if (answer.status !== 303 || !path) throw new Error(`paying with ${token} was answered with ${answer.status}`);
    await until(`${token} is ${state}`, async () => (await (await this.send(`${path}/status`)).json()).state === state);
    return path;
  }
}

/** Keeps figures as `target/reports/<name>.json`: flat names and numbers. */
export function report(name, figures) {
  mkdirSync(join(root, "target/reports"), { recursive: true });
  writeFileSync(join(root, `target/reports/${name}.json`), `${JSON.stringify(figures, null, 2)}\n`);
}
