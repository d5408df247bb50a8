// `npm test`: checks, builds and tests everything, in a fresh clone too.
//
//   npm test                                               everything
//   npm test -- --only bun                                 one part of it (see PARTS)
//   npm test -- --only bun,deno tests/core/gcra.test.ts    some files on some runtimes
//
// TIDEGATE_SEED=n          the seed of the property tests; otherwise a random one, printed
// TIDEGATE_RUNS=x          multiplies how often each property is tried
// TIDEGATE_SKIP_REDIS=1    leaves out what needs a redis-server
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

import { build } from "./build.mjs";
import { child } from "./child.mjs";
import { install, root } from "./install.mjs";
import { checkInstalls } from "./installs.mjs";
import { countFile } from "./junit.mjs";
import { readManifests } from "./manifests.mjs";
import { checkBareTypes, checkTypes, systemNode, tryPackage, unpackPackage } from "./package.mjs";
import { redisServer } from "./redis_server.mjs";

const PARTS = ["checks", "docs", "bun", "deno", "node", "package"];
const reports = join(root, "node_modules/.cache/reports");

/** @typedef {import("./child.mjs").Ended} Ended */
/** @typedef {import("./junit.mjs").Counts} Counts */

/** What each part of the run counted, by its name in the summary. @type {Map<string, Counts>} */
const summary = new Map();

/** The titles of what went wrong. @type {string[]} */
const faults = [];

const { parts, files } = readArguments(process.argv.slice(2));
const seed = process.env.TIDEGATE_SEED ?? String(Math.floor(Math.random() * 2 ** 31));

prepare();

if (parts.has("checks")) await runChecks();
if (parts.has("docs")) await runDocs();
if (parts.has("bun")) await runBun();
if (parts.has("deno")) await runDeno();
if (parts.has("node")) await runNode();
if (files.given === false) compareRuntimes();
if (parts.has("package")) await runPackage();
printSummary();

function prepare() {
  heading("Preparing");
  try {
    install();
    const redis = redisServer();
    console.log(`redis-server: ${redis?.command ?? "left out"}`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    console.log("0 passed, 1 failed");
    process.exit(1);
  }
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  console.log(`seed: ${seed}`);
}

/** @param {string[]} given */
function readArguments(given) {
  const at = given.indexOf("--only");
  const names = at === -1 ? PARTS : (given[at + 1] ?? "").split(",");
  const unknown = names.find((name) => !PARTS.includes(name));
  if (unknown !== undefined) {
    console.error(`Cannot run only "${unknown}": it must be of ${PARTS.join(", ")}`);
    process.exit(2);
  }
  const chosen = given.filter((_, index) => at === -1 || (index !== at && index !== at + 1));
  const list = chosen.length > 0 ? chosen : filesUnder("tests", ".test.ts");
  return {
    parts: new Set(names),
    files: { given: chosen.length > 0, list: list.map((file) => `./${file.replace(/^\.\//, "")}`) },
  };
}

async function runChecks() {
  const entries = /** @type {string[]} */ (Object.values(readManifests().deno.exports));
  await check("Format", () => child("deno", ["fmt", "--check", "--quiet"]));
  await check("Lint", () => child("deno", ["lint", "--quiet"]));
  await check("Types, by tsc", () => child("tsc", ["--noEmit"]));
  await check("Types, by deno", () => child("deno", ["check", "--quiet", ...forDeno()]));
  await check(
    "Documentation",
    () => child("deno", ["doc", "--lint", "--quiet", "--no-npm", ...entries]),
  );
  await check(
    "Publishing to JSR",
    () => child("deno", ["publish", "--dry-run", "--allow-dirty", "--quiet"]),
  );
  await check("Build", build);
}

/**
 * One step that passes or fails as a whole.
 * @param {string} title
 * @param {() => Promise<Ended>} run
 */
async function check(title, run) {
  heading(title);
  const ended = await run().catch(asFailure);
  const failed = ended.status !== 0;
  if (failed) faults.push(title);
  add(
    "checks",
    failed ? { passed: 0, failed: 1, skipped: 0 } : { passed: 1, failed: 0, skipped: 0 },
  );
  console.log(`${failed ? "failed" : "ok"} (${ended.seconds.toFixed(1)} s)`);
}

/** Everything but the examples for Bun alone: Deno does not know its types. */
function forDeno() {
  const forAll = (/** @type {string} */ file) =>
    !/\bBun\./.test(readFileSync(join(root, file), "utf8"));
  const examples = ["examples", "bench"].flatMap((folder) => filesUnder(folder, ".ts"));
  return [
    ...present(["mod.ts", "core", "stores", "adapters", "tests"]),
    ...examples.filter(forAll),
  ];
}

/** @param {string[]} places */
function present(places) {
  return places.filter((place) => existsSync(join(root, place)));
}

async function runDocs() {
  const places = ["mod.ts", "core", "stores", "adapters", ...filesUnder("docs", ".md")];
  const pages = readdirSync(root).filter((name) => name.endsWith(".md"));
  await suite("docs", "Documentation examples", "deno", (report) => [
    ...["test", "-A", "--doc", "--quiet", "--reporter=dot", `--junit-path=${report}`],
    ...present([...places, ...pages]),
  ]);
}

function runBun() {
  return suite("bun", "The suite on Bun", "bun", (report) => [
    ...["test", "--dots", "--timeout=120000"],
    ...["--reporter=junit", `--reporter-outfile=${report}`],
    ...files.list,
  ]);
}

function runDeno() {
  return suite("deno", "The suite on Deno", "deno", (report) => [
    ...["test", "-A", "--no-check", "--quiet", "--reporter=dot", `--junit-path=${report}`],
    ...files.list,
  ]);
}

function runNode() {
  return suite("node 24", "The suite on Node 24", "node", (report) => [
    "--test",
    "--test-timeout=120000",
    ...["--test-reporter=dot", "--test-reporter-destination=stdout"],
    ...["--test-reporter=junit", `--test-reporter-destination=${report}`],
    ...files.list,
  ]);
}

async function runPackage() {
  if (!parts.has("checks")) await check("Build", build);
  await check("Types of the built package", async () => {
    unpackPackage();
    return await checkTypes();
  });
  await check("Types of the built package without peers", checkBareTypes);
  await check("Installs beside other versions of peers", checkInstalls);
  const name = `node ${systemNode().major} (built package)`;
  await counted(name, `The built package on Node ${systemNode().major}`, tryPackage);
}

/**
 * One run of many tests, counted from its report.
 * @param {string} name
 * @param {string} title
 * @param {string} runtime
 * @param {(report: string) => string[]} args
 */
function suite(name, title, runtime, args) {
  const env = { TIDEGATE_RUNTIME: name, TIDEGATE_SEED: seed, DENO_NO_UPDATE_CHECK: "1" };
  return counted(name, title, (report) => child(runtime, args(report), { env }));
}

/**
 * @param {string} name
 * @param {string} title
 * @param {(report: string) => Promise<Ended>} run
 */
async function counted(name, title, run) {
  heading(title);
  const report = join(reports, `${name.replaceAll(/\W+/g, "_")}.xml`);
  const ended = await run(report).catch(asFailure);
  const counts = countFile(report);
  if (ended.left) console.error(`\n${name} left processes behind; they were ended`);
  const failed = ended.status !== 0 || ended.left || counts.passed === 0;
  if (failed) {
    faults.push(title);
    counts.failed = Math.max(counts.failed, 1);
  }
  add(name, counts);
  console.log(`\n${inWords(name, counts)} (${ended.seconds.toFixed(1)} s)`);
}

/**
 * A step that could not be run is a failed one; the others go on.
 * @param {unknown} error
 * @returns {Ended}
 */
function asFailure(error) {
  console.error(error);
  return { status: 1, left: false, seconds: 0 };
}

/** The same files must hold the same number of tests on every runtime. */
function compareRuntimes() {
  const totals = ["bun", "deno", "node 24"].flatMap((name) => {
    const counts = summary.get(name);
    return counts === undefined ? [] : [counts.passed + counts.failed + counts.skipped];
  });
  if (new Set(totals).size <= 1) return;
  const title = `The same tests on every runtime: there were ${totals.join(", ")}`;
  faults.push(title);
  add("checks", { passed: 0, failed: 1, skipped: 0 });
}

function printSummary() {
  heading("Summary");
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const counts of summary.values()) addTo(total, counts);
  for (const fault of faults) console.log(`failed: ${fault}`);
  if (faults.length > 0) console.log(`once more with the same numbers: TIDEGATE_SEED=${seed}`);
  if (process.env.TIDEGATE_SKIP_REDIS === "1") console.log("Redis was left out on request");
  console.log([...summary].map(([name, counts]) => inWords(name, counts)).join(" | "));
  console.log(`${total.passed} passed, ${total.failed} failed`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}

/** @param {string} name @param {Counts} counts */
function inWords(name, { passed, failed, skipped }) {
  const words = [`${passed} passed`];
  if (failed > 0) words.push(`${failed} failed`);
  if (skipped > 0) words.push(`${skipped} skipped`);
  return `${name}: ${words.join(", ")}`;
}

/** @param {string} name @param {Counts} counts */
function add(name, counts) {
  const sum = summary.get(name) ?? { passed: 0, failed: 0, skipped: 0 };
  addTo(sum, counts);
  summary.set(name, sum);
}

/** @param {Counts} sum @param {Counts} counts */
function addTo(sum, counts) {
  sum.passed += counts.passed;
  sum.failed += counts.failed;
  sum.skipped += counts.skipped;
}

/** @param {string} folder @param {string} ending */
function filesUnder(folder, ending) {
  const top = join(root, folder);
  if (!existsSync(top)) return [];
  return readdirSync(top, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(ending) && !path.includes("node_modules"))
    .map((path) => join(folder, path))
    .sort();
}

/** @param {string} title */
function heading(title) {
  console.log(`\n== ${title}`);
}
