// Starts shop and provider as the real programs, and reads the three records: what the page
// says, what the shop's database holds, what the provider's ledger shows.

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test as base, expect, type BrowserContext, type Page } from "@playwright/test";
import Database from "better-sqlite3";

const root = resolve(import.meta.dirname, "../..");
const program = (name: string) => join(root, "target/debug", name);
const BOUND = 30_000;

/** A free port that no program is given by chance: below those that the system hands out. */
async function freePort(): Promise<number> {
  for (;;) {
    // Each worker has a range of its own: what one has looked at, another would take meanwhile.
    const worker = Number(process.env.TEST_PARALLEL_INDEX ?? 0);
    const port = 10_000 + (worker % 8) * 1000 + ((process.pid * 37 + given++) % 1000);
    const free = await new Promise<boolean>((done) => {
      const server = createServer();
      server.once("error", () => done(false));
      server.listen(port, "127.0.0.1", () => server.close(() => done(true)));
    });
    if (free) return port;
  }
}
let given = 0;

/** Waits for a condition, within a bound. */
export async function until<T>(what: string, check: () => T | Promise<T>, bound = BOUND): Promise<NonNullable<T>> {
  const end = Date.now() + bound;
  for (;;) {
    const value = await check();
    if (value) return value as NonNullable<T>;
    if (Date.now() > end) throw new Error(`within ${bound} ms it did not come to this: ${what}`);
    await new Promise((next) => setTimeout(next, 25));
  }
}

class Program {
  private child: ChildProcess;
  log = "";

  constructor(name: string, environment: Record<string, string>) {
    this.child = spawn(program(name), [], { env: { ...process.env, ...environment }, cwd: root, stdio: ["ignore", "pipe", "pipe"] });
    this.child.stdout!.on("data", (data) => (this.log += data));
    this.child.stderr!.on("data", (data) => (this.log += data));
    this.child.on("error", (reason) => (this.log += `${reason}\n`));
  }

  private get ended() {
    return this.child.exitCode !== null || this.child.signalCode !== null || !this.child.pid;
  }

  ready(words: string): Promise<string> {
    return until(words, () => {
      const address = new RegExp(`${words} (\\S+)`).exec(this.log)?.[1];
      if (!address && this.ended) throw new Error(`it ended before it was ready:\n${this.log}`);
      return address;
    });
  }

  kill(): Promise<void> {
    return new Promise((done) => {
      if (this.ended) return done();
      this.child.once("exit", () => done());
      this.child.kill("SIGKILL");
    });
  }
}

/** A door in front of the shop that can cut every open connection, or let none in. */
class Proxy {
  private sockets = new Set<Socket>();
  private open = true;
  private server = createServer((client) => {
    if (!this.open) return void client.destroy();
    const shop = connect(this.target, "127.0.0.1");
    for (const [one, other] of [[client, shop], [shop, client]] as const) {
      this.sockets.add(one);
      one.on("data", (data) => other.write(data));
      one.on("error", () => other.destroy());
      one.on("close", () => {
        this.sockets.delete(one);
        other.destroy();
      });
    }
  });

  constructor(private target: number) {}

  listen(port: number): Promise<void> {
    return new Promise((done) => this.server.listen(port, "127.0.0.1", () => done()));
  }

  cut(open = true) {
    this.open = open;
    for (const socket of this.sockets) socket.destroy();
  }

  letIn() {
    this.open = true;
  }

  close() {
    this.cut(false);
    this.server.close();
  }
}

export interface Options {
  /** Multiplies the shop's waits. */
  scale: string;
  /** Further settings of the provider. */
  provider: Record<string, string>;
  /** Further settings of the shop. */
  shop?: Record<string, string>;
  /** Whether there is a fault lab. */
  lab?: boolean;
}

export class World {
  url = "";
  control = "";
  proxy!: Proxy;
  private folder = mkdtempSync(join(tmpdir(), "payonce-"));
  private shop!: Program;
  private provider!: Program;
  private shopPort = 0;
  private providerUrl = "";
  private doors: string[] = [];
  private shown: Shown[] = [];
  private watching = true;

  constructor(private options: Options) {}

  async start() {
    this.shopPort = await freePort();
    const port = await freePort();
    this.url = `http://127.0.0.1:${port}`;
    this.provider = new Program("examplepay", {
      EXAMPLEPAY_ADDR: "127.0.0.1:0",
      EXAMPLEPAY_CONTROL_ADDR: "127.0.0.1:0",
      EXAMPLEPAY_DB: join(this.folder, "provider.db"),
      EXAMPLEPAY_WEBHOOK_URL: `http://127.0.0.1:${this.shopPort}/webhooks/examplepay`,
      EXAMPLEPAY_STRIPE_WEBHOOK_URL: `http://127.0.0.1:${this.shopPort}/webhooks/stripe`,
      EXAMPLEPAY_PAYPAL_WEBHOOK_URL: `http://127.0.0.1:${this.shopPort}/webhooks/paypal`,
      EXAMPLEPAY_WEBHOOK_DELAY_MS: "100",
      EXAMPLEPAY_PROCESSING_MS: "4000",
      ...this.options.provider,
    });
    this.control = await this.provider.ready("control is ready at");
    this.providerUrl = await this.provider.ready("ExamplePay is ready at");
    for (const door of ["Stripe door is", "PayPal door is", "partners are"]) this.doors.push(await this.provider.ready(`ExamplePay's ${door} open at`));
    await this.startShop();
    this.proxy = new Proxy(this.shopPort);
    await this.proxy.listen(port);
  }

  async startShop() {
    const [stripe, paypal, partners] = this.doors as [string, string, string];
    this.shop = new Program("payonce", {
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
      PAYONCE_ADDR: `127.0.0.1:${this.shopPort}`,
      PAYONCE_PUBLIC_URL: this.url,
      PAYONCE_DATABASE: join(this.folder, "shop.db"),
      PAYONCE_EXAMPLEPAY_URL: this.providerUrl,
      PAYONCE_EXAMPLEPAY_API_KEY: "sk_test_payonce",
      PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET: "whsec_payonce",
      PAYONCE_TIME_SCALE: this.options.scale,
      PAYONCE_SITE_ROOT: join(root, "target/site"),
      PAYONCE_PAY_RATE_PER_MINUTE: "6000",
      PAYONCE_MAIL_FOLDER: join(this.folder, "mail"),
      ...(this.options.lab ? { PAYONCE_LAB_CONTROL_URL: this.control } : {}),
      ...this.options.shop,
    });
    await this.shop.ready("Payonce is ready at");
  }

  killShop() {
    return this.shop.kill();
  }

  async stop() {
    this.proxy?.close();
    await this.shop?.kill();
    await this.provider?.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  get logs() {
    return `shop:\n${this.shop?.log}\nprovider:\n${this.provider?.log}`;
  }

  /** Where the simulator speaks Stripe's wire. */
  get stripe(): string {
    return this.doors[0]!;
  }

  /** Where it speaks PayPal's. */
  get paypal(): string {
    return this.doors[1]!;
  }

  /** Tells the provider's control API something. */
  async tell(path: string, body: unknown): Promise<any> {
    const answer = await fetch(`${this.control}/control/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(answer.ok, await answer.clone().text()).toBe(true);
    return answer.json();
  }

  async ask(path: string): Promise<any> {
    return (await fetch(`${this.control}/control/${path}`)).json();
  }

  /** Rows of the shop's database. */
  rows(sql: string, ...values: unknown[]): any[] {
    const database = new Database(join(this.folder, "shop.db"), { readonly: true });
    try {
      return database.prepare(sql).all(...values);
    } finally {
      database.close();
    }
  }

  /** The mutating requests that the provider received for one checkout. */
  async sends(checkout: string): Promise<any[]> {
    const { requests } = await this.ask("requests");
    return requests.filter((it: any) => it.method === "POST" && it.key?.includes(checkout));
  }

  /** The mails that became files, by what they tell. */
  mails(): { fact: string; text: string }[] {
    const folder = join(this.folder, "mail");
    if (!existsSync(folder)) return [];
    const names = readdirSync(folder).filter((name) => name.endsWith(".eml"));
    return names.map((name) => ({ fact: /^P-\w+-\w+-([a-z_]+)-/.exec(name)?.[1] ?? name, text: readFileSync(join(folder, name), "utf8") }));
  }

  payments(checkout: string) {
    return this.rows(
      `select operations.* from operations join orders on orders.id = order_id
       where checkout_id = ? and kind = 'payment' order by attempt`,
      checkout,
    );
  }

  /** Writes down everything that the pages of a browser show of a payment, as it happens; without scripts it cannot. */
  async watch(context: BrowserContext, scripts = true) {
    this.watching = scripts;
    if (!scripts) return;
    context.on("console", (line) => {
      const shown = /^shown (.*)$/.exec(line.text())?.[1];
      if (!shown) return;
      const told: Shown = JSON.parse(shown);
      // A page that comes back from the browser's memory tells everything once more.
      const known = this.shown.some((it) => it.document === told.document && it.number === told.number);
      if (!known) this.shown.push(told);
    });
    await context.addInitScript(record);
  }

  hasShown(checkout: string, state: string) {
    return !this.watching || this.shown.some((it) => it.checkout === checkout && it.state === state);
  }

  /** Whatever was shown at any moment had been committed, in that order, and offered no second payment. */
  expectTruthful() {
    const newest = new Map<string, number>();
    for (const shown of this.shown) {
      const told = JSON.stringify(shown);
      expect(shown.sequence, `never back to what was: ${told}`).toBeGreaterThanOrEqual(newest.get(shown.document) ?? 0);
      newest.set(shown.document, shown.sequence);
      const [committed] = this.rows(
        `select to_state from transitions join operations on operations.id = operation_id join orders on orders.id = transitions.order_id
         where checkout_id = ? and kind = 'payment' and order_sequence <= ? order by operations.attempt desc, order_sequence desc limit 1`,
        shown.checkout,
        shown.sequence,
      );
      expect(shown.state, `only what is committed: ${told}`).toBe(committed?.to_state);
      if (!["rejected", "canceled"].includes(shown.state)) expect(shown.controls, `no second payment: ${told}`).toBe(0);
    }
  }
}

/** What a page showed of a payment at some moment. */
interface Shown {
  document: string;
  number: number;
  checkout: string;
  sequence: number;
  state: string;
  controls: number;
}

/** Runs in the page. */
function record() {
  const name = String(Math.random());
  let number = 0;
  let last = "";
  const look = () => {
    const panel = document.querySelector<HTMLElement>("[data-panel]");
    if (!panel) return;
    const shown = {
      checkout: location.pathname.split("/")[2] ?? "",
      sequence: Number(panel.dataset.sequence),
      state: panel.dataset.state ?? "",
      controls: document.querySelectorAll("[data-pay-control]").length,
    };
    const text = JSON.stringify(shown);
    if (text === last) return;
    last = text;
    console.debug(`shown ${JSON.stringify({ document: name, number: number++, ...shown } satisfies Shown)}`);
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
}

/** What a page, the database and the ledger have to agree on. */
export interface Agreed {
  state: string;
  charges: number;
  /** The order's amount, where something was charged. */
  amount?: number;
}

/** Page, database and ledger say the same; and no pay control stands beside an open payment. */
export async function expectAgreement(world: World, page: Page, checkout: string, agreed: Agreed, wanted = true) {
  const panel = page.locator("[data-panel]");
  await expect(panel).toHaveAttribute("data-state", agreed.state, { timeout: BOUND });
  const newest = world.payments(checkout).at(-1);
  expect(newest?.state).toBe(agreed.state);
  const reference = world.rows("select reference from orders where checkout_id = ?", checkout)[0].reference;
  await expect(panel).toContainText(reference);
  const { effects } = await world.ask(`ledger?reference_prefix=${reference}`);
  const charges = effects.filter((it: any) => it.kind === "charge");
  expect(charges.length, JSON.stringify(effects)).toBe(agreed.charges);
  if (agreed.amount !== undefined) expect(charges[0].amount_minor).toBe(agreed.amount);
  expect(world.rows("select count(*) as n from orders where checkout_id = ?", checkout)[0].n).toBe(1);
  const bytes = new Map<string, string>();
  for (const send of await world.sends(checkout)) {
    expect(bytes.get(send.key) ?? send.body_sha256, `the bytes of ${send.key}`).toBe(send.body_sha256);
    bytes.set(send.key, send.body_sha256);
  }
  // An order that was given up offers nothing any more.
  await expectNoControl(page, wanted ? agreed.state : "given up");
  await until("what is shown is written down", () => world.hasShown(checkout, agreed.state));
}

/** Once a payment exists, a pay control is there only after a no. */
export async function expectNoControl(page: Page, state: string) {
  const controls = page.locator("[data-pay-control]");
  if (state === "rejected" || state === "canceled") await expect(controls).toHaveCount(1);
  else await expect(controls).toHaveCount(0);
}

export const test = base.extend<{ options: Options; world: World }>({
  options: [{ scale: "0.2", provider: {} }, { option: true }],
  world: async ({ options }, use, info) => {
    const world = new World(options);
    await world.start();
    await use(world);
    try {
      world.expectTruthful();
    } finally {
      if (info.errors.length) await info.attach("logs", { body: world.logs, contentType: "text/plain" });
      await world.stop();
    }
  },
  baseURL: async ({ world }, use) => use(world.url),
  context: async ({ context, world, javaScriptEnabled }, use) => {
    await world.watch(context, javaScriptEnabled !== false);
    await use(context);
  },
});

export { expect };
