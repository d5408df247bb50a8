// Shows a person how far a run is: the jobs under way, the tests they have finished, the time left.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";

import { root } from "./install.mjs";

/** How long each job took last time. */
const file = join(root, "node_modules/.cache/seconds.json");

/** A guess for a job that has not run here yet, in seconds. */
const GUESS = 20;

/** How often a line is printed where there is no terminal, in milliseconds. */
const INTERVAL = 20_000;

/**
 * @typedef {object} Progress
 * @property {(title: string) => void} start
 * @property {(title: string, text: string) => void} output Counts the tests that passed.
 * @property {(title: string, seconds: number) => void} end
 * @property {() => void} stop
 */

/**
 * @param {Readonly<Record<string, number>>} guesses Seconds of the jobs to run, by title, where no
 *   earlier run says more.
 * @param {number} most How many jobs run at once.
 * @returns {Progress}
 */
export function progress(guesses, most) {
  const seconds = { ...guesses, ...readSeconds() };
  /** @type {Map<string, { begun: number, tests: number }>} */
  const running = new Map();
  const waiting = new Set(Object.keys(guesses));
  const ended = { expected: 0, actual: 0 };
  const terminal = process.stdout.isTTY;
  const timer = setInterval(() => print(), terminal ? 1_000 : INTERVAL);

  function print() {
    if (running.size === 0) return;
    const parts = [...running].map(([title, { tests }]) =>
      tests > 0 ? `${title}: ${tests} tests` : title
    );
    const line = `${parts.join(" | ")} | about ${inMinutes(secondsLeft())} left`;
    if (terminal) process.stdout.write(`\r\x1b[K${line.slice(0, process.stdout.columns - 1)}`);
    else console.log(`   ${line}`);
  }

  /** The work left at the pace so far, shared by those that run at once; at least the longest job's own. */
  function secondsLeft() {
    const pace = ended.expected > 0 ? ended.actual / ended.expected : 1;
    const left = [...running].map(([title, { begun }]) =>
      Math.max(1, expected(title) * pace - (performance.now() - begun) / 1_000)
    );
    const later = [...waiting].map((title) => expected(title) * pace);
    const sum = [...left, ...later].reduce((a, b) => a + b, 0);
    return Math.max(sum / most, ...left);
  }

  /** @param {string} title */
  function expected(title) {
    return seconds[title] ?? GUESS;
  }

  return {
    start(title) {
      waiting.delete(title);
      running.set(title, { begun: performance.now(), tests: 0 });
    },
    output(title, text) {
      const job = running.get(title);
      if (job === undefined) return;
      for (const line of text.split("\n")) job.tests += testsIn(line);
    },
    end(title, actual) {
      running.delete(title);
      ended.expected += expected(title);
      ended.actual += actual;
      seconds[title] = Math.round(actual);
      if (terminal) process.stdout.write("\r\x1b[K");
    },
    stop() {
      clearInterval(timer);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify(seconds));
    },
  };
}

/**
 * How many tests a line of a reporter says have passed: a line of dots on Bun and Node, a line a test
 * on Deno, which has no limit for a test, so that the last line is what says which one hangs.
 * @param {string} line
 */
export function testsIn(line) {
  if (/^\s*[.,!FXx]+\s*$/.test(line)) return line.trim().length;
  return /\.\.\. (ok|ignored) \(/.test(line) ? 1 : 0;
}

/** @param {number} seconds */
function inMinutes(seconds) {
  const whole = Math.ceil(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** @returns {Record<string, number>} */
function readSeconds() {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
}
