// `npm run hunt`: which tests fail by chance. Runs the suite, or some files, again and again beside
// processes that keep every core busy, and prints which tests failed how often, with the seeds.
//
//   npm run hunt                                   the whole suite, ten times
//   npm run hunt -- tests/stores/shared            some files or folders, on one runtime each in turn
//   npm run hunt -- --rounds 30 --busy 1 FILES     other numbers: of rounds, of processes per core
//   npm run hunt -- --only deno FILES              one runtime, or one part of `npm test`
//
// The output of a failed round stays in node_modules/.cache/hunt.
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, constants, getPriority, setPriority } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { child } from "./child.mjs";
import { root } from "./install.mjs";
import { failuresIn } from "./junit.mjs";

/** Each round runs on the next of these, where there are files. */
const RUNTIMES = /** @type {const} */ (["node", "bun", "deno"]);

const reports = join(root, "node_modules/.cache/reports");
const logs = join(root, "node_modules/.cache/hunt");

/** Keeps a core busy, and ends by itself with the process that started it. */
const BUSY = `
const parent = process.ppid;
for (;;) {
  const end = performance.now() + 500;
  while (performance.now() < end);
  if (process.ppid !== parent) break;
}`;

/**
 * @typedef {object} Round
 * @property {string} on The runtime, such as `deno`, or `all`.
 * @property {number} seed
 * @property {readonly string[]} failures The names of the tests that failed.
 */

/** How much nicer than the busy processes the tests are: each of them gets three times as much. */
const NICER = 5;

/** @param {string[]} args */
async function hunt(args) {
  const { values, positionals: files } = parseArgs({
    args,
    options: {
      rounds: { type: "string", default: "10" },
      busy: { type: "string", default: "3" },
      only: { type: "string" },
    },
    allowPositionals: true,
  });
  rmSync(logs, { recursive: true, force: true });
  mkdirSync(logs, { recursive: true });
  const stop = keepBusy(wholeNumber("busy", values.busy) * availableParallelism());
  setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + NICER));
  /** @type {Round[]} */
  const rounds = [];
  try {
    for (let index = 0; index < wholeNumber("rounds", values.rounds); index++) {
      const on = values.only ?? (files.length > 0 ? RUNTIMES[index % RUNTIMES.length] : undefined);
      const round = await runOnce(index, on, files);
      rounds.push(round);
      const verdict = round.failures.length > 0 ? `failed: ${round.failures.join("; ")}` : "passed";
      console.log(`round ${index + 1}, ${round.on}, seed ${round.seed}: ${verdict}`);
    }
  } finally {
    stop();
  }
  console.log(`\n${tableOfFailures(rounds)}`);
  process.exitCode = rounds.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

/**
 * Starts so many processes that only compute.
 * @param {number} count
 * @returns {() => void} Ends them.
 */
function keepBusy(count) {
  const started = Array.from(
    { length: count },
    () => spawn(process.execPath, ["-e", BUSY], { stdio: "ignore" }),
  );
  return () => started.forEach((each) => each.kill());
}

/**
 * One run of `npm test`, with a seed of its own.
 * @param {number} index
 * @param {string | undefined} on
 * @param {readonly string[]} files
 * @returns {Promise<Round>}
 */
async function runOnce(index, on, files) {
  const seed = Math.floor(Math.random() * 2 ** 31);
  rmSync(reports, { recursive: true, force: true });
  const only = on === undefined ? [] : ["--only", on];
  const { status, output } = await child(process.execPath, [".ci/test.mjs", ...only, ...files], {
    env: { TIDEGATE_SEED: String(seed) },
    yields: false,
  });
  if (status === 0) return { on: on ?? "all", seed, failures: [] };
  writeFileSync(join(logs, `${index + 1}.log`), output);
  const named = readdirSync(reports).flatMap((name) =>
    failuresIn(readFileSync(join(reports, name), "utf8"))
      .map((failure) => `${name.replace(".xml", "")}: ${failure}`)
  );
  // A run that died names no test; the summary says at least which part of it failed.
  const parts = [...output.matchAll(/^failed: (.*)/gm)].map(([, part]) => part ?? "");
  const unnamed = parts.filter((part) => !named.some((name) => name.startsWith(`${part}: `)));
  return { on: on ?? "all", seed, failures: [...named, ...unnamed] };
}

/**
 * Which tests failed in how many of the rounds that ran them, the most frequent first.
 * @param {readonly Round[]} rounds
 */
export function tableOfFailures(rounds) {
  /** @type {Map<string, number[]>} */
  const seeds = new Map();
  for (const { seed, failures } of rounds) {
    for (const name of new Set(failures)) seeds.set(name, [...seeds.get(name) ?? [], seed]);
  }
  const failed = rounds.filter(({ failures }) => failures.length > 0).length;
  const rows = [...seeds].sort(([, a], [, b]) => b.length - a.length)
    .map(([name, { length }]) => `${String(length).padStart(4)}  ${name} (${seedsOf(name)})`);
  return [...rows, `${rounds.length} rounds, ${failed} failed`].join("\n");

  /** @param {string} name */
  function seedsOf(name) {
    const all = seeds.get(name) ?? [];
    return `${all.length === 1 ? "seed" : "seeds"} ${all.join(", ")}`;
  }
}

/**
 * @param {string} option
 * @param {string} text
 */
function wholeNumber(option, text) {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  console.error(`Cannot hunt as --${option} must be a whole number: it is "${text}"`);
  return process.exit(2);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await hunt(process.argv.slice(2));
