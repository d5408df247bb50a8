// `npm run build`: the npm package's JavaScript and types, in dist/, by the compiler alone.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import process from "node:process";

import { child } from "./child.mjs";
import { install, root } from "./install.mjs";

/** Options to compile each file by itself, which takes no type of another one. */
export const UNCHECKED = ["--noCheck", "--noResolve", "--types", ""];

/** Options that switch off everything but code: a run of its own emits the types. */
const CODE_ONLY = [
  ...["declaration", "isolatedDeclarations"].flatMap((option) => [`--${option}`, "false"]),
  ...UNCHECKED,
  "--removeComments",
];

/**
 * Builds dist/ anew.
 * @param {readonly string[]} [options] More for the compiler where it emits types.
 * @param {string} [home] The folder that the compiler is installed in.
 * @returns {Promise<import("./child.mjs").Ended>}
 */
export async function build(options = [], home = root) {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  // A program of this runtime, because Windows cannot start the compiler by its name.
  const tsc = [join(home, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json"];
  const compile = (/** @type {string[]} */ ...more) => child(process.execPath, [...tsc, ...more]);
  let ended = await compile("--emitDeclarationOnly", ...options);
  // The types keep the comments, which editors show; the code does without.
  if (ended.status === 0) ended = await compile(...CODE_ONLY);
  // The page of the service is plain files, which the compiler leaves alone.
  const page = "adapters/service/http/page";
  cpSync(join(root, page), join(root, "dist", page), { recursive: true });
  if (ended.status === 0) {
    nameLibrary("core/store.d.ts", "esnext.disposable");
    dropInnerTypes();
    dropEmptyModules();
  }
  return ended;
}

/**
 * Lets a declaration file bring a library of the compiler with it, which a consumer's settings may
 * lack. The source cannot: JSR takes no such line.
 *
 * @param {string} file
 * @param {string} library
 */
function nameLibrary(file, library) {
  const path = join(root, "dist", file);
  writeFileSync(path, `/// <reference lib="${library}" />\n${readFileSync(path, "utf8")}`);
}

/** Drops the declaration files that no entry point leads to, half of them. */
function dropInnerTypes() {
  /** @type {{ exports: Record<string, { types?: string }> }} */
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const found = new Set();
  const files = Object.values(exports).flatMap(({ types }) => types ? [join(root, types)] : []);
  for (const file of files) {
    if (found.has(file)) continue;
    found.add(file);
    for (const [, path = ""] of readFileSync(file, "utf8").matchAll(/"(\.[^"]*)\.(?:js|ts)"/g)) {
      files.push(resolve(dirname(file), `${path}.d.ts`));
    }
  }
  const dist = join(root, "dist");
  for (const name of readdirSync(dist, { encoding: "utf8", recursive: true })) {
    if (name.endsWith(".d.ts") && !found.has(join(dist, name))) rmSync(join(dist, name));
  }
}

/** Drops the modules that are empty, because they declare types alone, and that no other imports. */
function dropEmptyModules() {
  const dist = join(root, "dist");
  const paths = readdirSync(dist, { encoding: "utf8", recursive: true })
    .filter((name) => name.endsWith(".js")).map((name) => join(dist, name));
  const texts = new Map(paths.map((path) => [path, readFileSync(path, "utf8")]));
  const imported = new Set(
    [...texts].flatMap(([path, text]) =>
      [...text.matchAll(/"(\.[^"]*\.js)"/g)].map(([, name = ""]) => resolve(dirname(path), name))
    ),
  );
  for (const [path, text] of texts) {
    if (text.trim() === "export {};" && !imported.has(path)) rmSync(path);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  install();
  const { status, output } = await build();
  process.stdout.write(output);
  process.exitCode = status;
}
