// `npm run options` writes docs/reference.md: every function by its name, and every option of every
// factory, store, adapter and command, from the declarations that were built and from the tables of the
// command; the table of options in docs/http.md; and docs/rules.schema.json. The checks compare them.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import process from "node:process";

import { build } from "./build.mjs";
import {
  commentOf,
  exportsOf,
  firstOfEach,
  isType,
  membersOf,
  typeNamed,
} from "./declarations.mjs";
import { formatPages } from "./format.mjs";
import { install, root } from "./install.mjs";
import { entryPoints, readManifests } from "./manifests.mjs";

/** @typedef {import("./declarations.mjs").Node} Node */
/** @typedef {import("./declarations.mjs").Declaration} Declaration */
/** @typedef {import("./declarations.mjs").Member} Member */

/**
 * A function as the page shows it.
 * @typedef {object} Shown
 * @property {string} name
 * @property {string} call Such as `gcra(options)`.
 * @property {string} about The first sentence of its comment.
 * @property {Declaration[]} options The types of its options.
 */

const PAGE = join(root, "docs/reference.md");
const HTTP_PAGE = join(root, "docs/http.md");
const HTTP_REGEXP = /(?<=<!-- options -->\n)[^]*(?=<!-- end of options -->)/;
const OPTIONS_REGEXP = /(Options|Policy)$/;

/** The entry points that others refer to come first, and that which refers to most comes last. */
const FIRST = [".", "./http"];
const LAST = "./effect";

/** As many rows as need not stand on the page twice. */
const FEW = 4;

/** The entry points for those who write algorithms and stores; docs/internals has their options. */
const FOR_BUILDERS = ["./testing", "./toolkit"];

/** The page, without the table formatting of the formatter. */
export async function referencePage() {
  const { deno, npm } = readManifests();
  /** The heading that each row stands under. @type {Map<string, string>} */
  const listed = new Map();
  /** The types of options within options. @type {Set<Node>} */
  const nested = new Set();
  const entries = Object.entries(entryPoints(deno)).filter(([path]) =>
    !FOR_BUILDERS.includes(path)
  );
  const named = (/** @type {string} */ one) => entries.filter(([path]) => path === one);
  const others = entries.filter(([path]) => !FIRST.includes(path) && path !== LAST);
  const sections = [...FIRST.flatMap(named), ...others, ...named(LAST)].flatMap(([path, file]) => [
    `## \`${path.replace(/^\./, npm.name)}\``,
    "",
    ...sectionOf(join(root, "dist", file), listed, nested),
  ]);
  return [
    "# Reference",
    "",
    "Every function and every option, by the name of the function. A `Period` is whole milliseconds, or",
    'text such as `"500ms"`, `"10s"`, `"1m"`, `"1h"`, `"1d"`. An option that is unknown, or out of its',
    "range, throws an error that names it. Types of results are in your editor.",
    "",
    ...sections,
    ...(await commandSections()),
  ].join("\n");
}

/** @param {string} file @param {Map<string, string>} listed @param {Set<Node>} nested */
function sectionOf(file, listed, nested) {
  /** @type {Map<string, Shown[]>} */
  const groups = new Map();
  for (const shown of functionsOf(file)) {
    const kind = shown.options.map(({ file, node }) => `${file}:${node.start}`).sort().join();
    groups.set(kind, [...(groups.get(kind) ?? []), shown]);
  }
  const plain = (groups.get("") ?? []).map(({ call, about }) => `- \`${call}\`: ${about}`);
  groups.delete("");
  const tables = [...groups.values()].map((group) => tableOf(group, listed, nested));
  // Functions without a table stand above those with one.
  const isPlain = (/** @type {string[]} */ [first = ""]) => first.startsWith("-");
  const lists = [plain, ...tables.filter(isPlain)].flat().filter((line) => line !== "");
  return [...lists, "", ...tables.filter((table) => !isPlain(table)).flat()];
}

/**
 * The functions that a module exports, and the methods of its types that take options.
 * @param {string} file @returns {Shown[]}
 */
function functionsOf(file) {
  return [...exportsOf(file)].sort(([a], [b]) => a < b ? -1 : 1).flatMap(([name, declarations]) => {
    if (declarations.every(({ node }) => isType(node))) {
      return OPTIONS_REGEXP.test(name) ? [] : declarations.flatMap((one) => methodsOf(name, one));
    }
    const calls = declarations.flatMap(({ file, node }) =>
      callsOf(node).map((call) => ({ file, node: call }))
    );
    const comment = declarations.map(({ node }) => commentOf(node)).find((text) => text !== "") ??
      "";
    return calls.length === 0 ? [] : [shownOf(name, calls, comment)];
  });
}

/** @param {string} name @param {Declaration} declaration @returns {Shown[]} */
function methodsOf(name, declaration) {
  if (declaration.node.type !== "TSInterfaceDeclaration") return [];
  return membersOf(declaration, () => false).flatMap((member) => {
    const calls = callsOf(member.node).map((node) => ({ file: member.file, node }));
    const shown = shownOf(`${name}.${member.name}`, calls, member.comment);
    return shown.options.length === 0 ? [] : [shown];
  });
}

/** @param {string} name @param {Declaration[]} calls @param {string} comment @returns {Shown} */
function shownOf(name, calls, comment) {
  const parameters = calls.map((
    { node },
  ) => /** @type {Node[]} */ (node.params ?? node.parameters));
  const longest = parameters.reduce((a, b) => b.length > a.length ? b : a, []);
  const options = calls.flatMap(({ file }, index) =>
    (parameters[index] ?? []).flatMap(({ typeAnnotation }) =>
      typeAnnotation ? optionsIn(file, typeAnnotation.typeAnnotation) : []
    )
  );
  return {
    name,
    call: `${name}(${longest.map(parameterOf).join(", ")})`,
    about: firstSentence(firstParagraph(comment)),
    options: [...new Map(options.map((one) => [one.node, one])).values()],
  };
}

/** The signatures of a function, or of a value that is one. @param {Node} node @returns {Node[]} */
function callsOf(node) {
  const type = (node.declarations?.[0].id ?? node).typeAnnotation?.typeAnnotation;
  if (["TSDeclareFunction", "TSMethodSignature"].includes(node.type)) return [node];
  if (type?.type === "TSFunctionType") return [type];
  if (type?.type !== "TSTypeLiteral") return [];
  return type.members.filter((/** @type {Node} */ { type }) =>
    type === "TSCallSignatureDeclaration"
  );
}

/** @param {Node} parameter */
function parameterOf({ type, name, optional, argument }) {
  if (type === "RestElement") return `...${argument.name}`;
  return `${type === "Identifier" ? name : "options"}${optional ? "?" : ""}`;
}

/** The types of options that a type consists of. @param {string} file @param {Node} type @returns {Declaration[]} */
function optionsIn(file, type) {
  const inner = (/** @type {Node} */ one) => optionsIn(file, one);
  if (type.types) return type.types.flatMap(inner);
  if (
    type.type === "TSParenthesizedType" || type.type === "TSArrayType" ||
    type.type === "TSTypeOperator"
  ) {
    return inner(type.typeAnnotation ?? type.elementType);
  }
  if (type.type !== "TSTypeReference" || !OPTIONS_REGEXP.test(type.typeName.name)) return [];
  const found = typeNamed(file, type.typeName.name);
  return found === undefined ? [] : [found];
}

/**
 * The functions of one kind of options: a row for each option, unless an earlier heading has many of
 * them in the same words.
 * @param {Shown[]} group @param {Map<string, string>} listed @param {Set<Node>} nested
 * @returns {string[]}
 */
function tableOf(group, listed, nested) {
  const title = group.map(({ name }) => `\`${name}\``).join(", ");
  const all = (group[0]?.options ?? []).flatMap((one) => membersOf(one, () => true));
  const members = firstOfEach(all.map((member) => {
    const others = all.filter(({ name }) => name === member.name);
    return { ...member, isOptional: others.some(({ isOptional }) => isOptional) };
  }));
  const headings = members.map((member) => listed.get(rowOf(member)));
  const seen = headings.filter((heading) => heading !== undefined).length;
  const refers = seen > FEW || seen === members.length;
  const isElsewhere = (/** @type {string | undefined} */ heading) =>
    refers && heading !== undefined;
  const own = members.filter((_, index) => !isElsewhere(headings[index]));
  const elsewhere = [...new Set(headings)].filter(isElsewhere).map((heading = "") => {
    const names = members.filter((_, index) => headings[index] === heading).map(({ name }) => name);
    const isWhole = [...listed.values()].filter((other) =>
      other === heading
    ).length === names.length;
    if (isWhole) return linkTo(heading);
    return `${linkTo(heading)} (${names.map((name) => `\`${name}\``).join(", ")})`;
  });
  for (const row of own.map(rowOf)) if (!listed.has(row)) listed.set(row, title);
  const more = elsewhere.length === 0 ? "" : ` It takes options of ${elsewhere.join(" and of ")}.`;
  const abouts = group.map(({ call, about }) => `- \`${call}\`: ${about}${more}`);
  if (own.length === 0) return [...abouts, ""];
  const isHttp = group[0]?.options.some(({ node }) => node === httpOptions().node);
  return [
    `### ${title}`,
    "",
    ...abouts,
    "",
    ...(isHttp ? ["[HTTP](http.md#options) has the table.", ""] : rowsOf(own)),
    ...own.flatMap((member) => nestedTables(member, nested)),
  ];
}

/**
 * The tables of options within an option.
 * @param {Member} member @param {Set<Node>} nested
 * @returns {string[]}
 */
function nestedTables({ name, file, node }, nested) {
  const annotation = node.typeAnnotation?.typeAnnotation;
  if (!annotation) return [];
  return optionsIn(file, annotation).flatMap((one) => {
    if (nested.has(one.node)) return [];
    nested.add(one.node);
    const members = membersOf(one, () => true);
    return [
      `In \`${name}\`:`,
      "",
      ...rowsOf(members),
      ...members.flatMap((inner) => nestedTables(inner, nested)),
    ];
  });
}

/** @param {Member[]} members */
function rowsOf(members) {
  return members.length === 0 ? [] : [
    "| option | type | default | meaning |",
    "| --- | --- | --- | --- |",
    ...members.map(rowOf),
    "",
  ];
}

/** The table of docs/http.md: the options that every HTTP adapter has. */
export function httpTable() {
  return `\n${rowsOf(membersOf(httpOptions(), () => true).sort(byName)).join("\n")}\n`;
}

function httpOptions() {
  const { deno } = readManifests();
  const file = join(root, "dist", entryPoints(deno)["./http"] ?? "");
  return /** @type {Declaration} */ (exportsOf(file).get("RateLimitOptions")?.[0]);
}

/** @param {Member} a @param {Member} b */
function byName(a, b) {
  return a.name < b.name ? -1 : 1;
}

/** @param {string} title */
function linkTo(title) {
  return `[${title}](#${title.toLowerCase().replaceAll(/[^\w\- ]/g, "").replaceAll(" ", "-")})`;
}

/** @param {Member} member */
function rowOf({ name, type, isOptional, comment }) {
  const { value, meaning } = splitDefault(comment);
  const shown = /^\(.*\)$/.test(type) && type.includes("=>")
    ? type.slice(1, -1)
    : type.replace(/^readonly /, "");
  const standard = isOptional ? value ?? "" : "required";
  return `| \`${name}\` | \`${escaped(shown)}\` | ${escaped(standard)} | ${escaped(meaning)} |`;
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("|", "\\|");
}

/**
 * The default that a comment names, and the comment without it where it ends a sentence.
 * @param {string} comment
 */
function splitDefault(comment) {
  const meaning = firstParagraph(comment);
  const found = /(`[^`]+`|\d+) (?:for \w+ )?\(default\)/.exec(meaning) ??
    /[;,] by default,? (?:it is )?([^;.]+)/.exec(meaning) ??
    /[;,]? ?\b[Dd]efault:? (?:is )?(`[^`]+`|[\d,]+\d(?: [KMG]i?B)?|[^;.,)(]+)/.exec(meaning) ??
    /; without it,? ([^;.]+)/.exec(meaning);
  const value = found?.[1]?.trim();
  const after = found === null ? "" : meaning.slice(found.index + found[0].length);
  const isTail = found !== null && /^(;| ?Default)/.test(found[0]) && /^\.( |$)/.test(after);
  if (!isTail) return { value, meaning };
  const before = meaning.slice(0, found.index);
  return { value, meaning: `${before}${before.endsWith(".") ? after.slice(1) : after}` };
}

/** @param {string} comment */
function firstParagraph(comment) {
  return (comment.split(/\n\n|(?:^|\n)\s*@/)[0] ?? "").replaceAll(/\s+/g, " ").trim();
}

/** @param {string} text */
function firstSentence(text) {
  return /^.*?[^.][.](?= |$)/.exec(text)?.[0] ?? text;
}

/** The tables of the command, from the modules that were built. */
async function commandSections() {
  const folder = join(root, "dist/adapters/command");
  const files = readdirSync(folder).filter((file) => file.endsWith("_command.js")).sort();
  const commands = await Promise.all(files.map(async (file) => {
    const exports = await import(pathToFileURL(join(folder, file)).href);
    return Object.values(exports).find((value) => typeof value?.run === "function");
  }));
  /** The command that has each row. @type {Map<string, string>} */
  const listed = new Map();
  return commands.filter((command) => command !== undefined)
    .flatMap(({ name, operands, summary, options }) => {
      const rows = Object.entries(options).map(([option, { text, value, choices }]) => {
        const values = cell(choices ? choices.join(", ") : value ?? "");
        return { option, row: `| \`--${option}\` | ${values} | ${cell(text)} |` };
      });
      const seen = rows.filter(({ row }) => listed.has(row));
      const isElsewhere = (/** @type {string} */ row) => seen.length > FEW && listed.has(row);
      const others = seen.filter(({ row }) => isElsewhere(row)).map(({ option }) => option);
      const from = [...new Set(seen.map(({ row }) => listed.get(row)))].join("` and `");
      const own = rows.map(({ row }) => row).filter((row) => !isElsewhere(row));
      for (const row of own) if (!listed.has(row)) listed.set(row, `tidegate ${name}`);
      return [
        `## \`tidegate ${[name, operands].join(" ").trim()}\``,
        "",
        `${summary[0].toUpperCase()}${summary.slice(1)}.`,
        ...(others.length === 0
          ? []
          : [`As \`${from}\`, it takes ${others.map((one) => `\`--${one}\``).join(", ")}.`]),
        "",
        "| option | value | meaning |",
        "| --- | --- | --- |",
        ...own,
        "",
      ];
    });
}

/** @param {string} text */
function cell(text) {
  return escaped(text.replaceAll(/\s+/g, " ")).replaceAll("*", "\\*");
}

/**
 * Compares the page with docs/reference.md, except for how the formatter breaks lines.
 * @returns {Promise<import("./child.mjs").Ended>}
 */
export async function checkOptions() {
  const begun = performance.now();
  const plain = (/** @type {string} */ text) => text.replaceAll(/[\s-]+/g, " ").trim();
  const table = HTTP_REGEXP.exec(readFileSync(HTTP_PAGE, "utf8"))?.[0] ?? "";
  const isSame = plain(await referencePage()) === plain(readFileSync(PAGE, "utf8")) &&
    plain(httpTable()) === plain(table);
  const output = isSame
    ? ""
    : 'docs/reference.md and docs/http.md must be written anew by "npm run options"\n';
  const seconds = (performance.now() - begun) / 1000;
  return { status: isSame ? 0 : 1, left: false, seconds, output };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  install();
  const { status, output } = await build();
  if (status !== 0) throw new Error(output);
  writeFileSync(PAGE, await referencePage());
  const page = readFileSync(HTTP_PAGE, "utf8");
  writeFileSync(HTTP_PAGE, page.replace(HTTP_REGEXP, () => httpTable()));
  await formatPages(["docs/reference.md", "docs/http.md"]);
  const { ruleSchemaText } = await import(
    pathToFileURL(join(root, "dist/adapters/rules/rules.js")).href
  );
  writeFileSync(join(root, "docs/rules.schema.json"), ruleSchemaText());
}
