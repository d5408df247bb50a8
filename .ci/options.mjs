// `npm run options` writes docs/options.md: every option of every factory, store, adapter and command,
// from the declarations that were built and from the tables of the command; and the table of options
// in docs/http.md. The checks compare both.
import { parse } from "@babel/parser";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import process from "node:process";

import { build } from "./build.mjs";
import { formatPages } from "./format.mjs";
import { install, root } from "./install.mjs";
import { entryPoints, readManifests } from "./manifests.mjs";

/** @typedef {any} Node A node of the syntax tree. */
/** @typedef {{ file: string, node: Node }} Declaration */
/** @typedef {{ name: string, type: string, isOptional: boolean, comment: string }} Member */

const PAGE = join(root, "docs/options.md");
const HTTP_PAGE = join(root, "docs/http.md");
const HTTP_REGEXP = /(?<=<!-- options -->\n)[^]*(?=<!-- end of options -->)/;
const OPTIONS_REGEXP = /(Options|Policy)$/;

/** The declarations that a module can name, by their names. @type {Map<string, Map<string, Declaration>>} */
const scopes = new Map();
/** @type {Map<string, string>} */
const texts = new Map();

/** The page, without the table formatting of the formatter. */
export async function optionsPage() {
  const { deno, npm } = readManifests();
  /** @type {Map<Node, string>} */
  const listed = new Map();
  const sections = Object.entries(entryPoints(deno)).flatMap(([path, file]) => {
    const name = path.replace(/^\./, npm.name);
    const tables = [...exportsOf(join(root, "dist", file))]
      .filter(([name, { node }]) => OPTIONS_REGEXP.test(name) && !listed.has(node))
      .sort(([a], [b]) => a < b ? -1 : 1)
      .flatMap(([title, declaration]) => {
        const rows = tableOf(title, declaration, listed);
        listed.set(declaration.node, title);
        return rows;
      });
    return tables.length === 0 ? [] : [`## \`${name}\``, "", ...tables];
  });
  return [
    "# Options",
    "",
    "Every option of every factory, store, adapter and command, with its type, its default and its",
    "meaning. `npm run options` writes this page from the types. A `Period` is whole milliseconds, or",
    'text such as `"500ms"`, `"10s"`, `"1m"`, `"1h"`, `"1d"`. An option that is unknown, or out of its',
    "range, throws an error that names it.",
    "",
    ...sections,
    ...(await commandSections()),
  ].join("\n");
}

/**
 * The table of an interface: its members, with the inherited ones that no table above has.
 * @param {string} title @param {Declaration} declaration @param {Map<Node, string>} listed
 */
function tableOf(title, declaration, listed) {
  /** @type {string[]} */
  const inherited = [];
  const members = membersOf(declaration, (parent) => {
    const known = listed.get(parent.node);
    if (known !== undefined) inherited.push(known);
    return known === undefined;
  });
  if (members.length === 0 && inherited.length === 0) return [];
  const about = firstParagraph(commentOf(declaration.node));
  return [
    `### ${title}`,
    "",
    ...(about === "" ? [] : [about, ""]),
    ...(inherited.length === 0
      ? []
      : [`It has the options of ${inherited.map(linkTo).join(" and of ")} too.`, ""]),
    ...(members.length === 0 ? [] : [
      "| option | type | default | meaning |",
      "| --- | --- | --- | --- |",
      ...members.map(rowOf),
      "",
    ]),
  ];
}

/** The table of docs/http.md: the options that every HTTP adapter has, and their meaning in short. */
function httpTable() {
  const { deno } = readManifests();
  const file = /** @type {string} */ (entryPoints(deno)["./http"]);
  const options = exportsOf(join(root, "dist", file)).get("RateLimitOptions");
  const rows = membersOf(/** @type {Declaration} */ (options), () => true)
    .sort((a, b) => a.name < b.name ? -1 : 1)
    .map(({ name, comment }) => {
      const { value, meaning } = splitDefault(comment);
      const short = (/^.*?[^.][.](?= |$)/.exec(meaning)?.[0] ?? meaning).replaceAll("|", "\\|");
      return `| \`${name}\` | ${(value ?? "").replaceAll("|", "\\|")} | ${short} |`;
    });
  return ["", "| option | default | meaning |", "| --- | --- | --- |", ...rows, "", ""].join("\n");
}

/** @param {string} title */
function linkTo(title) {
  return `[${title}](#${title.toLowerCase()})`;
}

/** @param {Member} member */
function rowOf({ name, type, isOptional, comment }) {
  const { value, meaning } = splitDefault(comment);
  const standard = isOptional ? value ?? "" : "required";
  const shown = type.replaceAll("|", "\\|");
  return `| \`${name}\` | \`${shown}\` | ${standard.replaceAll("|", "\\|")} | ${
    meaning.replaceAll("|", "\\|")
  } |`;
}

/**
 * The default that a comment names, and the comment.
 * @param {string} comment
 */
function splitDefault(comment) {
  const meaning = (comment.split(/\n\s*@|\n\n/)[0] ?? "").replaceAll(/\s+/g, " ").trim();
  const found = /(`[^`]+`|\d+) (?:for \w+ )?\(default\)/.exec(meaning) ??
    /[;,] by default,? (?:it is )?([^;.]+)/.exec(meaning) ??
    /\b[Dd]efault:? (?:is )?(`[^`]+`|[\d,]+\d(?: [KMG]i?B)?|[^;.,)(]+)/.exec(meaning) ??
    /; without it,? ([^;.]+)/.exec(meaning);
  return { value: found?.[1]?.trim(), meaning };
}

/**
 * The members of an interface or of a type made of them; `enters` says whether a parent's are wanted.
 * @param {Declaration} declaration @param {(parent: Declaration) => boolean} enters
 * @returns {Member[]}
 */
function membersOf({ file, node }, enters) {
  const scope = scopeOf(file);
  const fromType = (/** @type {Node} */ type) => {
    if (type.type === "TSParenthesizedType") return fromType(type.typeAnnotation);
    if (type.type === "TSIntersectionType") return type.types.flatMap(fromType);
    if (type.type === "TSUnionType") return type.types.flatMap(fromType);
    if (type.type === "TSTypeLiteral") return own(type.members);
    if (type.type === "TSTypeReference") return fromName(type.typeName.name);
    return [];
  };
  const fromName = (/** @type {string} */ name) => {
    const parent = scope.get(name);
    return parent === undefined || !enters(parent) ? [] : membersOf(parent, enters);
  };
  const own = (/** @type {Node[]} */ members) =>
    members.filter(({ key }) => key !== undefined && key.type === "Identifier")
      .map((member) => memberOf(file, member))
      // Such an option must not be given.
      .filter(({ type }) => type !== "undefined");
  const all = node.type === "TSInterfaceDeclaration"
    ? [
      ...own(node.body.body),
      ...(node.extends ?? []).flatMap((/** @type {Node} */ { expression }) =>
        fromName(expression.name)
      ),
    ]
    : fromType(node.typeAnnotation);
  const first = new Map();
  for (const member of all) if (!first.has(member.name)) first.set(member.name, member);
  return [...first.values()];
}

/** @param {string} file @param {Node} node @returns {Member} */
function memberOf(file, node) {
  const text = texts.get(file) ?? "";
  const annotation = node.typeAnnotation?.typeAnnotation ?? node.typeAnnotation;
  const type = node.type === "TSMethodSignature"
    ? text.slice(node.key.end, node.end)
    : annotation === undefined
    ? "unknown"
    : text.slice(annotation.start, annotation.end);
  return {
    name: node.key.name,
    type: type.replaceAll(/\/\*[^]*?\*\//g, "").replace(/;$/, "").replaceAll(/\s+/g, " ")
      .replace(/ \| undefined$/, "").trim(),
    isOptional: node.optional === true,
    comment: commentOf(node),
  };
}

/** @param {Node} node */
function commentOf(node) {
  const block = node.leadingComments?.at(-1) ?? node.outer?.leadingComments?.at(-1);
  if (block === undefined || !block.value.startsWith("*")) return "";
  return block.value.slice(1).split("\n").map((/** @type {string} */ line) =>
    line.replace(/^\s*\* ?/, "")
  ).join("\n").trim();
}

/** @param {string} comment */
function firstParagraph(comment) {
  return (comment.split(/\n\n|\n@/)[0] ?? "").replaceAll(/\s+/g, " ").trim();
}

/** @param {string} file A source, which stands for its declarations. */
function readModule(file) {
  const text = readFileSync(file.replace(/\.ts$/, ".d.ts"), "utf8");
  texts.set(file, text);
  return parse(text, { sourceType: "module", plugins: [["typescript", { dts: true }]] }).program
    .body;
}

/**
 * The declarations that a module can name: its own, and the ones that it imports.
 * @param {string} file
 */
function scopeOf(file) {
  const earlier = scopes.get(file);
  if (earlier !== undefined) return earlier;
  /** @type {Map<string, Declaration>} */
  const scope = new Map();
  scopes.set(file, scope);
  for (const statement of /** @type {Node[]} */ (readModule(file))) {
    const { source, specifiers = [] } = statement;
    if (source?.value.startsWith(".")) {
      const theirs = scopeOf(resolve(file, "..", source.value));
      for (const { imported, local, exported } of specifiers) {
        const found = theirs.get((imported ?? local).name);
        if (found !== undefined) scope.set((exported ?? local).name, found);
      }
    }
    const node = statement.declaration ?? statement;
    if (node.type !== "TSInterfaceDeclaration" && node.type !== "TSTypeAliasDeclaration") continue;
    node.outer = statement;
    scope.set(node.id.name, { file, node });
  }
  return scope;
}

/** @param {string} file @returns {Map<string, Declaration>} */
function exportsOf(file) {
  const scope = scopeOf(file);
  /** @type {Map<string, Declaration>} */
  const found = new Map();
  for (const statement of /** @type {Node[]} */ (readModule(file))) {
    if (statement.type === "ExportAllDeclaration" && statement.source.value.startsWith(".")) {
      for (const [name, one] of exportsOf(resolve(file, "..", statement.source.value))) {
        found.set(name, one);
      }
    }
    if (statement.type !== "ExportNamedDeclaration") continue;
    const names = statement.declaration
      ? [statement.declaration.id?.name]
      : statement.specifiers.map((/** @type {Node} */ { exported }) => exported.name);
    for (const name of names) {
      const one = scope.get(name);
      if (one !== undefined) found.set(name, one);
    }
  }
  return found;
}

/** The tables of the command, from the modules that were built. */
async function commandSections() {
  const folder = join(root, "dist/adapters/command");
  const files = readdirSync(folder).filter((file) => file.endsWith("_command.js")).sort();
  const commands = await Promise.all(files.map(async (file) => {
    const exports = await import(pathToFileURL(join(folder, file)).href);
    return Object.values(exports).find((value) => typeof value?.run === "function");
  }));
  return commands.filter((command) => command !== undefined)
    .flatMap(({ name, operands, summary, options }) => [
      `## \`tidegate ${[name, operands].join(" ").trim()}\``,
      "",
      `${summary[0].toUpperCase()}${summary.slice(1)}.`,
      "",
      "| option | value | meaning |",
      "| --- | --- | --- |",
      ...Object.entries(options).map(([option, { text, value, choices }]) => {
        const values = cell(choices ? choices.join(", ") : value ?? "");
        return `| \`--${option}\` | ${values} | ${cell(text)} |`;
      }),
      "",
    ]);
}

/** @param {string} text */
function cell(text) {
  return text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").replaceAll("*", "\\*");
}

/**
 * Compares the page with docs/options.md, except for how the formatter aligns tables.
 * @returns {Promise<import("./child.mjs").Ended>}
 */
export async function checkOptions() {
  const begun = performance.now();
  const plain = (/** @type {string} */ text) => text.replaceAll(/[\s-]+/g, " ").trim();
  const table = HTTP_REGEXP.exec(readFileSync(HTTP_PAGE, "utf8"))?.[0] ?? "";
  const isSame = plain(await optionsPage()) === plain(readFileSync(PAGE, "utf8")) &&
    plain(httpTable()) === plain(table);
  const output = isSame
    ? ""
    : 'docs/options.md and docs/http.md must be written anew by "npm run options"\n';
  const seconds = (performance.now() - begun) / 1000;
  return { status: isSame ? 0 : 1, left: false, seconds, output };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  install();
  const { status, output } = await build();
  if (status !== 0) throw new Error(output);
  writeFileSync(PAGE, await optionsPage());
  const page = readFileSync(HTTP_PAGE, "utf8");
  writeFileSync(HTTP_PAGE, page.replace(HTTP_REGEXP, () => httpTable()));
  await formatPages(["docs/options.md", "docs/http.md"]);
}
