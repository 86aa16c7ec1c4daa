import { defineConfig } from "@playwright/test";

// As root Chromium needs no sandbox; without these flags it also looks for hosts of its maker.
const quiet = ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const root = process.getuid?.() === 0 ? ["--no-sandbox", "--disable-gpu"] : [];

export default defineConfig({
  testDir: "tests",
  globalSetup: "./tests/before.ts",
  globalTeardown: "./tests/after.ts",
  timeout: 60_000,
  expect: { timeout: 10_000 },
  workers: 2,
  fullyParallel: true,
  forbidOnly: true,
  retries: 0,
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    launchOptions: {
      executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
      args: [...quiet, ...root],
      // The browser's memory of pages is part of what is tested.
      ignoreDefaultArgs: ["--disable-back-forward-cache"],
    },
  },
});
