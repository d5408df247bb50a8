// `npm run api` writes docs/api.txt: one line for each public symbol and each of its members, by entry
// point. The checks compare it, so that a change of the API is seen where a change is reviewed.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import process from "node:process";

import { install, root } from "./install.mjs";
import { entryPoints, readManifests } from "./manifests.mjs";

const REPORT = join(root, "docs/api.txt");

/** The report as the sources have it now. */
export function apiReport() {
  const { deno, npm } = readManifests();
  return Object.entries(entryPoints(deno)).map(([path, file]) => {
    const name = path.replace(/^\./, npm.name);
    const lines = symbolsOf(file).flatMap(linesOf).sort();
    return [`# ${name}`, "", ...new Set(lines), ""].join("\n");
  }).join("\n");
}

/**
 * Compares the report with docs/api.txt.
 * @returns {Promise<import("./child.mjs").Ended>}
 */
export function checkApi() {
  const begun = performance.now();
  const [now, before] = [apiReport(), readFileSync(REPORT, "utf8")];
  const [added, removed] = [linesMissing(before, now), linesMissing(now, before)];
  const differ = [...removed.map((line) => `- ${line}`), ...added.map((line) => `+ ${line}`)];
  const output = `docs/api.txt must be written anew by "npm run api":\n${differ.join("\n")}\n`;
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

/** @param {string} file @returns {any[]} */
function symbolsOf(file) {
  const args = ["doc", "--json", "--quiet", "--no-npm", file];
  const { stdout, stderr } = spawnSync("deno", args, {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
    maxBuffer: 2 ** 26,
  });
  if (stdout === "") throw new Error(`Cannot read the symbols of ${file}: ${stderr}`);
  return Object.values(JSON.parse(stdout).nodes).flatMap((/** @type {any} */ node) => node.symbols);
}

/** @param {any} symbol @returns {string[]} */
function linesOf({ name, declarations }) {
  // Where a function is overloaded, nobody can call what stands above its body.
  const isPublic = (/** @type {any} */ { declarationKind, def }) =>
    declarationKind === "export" && !(declarations.length > 1 && def.hasBody);
  return declarations.filter(isPublic)
    .flatMap((/** @type {any} */ { kind, def }) => {
      switch (kind) {
        case "function":
          return [`function ${name}${signature(def)}`];
        case "variable":
          return [`const ${name}: ${type(def.tsType)}`];
        case "typeAlias":
          return [`type ${name}${typeParams(def)} = ${type(def.tsType)}`];
        case "interface":
        case "class":
          return declaredType(kind, name, def);
        default:
          return []; // A reference: the symbol's own entry point lists it.
      }
    });
}

/** @param {string} kind @param {string} name @param {any} def */
function declaredType(kind, name, def) {
  const parents = [def.extends].flat().filter(Boolean).map((each) =>
    typeof each === "string" ? each : type(each)
  );
  const head = `${kind} ${name}${typeParams(def)}`;
  const made = (def.constructors ?? []).map((/** @type {any} */ { params: list }) =>
    `new${params(list)}`
  );
  return [
    parents.length === 0 ? head : `${head} extends ${parents.join(", ")}`,
    ...[...made, ...members(def)].map((member) => `${kind} ${name}: ${member}`),
  ];
}

/** @param {any} def @returns {string[]} */
function members({ properties = [], methods = [], callSignatures = [], indexSignatures = [] }) {
  return [
    ...properties.map((/** @type {any} */ each) =>
      `${each.readonly ? "readonly " : ""}${key(each)}: ${type(each.tsType)}`
    ),
    ...methods.map((/** @type {any} */ each) =>
      each.kind === "getter"
        ? `get ${key(each)}: ${type(each.functionDef.returnType)}`
        : `${key(each)}${signature(each.functionDef ?? each)}`
    ),
    ...callSignatures.map((/** @type {any} */ each) =>
      signature({ ...each, returnType: each.tsType })
    ),
    ...indexSignatures.map((/** @type {any} */ each) =>
      `[${each.params.map(param).join(", ")}]: ${type(each.tsType)}`
    ),
  ];
}

/** @param {any} member */
function key({ name, optional }) {
  return optional ? `${name}?` : name;
}

/** @param {any} def @returns {string} */
function signature(def) {
  return `${typeParams(def)}${params(def.params)}: ${type(def.returnType)}`;
}

/** @param {any[]} list */
function params(list) {
  return `(${list.map(param).join(", ")})`;
}

/** @param {any} each @returns {string} */
function param(each) {
  switch (each.kind) {
    case "rest":
      return `...${param(each.arg)}: ${type(each.tsType)}`;
    case "assign":
      return `${each.left.name}?: ${type(each.left.tsType ?? each.tsType)}`;
    case "identifier":
      return each.tsType === undefined ? key(each) : `${key(each)}: ${type(each.tsType)}`;
    default:
      return `options: ${type(each.tsType)}`;
  }
}

/** @param {any} def @returns {string} */
function typeParams({ typeParams: list = [] }) {
  return list.length === 0 ? "" : `<${list.map(typeParam).join(", ")}>`;
}

/** @param {any} each @returns {string} */
function typeParam({ name, constraint, default: standard }) {
  const bound = constraint === undefined ? "" : ` extends ${type(constraint)}`;
  return `${name}${bound}${standard === undefined ? "" : ` = ${type(standard)}`}`;
}

/** @param {any} node @returns {string} */
function type(node) {
  if (node === undefined) return "unknown";
  const { kind, value, repr } = node;
  switch (kind) {
    case "typeRef":
      return value.typeParams === undefined
        ? value.typeName
        : `${value.typeName}<${value.typeParams.map(type).join(", ")}>`;
    case "union":
      return value.map(type).join(" | ");
    case "intersection":
      return value.map(type).join(" & ");
    case "array":
      return `${type(value)}[]`;
    case "tuple":
      return `[${value.map(type).join(", ")}]`;
    case "rest":
      return `...${type(value)}`;
    case "parenthesized":
      return `(${type(value)})`;
    case "typeOperator":
      return `${value.operator} ${type(value.tsType)}`;
    case "typeQuery":
      return `typeof ${repr}`;
    case "literal":
      return value.kind === "string" ? JSON.stringify(value.string) : repr;
    case "fnOrConstructor":
      return `${typeParams(value)}${params(value.params)} => ${type(value.tsType)}`;
    case "typeLiteral":
      return `{ ${members(value).join("; ")} }`;
    case "mapped":
      return `{ [${value.typeParam.name} in ${type(value.typeParam.constraint)}]: ${
        type(value.tsType)
      } }`;
    case "indexedAccess":
      return `${type(value.objType)}[${type(value.indexType)}]`;
    case "conditional":
      return `${type(value.checkType)} extends ${type(value.extendsType)} ? ${
        type(value.trueType)
      } : ${type(value.falseType)}`;
    default:
      return repr ?? kind;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  install();
  writeFileSync(REPORT, apiReport());
}
