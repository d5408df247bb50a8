// The state transitions of core, as Lua that runs inside Redis: one arithmetic, one source.
// `npm run lua` writes stores/redis/script/state_transitions.ts; a test compares.
//
// It knows the small part of TypeScript that those functions are written in, and refuses the rest by
// file and line. What differs between the languages:
//
// | TypeScript | Lua 5.1 |
// |---|---|
// | `x[n]`, of arrays alone | `x[n + 1]` |
// | `a ? b : c` | a statement where it stands alone; otherwise `a and b or c`, so b must be a number or text |
// | `${n}` | `%d`, so n must be whole: `tostring` rounds to 14 digits |
// | `a % b` | `math.fmod`: `%` takes the sign of the divisor |
// | `undefined` | `nil`, so no array may hold it, and its length is not asked for where it might |
import { parse } from "@babel/parser";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** @typedef {any} Node A node of the syntax tree. */

/** Functions of core that are written in Lua by hand, as they lean on the language's own of texts. */
const NATIVE = new Map([["countOf", "js_countOf"], ["countsAfter", "js_countsAfter"]]);

/** What decisions and shared memory need, and a state transition does not. */
const LEFT_OUT = new Set(["decide", "delay", "maxWords", "read", "remaining", "wait", "write"]);

const RESERVED = new Set(["and", "end", "local", "nil", "not", "or", "repeat", "then", "until"]);

const BINARY = new Map(Object.entries({
  "===": "==",
  "!==": "~=",
  "<": "<",
  "<=": "<=",
  ">": ">",
  ">=": ">=",
  "+": "+",
  "-": "-",
  "*": "*",
  "/": "/",
  "**": "^",
  "&&": "and",
  "||": "or",
}));

/** What may be chosen in the middle of an expression: where it is a number or text, Lua has it true. */
const SAFE = new Set([
  "BinaryExpression",
  "Identifier",
  "Literal",
  "MemberExpression",
  "UnaryExpression",
]);

/** Calls of the language, by what stands before the parenthesis. */
const STATIC = new Map(Object.entries({
  "Math.ceil": "js_ceil",
  "Math.floor": "js_floor",
  "Math.max": "js_max",
  "Math.min": "js_min",
  "Number.isSafeInteger": "js_isSafeInteger",
  "Object.freeze": "",
}));

/** Methods of the language: functions of what stands before the dot. */
const METHODS = new Set(["indexOf", "map", "push", "slice"]);

/** What the methods and calls above are in Lua. */
const PRELUDE = `
local js_ceil, js_floor, js_max, js_min, js_fmod
  = math.ceil, math.floor, math.max, math.min, math.fmod
local js_find, js_format, js_sub = string.find, string.format, string.sub
local function js_text(value)
  return type(value) == 'number' and js_format('%d', value) or value
end
local function js_isSafeInteger(value)
  return value == js_floor(value) and value < 2 ^ 53 and value > -2 ^ 53
end
local function js_countOf(word)
  if word == '0' or #word <= 16 and js_find(word, '^[1-9]%d*$') then return tonumber(word) end
  return 0 / 0
end
local function js_countsAfter(head, words)
  local counts, at = {}, #head
  if js_sub(words, 1, at) ~= head then return nil end
  while at < #words do
    local _, to, word = js_find(words, '^ (%d+)', at + 1)
    local count = to and js_countOf(word)
    if not count or not (count < 2 ^ 53) then return nil end
    counts[#counts + 1] = count
    at = to
  end
  return counts
end
local function js_indexOf(value, part, from)
  return (js_find(value, part, from + 1, true) or 0) - 1
end
local function js_slice(value, from, to)
  return js_sub(value, from + 1, to)
end
local function js_push(values, value)
  values[#values + 1] = value
end
local function js_map(values, of)
  local result = {}
  for place = 1, #values do result[place] = of(values[place]) end
  return result
end
`.trim();

/**
 * A module: its top-level declarations, and where its imports come from.
 * @typedef {{ url: URL, declared: Map<string, Node>, imported: Map<string, [string, URL]> }} Module
 */

/**
 * Compiles functions of a module, and everything that they use.
 * @param {URL} url
 * @param {readonly string[]} roots Exported functions, to be called from Lua by the same names.
 * @param {readonly string[]} groups Functions of which few are called: what only one of them uses is
 * put inside of it, as to make a function takes time in each script call.
 * @returns {string}
 */
export function luaOf(url, roots, groups) {
  /** @type {Map<string, Module>} */
  const modules = new Map();
  /** @type {Map<Node, string>} The Lua name of each top-level declaration that is used. */
  const names = new Map();
  /** @type {string[]} */
  const constants = [];
  /** @type {Map<string, { text: string, uses: Set<string> }>} Functions as written, and whom they use. */
  const functions = new Map();
  /** @type {Set<string>} Whom the function that is being written uses. */
  let uses = new Set();
  /** @type {Module} */
  let module;
  /** @type {Set<string>[]} The names of each scope around what is being written. */
  let scopes = [];

  const main = read(url);
  for (const root of roots) topLevel(main, root);
  const nested = new Set(groups.flatMap((group) => [...ownOf(group)]));
  const shared = [...functions.keys()].filter((name) => !nested.has(name));
  const texts = shared.map((name) => groups.includes(name) ? nest(name) : textOf(name));
  return [PRELUDE, `local ${shared.join(", ")}`, ...constants, ...texts].join("\n");

  /** @param {string} name */
  function textOf(name) {
    return functions.get(name)?.text ?? "";
  }

  /**
   * The functions that only one group uses: they are made when it is called.
   * @param {string} group
   */
  function ownOf(group) {
    const others = reached([...roots], group);
    const own = [...reached([group], "")];
    return new Set(
      own.filter((name) => functions.has(name) && name !== group && !others.has(name)),
    );
  }

  /** @param {string[]} from @param {string} without @returns {Set<string>} */
  function reached(from, without) {
    /** @type {Set<string>} */
    const found = new Set();
    while (from.length > 0) {
      const name = from.pop() ?? "";
      if (found.has(name) || name === without) continue;
      found.add(name);
      from.push(...functions.get(name)?.uses ?? []);
    }
    return found;
  }

  /** @param {string} group */
  function nest(group) {
    const own = [...ownOf(group)];
    const [head = "", ...body] = textOf(group).split("\n");
    if (own.length === 0) return textOf(group);
    return [head, indent([`local ${own.join(", ")}`, ...own.map(textOf)]), ...body].join("\n");
  }

  /** @param {URL} at */
  function read(at) {
    const known = modules.get(at.href);
    if (known !== undefined) return known;
    const { program } = parse(readFileSync(at, "utf8"), {
      sourceType: "module",
      plugins: ["typescript", "estree"],
    });
    /** @type {Module} */
    const made = { url: at, declared: new Map(), imported: new Map() };
    modules.set(at.href, made);
    for (const statement of /** @type {Node[]} */ (program.body)) {
      if (statement.type === "ImportDeclaration") {
        for (const { local, imported } of statement.specifiers) {
          made.imported.set(local.name, [imported.name, new URL(statement.source.value, at)]);
        }
        continue;
      }
      const inner = statement.declaration ?? statement;
      if (inner.type === "FunctionDeclaration") made.declared.set(inner.id.name, inner);
      if (inner.type === "VariableDeclaration") {
        for (const one of inner.declarations) made.declared.set(one.id.name, one);
      }
    }
    return made;
  }

  /**
   * The Lua name of a top-level declaration, which is written when it is first used.
   * @param {Module} from @param {string} name @returns {string}
   */
  function topLevel(from, name) {
    const native = NATIVE.get(name);
    if (native !== undefined) return native;
    const imported = from.imported.get(name);
    if (imported !== undefined) return topLevel(read(imported[1]), imported[0]);
    const node = from.declared.get(name);
    if (node === undefined) throw new Error(`${from.url.pathname} declares no ${name}`);
    const known = names.get(node);
    if (known !== undefined) {
      uses.add(known);
      return known;
    }
    const taken = new Set(names.values());
    let own = safe(name);
    while (taken.has(own)) own += "_";
    names.set(node, own);
    uses.add(own);
    const before = { module, scopes, uses };
    module = from;
    scopes = [];
    uses = new Set();
    if (node.type === "FunctionDeclaration") {
      functions.set(own, { text: `function ${own}${rest(node)}`, uses });
    } else constants.push(`local ${own} = ${expression(node.init)}`);
    ({ module, scopes, uses } = before);
    return own;
  }

  /** @param {Node} node @param {string} why @returns {never} */
  function refuse(node, why) {
    throw new Error(`${module.url.pathname}:${node.loc.start.line}: cannot compile ${why}`);
  }

  /** Parameters and body of a function. @param {Node} node @returns {string} */
  function rest(node) {
    scopes.push(new Set());
    /** @type {string[]} */
    const lines = [];
    const parameters = node.params.map(
      (/** @type {Node} */ parameter, /** @type {number} */ place) => {
        if (parameter.type === "Identifier") return declare(parameter.name);
        if (parameter.type === "AssignmentPattern") {
          const name = declare(parameter.left.name);
          lines.push(`if ${name} == nil then ${name} = ${expression(parameter.right)} end`);
          return name;
        }
        const whole = declare(`argument${place}`);
        lines.push(...destructure(parameter, whole));
        return whole;
      },
    );
    lines.push(...node.body.type === "BlockStatement" ? block(node.body) : giveBack(node.body));
    scopes.pop();
    return `(${parameters.join(", ")})\n${indent(lines)}\nend`;
  }

  /** @param {string} name */
  function declare(name) {
    scopes.at(-1)?.add(name);
    return safe(name);
  }

  /** @param {Node} pattern @param {string} from @returns {string[]} */
  function destructure(pattern, from) {
    if (pattern.type === "Identifier") return [`local ${declare(pattern.name)} = ${from}`];
    if (pattern.type === "ArrayPattern") {
      return pattern.elements.flatMap((/** @type {Node} */ one, /** @type {number} */ place) =>
        one === null ? [] : destructure(one, `${from}[${place + 1}]`)
      );
    }
    return pattern.properties
      .filter((/** @type {Node} */ { key }) => !LEFT_OUT.has(key.name))
      .flatMap((/** @type {Node} */ { key, value }) =>
        destructure(value, `${from}.${safe(key.name)}`)
      );
  }

  /** @param {Node} node @returns {string[]} */
  function block(node) {
    scopes.push(new Set());
    const statements = node.type === "BlockStatement" ? node.body : [node];
    const lines = statements.flatMap(statement);
    scopes.pop();
    return lines;
  }

  /** @param {Node} node @returns {string[]} */
  function statement(node) {
    switch (node.type) {
      case "ReturnStatement":
        return node.argument === null ? ["do return end"] : giveBack(node.argument);
      case "BreakStatement":
        return ["break"];
      case "ExpressionStatement":
        return [effect(node.expression)];
      case "FunctionDeclaration": {
        const name = declare(node.id.name);
        return [`local function ${name}${rest(node)}`];
      }
      case "VariableDeclaration":
        return node.declarations.flatMap(variable);
      case "IfStatement": {
        const other = node.alternate === null ? [] : ["else", indent(block(node.alternate))];
        const lines = [indent(block(node.consequent)), ...other];
        return [`if ${expression(node.test)} then`, ...lines, "end"];
      }
      case "WhileStatement":
        return [`while ${expression(node.test)} do`, indent(block(node.body)), "end"];
      case "ForStatement": {
        scopes.push(new Set());
        const lines = [
          ...statement(node.init),
          `while ${expression(node.test)} do`,
          indent([...block(node.body), effect(node.update)]),
          "end",
        ];
        scopes.pop();
        return ["do", indent(lines), "end"];
      }
      default:
        return refuse(node, node.type);
    }
  }

  /** @param {Node} node @returns {string[]} */
  function variable({ id, init }) {
    if (id.type === "Identifier" && init !== null && bare(init).type !== "ConditionalExpression") {
      const value = expression(init);
      return [`local ${declare(id.name)} = ${value}`];
    }
    if (id.type === "Identifier") {
      const lines = init === null ? [] : choose(init, (value) => [`${safe(id.name)} = ${value}`]);
      return [`local ${declare(id.name)}`, ...lines];
    }
    const whole = "destructured_";
    const lines = choose(init, (value) => [`${whole} = ${value}`]);
    return [`local ${whole}`, ...lines, ...destructure(id, whole)];
  }

  /** Does something with a value, by branches if it is a choice. */
  function choose(/** @type {Node} */ node, /** @type {(value: string) => string[]} */ use) {
    const value = bare(node);
    if (value.type !== "ConditionalExpression") return use(expression(value));
    /** @type {string[]} */
    const lines = [
      `if ${expression(value.test)} then`,
      indent(choose(value.consequent, use)),
      "else",
      indent(choose(value.alternate, use)),
      "end",
    ];
    return lines;
  }

  /** @param {Node} node @returns {string[]} */
  function giveBack(node) {
    // Lua wants nothing after a return in its block.
    return choose(node, (value) => [`do return ${value} end`]);
  }

  /** @param {Node} node @returns {string} */
  function effect(node) {
    if (node.type === "UpdateExpression") {
      const target = expression(node.argument);
      return `${target} = ${target} ${node.operator[0]} 1`;
    }
    if (node.type === "AssignmentExpression") {
      const target = expression(node.left);
      const value = expression(node.right);
      if (node.operator === "=") return `${target} = ${value}`;
      return `${target} = ${target} ${node.operator[0]} ${value}`;
    }
    return node.type === "CallExpression" ? expression(node) : refuse(node, node.type);
  }

  /** @param {Node} outer @returns {string} */
  function expression(outer) {
    const node = bare(outer);
    switch (node.type) {
      case "Literal":
        return typeof node.value === "string" ? quoted(node.value) : String(node.value);
      case "Identifier":
        return identifier(node.name);
      case "TemplateLiteral":
        return template(node);
      case "UnaryExpression":
        return `${node.operator === "!" ? "not " : node.operator}(${expression(node.argument)})`;
      case "BinaryExpression":
      case "LogicalExpression":
        return binary(node);
      case "ConditionalExpression": {
        const { type, name, operator } = bare(node.consequent);
        const isSafe = SAFE.has(type) && name !== "undefined" &&
          !/^[!=<>]/.test(operator ?? "");
        if (!isSafe) refuse(node, "a choice in the middle of an expression");
        const parts = [node.test, node.consequent, node.alternate].map(expression);
        return `(${parts[0]} and ${parts[1]} or ${parts[2]})`;
      }
      case "MemberExpression":
        return member(node);
      case "CallExpression":
        return call(node);
      case "ArrayExpression":
        return `{ ${node.elements.map(expression).join(", ")} }`;
      case "ObjectExpression": {
        const fields = node.properties
          .filter((/** @type {Node} */ { key }) => !LEFT_OUT.has(key.name))
          .map((/** @type {Node} */ { key, value }) => `${safe(key.name)} = ${expression(value)}`);
        return `{\n${indent(fields.map((/** @type {string} */ field) => `${field},`))}\n}`;
      }
      case "ArrowFunctionExpression":
      case "FunctionExpression":
        return `function${rest(node)}`;
      default:
        return refuse(node, node.type);
    }
  }

  /** @param {string} name */
  function identifier(name) {
    if (name === "undefined") return "nil";
    if (name === "Infinity") return "math.huge";
    if (name === "NaN") return "(0 / 0)";
    return scopes.some((scope) => scope.has(name)) ? safe(name) : topLevel(module, name);
  }

  /** @param {Node} node */
  function template({ quasis, expressions }) {
    const parts = quasis.flatMap((/** @type {Node} */ { value }, /** @type {number} */ place) => [
      ...value.cooked === "" ? [] : [quoted(value.cooked)],
      ...place < expressions.length ? [`js_text(${expression(expressions[place])})`] : [],
    ]);
    return parts.join(" .. ");
  }

  /** @param {Node} node */
  function binary(node) {
    const left = expression(node.left);
    const right = expression(node.right);
    if (node.operator === "%") return `js_fmod(${left}, ${right})`;
    const operator = BINARY.get(node.operator) ?? refuse(node, node.operator);
    return `(${left} ${operator} ${right})`;
  }

  /** @param {Node} node */
  function member({ object, property, computed }) {
    if (computed) {
      const { type, value } = bare(property);
      const place = type === "Literal" ? value + 1 : `${expression(property)} + 1`;
      return `${expression(object)}[${place}]`;
    }
    if (property.name === "length") return `#${expression(object)}`;
    return `${expression(object)}.${safe(property.name)}`;
  }

  /** @param {Node} node */
  function call(node) {
    const given = node.arguments.map(expression);
    const callee = bare(node.callee);
    if (callee.type !== "MemberExpression") return `${expression(callee)}(${given.join(", ")})`;
    const native = STATIC.get(`${callee.object.name}.${callee.property.name}`);
    if (native !== undefined) return `${native}(${given.join(", ")})`;
    if (METHODS.has(callee.property.name)) {
      return `js_${callee.property.name}(${[expression(callee.object), ...given].join(", ")})`;
    }
    return `${member(callee)}(${given.join(", ")})`;
  }
}

/** What stands inside of an assertion of types. @param {Node} node @returns {Node} */
function bare(node) {
  return node.type.startsWith("TS") ? bare(node.expression) : node;
}

/** @param {string} name */
function safe(name) {
  return RESERVED.has(name) ? `${name}_` : name;
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;
}

/** @param {readonly string[]} lines */
function indent(lines) {
  return lines.map((line) => ` ${line.replaceAll("\n", "\n ")}`).join("\n");
}

/** What the script does around the steps: it reads the keys, and writes what the steps come to. */
const SHELL = `
local call, decode = redis.call, cjson.decode
local reply = call('TIME')
local count = #KEYS
if count == 0 then return reply end
local given = decode(ARGV[1])
local now, texts = given[1], {}
if now < 0 then now = js_floor(reply[1] * 1000 + reply[2] / 1000) end
for first = 1, count, 1000 do
  local held = call('MGET', unpack(KEYS, first, js_min(first + 999, count)))
  for place = 1, #held do
    texts[first - 1 + place] = held[place] or nil
    reply[#reply + 1] = held[place]
  end
end
runSteps(given[2], given[3], count, texts, now, function(place, text, lifetime)
  if text == nil then
    call('DEL', KEYS[place + 1])
  else
    call('SET', KEYS[place + 1], text, 'PX', lifetime)
  end
end)
return reply
`.trim();

const target = new URL("../stores/redis/script/state_transitions.ts", import.meta.url);

/** The generated file, as it should be. */
export function stateTransitions() {
  const source = new URL("../stores/redis/script/run_steps.ts", import.meta.url);
  const groups = ["ticks", "fine", "window", "counter", "all"].map((name) => `${name}Transition`);
  const text = `${luaOf(source, ["runSteps"], groups)}\n${SHELL}`;
  const sha = createHash("sha1").update(text).digest("hex");
  const inside = text.replaceAll("\\", "\\\\");
  return `// Written by "npm run lua" from run_steps.ts and what it uses: change those.
// deno-fmt-ignore-file

/** The script. */
export const STATE_TRANSITIONS: string = \`\n${inside}\n\`.trim();

/** Its name on a server that has seen it: the SHA-1 of its text. */
export const STATE_TRANSITIONS_SHA = "${sha}";
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(target, stateTransitions());
