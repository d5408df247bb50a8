// `node .ci/install.mjs`: makes node_modules what package-lock.json says, if it is not yet. Bun installs
// it in a fifth of npm's processor time: npx brings Bun, which reads npm's lock file and leaves it alone.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import process from "node:process";

/** The top folder of the repository. */
export const root = fileURLToPath(new URL("../", import.meta.url));

const modules = join(root, "node_modules");
const binaries = join(modules, ".bin");

/** The lock file that node_modules was last made of. */
const installed = join(modules, ".cache/installed.json");

/**
 * Sets up the runtimes that come as npm packages, as their own scripts do, but for Node's, which starts
 * an npm for its binary. Deno comes last, because Bun takes its link back.
 */
const RUNTIMES = {
  // Its script moves the binary, and cannot do so twice.
  bun: () => runs("bun") || script("bun/install.js"),
  node: () => succeeds(join(binaries, "bun"), ["add", "--no-save", nodeBinary(), ...QUIETLY], root),
  deno: () => script("deno/install.cjs"),
};

/** Options of Bun. */
const QUIETLY = ["--ignore-scripts", "--silent"];

/**
 * Makes `node_modules` what package-lock.json says, and its programs callable by name.
 * @returns {readonly string[]} The runtimes that do not run on this machine.
 */
export function install() {
  const lock = readFileSync(join(root, "package-lock.json"), "utf8");
  const isStale = !existsSync(installed) || readFileSync(installed, "utf8") !== lock;
  let isIncomplete = isStale && !installPackages();
  for (const [name, setUp] of Object.entries(RUNTIMES)) {
    isIncomplete ||= !runs(name);
    if (isIncomplete) setUp();
  }
  if (isStale) {
    mkdirSync(dirname(installed), { recursive: true });
    writeFileSync(installed, lock);
  }
  process.env["PATH"] = [binaries, process.env["PATH"]].join(delimiter);
  return isIncomplete ? Object.keys(RUNTIMES).filter((name) => !runs(name)) : [];
}

/**
 * Fails where package.json asks for something else than the lock file has.
 * @returns {boolean} Whether the runtimes are set up, too.
 */
function installPackages() {
  console.log("Installing the development dependencies");
  // In npm's cache, Bun stays whole if this is ended; and npx would prefer one that stands in `root`.
  const npx = ["--yes", "--ignore-scripts=false", `bun@${versionOf("bun")}`];
  const bun = ["install", "--frozen-lockfile", ...QUIETLY, "--cwd", root];
  if (succeeds("npx", [...npx, ...bun], tmpdir())) return false;
  // npm may reach a registry by settings that Bun does not read.
  if (succeeds("npm", ["ci", "--ignore-scripts=false"], root)) return true;
  throw new Error("Cannot install the dependencies because Bun and npm failed");
}

/** The version of a package in the lock file. @param {string} name @returns {string} */
export function versionOf(name) {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  return packages[`node_modules/${name}`].version;
}

/** The package that holds Node's binary for this machine, by the rule of the package `node`. */
function nodeBinary() {
  const { platform, arch } = process;
  const prefix = platform === "darwin" && arch === "arm64" ? "node-bin" : "node";
  return `${prefix}-${platform}-${arch}@${versionOf("node")}`;
}

/** @param {string} runtime */
function runs(runtime) {
  return succeeds(join(binaries, runtime), ["--version"], root, "ignore");
}

/** Runs a script of a package. @param {string} path */
function script(path) {
  const file = join(modules, path);
  return succeeds(process.execPath, [file], dirname(file));
}

/** @param {string} command @param {string[]} args @param {string} cwd @param {"inherit" | "ignore"} [out] */
function succeeds(command, args, cwd, out = "inherit") {
  /** @type {import("node:child_process").StdioOptions} */
  const stdio = ["ignore", out, out];
  return spawnSync(command, args, { cwd, stdio, timeout: 10 * 60_000 }).status === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) install();
