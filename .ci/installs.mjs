// Installs the packed package with npm as applications do, beside other versions of its peers than those
// that it is developed with. Then tries it there, on every runtime.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

import { child } from "./child.mjs";
import { root } from "./install.mjs";
import { inFolder, makeProject, must, systemNode } from "./package.mjs";

/**
 * @typedef {object} Project
 * @property {string} name Also of its test in tests/package.
 * @property {Record<string, string>} peers Its other dependencies.
 * @property {boolean} [large] Whether it has so many files that npm only resolves its versions, of one
 * of these in a run, and the test is left out, unless TIDEGATE_LONG is set.
 */

/** @type {Project[]} */
const PROJECTS = [
  {
    // The newest versions that the parts made for them do not work with.
    name: "old_peers",
    peers: {
      "@grpc/grpc-js": "~1.9.0",
      "fast-check": "~3.9.0",
      "redis": "^4.0.0",
      "yaml": "^1.0.0",
    },
  },
  {
    name: "old_typescript",
    peers: { "@types/node": "^20.0.0", "typescript": "~5.4.0" },
    large: true,
  },
  { name: "old_effect", peers: { "effect": "^3.0.0" }, large: true },
  {
    name: "test_runners",
    peers: { "@babel/preset-env": "^7.0.0", "jest": "^30.5.0", "vitest": "^4.0.0" },
    large: true,
  },
  {
    // The oldest versions that they work with, and an Effect that is not quite new enough.
    name: "oldest_peers",
    peers: {
      "@grpc/grpc-js": "~1.11.0",
      "effect": "~4.0.0",
      "fast-check": "~3.10.0",
      "redis": "~5.1.0",
      "yaml": "~2.0.0",
    },
    large: true,
  },
];

export const isLong = process.env["TIDEGATE_LONG"] === "1";

/** @type {[command: () => string, ...args: string[]][]} */
const RUNTIMES = [
  [() => systemNode().command, "--test", "--test-reporter=dot"],
  [() => "bun", "test", "--dots", "--timeout=300000"],
  [() => "deno", "test", "-A", "--no-check", "--quiet", "--reporter=dot"],
];

/**
 * The projects of a run with this seed.
 * @param {number} seed
 */
function projectsOf(seed) {
  if (isLong) return PROJECTS;
  const large = PROJECTS.filter((project) => !isInstalled(project));
  return [...PROJECTS.filter(isInstalled), ...large.slice(seed % large.length).slice(0, 1)];
}

/**
 * Makes projects at once, and runs their tests; `unpackPackage` must have been called.
 *
 * @param {number} seed Which of the large projects is made.
 * @returns {Promise<import("./child.mjs").Ended>}
 * @throws {Error} With the code `"NO_REGISTRY"` if npm cannot reach its registry.
 */
export function checkInstalls(seed) {
  const begun = performance.now();
  return inFolder("installs", async (top) => {
    const made = await Promise.allSettled(
      projectsOf(seed).map((project) => installProject(join(top, project.name), project)),
    );
    for (const each of made) if (each.status === "rejected") throw each.reason;
    let status = 0;
    let left = false;
    let output = "";
    for (const { name } of PROJECTS.filter(isInstalled)) {
      const ended = await tryOnEach(join(top, name), name);
      output += ended.output;
      status ||= ended.status;
      left ||= ended.left;
    }
    return { status, left, seconds: (performance.now() - begun) / 1000, output };
  });
}

/**
 * Runs a file of tests/package in a project, on each runtime.
 * @param {string} project
 * @param {string} name
 * @returns {Promise<import("./child.mjs").Ended>}
 */
export async function tryOnEach(project, name) {
  const file = `./${name}.test.mjs`;
  copyFileSync(join(root, "tests/package", file), join(project, file));
  const all = { status: 0, left: false, seconds: 0, output: "" };
  for (const [command, ...args] of RUNTIMES) {
    const ended = await child(command(), [...args, file], { cwd: project });
    all.output += `== ${name} on ${command()}\n${ended.output}`;
    all.status ||= ended.status;
    all.left ||= ended.left;
  }
  return all;
}

/** @param {Project} project */
function isInstalled({ large }) {
  return isLong || large !== true;
}

/** Errors that npm prints when it cannot reach its registry. */
const OFFLINE_REGEXP = /\b(E?NOTFOUND|EAI_AGAIN|ECONN\w+|E?TIMEDOUT|ENETUNREACH|ENOTCACHED)\b/;

/**
 * @param {string} folder
 * @param {Project} project
 */
async function installProject(folder, project) {
  const options = ["--package-lock-only", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"];
  const { status, output } = await makeProject(folder, project.peers, options);
  if (status === 0) {
    // Bun unpacks what npm has resolved, in a fraction of the time.
    const bun = ["bun", "install", "--frozen-lockfile", "--ignore-scripts"];
    if (isInstalled(project)) await must(folder, bun);
    return;
  }
  const isOffline = OFFLINE_REGEXP.test(output);
  const rule = isOffline ? "npm must reach its registry" : "npm must install the package";
  throw Object.assign(
    new Error(`Cannot check installs as ${rule}: ${output}`),
    isOffline ? { code: "NO_REGISTRY" } : {},
  );
}
