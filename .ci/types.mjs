// Checks the types of all sources, tests and examples with the libraries of Node and Bun, and of what is
// published once more with Deno's. The compiler does both, because the one inside Deno takes six times the
// processor time.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { child } from "./child.mjs";
import { root } from "./install.mjs";
import { SNIPPETS } from "./snippets.mjs";

/** One checker takes half the processor time and three quarters of the memory that four do. */
export const ONE_CHECKER = ["--checkers", "1"];

/** The published files. */
const PUBLISHED = ["mod.ts", "core", "stores", "adapters"];

/** Everything but some files. @param {readonly string[]} left The files to leave out. */
export function checkTypes(left) {
  const { include, exclude } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8"));
  return check("tsconfig.json", [...include, SNIPPETS], [...exclude, ...left]);
}

/** The published files and those that name Deno. @param {readonly string[]} ofDeno */
export async function checkTypesForDeno(ofDeno) {
  const types = await child("deno", ["types"]);
  if (types.status !== 0) return types;
  const library = `${SNIPPETS}/deno.d.ts`;
  writeFileSync(join(root, library), types.output);
  // As in deno.json: JSR needs types that are written out.
  const written = { allowJs: false, checkJs: false, declaration: true, isolatedDeclarations: true };
  const options = { lib: ["ESNext"], types: ["node"], ...written };
  return check("tsconfig.deno.json", [...PUBLISHED, ...ofDeno, library], [], options);
}

/**
 * @param {string} name
 * @param {readonly string[]} include
 * @param {readonly string[]} exclude
 * @param {object} [compilerOptions]
 */
function check(name, include, exclude, compilerOptions = {}) {
  const fromHere = (/** @type {string} */ path) => `../${path}`;
  const settings = {
    extends: "../tsconfig.json",
    compilerOptions,
    include: include.map(fromHere),
    exclude: exclude.map(fromHere),
  };
  const project = `${SNIPPETS}/${name}`;
  writeFileSync(join(root, project), JSON.stringify(settings));
  return child("tsc", ["--noEmit", ...ONE_CHECKER, "-p", project]);
}
