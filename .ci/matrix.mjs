// `npm run matrix` writes docs/internals/compatibility.md: every entry point of the packed package on every
// runtime, without any other package, and beside the lowest and the highest version of those that it
// works with. Each cell is a run of the first example of that entry point, as its users have it.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";

import { child } from "./child.mjs";
import { formatPages } from "./format.mjs";
import { gitInstalling } from "./git_installs.mjs";
import { root } from "./install.mjs";
import { entryPoints, readManifests } from "./manifests.mjs";
import { inFolder, makeProject, packAnew, packedArchive } from "./package.mjs";

/** Packages to install beside tidegate, each in the lowest version that works and in the highest. */
const BESIDE = /** @type {Record<string, readonly [lowest: string, highest: string]>} */ ({
  "@electric-sql/pglite": ["~0.2.17", "^0.5"],
  "@grpc/grpc-js": ["~1.11.0", "^1"],
  "@grpc/proto-loader": ["~0.7.0", "^0.8"],
  "@nestjs/common": ["~10.0.0", "^12"],
  "@opentelemetry/api": ["~1.3.0", "^1"],
  "@trpc/server": ["~10.45.0", "^11"],
  "effect": ["~4.1.0", "^4"],
  "elysia": ["~1.3.0", "^1"],
  "express": ["~4.18.0", "^5"],
  "fast-check": ["~3.10.0", "^4"],
  "fastify": ["~4.0.0", "^5"],
  "hono": ["~4.0.0", "^4"],
  "koa": ["~2.13.0", "^3"],
  "pg": ["~8.11.0", "^8"],
  "redis": ["~4.6.0", "^6"],
  "yaml": ["~2.0.0", "^2"],
});

/** The versions of Node, beside Bun and Deno. */
const NODES = ["20.19", "22", "24"];

/** Before and after `require` could load ES modules. */
const REQUIRING_NODES = ["20.9.0", "20.19", "22.11.0", "22.12", "24"];

/** Commands that install the package. A runtime's first example then runs. */
const MANAGERS = /** @type {Record<string, readonly string[]>} */ ({
  npm: ["npm", "install"],
  pnpm: ["npx", "--yes", "pnpm", "add"],
  bun: ["bun", "add"],
});

const PROJECTS = /** @type {const} */ (["alone", "lowest", "highest"]);

/** @typedef {{ readonly name: string, readonly command: string, readonly args: readonly string[] }} Runtime */

const names = Object.keys(entryPoints(readManifests().deno));
await packAnew();
await inFolder("matrix", async (top) => {
  const runtimes = await makeRuntimes(top);
  const rows = /** @type {Record<string, string[]>} */ ({});
  for (const project of PROJECTS) {
    const folder = await fillProject(top, project);
    for (const { command, args } of runtimes) {
      const { output } = await child(command, [...args, "try.mjs"], { cwd: folder });
      for (const name of names) (rows[`${name} ${project}`] ??= []).push(resultOf(output, name));
    }
  }
  const more = [
    await requiring(top),
    await besideEffect3(top, runtimes),
    await installing(top),
    await gitInstalling(top),
  ];
  writeFileSync(
    join(root, "docs/internals/compatibility.md"),
    page(runtimes, rows) + more.join("\n"),
  );
  await formatPages(["docs/internals/compatibility.md"]);
});

/** A Node of some version. @param {string} top @param {string} version @returns {Promise<Runtime>} */
async function makeNode(top, version) {
  const folder = join(top, `node-${version}`);
  const command = join(folder, "node_modules/.bin/node");
  if (!existsSync(command)) await installed(makeProject(folder, { node: version }, [], true));
  return { name: `Node ${version}`, command, args: [] };
}

/** @param {string} top @returns {Promise<readonly Runtime[]>} */
async function makeRuntimes(top) {
  return [
    ...await Promise.all(NODES.map((version) => makeNode(top, version))),
    { name: "Bun", command: "bun", args: ["run"] },
    {
      name: "Deno",
      command: "deno",
      args: ["run", "-A", "--no-lock", "--node-modules-dir=manual"],
    },
  ];
}

/** @param {string} top @param {typeof PROJECTS[number]} project */
async function fillProject(top, project) {
  const folder = join(top, project);
  const others = Object.entries(BESIDE).map((
    [name, [lowest, highest]],
  ) => [name, project === "lowest" ? lowest : highest]);
  await installed(makeProject(folder, project === "alone" ? {} : Object.fromEntries(others)));
  const tries = Object.entries(entryPoints(readManifests().deno)).map(([path, file], index) => {
    // Alone, the example's own framework is missing; what can be tried is the import.
    const text = project === "alone" && path !== "."
      ? `import ${JSON.stringify(path.replace(/^\./, "tidegate"))};`
      : stripTypeScriptTypes(exampleOf(file));
    writeFileSync(join(folder, `example${index}.mjs`), text);
    return `await attempt(${JSON.stringify(path)}, () => import("./example${index}.mjs"));`;
  });
  writeFileSync(join(folder, "try.mjs"), [...tries, "process.exit(0);", attempt].join("\n"));
  return folder;
}

/**
 * The first example of an entry point's module comment, without the syntax that Node has since 24.
 * @param {string} file
 */
function exampleOf(file) {
  const comment = /^\/\*\*[\s\S]*?\*\//.exec(readFileSync(join(root, file), "utf8"))?.[0] ?? "";
  const [, example = ""] = /\* ```ts\n([\s\S]*?) \* ```/.exec(comment) ?? [];
  return example.replaceAll(/^ \* ?/gm, "").replaceAll(/^using /gm, "const ");
}

/** @param {Promise<import("./child.mjs").Ended>} made */
async function installed(made) {
  const { status, output } = await made;
  if (status !== 0) throw new Error(output);
}

/**
 * Runs one example, and prints in a line whether it works. @param {string} name @param {() =>
 * Promise<unknown>} run
 */
async function attempt(name, run) {
  const result = await run().then(() => "works", (error) => String(error?.message ?? error));
  console.log(`try ${name} ${result.split("\n")[0]}`);
}

/** The result of `require` in CommonJS, by the version of Node. @param {string} top */
async function requiring(top) {
  const cwd = join(top, "alone");
  const lines = [];
  for (const version of REQUIRING_NODES) {
    const { command, name } = await makeNode(top, version);
    const required = await child(command, ["-p", `typeof require("tidegate").gcra`], { cwd });
    const [error] = /ERR_\w+/.exec(required.output) ?? [];
    const imported = `import("tidegate").then(({ gcra }) => console.log(typeof gcra))`;
    const { output } = await child(command, ["-e", imported], { cwd });
    const shown = required.status === 0 ? "yes" : `no: \`${error}\``;
    lines.push(`| ${name} | ${shown} | ${output.startsWith("function") ? "yes" : "no"} |`);
  }
  return `
## CommonJS

| runtime | \`require("tidegate")\` | \`await import("tidegate")\` |
| --- | --- | --- |
${lines.join("\n")}
`;
}

/**
 * The errors that a user of an old Effect reads. The runtime misses Effect's modules before any of our
 * code runs, so only the name of our importing module can carry a hint.
 *
 * @param {string} top @param {readonly Runtime[]} runtimes
 */
async function besideEffect3(top, runtimes) {
  const cwd = join(top, "effect-3");
  await installed(makeProject(cwd, { effect: "^3" }));
  const imported = `import("tidegate/effect").catch((error) => console.log(String(error)));`;
  writeFileSync(join(cwd, "import.mjs"), imported);
  const named = /** @type {Record<string, string[]>} */ ({});
  for (const { name, command, args } of runtimes) {
    const { output } = await child(command, [...args, "import.mjs"], { cwd });
    const text = output.trim().split("\n").at(-1) ?? "";
    const error = text.replaceAll(/(file:\/\/)?\/[^\s']*\/effect-3/g, "");
    (named[error] ??= []).push(name);
  }
  const lines = Object.entries(named).map(([error, names]) =>
    `- ${names.join(", ")}: \`${error}\``
  );
  return `
## ERR_PACKAGE_PATH_NOT_EXPORTED

\`tidegate/effect\` needs Effect 4.1 or later: run \`npm install effect@latest\`. Beside Effect 3 its
import fails with these errors:

${lines.join("\n")}
`;
}

/** Which package managers install the package into an empty project. @param {string} top */
async function installing(top) {
  const lines = [];
  for (const [name, [command = "", ...args]] of Object.entries(MANAGERS)) {
    const cwd = join(top, `by-${name}`);
    mkdirSync(cwd);
    writeFileSync(join(cwd, "package.json"), JSON.stringify({ private: true, type: "module" }));
    writeFileSync(join(cwd, "first.mjs"), stripTypeScriptTypes(exampleOf("mod.ts")));
    const version = await child(command, [...args.slice(0, -1), "--version"], { cwd });
    const steps = [
      await child(command, [...args, packedArchive()], { cwd }),
      await child(name === "bun" ? "bun" : "node", ["first.mjs"], { cwd }),
      await child(join(cwd, "node_modules/.bin/tidegate"), ["--version"], { cwd }),
    ];
    const cells = steps.map(({ status }) => status === 0 ? "yes" : "no");
    lines.push(`| ${name} ${version.output.trim().split("\n").at(-1)} | ${cells.join(" | ")} |`);
  }
  return `
## Package managers, in an empty folder

| manager | installs | first example | the command |
| --- | --- | --- | --- |
${lines.join("\n")}
`;
}

/** @param {string} output @param {string} name */
function resultOf(output, name) {
  const line = output.split("\n").find((each) => each.startsWith(`try ${name} `));
  const result = line?.slice(`try ${name} `.length) ?? "did not answer";
  return result.replace(/ (imported )?from .*/, "");
}

/**
 * @param {readonly Runtime[]} runtimes
 * @param {Record<string, readonly string[]>} rows
 */
function page(runtimes, rows) {
  const notes = /** @type {string[]} */ ([]);
  const header = ["entry point", ...runtimes.map((runtime) => runtime.name)];
  const lines = names.map((name) => [
    `\`${name.replace(/^\./, "tidegate")}\``,
    ...runtimes.map((_, column) => {
      const failed = PROJECTS.map((
        project,
      ) => [project, rows[`${name} ${project}`]?.[column] ?? ""])
        .filter(([, result]) => result !== "works");
      const texts = failed.map(([project, result = ""]) => {
        if (!notes.includes(result)) notes.push(result);
        return `${project}: no (${notes.indexOf(result) + 1})`;
      });
      return texts.join("; ") || "yes";
    }),
  ]);
  const table = [header, header.map(() => "---"), ...lines].map((row) => `| ${row.join(" | ")} |`);
  const versions = Object.entries(BESIDE).map(([name, [lowest, highest]]) =>
    `| \`${name}\` | ${lowest} | ${highest} |`
  );
  return `# What works where

Written by \`npm run matrix\` in the repository: the packed package is installed with npm, and the
first example of each entry point runs: alone (where it only imports), and beside the lowest and
the highest version of every package that it works with.

${table.join("\n")}

${notes.map((note, index) => `${index + 1}. ${note}`).join("\n")}

| package | lowest | highest |
| --- | --- | --- |
${versions.join("\n")}
`;
}
