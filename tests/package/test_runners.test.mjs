// Real Jest and Vitest in a stranger's project, set up as docs/errors.md says: see .ci/installs.mjs.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { test } from "node:test";

const page = readFileSync("node_modules/tidegate/docs/errors.md", "utf8");
const [, error = "", section = ""] =
  /^### (Must use import to load ES Module)$([^]*?)^#/m.exec(page) ?? [];
const [, options = ""] = /^```json$([^]*?)^```$/m.exec(section) ?? [];

/** @param {string} from How the test gets at tidegate. */
const testOf = (from) => `
const { acquire, gcra, limiter, RateLimitedError } = ${from};
test("a limit", async () => {
  const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }));
  expect(api.consume("a").allowed).toBe(true);
  await expect(acquire(api, "a", { maxWait: 1 })).rejects.toThrow(RateLimitedError);
  expect(() => gcra({ limit: -1, period: "1h", burst: 1 })).toThrow(RangeError);
});
test("fake timers", () => {
  const fake = typeof jest === "undefined" ? vi : jest;
  fake.useFakeTimers({ now: 1_700_000_000_000 });
  const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }));
  api.consume("a");
  fake.advanceTimersByTime(3_600_000);
  expect(api.consume("a").allowed).toBe(true);
});
`;

mkdirSync("runs", { recursive: true });
writeFileSync("runs/required.test.cjs", testOf('require("tidegate")'));
writeFileSync("runs/imported.spec.mjs", testOf('await import("tidegate")'));
writeFileSync("babel.config.cjs", 'module.exports = { presets: ["@babel/preset-env"] };\n');
const base = { testMatch: ["**/runs/*.cjs"], transform: { "\\.[cm]?js$": "babel-jest" } };
writeFileSync("untold.json", JSON.stringify(base));
writeFileSync("told.json", JSON.stringify({ ...base, ...JSON.parse(options || "{}") }));

/**
 * @param {string[]} words
 * @param {Record<string, string>} [env]
 */
function run(words, env) {
  const { status, stdout, stderr } = spawnSync("node", words, {
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "", ...env },
  });
  return { status, output: stdout + stderr };
}

test("Jest fails as the page says, and by its setting it requires the package", () => {
  const untold = run(["node_modules/jest/bin/jest.js", "-c", "untold.json"]);
  assert.ok(untold.output.includes(error) && error !== "", untold.output);
  const told = run(["node_modules/jest/bin/jest.js", "-c", "told.json"]);
  assert.equal(told.status, 0, told.output);
});

test("Jest requires the package by itself from Node 24.9 on", () => {
  const version = spawnSync("node", ["--version"], { encoding: "utf8" }).stdout;
  const [, major = "0", minor = "0"] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  if (Number(major) < 24 || (major === "24" && Number(minor) < 9)) return;
  const words = ["node_modules/jest/bin/jest.js", "-c", "untold.json"];
  const { status, output } = run(words, { NODE_OPTIONS: "--experimental-vm-modules" });
  assert.equal(status, 0, output);
});

test("Vitest needs nothing", () => {
  const { status, output } = run(["node_modules/vitest/vitest.mjs", "run", "--globals", "runs"]);
  assert.equal(status, 0, output);
});
