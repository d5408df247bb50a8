// Reads the declarations that were built: the exports of a module, and the members of its types with
// their comments.
import { parse } from "@babel/parser";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** @typedef {any} Node A node of the syntax tree. */
/** @typedef {{ file: string, node: Node }} Declaration */
/** @typedef {Declaration & { name: string, type: string, isOptional: boolean, comment: string }} Member */

/**
 * The declarations that a module can name, by their names; a function has one for each overload.
 * @typedef {Map<string, Declaration[]>} Scope
 */

/** The types of the language that choose some members of another one. */
const CHOOSING = ["Pick", "Omit"];

/** @type {Map<string, Scope>} */
const scopes = new Map();
/** @type {Map<string, string>} */
const texts = new Map();

/** The exports of a module. @param {string} file A source, which stands for its declarations. @returns {Scope} */
export function exportsOf(file) {
  const scope = scopeOf(file);
  /** @type {Scope} */
  const found = new Map();
  for (const statement of /** @type {Node[]} */ (readModule(file))) {
    if (statement.type === "ExportAllDeclaration" && statement.source.value.startsWith(".")) {
      for (const [name, declarations] of exportsOf(resolve(file, "..", statement.source.value))) {
        found.set(name, declarations);
      }
    }
    if (statement.type !== "ExportNamedDeclaration") continue;
    const names = statement.declaration
      ? [nameOf(statement.declaration)]
      : statement.specifiers.map((/** @type {Node} */ { exported }) => exported.name);
    for (const name of names) {
      const declarations = scope.get(name);
      if (declarations !== undefined) found.set(name, declarations);
    }
  }
  return found;
}

/** The declaration of a type that a module can name. @param {string} file @param {string} name */
export function typeNamed(file, name) {
  return scopeOf(file).get(name)?.find(({ node }) => isType(node));
}

/** @param {Node} node */
export function isType({ type }) {
  return type === "TSInterfaceDeclaration" || type === "TSTypeAliasDeclaration";
}

/** The comment of a declaration or a member, without its stars. @param {Node} node */
export function commentOf(node) {
  const block = node.leadingComments?.at(-1) ?? node.outer?.leadingComments?.at(-1);
  if (block === undefined || !block.value.startsWith("*")) return "";
  return block.value.slice(1).split("\n").map((/** @type {string} */ line) =>
    line.replace(/^\s*\* ?/, "")
  ).join("\n").trim();
}

/**
 * The members of an interface or of a type made of them; `enters` says whether a parent's are wanted.
 * @param {Declaration} declaration @param {(parent: Declaration) => boolean} enters
 * @returns {Member[]}
 */
export function membersOf({ file, node }, enters) {
  const all = node.type === "TSInterfaceDeclaration"
    ? [
      ...ownMembers(file, node.body.body),
      ...(node.extends ?? []).flatMap((/** @type {Node} */ parent) =>
        membersOfType(file, parent, enters)
      ),
    ]
    : membersOfType(file, node.typeAnnotation, enters);
  return firstOfEach(all);
}

/** @param {string} file @param {Node} type @param {(parent: Declaration) => boolean} enters @returns {Member[]} */
function membersOfType(file, type, enters) {
  const inner = (/** @type {Node} */ one) => membersOfType(file, one, enters);
  switch (type.type) {
    case "TSParenthesizedType":
      return inner(type.typeAnnotation);
    case "TSIntersectionType":
      return type.types.flatMap(inner);
    case "TSUnionType":
      return ofUnion(type.types.map(inner));
    case "TSTypeLiteral":
      return ownMembers(file, type.members);
    case "TSTypeReference":
    case "TSExpressionWithTypeArguments":
    case "TSInterfaceHeritage": {
      const { name } = type.typeName ?? type.expression;
      const [of, names] = (type.typeArguments ?? type.typeParameters)?.params ?? [];
      if (CHOOSING.includes(name)) return chosen(name, inner(of), literalsOf(names));
      const parent = typeNamed(file, name);
      return parent === undefined || !enters(parent) ? [] : membersOf(parent, enters);
    }
    default:
      return [];
  }
}

/** A member is required if every one of the types requires it. @param {Member[][]} types */
function ofUnion(types) {
  return types.flat().map((member) => {
    const everywhere = types.every((members) =>
      members.some(({ name, isOptional }) => name === member.name && !isOptional)
    );
    return { ...member, isOptional: !everywhere };
  });
}

/** @param {string} how @param {Member[]} members @param {string[]} names */
function chosen(how, members, names) {
  return members.filter(({ name }) => names.includes(name) === (how === "Pick"));
}

/** @param {Node} type @returns {string[]} */
function literalsOf(type) {
  return type.type === "TSUnionType" ? type.types.flatMap(literalsOf) : [type.literal?.value];
}

/** @param {readonly Member[]} members */
export function firstOfEach(members) {
  /** @type {Map<string, Member>} */
  const first = new Map();
  for (const member of members) if (!first.has(member.name)) first.set(member.name, member);
  return [...first.values()];
}

/** @param {string} file @param {Node[]} members */
function ownMembers(file, members) {
  return members.filter(({ key }) => key !== undefined && key.type === "Identifier")
    .map((member) => memberOf(file, member))
    // Such an option must not be given.
    .filter(({ type }) => type !== "undefined" && type !== "never");
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
    file,
    node,
    name: node.key.name,
    type: type.replaceAll(/\/\*[^]*?\*\//g, "").replace(/;$/, "").replaceAll(/\s+/g, " ")
      .replace(/ \| undefined$/, "").trim(),
    isOptional: node.optional === true,
    comment: commentOf(node),
  };
}

/** @param {string} file */
function readModule(file) {
  const text = readFileSync(file.replace(/\.ts$/, ".d.ts"), "utf8");
  texts.set(file, text);
  return parse(text, { sourceType: "module", plugins: [["typescript", { dts: true }]] }).program
    .body;
}

/** The declarations that a module can name: its own, and those that it imports. @param {string} file */
function scopeOf(file) {
  const earlier = scopes.get(file);
  if (earlier !== undefined) return earlier;
  /** @type {Scope} */
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
    const name = nameOf(node);
    if (name === undefined) continue;
    node.outer = statement;
    scope.set(name, [...(scope.get(name) ?? []), { file, node }]);
  }
  return scope;
}

/** @param {Node} declaration @returns {string | undefined} */
function nameOf(declaration) {
  return (declaration.declarations?.[0] ?? declaration).id?.name;
}
