// `npm run fmt [PAGE...]`: sources by `deno fmt`; pages by the same, with the cells of their tables unpadded,
// because a table that is padded to its longest cell doubles a page and changes whole in every diff.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

import { child } from "./child.mjs";
import { install, root } from "./install.mjs";
import { inFolder } from "./package.mjs";

/** Folders whose pages are not ours, or not for people. */
const SKIPPED = ["node_modules", "dist", ".git", ".snippets"];

/** The cell separators of a table, with the padding around them; `\|` belongs to a cell. */
const PADDING_REGEXP = / *(?<!\\)\| */g;

/** The pages of the repository, from its top. @param {string} [folder] @returns {string[]} */
function pages(folder = "") {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.includes(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return pages(path);
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

/** A page whose tables have one space around each cell. @param {string} text */
export function unpadded(text) {
  let fence = "";
  return text.split("\n").map((line) => {
    const [mark = ""] = /^ *(`{3,}|~{3,})/.exec(line) ?? [];
    if (mark !== "") fence = fence === "" ? mark.trim() : fence === mark.trim() ? "" : fence;
    if (fence !== "" || !/^ *\|.*\|$/.test(line)) return line;
    return line.replaceAll(PADDING_REGEXP, " | ").replaceAll(
      /(?<=\| ):?-+:?(?= \|)/g,
      (rule) => rule.replace(/-+/, "---"),
    ).trim();
  }).join("\n");
}

/**
 * Pages as they should be.
 * @param {readonly string[]} paths From the top of the repository.
 * @returns {Promise<Map<string, string>>}
 */
function formatted(paths) {
  return inFolder("format", async (folder) => {
    for (const path of paths) {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      copyFileSync(join(root, path), join(folder, path));
    }
    const { lineWidth } = JSON.parse(readFileSync(join(root, "deno.json"), "utf8")).fmt;
    const options = ["--quiet", "--no-config", `--line-width=${lineWidth}`];
    const { status, output } = await child("deno", ["fmt", ...options, "."], { cwd: folder });
    if (status !== 0) throw new Error(output);
    return new Map(paths.map((path) => [path, unpadded(readFileSync(join(folder, path), "utf8"))]));
  });
}

/**
 * Writes pages as they should be; without names, all of them.
 * @param {readonly string[]} [paths]
 */
export async function formatPages(paths = pages()) {
  for (const [path, text] of await formatted(paths)) {
    if (text !== readFileSync(join(root, path), "utf8")) writeFileSync(join(root, path), text);
  }
}

/** Whether everything is formatted. @returns {Promise<import("./child.mjs").Ended>} */
export async function checkFormat() {
  const sources = await child("deno", ["fmt", "--check"]);
  const wrong = [...await formatted(pages())]
    .filter(([path, text]) => text !== readFileSync(join(root, path), "utf8"))
    .map(([path]) => `${path} must be formatted by "npm run fmt"\n`);
  return {
    ...sources,
    status: sources.status === 0 && wrong.length === 0 ? 0 : 1,
    output: sources.output + wrong.join(""),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  install();
  const named = process.argv.slice(2);
  await formatPages(named.length > 0 ? named : undefined);
  if (named.length === 0) {
    const { status, output } = await child("deno", ["fmt", "--quiet"]);
    process.stdout.write(output);
    process.exitCode = status;
  }
}
