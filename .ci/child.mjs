// Runs one command of the test runner: without stdin, in a process group of its own, so that nothing
// it starts outlives it unnoticed. What it prints is kept, because several commands run side by
// side.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import process from "node:process";

import { root } from "./install.mjs";
import { whenOrphaned } from "./orphaned.mjs";

/** The process groups that run now. @type {Set<number>} */
const groups = new Set();

for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
  process.on(signal, endAll);
}
whenOrphaned(endAll);

/**
 * How much more memory than it uses a program in Go may fill before it collects, in percent. The compiler
 * takes a sixth less processor time with it, and 8 % more memory.
 */
const GOGC = "300";

/**
 * The niceness of commands that yield. Tests wait much, so what runs beside them ends in time all the same;
 * and at the end of a run, no core waits for the slowest runtime.
 */
const NICENESS = 5;

/** How long, in milliseconds, a process may outlive the command that started it. */
const GRACE = 2_000;

/**
 * How long, in milliseconds, a command may print nothing before it counts as hung. The compiler prints
 * nothing until it ends, and yields to busy neighbours.
 */
const SILENCE = 10 * 60_000;

/**
 * @typedef {object} Ended
 * @property {number} status The exit status; 124 after too long a silence.
 * @property {boolean} left Whether processes were left behind and had to be killed.
 * @property {number} seconds How long it took.
 * @property {string} output Its standard output and error, in the order in which they came.
 */

/**
 * @param {string} command
 * @param {string[]} args
 * @param {object} [options]
 * @param {Record<string, string>} [options.env]
 * @param {string} [options.cwd]
 * @param {boolean} [options.yields] Whether commands that do not yield get the processor before it.
 * @param {(text: string) => void} [options.onOutput] Receives what it prints, as it comes.
 * @returns {Promise<Ended>}
 */
export async function child(command, args, { env = {}, cwd = root, yields = true, onOutput } = {}) {
  const begun = performance.now();
  const started = spawn(command, args, {
    cwd,
    env: { GOGC, ...process.env, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, which can be killed as a whole.
    detached: true,
  });
  const group = started.pid;
  if (group !== undefined) groups.add(group);
  if (group !== undefined && yields) yieldProcessor(group);
  let output = "";
  let hung = false;
  const silence = setTimeout(() => {
    output += `\n${command} was killed because it printed nothing for ${
      SILENCE / 60_000
    } minutes\n`;
    hung = true;
    kill(group);
  }, SILENCE);
  for (const stream of [started.stdout, started.stderr]) {
    stream.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
      silence.refresh();
      output += text;
      onOutput?.(text);
    });
  }
  const closed = new Promise((resolve) => started.on("close", resolve));
  const status = await new Promise((resolve) => {
    started.on("error", (error) => {
      output += `Cannot run ${command}: ${error.message}\n`;
      resolve(127);
    });
    started.on("exit", (code, signal) => {
      if (signal !== null && !hung) output += `\n${command} was ended by ${signal}\n`;
      resolve(hung ? 124 : code ?? 1);
    });
  });
  const seconds = (performance.now() - begun) / 1000;
  clearTimeout(silence);
  // A process left behind may hold the output open, so its end is not waited for any longer.
  const left = !hung && await staysAlive(group);
  if (left) kill(group);
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, GRACE).unref())]);
  started.stdout.destroy();
  started.stderr.destroy();
  if (group !== undefined) groups.delete(group);
  return { status, left, seconds, output };
}

/** Linux weighs groups against each other, where it makes one of each session. @param {number} group */
function yieldProcessor(group) {
  try {
    setPriority(group, Math.min(getPriority() + NICENESS, 19));
    writeFileSync(`/proc/${group}/autogroup`, String(NICENESS));
  } catch {
    // It has just ended by itself, or this is another system.
  }
}

/**
 * Whether some process of the group is still there after a moment of grace.
 * @param {number | undefined} group
 */
async function staysAlive(group) {
  for (let waited = 0; waited < GRACE; waited += 50) {
    if (!isAlive(group)) return false;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}

/** @param {number | undefined} group */
function isAlive(group) {
  if (group === undefined) return false;
  try {
    process.kill(-group, 0);
  } catch {
    return false;
  }
  return !existsSync("/proc/self/stat") || statesOf(group).some((state) => state !== "Z");
}

/**
 * The states of a group's processes. One that has ended (Z) may stay listed where the first process
 * of a container does not reap orphans.
 * @param {number} group
 */
function statesOf(group) {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((id) => {
    const [state, , owner] = statOf(id);
    return Number(owner) === group && state !== undefined ? [state] : [];
  });
}

/**
 * The fields after the program's name: state, parent, group. The name itself may hold any character.
 * @param {string} id
 */
function statOf(id) {
  try {
    const text = readFileSync(`/proc/${id}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** @param {number | undefined} group */
function kill(group) {
  if (group === undefined) return;
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // It has just ended by itself.
  }
}

function endAll() {
  groups.forEach(kill);
  process.exit(130);
}
