// `npm test`: checks, builds and tests everything, in a fresh clone too.
//
//   npm test                                       everything
//   npm test -- --only bun                         one part of it (see PARTS)
//   npm test -- --only node,deno tests/core        some files or folders on some runtimes
//   npm test -- --slow                             and the slowest files and tests of each runtime
//
// TIDEGATE_SEED=n              the seed of the property tests; otherwise a random one, printed
// TIDEGATE_RUNS=x              multiplies how often each property is tried
// TIDEGATE_WITHOUT=nginx,...   leaves out what needs these programs
// CI=true                      counts as failed what cannot be tested on this machine
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";

import { install, root } from "./install.mjs";
import { isDivided, jobsOf, PARTS, RUNTIMES } from "./jobs.mjs";
import { progress, testsIn } from "./progress.mjs";
import { missingPrograms } from "./programs.mjs";
import { schedule } from "./schedule.mjs";
import { slowest } from "./slowest.mjs";
import { summarize } from "./summary.mjs";

/** @typedef {import("./jobs.mjs").Result} Result */

const { parts, files, slow } = readArguments(process.argv.slice(2));
const seed = Number(process.env["TIDEGATE_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const reports = join(root, "node_modules/.cache/reports");
const begun = performance.now();

const missing = await prepare();
/** @type {Map<string, Result>} */
const results = new Map();
// Tests wait as much as they compute, so two jobs more than there are cores keep them busy.
const most = availableParallelism() === 1 ? 1 : availableParallelism() + 2;
const plan = { parts, files, seed, reports, missing };
const jobs = jobsOf(plan);
const shown = progress(Object.fromEntries(jobs.map(({ title, guess }) => [title, guess])), most);
await schedule(
  jobs.map((job) => ({ ...job, run: () => job.run((text) => shown.output(job.title, text)) })),
  most,
  {
    onStart: ({ title }) => shown.start(title),
    onEnd(job, result) {
      results.set(job.title, result);
      shown.end(job.title, result.seconds);
      print(job.title, result);
    },
  },
);
shown.stop();
if (slow) { for (const name of RUNTIMES) console.log(slowest(name, reports)); }
const same = files.whole && !isDivided(plan);
process.exitCode = summarize({ jobs, results, missing, seed, begun, same });

/** @returns {Promise<readonly string[]>} The runtimes and programs that this machine does not have. */
async function prepare() {
  try {
    // Beside npm, which waits for its registry half of the time.
    const provided = missingPrograms().length > 0 ? provide() : undefined;
    const runtimes = install();
    await provided;
    const missing = [...runtimes, ...missingPrograms()];
    rmSync(reports, { recursive: true, force: true });
    mkdirSync(reports, { recursive: true });
    console.log(`seed: ${seed}`);
    return missing;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    console.log("0 passed, 1 failed");
    process.exit(1);
  }
}

/** Installs the programs that are missing. Who calls looks afterwards whether they are there. */
function provide() {
  const installing = spawn(process.execPath, [join(root, ".ci/provide.mjs")], {
    stdio: ["ignore", "inherit", "ignore"],
  });
  return new Promise((resolve) => installing.on("error", resolve).on("close", resolve));
}

/**
 * One line for a job that passed, everything it printed for one that failed.
 * @param {string} title
 * @param {Result} result
 */
function print(title, { failed, output, seconds, counts }) {
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
  const verdict = failed ? "failed" : `${counts.passed} passed${skipped}`;
  console.log(`${failed ? "✗" : "✓"} ${title}: ${verdict} (${seconds.toFixed(0)} s)`);
  if (failed) console.log(output.split("\n").filter((line) => testsIn(line) === 0).join("\n"));
}

/** @param {string[]} args */
function readArguments(args) {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: { only: { type: "string" }, slow: { type: "boolean", default: false } },
      allowPositionals: true,
    });
    const parts = values.only?.split(",") ?? PARTS;
    const unknown = parts.find((name) => !PARTS.includes(name));
    if (unknown !== undefined) {
      throw new Error(`Cannot run only "${unknown}" as it must be one of ${PARTS.join(", ")}`);
    }
    const whole = positionals.length === 0;
    const list = whole ? testsUnder("tests") : positionals.flatMap(testsUnder);
    return { parts, files: { whole, list }, slow: values.slow };
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(2);
  }
}

/**
 * A file by itself, and a folder's test files.
 * @param {string} place
 * @returns {string[]}
 */
function testsUnder(place) {
  const path = join(root, place);
  if (!existsSync(path)) {
    throw new Error(`Cannot run ${place} because there is no such file or folder`);
  }
  if (!statSync(path).isDirectory()) return [`./${join(place)}`];
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `./${join(place, name)}`)
    .sort();
}
