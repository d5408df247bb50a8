// The end of `npm test`: a table of its parts, what was skipped, and the verdict.
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";

import { RUNTIMES } from "./jobs.mjs";

/** @typedef {import("./jobs.mjs").Job} Job */
/** @typedef {import("./jobs.mjs").Result} Result */
/** @typedef {import("./junit.mjs").Counts} Counts */

/**
 * Prints the summary.
 *
 * @param {object} run
 * @param {readonly Job[]} run.jobs
 * @param {ReadonlyMap<string, Result>} run.results By the job's title.
 * @param {readonly string[]} run.missing Programs that this machine does not have.
 * @param {number} run.seed
 * @param {number} run.begun When it began, by `performance.now()`.
 * @param {boolean} run.same Whether every runtime was to run every test file.
 * @returns {number} The exit status.
 */
export function summarize({ jobs, results, missing, seed, begun, same }) {
  const parts = partsOf(jobs, results);
  const total = sumOf([...parts.values()]);
  const seconds = (performance.now() - begun) / 1_000;
  const faults = jobs.filter(({ title }) => results.get(title)?.failed !== false)
    .map(({ title }) => title);
  const different = same ? differentCounts(parts) : undefined;
  if (different !== undefined) faults.push(different);
  if (missing.length > 0) {
    console.log(`\nSkipped, because these are missing: ${missing.join(", ")}`);
  }
  if (total.skipped > 0 && process.env["CI"] === "true") {
    faults.push(`${total.skipped} skipped, and CI may skip nothing`);
  }
  console.log(tableOf(parts, { ...total, seconds }));
  for (const fault of faults) console.log(`failed: ${fault}`);
  if (faults.length > 0) console.log(`Again with the same cases: TIDEGATE_SEED=${seed} npm test`);
  const processor = processorSeconds();
  if (processor !== undefined) console.log(`processor time: ${processor.toFixed(0)} s`);
  const failed = Math.max(total.failed, faults.length);
  console.log(`${total.passed} passed, ${failed} failed, ${total.skipped} skipped`);
  return faults.length > 0 ? 1 : 0;
}

/** Clock ticks of a second, as `/proc` counts them on Linux. */
const TICKS = 100;

/** The processor time of this process and of all that it started and waited for, on Linux. */
function processorSeconds() {
  const file = "/proc/self/stat";
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // utime, stime, cutime and cstime.
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS;
}

/**
 * @param {readonly Job[]} jobs
 * @param {ReadonlyMap<string, Result>} results
 */
function partsOf(jobs, results) {
  /** @type {Map<string, Counts & { seconds: number }>} */
  const parts = new Map();
  for (const { part, title } of jobs) {
    const result = results.get(title);
    if (result === undefined) continue;
    const row = { ...result.counts, seconds: result.seconds };
    const before = parts.get(part);
    parts.set(part, before === undefined ? row : sumOf([before, row]));
  }
  return parts;
}

/** @param {readonly (Counts & { seconds: number })[]} rows */
function sumOf(rows) {
  return rows.reduce((sum, row) => ({
    passed: sum.passed + row.passed,
    failed: sum.failed + row.failed,
    skipped: sum.skipped + row.skipped,
    seconds: sum.seconds + row.seconds,
  }));
}

/**
 * The same files hold the same number of tests on every runtime.
 * @param {ReadonlyMap<string, Counts>} parts
 */
function differentCounts(parts) {
  const totals = RUNTIMES.flatMap((name) => {
    const counts = parts.get(name);
    if (counts === undefined || counts.passed === 0) return [];
    // A skipped group counts as one test here and as many there.
    return [counts.passed + counts.failed];
  });
  if (new Set(totals).size <= 1) return undefined;
  return `the same tests on every runtime: there were ${totals.join(", ")}`;
}

/**
 * @param {ReadonlyMap<string, Counts & { seconds: number }>} parts
 * @param {Counts & { seconds: number }} total
 */
function tableOf(parts, total) {
  const rows = [...parts, /** @type {const} */ (["all", total])].map(([name, counts]) => [
    name,
    ...[counts.passed, counts.failed, counts.skipped, Math.round(counts.seconds)].map(String),
  ]);
  return [
    "",
    ...[["part", "passed", "failed", "skipped", "seconds"], ...rows].map((row) =>
      row.map((cell, column) => column === 0 ? cell.padEnd(8) : cell.padStart(9)).join("")
    ),
  ].join("\n");
}
