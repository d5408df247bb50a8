// `npm run readme [PAGE...]`: what README.md and docs/*.md tell people to paste, run in an empty folder
// that has the package as its users get it: packed on Node and Bun, over HTTP as from JSR on Deno.
// A snippet passes if it ends well, or still serves after a while. Prints a table.
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import process from "node:process";

import { child } from "./child.mjs";
import { root } from "./install.mjs";
import { inFolder, must, packAnew, packedArchive } from "./package.mjs";
import { importsFrom, servePublished } from "./published.mjs";

/** How long a program that does not end must run to count as a server, in seconds. */
const SERVES = 4;

/**
 * @typedef {object} Part
 * @property {string} page
 * @property {number} line
 * @property {"snippet" | "command"} kind
 * @property {string} text
 */

/**
 * @typedef {object} Runtime
 * @property {string} name
 * @property {string} folder
 * @property {(file: string) => string[]} run The command line that runs a file of TypeScript.
 * @property {string[]} tidegate The command line of `tidegate`.
 * @property {RegExp} others Matches code that only other runtimes can run.
 */

const RULES = {
  domain: "shop",
  rules: [{ key: "user", limits: [{ limit: 5, period: "1m", burst: 5 }] }],
};

/** Versions of the packages that snippets need, where the name alone would install another one. */
const VERSIONS = /** @type {Record<string, string>} */ ({ redis: "redis@6", "@types/node": "" });

await packAnew();
const given = process.argv.slice(2);
const docs = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
const pages = given.length > 0 ? given : ["README.md", ...docs.map((name) => `docs/${name}`)];
const parts = pages.flatMap(partsOf);
const server = await servePublished();
const redisPort = 20_000 + process.pid % 10_000;
const httpPort = redisPort + 10_000;
const redis = spawn("redis-server", ["--port", String(redisPort), "--save", ""], {
  stdio: "ignore",
});
redis.on("error", () => console.log("There is no redis-server: its snippets will fail"));
let failures = 0;
await inFolder("readme", async (top) => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const runtimes = await makeRuntimes(top, `http://127.0.0.1:${port}/`);
  console.log(`| what | ${runtimes.map(({ name }) => name).join(" | ")} |`);
  console.log(`| --- | ${runtimes.map(() => "---").join(" | ")} |`);
  for (const [index, part] of parts.entries()) {
    const cells = [];
    for (const runtime of runtimes) cells.push(await attempt(part, index, runtime));
    if (cells.every((cell) => cell === "")) continue;
    const [first = ""] = part.text.split("\n").filter((line) => !line.startsWith("import"));
    const title = part.kind === "command" ? `\`${first}\`` : "snippet";
    console.log(`| ${part.page}:${part.line} ${title} | ${cells.join(" | ")} |`);
  }
}).finally(() => {
  server.close();
  redis.kill();
});
console.log(failures === 0 ? "all of it works" : `${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;

/** The snippets and commands of a page. @param {string} page @returns {Part[]} */
function partsOf(page) {
  const text = readFileSync(join(root, page), "utf8");
  const lineAt = (/** @type {number} */ index) => text.slice(0, index).split("\n").length;
  const found = /** @type {Part[]} */ ([]);
  for (
    const { 1: language = "", 2: body = "", index } of text.matchAll(/^```(.*)\n([^]*?)^```$/gm)
  ) {
    const line = lineAt(index) + 1;
    if (/^ts\b/.test(language)) found.push({ page, line, kind: "snippet", text: body });
    if (language !== "sh") continue;
    // A line that ends with a backslash goes on, and the line that it joins stays empty.
    const joined = body.replaceAll(/ \\\n(.*)/g, "$1\n");
    for (const [offset, command] of joined.split("\n").entries()) {
      const words = command.replace(/(^|\s)#.*/, "").trim();
      if (words !== "") found.push({ page, line: line + offset, kind: "command", text: words });
    }
  }
  for (
    const { 1: command = "", index } of text.matchAll(
      /(?<!`)`((?:npx tidegate|npm install|bun add) [^`\n]+)`/g,
    )
  ) {
    found.push({ page, line: lineAt(index), kind: "command", text: command });
  }
  return found.sort((a, b) => a.line - b.line);
}

/** The packages beside tidegate that a command installs. @param {Part} part @returns {string[]} */
function installedBy({ kind, text }) {
  if (kind !== "command" || !/^(npm install|bun add) /.test(text)) return [];
  const words = text.split(/ +/).slice(2);
  return words.filter((word) => !word.startsWith("-") && !word.includes("tidegate"));
}

/** A minute of a server's log in the combined format: two clients, one of which tries to log in. */
function accessLog() {
  const lines = Array.from({ length: 60 }, (_, second) => {
    const instant = `26/Nov/2026:10:00:${String(second).padStart(2, "0")} +0000`;
    return ["203.0.113.7", "198.51.100.9"].map((client, index) => {
      const line = index === 0 ? "POST /login?next=/" : "GET /api/items";
      return `${client} - - [${instant}] "${line} HTTP/1.1" ${
        index === 0 ? 401 : 200
      } 120 "-" "-"\n`;
    }).join("");
  });
  return lines.join("");
}

/** @param {string} top @param {string} published @returns {Promise<Runtime[]>} */
async function makeRuntimes(top, published) {
  const imported = parts.filter(({ kind }) => kind === "snippet").flatMap(importedBy);
  const names = [...new Set([...imported, ...parts.flatMap(installedBy)])];
  const folders = ["node", "bun", "deno"].map((name) => join(top, name));
  for (const folder of folders) {
    mkdirSync(folder);
    copyFileSync(join(root, "examples/rules.yaml"), join(folder, "rules.yaml"));
    writeFileSync(join(folder, "rules.json"), JSON.stringify(RULES));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  }
  const [node = "", bun = "", deno = ""] = folders;
  const beside = [...names.map((name) => VERSIONS[name] ?? name), "yaml"];
  await must(node, ["npm", "install", "--loglevel=error", packedArchive(), ...beside]);
  await must(bun, ["bun", "add", "--silent", packedArchive(), ...beside]);
  await must(deno, ["npm", "install", "--loglevel=error", ...beside]);
  const config = { nodeModulesDir: "manual", imports: importsFrom(published) };
  writeFileSync(join(deno, "deno.json"), JSON.stringify(config));
  for (const folder of folders) writeFileSync(join(folder, "access.log"), accessLog());
  const onDeno = ["deno", "run", "-A", "--quiet", "--no-check", "--no-lock"];
  return [
    {
      name: "Node",
      folder: node,
      run: (file) => ["node", "--disable-warning=ExperimentalWarning", file],
      tidegate: ["npx", "tidegate"],
      others: /\b(Bun|Deno)\.|^\s*(bun|deno) /m,
    },
    {
      name: "Bun",
      folder: bun,
      run: (file) => ["bun", file],
      tidegate: ["bunx", "tidegate"],
      others: /\bDeno\.|^\s*(npm|deno) /m,
    },
    {
      name: "Deno",
      folder: deno,
      run: (file) => [...onDeno, file],
      tidegate: [...onDeno, "tidegate/bin"],
      others: /\bBun\.|^\s*(npm|bun) /m,
    },
  ];
}

/** The packages of others that a snippet imports. @param {Part} part */
function importedBy({ text }) {
  return [...text.matchAll(/from "([^".][^"]*)"/g)]
    .map(([, name = ""]) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name)
    .filter((name) =>
      name !== "tidegate" && !name.startsWith("node:") && !builtinModules.includes(name) &&
      !name.startsWith("$")
    );
}

/**
 * Runs one part, and says how it went; nothing if it is not for this runtime.
 * @param {Part} part @param {number} index @param {Runtime} runtime
 */
async function attempt(part, index, runtime) {
  const words = part.kind === "command" ? wordsOf(part, runtime) : snippetOf(part, index, runtime);
  if (words === undefined) return "";
  const limit = isInstall(part.text) ? 10 * 60 : SERVES;
  const { status, output, serves } = await run(runtime.folder, words, limit);
  if (status === 0 || serves) return serves ? "serves" : "yes";
  failures++;
  console.error(`\n${part.page}:${part.line} on ${runtime.name}: ${words.join(" ")}\n${output}`);
  return `**no** (${status})`;
}

/** @param {Part} part @param {number} index @param {Runtime} runtime */
function snippetOf({ text, page }, index, runtime) {
  // `npm run recipes` runs the snippets of frameworks, inside their frameworks.
  if (page === "docs/frameworks.md" || runtime.others.test(text.replaceAll(/\/\/.*/g, ""))) return;
  const file = `snippet${index}.ts`;
  const local = text.replaceAll(":6379", `:${redisPort}`).replaceAll("8080", String(httpPort));
  writeFileSync(join(runtime.folder, file), local);
  return runtime.run(file);
}

/**
 * The words of a page's command, as this folder runs it; nothing for a clone or another runtime.
 * @param {Part} part @param {Runtime} runtime
 */
function wordsOf({ text }, { name, tidegate, others }) {
  if (/[|;&<>$…]|\.\.\./.test(text)) return;
  const words = text.split(/\s+/).map((word) => word.replaceAll(/^['"]|['"]$/g, ""));
  // The doctor examines a server of the reader's.
  if (words[2] === "doctor") return;
  if (words[0] === "npx" && words[1] === "tidegate") {
    const free = words[2] === "serve" ? ["--port", "0", "--no-grpc", "--drain-delay", "0"] : [];
    return [...tidegate, ...words.slice(2), ...free];
  }
  if (others.test(text)) return;
  if (!isInstall(text) || name === "Deno") return;
  return words.map((word) => /tidegate/.test(word) ? packedArchive() : word);
}

/** @param {string} command */
function isInstall(command) {
  return /^(npm install|npm i|bun add) (.*\btidegate\S*\.tgz|tidegate)( |$)/.test(command);
}

/** @param {string} cwd @param {string[]} words @param {number} limit */
async function run(cwd, [command = "", ...args], limit) {
  // `timeout` ends a server, and says so by its status.
  const limited = ["--kill-after=3", String(limit), command, ...args];
  const { status, output } = await child("timeout", limited, {
    cwd,
    env: { DENO_NO_UPDATE_CHECK: "1" },
  });
  return { status, output, serves: status === 124 };
}
