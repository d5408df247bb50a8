// Runs one command of the test runner: with a deadline, without stdin, in a process group of its
// own, so that nothing it started can outlive it unnoticed.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";

import { root } from "./install.mjs";
import { whenOrphaned } from "./orphaned.mjs";

/** The process groups under way. @type {Set<number>} */
const groups = new Set();

for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
  process.on(signal, endAll);
}
whenOrphaned(endAll);

/** How long, in milliseconds, what a command started may outlive it. */
const GRACE = 2000;

/**
 * @typedef {object} Ended
 * @property {number} status The exit status; 124 after the deadline.
 * @property {boolean} left Whether processes were left behind and had to be ended.
 * @property {number} seconds How long it took.
 */

/**
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, cwd?: string, minutes?: number }} [options]
 * @returns {Promise<Ended>}
 */
export async function child(command, args, { env = {}, cwd = root, minutes = 5 } = {}) {
  const begun = performance.now();
  const started = spawn(command, args, {
    cwd,
    env: { ...process.env, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "inherit"],
    // A group of its own, which can be ended as a whole.
    detached: true,
  });
  printWithDotsJoined(started.stdout);
  const group = started.pid;
  if (group !== undefined) groups.add(group);
  let late = false;
  const deadline = setTimeout(() => {
    console.error(`${command} was ended as it took more than ${minutes} minutes`);
    late = true;
    end(group);
  }, minutes * 60_000);
  const closed = new Promise((resolve) => started.on("close", resolve));
  const status = await new Promise((resolve) => {
    started.on("error", (error) => {
      console.error(`Cannot run ${command}: ${error.message}`);
      resolve(127);
    });
    started.on("exit", (code) => resolve(late ? 124 : code ?? 1));
  });
  const seconds = (performance.now() - begun) / 1000;
  clearTimeout(deadline);
  // Whoever is left may hold the output open, so its end is waited for no longer than theirs.
  const left = !late && await staysAlive(group);
  if (left) end(group);
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, GRACE).unref())]);
  started.stdout.destroy();
  if (group !== undefined) groups.delete(group);
  return { status, left, seconds };
}

/**
 * Prints what a command prints. Deno's dot reporter writes a line for each dot where there is no
 * terminal; those go on one line.
 * @param {import("node:stream").Readable} stream
 */
function printWithDotsJoined(stream) {
  let dots = 0;
  createInterface({ input: stream }).on("line", (line) => {
    const dot = /^[.!,]$/.test(line);
    if (dots > 0 && (!dot || dots % 80 === 0)) process.stdout.write("\n");
    process.stdout.write(dot ? line : `${line}\n`);
    dots = dot ? dots + 1 : 0;
  });
}

/**
 * Whether some process of the group is still there after a moment of grace.
 * @param {number | undefined} group
 */
async function staysAlive(group) {
  for (let waited = 0; waited < GRACE; waited += 50) {
    if (!isAlive(group)) return false;
    await pause(50);
  }
  return true;
}

/** @param {number} milliseconds */
function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
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
 * The states of a group's processes. One that has ended (Z) may stay listed for ever where the
 * first process of a container does not look after orphans.
 * @param {number} group
 */
function statesOf(group) {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((id) => {
    const [state, , owner] = statOf(id);
    return Number(owner) === group && state !== undefined ? [state] : [];
  });
}

/**
 * What follows the program's name, which may hold anything: state, parent, group.
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
function end(group) {
  if (group === undefined) return;
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // It has just ended by itself.
  }
}

function endAll() {
  groups.forEach(end);
  process.exit(130);
}
