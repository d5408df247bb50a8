// Installs the development dependencies when they are missing or not those of the lock file.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import process from "node:process";

/** The top folder of the repository. */
export const root = fileURLToPath(new URL("../", import.meta.url));

const modules = join(root, "node_modules");
const binaries = join(modules, ".bin");
const minutes = 60_000;

/** The runtimes that come as npm packages. */
const RUNTIMES = /** @type {const} */ (["bun", "deno", "node"]);

/**
 * Makes `node_modules` what package-lock.json says, and its programs callable by name.
 * @returns {readonly string[]} The runtimes that do not run on this machine.
 */
export function install() {
  const reason = whyStale();
  if (reason !== undefined) {
    console.log(`Installing the development dependencies (${reason})`);
    npm(["ci", "--prefer-offline"]);
  }
  process.env["PATH"] = [binaries, process.env["PATH"]].join(delimiter);
  return RUNTIMES.filter((name) => {
    if (runs(name)) return false;
    npm(["rebuild", "--ignore-scripts=false", name]);
    return !runs(name);
  });
}

/** @returns {string | undefined} */
function whyStale() {
  const hidden = join(modules, ".package-lock.json");
  if (!existsSync(hidden)) return "node_modules is missing";
  const wanted = packagesOf(join(root, "package-lock.json"));
  const present = packagesOf(hidden);
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === "" || entry.optional || entry.devOptional) continue;
    if (present[path]?.version !== entry.version) {
      return `${path} ${entry.version} is wanted, ${present[path]?.version ?? "none"} is there`;
    }
  }
  return undefined;
}

/**
 * @param {string} file
 * @returns {Record<string, { version: string, optional?: boolean, devOptional?: boolean }>}
 */
function packagesOf(file) {
  return JSON.parse(readFileSync(file, "utf8")).packages;
}

/** @param {string} program */
function runs(program) {
  const { status } = spawnSync(join(binaries, program), ["--version"], { timeout: 1 * minutes });
  return status === 0;
}

/** @param {string[]} args */
function npm(args) {
  const { status, error } = spawnSync("npm", args, {
    cwd: root,
    // The parts that need dist/ build it, and the others should not wait for that.
    env: { ...process.env, TIDEGATE_PREPARE: "0" },
    stdio: ["ignore", "inherit", "inherit"],
    timeout: 10 * minutes,
  });
  if (status !== 0 && args[0] === "ci") {
    throw new Error(`Cannot install the dependencies because "npm ${args.join(" ")}" failed`, {
      cause: error,
    });
  }
}
