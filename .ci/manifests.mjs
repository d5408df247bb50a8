// The entry points are named once, in the `exports` of deno.json. What package.json and
// tsconfig.json say of them follows from it. `npm run manifests` writes it; a test compares.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import process from "node:process";

const root = new URL("../", import.meta.url);

/**
 * @typedef {object} Manifests
 * @property {any} deno deno.json
 * @property {any} npm package.json
 * @property {any} tsconfig tsconfig.json
 */

/**
 * The three manifests as they stand.
 * @returns {Manifests}
 */
export function readManifests() {
  return {
    deno: readJson("deno.json"),
    npm: readJson("package.json"),
    tsconfig: readJson("tsconfig.json"),
  };
}

/**
 * The entry points: the file of each path. JSR lists the command beside them, npm in `bin`.
 *
 * @param {any} deno deno.json
 * @returns {Record<string, string>}
 */
export function entryPoints(deno) {
  const { "./bin": _, ...entries } = deno.exports;
  return entries;
}

/**
 * The manifests with everything that follows from other parts of them filled in.
 * @param {Manifests} manifests
 * @returns {Manifests}
 */
export function completed({ deno, npm, tsconfig }) {
  const entries = Object.entries(entryPoints(deno));
  const sources = entries.map(([path, file]) => [nameOf(npm.name, path), file]);
  // With npm any version may stand beside ours: a range would keep the package from being installed
  // for its other parts. On Deno it is our own import.
  const peers = Object.keys(npm.peerDependencies).sort();
  // The owner stands in `repository` alone.
  const page = npm.repository.url.replace(/^git\+|\.git$/g, "");
  return {
    deno: {
      ...deno,
      version: npm.version,
      imports: Object.fromEntries([
        ...sources,
        ...peers.map((name) => [name, deno.imports[name]]),
      ]),
    },
    npm: {
      ...npm,
      homepage: `${page}#readme`,
      bugs: `${page}/issues`,
      exports: {
        ...Object.fromEntries(entries.map(([path, file]) => [path, built(file)])),
        "./package.json": "./package.json",
      },
      // For TypeScript with the module resolution "node10", which reads no `exports`.
      types: built(deno.exports["."]).types,
      typesVersions: {
        "*": Object.fromEntries(
          entries.slice(1).map(([path, file]) => [path.slice(2), [built(file).types]]),
        ),
      },
      peerDependencies: Object.fromEntries(peers.map((name) => [name, "*"])),
      peerDependenciesMeta: Object.fromEntries(peers.map((name) => [name, { optional: true }])),
    },
    tsconfig: {
      ...tsconfig,
      compilerOptions: {
        ...tsconfig.compilerOptions,
        paths: Object.fromEntries(sources.map(([name, file]) => [name, [file]])),
      },
    },
  };
}

/** @param {string} name @param {string} path */
function nameOf(name, path) {
  return path === "." ? name : `${name}/${path.slice(2)}`;
}

/** Where a module stands in the npm package. @param {string} file */
function built(file) {
  const stem = file.replace(/^\.\//, "./dist/").replace(/\.ts$/, "");
  return { types: `${stem}.d.ts`, default: `${stem}.js` };
}

/** @param {string} name */
function readJson(name) {
  return JSON.parse(readFileSync(new URL(name, root), "utf8"));
}

// `deno fmt` keeps an array broken where it was, so short ones are joined before.
const FLAT_ARRAY_REGEXP = /\[[^[\]{}]*\]/g;

/** @param {string} array */
function inOneLine(array) {
  return array.replaceAll(/\s+/g, " ").replace("[ ", "[").replace(" ]", "]");
}

/** @param {string} name @param {unknown} value */
function writeJson(name, value) {
  const text = JSON.stringify(value, null, 2).replace(FLAT_ARRAY_REGEXP, inOneLine);
  writeFileSync(new URL(name, root), text + "\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { deno, npm, tsconfig } = completed(readManifests());
  writeJson("deno.json", deno);
  writeJson("package.json", npm);
  writeJson("tsconfig.json", tsconfig);
  const files = ["deno.json", "package.json", "tsconfig.json"];
  spawnSync("node_modules/.bin/deno", ["fmt", "--quiet", ...files], { cwd: fileURLToPath(root) });
}
