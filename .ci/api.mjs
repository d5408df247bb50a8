// `npm run api` writes .ci/api.txt: one line for each public symbol and each of its members, by entry
// point. The checks compare it, so that a change of the API is seen where a change is reviewed.
import { parse } from "@babel/parser";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import process from "node:process";

import { build } from "./build.mjs";
import { install, root } from "./install.mjs";
import { entryPoints, readManifests } from "./manifests.mjs";

/** @typedef {any} Node A node of the syntax tree. */

const REPORT = join(root, ".ci/api.txt");

/** The exports of each module: the lines of each symbol. @type {Map<string, [name: string, lines: string[]][]>} */
const modules = new Map();

/** The report, of the declarations that were built. */
export function apiReport() {
  const { deno, npm } = readManifests();
  return Object.entries(entryPoints(deno)).map(([path, file]) => {
    const lines = exportsOf(join(root, "dist", file)).flatMap(([, lines]) => lines).sort();
    return [`# ${path.replace(/^\./, npm.name)}`, "", ...new Set(lines), ""].join("\n");
  }).join("\n");
}

/**
 * Compares the report with .ci/api.txt.
 * @returns {Promise<import("./child.mjs").Ended>}
 */
export function checkApi() {
  const begun = performance.now();
  const [now, before] = [apiReport(), readFileSync(REPORT, "utf8")];
  const [added, removed] = [linesMissing(before, now), linesMissing(now, before)];
  const differ = [...removed.map((line) => `- ${line}`), ...added.map((line) => `+ ${line}`)];
  const output = `.ci/api.txt must be written anew by "npm run api":\n${differ.join("\n")}\n`;
  const seconds = (performance.now() - begun) / 1000;
  const same = now === before;
  return Promise.resolve({
    status: same ? 0 : 1,
    left: false,
    seconds,
    output: same ? "" : output,
  });
}

/** @param {string} text @param {string} other */
function linesMissing(text, other) {
  const known = new Set(text.split("\n"));
  return other.split("\n").filter((line) => !known.has(line));
}

/**
 * The exports of a module: its own symbols, and those that it exports again.
 * @param {string} file A source, which stands for its declarations.
 * @returns {[name: string, lines: string[]][]}
 */
function exportsOf(file) {
  const earlier = modules.get(file);
  if (earlier !== undefined) return earlier;
  const text = readFileSync(file.replace(/\.ts$/, ".d.ts"), "utf8");
  const { program } = parse(text, {
    sourceType: "module",
    plugins: [["typescript", { dts: true }]],
  });
  /** @type {[name: string, lines: string[]][]} */
  const found = program.body.flatMap((/** @type {Node} */ { declaration, source, specifiers }) => {
    if (source) {
      // The symbols of a peer are not ours.
      if (!source.value.startsWith(".")) return [];
      const known = exportsOf(resolve(file, "..", source.value));
      const names = specifiers?.map((/** @type {Node} */ { local }) => local.name);
      return known.filter(([name]) => names?.includes(name) ?? true);
    }
    if (!declaration) return [];
    const { id } = declaration.declarations?.[0] ?? declaration;
    return [[id.name, linesOf(declaration, text)]];
  });
  modules.set(file, found);
  return found;
}

/** @param {Node} node @param {string} text @returns {string[]} */
function linesOf(node, text) {
  const slice = (/** @type {number} */ start, /** @type {number} */ end) =>
    text.slice(start, end).replaceAll(/\/\*[^]*?\*\//g, "").replaceAll(/\s+/g, " ")
      .replace(/^declare /, "").replace(/[;{ ]+$/, "");
  if (node.body === undefined) return [slice(node.start, node.end)];
  const head = slice(node.start, node.body.start);
  const members = node.body.body.map((/** @type {Node} */ { start, end }) => slice(start, end));
  return [
    head,
    ...members.map((/** @type {string} */ member) =>
      `${head.split(/[ <]/, 2).join(" ")}: ${member}`
    ),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  install();
  const { status, output } = await build();
  if (status !== 0) throw new Error(output);
  writeFileSync(REPORT, apiReport());
}
