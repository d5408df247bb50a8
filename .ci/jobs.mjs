// The jobs of `npm test`: the checks, the documentation's examples, the suite on each runtime, and the
// packed package.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { build, UNCHECKED } from "./build.mjs";
import { child } from "./child.mjs";
import { filesFor } from "./divide.mjs";
import { root } from "./install.mjs";
import { checkFormat } from "./format.mjs";
import { countFile } from "./junit.mjs";
import { checkGitInstall } from "./git_installs.mjs";
import { checkInstalls, isLong } from "./installs.mjs";
import { entryPoints, readManifests } from "./manifests.mjs";
import { checkPublished } from "./published.mjs";
import {
  checkBareTypes,
  checkBuiltTypes,
  systemNode,
  tryPackage,
  unpackPackage,
} from "./package.mjs";
import { isOfDeno, writeSnippets } from "./snippets.mjs";
import { checkTypes, checkTypesForDeno } from "./types.mjs";

/** The runtimes that run the whole suite. */
export const RUNTIMES = /** @type {const} */ (["bun", "deno", "node"]);

/** The parts of a run, by the names that `--only` takes. */
export const PARTS = /** @type {readonly string[]} */ (["checks", "docs", ...RUNTIMES, "package"]);

/** A test that takes longer than this, in milliseconds, has failed. Deno knows no such limit. */
const TEST_TIMEOUT = 300_000;

/** PGlite's Postgres runs for seconds, and is optimized for longer than it runs. */
const V8_FLAGS = "--liftoff-only";

/**
 * The result of a job that cannot run on this machine.
 * @type {Result}
 */
const SKIPPED = {
  failed: false,
  counts: { passed: 0, failed: 0, skipped: 1 },
  seconds: 0,
  output: "",
};

/** @typedef {typeof RUNTIMES[number]} Runtime */
/** @typedef {import("./child.mjs").Ended} Ended */
/** @typedef {import("./junit.mjs").Counts} Counts */
/** @typedef {(text: string) => void} OnOutput */

/**
 * @typedef {object} Plan
 * @property {readonly string[]} parts
 * @property {{ readonly whole: boolean, readonly list: readonly string[] }} files
 * @property {number} seed
 * @property {string} reports The folder for JUnit files.
 * @property {readonly string[]} missing Runtimes and programs that cannot be had here.
 */

/**
 * @typedef {object} Result
 * @property {boolean} failed
 * @property {Counts} counts
 * @property {number} seconds
 * @property {string} output
 */

/**
 * @typedef {object} Job
 * @property {string} part
 * @property {string} title
 * @property {number} guess How many seconds it takes on two cores, about.
 * @property {string} [after] The title of the job that must end first.
 * @property {(onOutput: OnOutput) => Promise<Result>} run Never rejects.
 */

/**
 * The jobs of a run, the longest first.
 * @param {Plan} plan
 * @returns {Job[]}
 */
export function jobsOf(plan) {
  const { parts, missing } = plan;
  const runtimes = RUNTIMES.filter((name) => parts.includes(name)).map((name) =>
    missing.includes(name) ? skippedJob(name) : suiteJob(name, plan)
  );
  const built = parts.includes("checks") || parts.includes("package");
  const documented = parts.includes("checks") || parts.includes("docs");
  const snippets = documented ? writeSnippets(documentedFiles()) : undefined;
  return [
    ...runtimes,
    ...(built ? [buildJob(plan)] : []),
    ...(snippets && parts.includes("checks") ? checkJobs(snippets) : []),
    ...(snippets && parts.includes("docs") ? [docsJob(plan, snippets.runner)] : []),
    ...(parts.includes("package") ? packageJobs(plan) : []),
  ];
}

/**
 * Builds dist/. Where the package is tried, too, an install from a git address builds it.
 * @param {Plan} plan
 */
function buildJob({ parts, missing }) {
  if (parts.includes("package") && !missing.includes("bun")) {
    return checkJob("Build", 12, checkGitInstall);
  }
  // "Types" checks all types; what the compiler emits is the same without.
  return checkJob("Build", 3, () => build(UNCHECKED));
}

/** @param {import("./snippets.mjs").Written} snippets */
function checkJobs({ ofDeno, runner }) {
  const forDeno = [...ofDeno, ...examplesOfDeno()];
  const entries = Object.values(entryPoints(readManifests().deno));
  const doc = ["doc", "--lint", "--quiet", "--no-npm", ...entries];
  // "Types for Deno" checks types, and the linter asks for explicit ones. A long run has Deno's own
  // compiler check them, too.
  const unchecked = isLong ? [] : ["--no-check"];
  const publish = ["publish", "--dry-run", "--allow-dirty", "--quiet", ...unchecked];
  return [
    checkJob("Publishing to JSR", 1, () => child("deno", publish)),
    checkJob("Types", 10, () => checkTypes([runner, ...forDeno])),
    checkJob("Types for Deno", 3, () => checkTypesForDeno(forDeno)),
    checkJob("Format", 2, checkFormat),
    checkJob("Lint", 1, () => child("deno", ["lint", "--quiet"])),
    checkJob("Documentation", 1, () => child("deno", doc)),
    // Loaded when its packages are installed, because all that this command imports at once must be
    // its own.
    checkJob("Public API", 1, async () => (await import("./api.mjs")).checkApi(), {
      after: "Build",
    }),
    checkJob("Options", 1, async () => (await import("./options.mjs")).checkOptions(), {
      after: "Build",
    }),
  ];
}

/**
 * One step that passes or fails as a whole.
 * @param {string} title
 * @param {number} guess
 * @param {() => Promise<Ended>} start
 * @param {Partial<Job>} [more]
 * @returns {Job}
 */
function checkJob(title, guess, start, more = {}) {
  const run = async () => {
    try {
      const ended = await start();
      return resultOf(ended, { passed: ended.status === 0 ? 1 : 0, failed: 0, skipped: 0 });
    } catch (error) {
      if (/** @type {{ code?: string }} */ (error).code === "NO_REGISTRY") return SKIPPED;
      return resultOf(asFailure(error), { passed: 0, failed: 1, skipped: 0 });
    }
  };
  return { part: "checks", title, guess, run, ...more };
}

function examplesOfDeno() {
  return filesUnder("examples", ".ts").filter((file) =>
    !file.startsWith("examples/frameworks") && isOfDeno(readFileSync(join(root, file), "utf8"))
  );
}

/** The files whose examples run. */
function documentedFiles() {
  const modules = ["core", "stores", "adapters"].flatMap((folder) => filesUnder(folder, ".ts"));
  const pages = readdirSync(root).filter((name) => name.endsWith(".md"));
  return ["mod.ts", ...modules, ...filesUnder("docs", ".md"), ...pages];
}

/**
 * The examples in the documentation, whose types the checks look at.
 * @param {Plan} plan
 * @param {string} snippets
 */
function docsJob(plan, snippets) {
  return testJob("docs", "Documentation examples", 5, plan, (report, onOutput) =>
    child("deno", [
      ...["test", "-A", "--no-check", "--unstable-kv", "--quiet", `--v8-flags=${V8_FLAGS}`],
      ...["--reporter=dot", `--junit-path=${report}`, snippets],
    ], { onOutput }));
}

/**
 * The suite on one runtime.
 * @param {Runtime} name
 * @param {Plan} plan
 */
function suiteJob(name, plan) {
  const { seed } = plan;
  const list = isDivided(plan) ? filesOn(name, plan) : plan.files.list;
  const env = {
    TIDEGATE_RUNTIME: name,
    // Each runtime draws cases of its own.
    TIDEGATE_SEED: String((seed + RUNTIMES.indexOf(name)) % 2 ** 31),
    TIDEGATE_FILES: list.join(),
    TIDEGATE_DIVIDED: isDivided(plan) && list.length < plan.files.list.length ? "1" : "",
    TIDEGATE_WITHOUT: plan.missing.join(),
    DENO_NO_UPDATE_CHECK: "1",
    // Each process and thread of Node that a test starts would strip the types of the same modules.
    NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compile"),
  };
  return testJob(
    name,
    name,
    120,
    plan,
    (report, onOutput) =>
      child(name, argumentsOf(name, report, list), { env, yields: false, onOutput }),
  );
}

/**
 * Whether the runtimes divide the files: not where some files are asked for, and not in a long run.
 * @param {Plan} plan
 */
export function isDivided({ files }) {
  return files.whole && !isLong;
}

/**
 * @param {Runtime} name
 * @param {Plan} plan
 */
function filesOn(name, { parts, files, seed, missing }) {
  const running = RUNTIMES.filter((one) => parts.includes(one) && !missing.includes(one));
  return filesFor(files.list, seed + running.indexOf(name), running.length);
}

/**
 * @param {Runtime} name
 * @param {string} report
 * @param {readonly string[]} list
 * @returns {string[]}
 */
function argumentsOf(name, report, list) {
  switch (name) {
    case "bun":
      return [
        ...["test", "--dots", `--timeout=${TEST_TIMEOUT}`],
        ...["--reporter=junit", `--reporter-outfile=${report}`],
        ...list,
      ];
    case "deno":
      return [
        ...["test", "-A", "--no-check", "--quiet", `--v8-flags=${V8_FLAGS}`],
        // Deno loads every module anew for each test file. This one imports all of TIDEGATE_FILES.
        ...[`--junit-path=${report}`, ".ci/on_deno.mjs"],
      ];
    case "node":
      return [
        ...[V8_FLAGS, "--expose-internals", "--import", "./.ci/on_node.mjs"],
        // One process for all files, as on Bun and Deno.
        ...["--test", "--test-isolation=none", `--test-timeout=${TEST_TIMEOUT}`],
        ...["--test-reporter=dot", "--test-reporter-destination=stdout"],
        ...["--test-reporter=junit", `--test-reporter-destination=${report}`],
        ...list,
      ];
  }
}

/**
 * The packed package, as its users get it.
 * @param {Plan} plan
 */
function packageJobs(plan) {
  const types = "Types of the built package";
  const name = `The built package on Node ${systemNode().major}`;
  const check = async () => {
    await unpackPackage();
    return checkBuiltTypes();
  };
  return [
    checkJob(types, 5, check, { part: "package", after: "Build" }),
    checkJob(`${types} without peers`, 5, checkBareTypes, { part: "package", after: types }),
    checkJob("The published modules on Deno", 8, checkPublished, { part: "package" }),
    checkJob("Installs beside other versions of peers", 12, () => checkInstalls(plan.seed), {
      part: "package",
      after: types,
    }),
    { ...testJob("package", name, 10, plan, (report) => tryPackage(report)), after: types },
  ];
}

/**
 * Many tests, counted from their report.
 * @param {string} part
 * @param {string} title
 * @param {number} guess
 * @param {Plan} plan
 * @param {(report: string, onOutput: OnOutput) => Promise<Ended>} start
 * @returns {Job}
 */
function testJob(part, title, guess, { reports }, start) {
  const run = async (/** @type {OnOutput} */ onOutput) => {
    const report = join(reports, `${part}.xml`);
    const ended = await start(report, onOutput).catch(asFailure);
    return resultOf(ended, countFile(report));
  };
  return { part, title, guess, run };
}

/**
 * A runtime that does not run here.
 * @param {Runtime} name
 * @returns {Job}
 */
function skippedJob(name) {
  return { part: name, title: name, guess: 0, run: () => Promise.resolve(SKIPPED) };
}

/**
 * A job has failed, too, where nothing ran and where it left processes behind.
 * @param {Ended} ended
 * @param {Counts} counts
 * @returns {Result}
 */
function resultOf({ status, left, seconds, output }, counts) {
  const failed = status !== 0 || left || counts.passed === 0;
  const note = left ? "\nProcesses were left behind, and were killed\n" : "";
  const failures = failed ? Math.max(counts.failed, 1) : 0;
  return { failed, counts: { ...counts, failed: failures }, seconds, output: output + note };
}

/**
 * A job that could not be started has failed; the others go on.
 * @param {unknown} error
 * @returns {Ended}
 */
function asFailure(error) {
  const output = error instanceof Error ? `${error.stack}\n` : String(error);
  return { status: 1, left: false, seconds: 0, output };
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
