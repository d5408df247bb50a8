// Packs the npm package, unpacks it where a consumer would have it, and tries it there: its types
// with the compiler, beside all peers and without any, its code on the Node of the system, which is
// older than that of the tests.
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";

import { build } from "./build.mjs";
import { child } from "./child.mjs";
import { install, root } from "./install.mjs";
import { entryPoints, readManifests } from "./manifests.mjs";
import { ONE_CHECKER } from "./types.mjs";

const consumer = join(root, "node_modules/.cache/consumer");

/**
 * The Node that the clone was started with: the first on the PATH that is not one of ours.
 * @returns {{ command: string, major: number }}
 */
export function systemNode() {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    if (folder === "" || folder.includes("node_modules")) continue;
    const command = join(folder, "node");
    const { stdout } = spawnSync(command, ["--version"], { encoding: "utf8", timeout: 60_000 });
    const major = Number(/^v(\d+)\./.exec(stdout ?? "")?.[1]);
    if (major > 0) return { command, major };
  }
  throw new Error("Cannot find the system's own node: there must be one on the PATH");
}

/**
 * Runs a task in a new folder, which is removed afterwards.
 * @template Result
 * @param {string} name
 * @param {(folder: string) => Promise<Result>} task
 */
export async function inFolder(name, task) {
  const folder = mkdtempSync(join(tmpdir(), `tidegate-${name}-`));
  try {
    return await task(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs a command that has to succeed.
 * @param {string} cwd
 * @param {readonly string[]} words
 * @param {Record<string, string>} [env]
 */
export async function must(cwd, [command = "", ...args], env) {
  const ended = await child(command, args, { cwd, ...env && { env } });
  if (ended.status === 0) return ended;
  throw new Error(`Cannot run "${command} ${args.join(" ")}" in ${cwd}:\n${ended.output}`);
}

/** Builds the package, packs it, and calls `unpackPackage`. */
export async function packAnew() {
  install();
  const { status, output } = await build();
  if (status !== 0) throw new Error(output);
  await unpackPackage();
}

/** Packs and unpacks the package, and lays the tries beside it. */
export async function unpackPackage() {
  rmSync(consumer, { recursive: true, force: true });
  const home = join(consumer, "node_modules/tidegate");
  mkdirSync(home, { recursive: true });
  const packing = ["--silent", "--ignore-scripts", "--pack-destination", consumer];
  await must(root, ["npm", "pack", ...packing]);
  await must(root, ["tar", "-xzf", packedArchive(), "--strip-components=1", "-C", home]);
  for (const name of readdirSync(join(root, "tests/package"))) {
    copyFileSync(join(root, "tests/package", name), join(consumer, name));
  }
  const manifest = { name: "consumer", private: true, type: "module" };
  writeFileSync(join(consumer, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(consumer, "types.ts"), importsOf(entryNames()));
}

/** The file that `npm pack` made for `unpackPackage`. */
export function packedArchive() {
  return join(consumer, readdirSync(consumer).find((name) => name.endsWith(".tgz")) ?? "");
}

/**
 * Makes a project that has the packed package and these others, by npm.
 * @param {string} folder
 * @param {Record<string, string>} [others] Versions by name.
 * @param {readonly string[]} [options] For npm.
 * @param {boolean} [isBare] Whether it goes without the package.
 */
export function makeProject(folder, others = {}, options = [], isBare = false) {
  mkdirSync(folder);
  const ours = isBare ? {} : { tidegate: `file:${packedArchive()}` };
  const dependencies = { ...others, ...ours };
  const manifest = { name: "project", private: true, type: "module", dependencies };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  const quiet = ["--prefer-offline", "--loglevel=error", "--no-audit", "--no-fund"];
  return child("npm", ["install", ...quiet, ...options], { cwd: folder });
}

/** Checks the published types as a consumer's compiler does. */
export function checkBuiltTypes() {
  return tsc(consumer, ["--target", "es2022", "--types", "node"], "types.ts");
}

/** The entry points that are a peer's own, whose types are made of it. */
const OF_PEERS = ["tidegate/effect", "tidegate/otel", "tidegate/testing"];

/** The entry points for places that have no Node and no types of it. */
const WITHOUT_NODE = ["", "/shared", "/stores", "/redis", "/http", "/hono", "/elysia", "/fetch"];

/** Checks the published types where no peer is installed: in a folder that none is above. */
export function checkBareTypes() {
  return inFolder("bare", async (bare) => {
    const modules = join(bare, "node_modules");
    mkdirSync(join(modules, "@types"), { recursive: true });
    cpSync(join(consumer, "node_modules/tidegate"), join(modules, "tidegate"), { recursive: true });
    symlinkSync(join(root, "node_modules/@types/node"), join(modules, "@types/node"));
    writeFileSync(join(bare, "package.json"), JSON.stringify({ private: true, type: "module" }));
    const names = entryNames().filter((name) => !OF_PEERS.includes(name));
    writeFileSync(join(bare, "node.ts"), importsOf(names));
    writeFileSync(join(bare, "web.ts"), importsOf(WITHOUT_NODE.map((path) => `tidegate${path}`)));
    const node = await tsc(bare, ["--lib", "es2022", "--types", "node"], "node.ts");
    if (node.status !== 0) return node;
    return await tsc(bare, ["--lib", "es2022,dom", "--types", ""], "web.ts");
  });
}

/** @param {string} cwd @param {string[]} options @param {string} file */
function tsc(cwd, options, file) {
  const alone = ["--noEmit", "--ignoreConfig", ...ONE_CHECKER];
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];
  return child("tsc", [...alone, ...strict, "--module", "nodenext", ...options, file], { cwd });
}

/**
 * Runs the tries on the system's Node.
 * @param {string} report Where the JUnit file goes.
 */
export function tryPackage(report) {
  return child(systemNode().command, [
    "--test",
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...["--test-reporter=junit", `--test-reporter-destination=${report}`],
    "built_package.test.mjs",
  ], { cwd: consumer });
}

/** The name of every entry point. */
function entryNames() {
  const { deno, npm } = readManifests();
  return Object.keys(entryPoints(deno)).map((path) => path.replace(/^\./, npm.name));
}

/**
 * A module that imports entry points by name.
 * @param {string[]} names
 */
function importsOf(names) {
  const imports = names.map((name, index) => `import * as entry${index} from "${name}";`);
  const uses = names.map((_, index) => `entry${index}`).join(", ");
  return `${imports.join("\n")}\nexport const entries: readonly object[] = [${uses}];\n`;
}
