// The state transitions of core, as Lua that runs inside Redis: one arithmetic, one source.
// `npm run lua` writes stores/redis/script/state_transitions.ts; a test compares.
//
// Redis runs the whole script anew for each call, so what it defines costs time whether it is used or
// not. Therefore nothing is left of how the sources are put together: a function without loops is
// written out where it is called, and an object of functions is known here and gone there. What is
// left is what a hand would write. Only where most calls do not get, a function of several lines that
// is called more than once stays one.
//
// It knows the small part of TypeScript that those functions are written in, and refuses the rest by
// file and line. They must be pure, as calls are moved in front of the statement that they are in.
//
// | TypeScript | Lua 5.1 |
// |---|---|
// | `x[n]`, of arrays alone | `x[n + 1]` |
// | `a ? b : c` | `a and b or c` where b is a number or text; otherwise a statement, if it stands alone |
// | `${n}` | `%d`, so n must be whole: `tostring` rounds to 14 digits |
// | `a % b` | `math.fmod`: `%` takes the sign of the divisor |
// | `undefined` | `nil`, so no array may hold it, and its length is not asked for where it might |
import { parse } from "@babel/parser";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** @typedef {any} Node A node of the syntax tree. */

/**
 * A module: its top-level declarations, and where its imports come from.
 * @typedef {{ url: URL, declared: Map<string, Node>, imported: Map<string, [string, URL]> }} Module
 */

/**
 * What is known of a value: the Lua that computes it, an object by its fields, or a function.
 * @typedef {{ code: string, isNumber?: boolean, isMutable?: boolean }} Code
 * @typedef {{ fields: Map<string, Value> }} Fields
 * @typedef {{ node: Node, env: Env, name?: string }} Callable
 * @typedef {Code | Fields | Callable} Value
 */

/**
 * The names in scope, from the inside out, the lines that they stand in, the calls that they are
 * written out for, and the module around them.
 * @typedef {{ names: Map<string, Value>, outer: Env | undefined, lines: Lines, path: string,
 * module: Module }} Env
 */

/**
 * Lines of Lua; a list among them is an indented block.
 * @typedef {(string | Lines)[]} Lines
 */

/**
 * What becomes of the value that a function returns.
 * @typedef {(value: Value, out: Lines) => void} Finish
 */

/** Functions of core that are written in Lua by hand, as they lean on the language's own of texts. */
const NATIVE = new Map([["countOf", "js_countOf"], ["countsAfter", "js_countsAfter"]]);

/** How many lines a function has at least that is not written out at each of its calls. */
const MIN_LINES = 7;

/** Functions with loops that are written out all the same: they may end a statement, and no more. */
const WRITTEN_OUT = new Set(["takeCost"]);

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
}));

/** Methods of the language: functions of what stands before the dot. */
const METHODS = new Set(["charCodeAt", "indexOf", "map", "push", "slice"]);

/** What the methods and calls above are in Lua. */
const PRELUDE = `
local js_ceil, js_floor, js_max, js_min, js_fmod
  = math.ceil, math.floor, math.max, math.min, math.fmod
local js_byte, js_find, js_format, js_sub = string.byte, string.find, string.format, string.sub
local function js_isSafeInteger(value)
  return value == js_floor(value) and value < 2 ^ 53 and value > -2 ^ 53
end
local function js_countsAfter(head, words)
  local at, last = #head, #words
  if js_sub(words, 1, at) ~= head then return nil end
  local _, _, one, two = js_find(words, '^ ([1-9]%d*) ?(%d*)$', at + 1)
  if one and #one < 16 then
    if two == '' and js_byte(words, last) ~= 32 then return { one + 0 } end
    if two ~= '' and #two < 16 and js_byte(two) ~= 48 then return { one + 0, two + 0 } end
  end
  local counts, size = {}, 0
  while at < last do
    local _, to, word = js_find(words, '^ (%d+)', at + 1)
    if not to or to - at > 17 or to - at > 2 and js_byte(word) == 48 then return nil end
    local count = word + 0
    if not (count < 2 ^ 53) then return nil end
    size = size + 1
    counts[size] = count
    at = to
  end
  return counts
end
local function js_charCodeAt(value, at)
  return js_byte(value, at + 1)
end
`.trim();

/** The same, of what only few calls need. */
const PRELUDE_OF_OTHERS = `
local function js_text(value)
  return type(value) == 'number' and js_format('%d', value) or value
end
local function js_countOf(word)
  if word == '0' or #word <= 16 and js_find(word, '^[1-9]%d*$') then return tonumber(word) end
  return 0 / 0
end
local function js_indexOf(value, part, from)
  return (js_find(value, part, from + 1, true) or 0) - 1
end
local function js_slice(value, from, to)
  return js_sub(value, from + 1, to)
end
local function js_map(values, of)
  local result = {}
  for place = 1, #values do result[place] = of(values[place]) end
  return result
end
`.trim();

/**
 * Compiles functions of a module, and everything that they use.
 * @param {URL} url
 * @param {readonly string[]} roots The exported functions, to be called from Lua by the same names.
 * In the first one, everything is written out.
 * @param {ReadonlyMap<string, number>} known How often functions are written out, if that is known.
 * @returns {{ texts: string[], repeats: Map<string, number> }} The Lua of each, with what it uses and
 * those before it do not, and how often functions of several lines were written out.
 */
function luaOf(url, roots, known) {
  /** @type {Map<string, Module>} */
  const modules = new Map();
  /** @type {Map<Node, Code>} Functions with loops and constants: what stands in the script by name. */
  const shared = new Map();
  /** @type {Lines} */
  let constants = [];
  /** @type {Lines} */
  let functions = [];
  /** @type {string[]} */
  let functionNames = [];
  /** @type {Map<string, number>} How often each name was given. */
  const given = new Map();

  /** @type {Map<Node, Callable>} Functions without loops. */
  const callables = new Map();
  /** @type {Map<string, number>} How often each function of several lines was written out. */
  const repeats = new Map();
  /** @type {Set<string>} Functions that are no longer than a call of them. */
  const small = new Set();
  /** @type {Set<Finish>} Those that end the function that they are in. */
  const endings = new Set([toCaller]);
  /** @type {Map<Env, Map<Node, Code>>} Inner functions that were not. */
  const inner = new Map();
  let isCommon = true;

  const texts = roots.map((root, index) => {
    isCommon = index === 0;
    [constants, functions, functionNames] = [[], [], []];
    callables.clear();
    topLevel(read(url), root);
    return block([...constants, `local ${functionNames.join(", ")}`, ...functions]);
  });
  for (const name of small) repeats.set(name, 0);
  return { texts, repeats };

  /** @param {URL} at @returns {Module} */
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

  /** @param {Module} module @param {string} name @returns {Value} */
  function topLevel(module, name) {
    const native = NATIVE.get(name);
    if (native !== undefined) return { code: native };
    const imported = module.imported.get(name);
    if (imported !== undefined) return topLevel(read(imported[1]), imported[0]);
    const node = module.declared.get(name);
    if (node === undefined) throw new Error(`${module.url.pathname} declares no ${name}`);
    const made = shared.get(node);
    if (made !== undefined) return made;
    /** @type {Env} */
    const env = {
      names: new Map(),
      outer: undefined,
      lines: functions,
      path: module.url.href,
      module,
    };
    const isFunction = node.type === "FunctionDeclaration";
    const isWrittenOut = !hasLoops(node) && name !== "transitionBy" || WRITTEN_OUT.has(name);
    if (isFunction && isWrittenOut && !roots.includes(name)) {
      const callable = callables.get(node) ?? { node, env };
      callables.set(node, callable);
      return callable;
    }
    const code = { code: unique(name) };
    shared.set(node, code);
    if (isFunction) {
      functionNames.push(code.code);
      const [head, ...rest] = functionLines({ node, env });
      functions.push(`${code.code} = ${head}`, ...rest);
    } else constants.push(`local ${code.code} = ${codeOf(expression(node.init, env, constants))}`);
    return code;
  }

  /** A name that nothing else has. @param {string} name */
  function unique(name) {
    const count = given.get(name) ?? 0;
    given.set(name, count + 1);
    return count === 0 ? safe(name) : `${name}_${count}`;
  }

  /** A function as Lua. @param {Callable} callable @returns {Lines} */
  function functionLines({ node, env }) {
    /** @type {Lines} */
    const out = [];
    const inner = within(env, out);
    const parameters = node.params.map((/** @type {Node} */ parameter) => {
      const code = unique(parameter.type === "Identifier" ? parameter.name : "argument");
      bind(parameter, { code }, inner, out);
      return code;
    });
    body(node, inner, out, toCaller);
    return [`function(${parameters.join(", ")})`, out, "end"];
  }

  /** Returns a value from a function that is one. @type {Finish} */
  function toCaller(value, out) {
    out.push(`do return ${codeOf(value)} end`);
  }

  /** @param {Env} env @param {Lines} lines @param {string} path @returns {Env} */
  function within(env, lines, path = env.path) {
    return { names: new Map(), outer: env, lines, path, module: env.module };
  }

  /**
   * Gives the names of a pattern to a value and its parts. @param {Node} pattern @param {Value}
   * value @param {Env} env @param {Lines} out
   */
  function bind(pattern, value, env, out) {
    if (pattern.type === "Identifier") env.names.set(pattern.name, value);
    else if (pattern.type === "AssignmentPattern") bind(pattern.left, value, env, out);
    else if (pattern.type === "ArrayPattern") {
      const whole = codeOf(kept(value, "whole", out));
      for (const [index, one] of pattern.elements.entries()) {
        if (one !== null) {
          bind(one, kept({ code: `${whole}[${index + 1}]` }, one.name, out), env, out);
        }
      }
    } else {
      const whole = "fields" in value ? value : kept(value, "whole", out);
      for (const { key, value: target } of pattern.properties) {
        bind(target, kept(field(whole, key.name), key.name, out), env, out);
      }
    }
  }

  /**
   * A value that may be used more than once: what is to be computed gets a name. @param {Value}
   * value @param {string} name @param {Lines} out @returns {Value}
   */
  function kept(value, name, out) {
    if (!("code" in value) || /^-?[\w.]+$/.test(value.code)) {
      return value;
    }
    const code = unique(name);
    out.push(`local ${code} = ${value.code}`);
    return { ...value, code };
  }

  /** @param {Value} value @param {string} name @returns {Value} */
  function field(value, name) {
    if (!("fields" in value)) return { code: `${codeOf(value)}.${safe(name)}` };
    return value.fields.get(name) ?? { code: "nil" };
  }

  /** A value as Lua. @param {Value} value @returns {string} */
  function codeOf(value) {
    if ("code" in value) return value.code;
    if ("node" in value) return block(functionLines(value));
    const fields = [...value.fields].map(([name, of]) => `${safe(name)} = ${codeOf(of)},`);
    return block(["{", fields, "}"]);
  }

  /**
   * The body of a function, each of whose returns comes to an end. @param {Node} node @param {Env}
   * env @param {Lines} out @param {Finish} finish
   */
  function body(node, env, out, finish) {
    if (node.body.type === "BlockStatement") statements(node.body.body, env, out, finish);
    else giveBack(node.body, env, out, finish);
  }

  /**
   * @param {readonly Node[]} nodes @param {Env} outer @param {Lines} out @param {Finish} finish
   */
  function statements(nodes, outer, out, finish) {
    const env = within(outer, out);
    for (const [index, node] of nodes.entries()) {
      const isLast = index === nodes.length - 1;
      if (
        node.type === "IfStatement" && returns(node.consequent) && !isLast && !endings.has(finish)
      ) {
        // What comes after it is its other branch.
        branch(node.test, env, out, [
          (at) => statements(blockOf(node.consequent), env, at, finish),
          (at) => statements(nodes.slice(index + 1), env, at, finish),
        ]);
        return;
      }
      statement(node, env, out, finish);
    }
  }

  /** @param {Node} test @param {Env} env @param {Lines} out @param {((at: Lines) => void)[]} ways */
  function branch(test, env, out, ways) {
    const condition = codeOf(expression(test, env, out));
    /** @type {Lines[]} */
    const [then = [], other = []] = ways.map((way) => {
      /** @type {Lines} */
      const lines = [];
      way(lines);
      return lines;
    });
    out.push(`if ${condition} then`, then);
    const isChain = /^if /.test(String(other[0])) && other.indexOf("end") === other.length - 1;
    if (isChain) return void out.push(`else${other[0]}`, ...other.slice(1));
    if (other.length > 0) out.push("else", other);
    out.push("end");
  }

  /** @param {Node} node @param {Env} env @param {Lines} out @param {Finish} finish */
  function giveBack(node, env, out, finish) {
    const value = bare(node);
    if (value.type === "ConditionalExpression") {
      const simple = simpleChoice(value, env);
      if (simple !== undefined) return finish(simple, out);
      const { test, consequent, alternate } = value;
      if (endings.has(finish)) {
        branch(test, env, out, [(at) => giveBack(consequent, env, at, finish)]);
        return giveBack(alternate, env, out, finish);
      }
      const ways = [consequent, alternate].map((way) => (/** @type {Lines} */ at) =>
        giveBack(way, env, at, finish)
      );
      return branch(test, env, out, ways);
    }
    const called = value.type === "CallExpression" ? callee(value, env) : undefined;
    if (called !== undefined && "node" in called) {
      const kept = keptCall(called, value, env, out);
      return kept === undefined ? inline(called, value, env, out, finish) : finish(kept, out);
    }
    finish(expression(value, env, out), out);
  }

  /**
   * A choice as an expression; `undefined` if it has to be a statement. @param {Node} node @param
   * {Env} env @returns {Value | undefined}
   */
  function simpleChoice(node, env) {
    const before = new Map(repeats);
    try {
      /** @type {Lines} */
      const lines = [];
      const value = expression(node, env, lines);
      if (lines.length > 0) throw new Error("A choice that needs lines of its own is a statement");
      return value;
    } catch {
      for (const [name, count] of before) repeats.set(name, count);
      return undefined;
    }
  }

  /**
   * Writes a function out where it is called. @param {Callable} called @param {Node} node @param
   * {Env} env @param {Lines} out @param {Finish} finish
   */
  function inline({ node: target, env: own }, node, env, out, finish) {
    const inner = within(own, out, `${env.path}/${node.start}`);
    for (const [index, parameter] of target.params.entries()) {
      const name = parameter.type === "Identifier" ? parameter.name : "argument";
      const argument = node.arguments[index] ?? parameter.right;
      bind(parameter, kept(expression(argument, env, out), name, out), inner, out);
    }
    const before = sizeOf(out);
    let isPlain = true;
    /** @type {Finish} */
    const noting = (value, at) => {
      isPlain &&= "code" in value;
      finish(value, at);
    };
    if (endings.has(finish)) endings.add(noting);
    body(target, inner, out, noting);
    if (isCommon || !isPlain || sizeOf(out) - before < MIN_LINES) return;
    const name = nameOf(target, own);
    repeats.set(name, (repeats.get(name) ?? 0) + 1);
  }

  /**
   * A call of a function that is not written out; `undefined` of one that is. @param {Callable}
   * called @param {Node} node @param {Env} env @param {Lines} out @returns {Code | undefined}
   */
  function keptCall(called, node, env, out) {
    if (isCommon || !((known.get(nameOf(called.node, called.env)) ?? 0) > 1)) return undefined;
    const values = node.arguments.map((/** @type {Node} */ one) => expression(one, env, out));
    if (!values.every((/** @type {Value} */ value) => "code" in value)) return undefined;
    return { code: `${innerFunction(called).code}(${values.map(codeOf).join(", ")})` };
  }

  /**
   * The name of a function that stands where what it uses is declared. @param {Callable} called
   * @returns {Code}
   */
  function innerFunction({ node, env, name = "of" }) {
    const functions = inner.get(env) ?? new Map();
    inner.set(env, functions);
    let code = functions.get(node);
    if (code === undefined) {
      const own = unique(node.id?.name ?? name);
      functions.set(node, code = { code: own });
      const [head, ...rest] = functionLines({ node, env });
      env.lines.push(`local ${own} = ${head}`, ...rest);
      if (sizeOf(rest) < MIN_LINES) small.add(nameOf(node, env));
    }
    return code;
  }

  /** What a function is known by. @param {Node} node @param {Env} env */
  function nameOf(node, env) {
    return `${env.path}:${node.start}`;
  }

  /**
   * What a function that is written out returns: itself if that is known, or the name of a
   * variable. @param {Callable} called @param {Node} node @param {Env} env @param {Lines} out
   * @returns {Value}
   */
  function result(called, node, env, out) {
    const kept = keptCall(called, node, env, out);
    if (kept !== undefined) return kept;
    const from = out.length;
    /** @type {[Value, Lines, number][]} */
    const ends = [];
    inline(called, node, env, out, (value, at) => ends.push([value, at, at.push("") - 1]));
    const [value, at] = ends[0] ?? refuse(node, env, "a function that returns nothing");
    if (ends.length === 1 && at === out) {
      out.pop();
      return value;
    }
    const code = unique("result");
    for (const [value, at, index] of ends) at[index] = `${code} = ${codeOf(value)}`;
    out.splice(from, 0, `local ${code}`);
    return { code };
  }

  /** @param {Node} node @param {Env} env @param {Lines} out @param {Finish} finish */
  function statement(node, env, out, finish) {
    switch (node.type) {
      case "ReturnStatement":
        if (node.argument === null) out.push("do return end");
        else giveBack(node.argument, env, out, finish);
        break;
      case "BreakStatement":
        out.push("break");
        break;
      case "ExpressionStatement":
        effect(node.expression, env, out);
        break;
      case "FunctionDeclaration":
        if (hasLoops(node)) {
          const code = unique(node.id.name);
          env.names.set(node.id.name, { code });
          const [head, ...rest] = functionLines({ node, env });
          out.push(`local ${code} = ${head}`, ...rest);
        } else env.names.set(node.id.name, { node, env });
        break;
      case "VariableDeclaration":
        for (const one of node.declarations) variable(one, node.kind === "const", env, out);
        break;
      case "IfStatement": {
        const ways = [node.consequent, ...node.alternate === null ? [] : [node.alternate]];
        branch(
          node.test,
          env,
          out,
          ways.map((way) => (at) => statements(blockOf(way), env, at, finish)),
        );
        break;
      }
      case "WhileStatement":
        loop(node, env, out, finish);
        break;
      case "ForStatement":
        counted(node, env, out, finish);
        break;
      default:
        refuse(node, env, node.type);
    }
  }

  /** @param {Node} node @param {Env} env @param {Lines} out @param {Finish} finish */
  function loop(node, env, out, finish) {
    /** @type {Lines} */
    const lines = [];
    statements(blockOf(node.body), env, lines, finish);
    out.push(`while ${fixed(node.test, env)} do`, lines, "end");
  }

  /**
   * A loop that counts up to a limit; what is in it changes neither. @param {Node} node @param
   * {Env} env @param {Lines} out @param {Finish} finish
   */
  function counted({ init, test, update, body }, env, out, finish) {
    const [{ id, init: first }] = init.declarations;
    if (test.operator !== "<" || test.left.name !== id.name) refuse(test, env, "such a loop");
    /** @type {Lines} */
    const lines = [];
    const inner = within(env, lines);
    const code = unique(id.name);
    const bounds = [fixed(first, env), `${fixed(test.right, env)} - 1`];
    if (update.right !== undefined) bounds.push(fixed(update.right, env));
    inner.names.set(id.name, { code });
    statements(blockOf(body), inner, lines, finish);
    out.push(`for ${code} = ${bounds.join(", ")} do`, lines, "end");
  }

  /** @param {Node} node @param {boolean} isConstant @param {Env} env @param {Lines} out */
  function variable({ id, init }, isConstant, env, out) {
    const value = init === null ? { code: "nil" } : chosen(init, env, out);
    // What stands for another variable must not follow it.
    const isOwn = !isConstant || "isMutable" in value;
    if (!isOwn) return bind(id, kept(value, id.name ?? "whole", out), env, out);
    const code = unique(id.name);
    out.push(`local ${code} = ${codeOf(value)}`);
    env.names.set(id.name, isConstant ? { code } : { code, isMutable: true });
  }

  /**
   * A value, or the name of a variable if it is a choice. @param {Node} node @param {Env} env
   * @param {Lines} out @returns {Value}
   */
  function chosen(node, env, out) {
    if (bare(node).type !== "ConditionalExpression") return expression(node, env, out);
    const simple = simpleChoice(bare(node), env);
    if (simple !== undefined) return simple;
    const code = unique("choice");
    out.push(`local ${code}`);
    giveBack(node, env, out, (value, at) => at.push(`${code} = ${codeOf(value)}`));
    return { code };
  }

  /** @param {Node} node @param {Env} env @param {Lines} out */
  function effect(node, env, out) {
    if (node.type === "CallExpression") {
      const called = callee(node, env);
      if (called !== undefined && "node" in called) {
        const kept = keptCall(called, node, env, out);
        if (kept === undefined) inline(called, node, env, out, () => {});
        else out.push(kept.code);
      } else if (bare(node.callee).property?.name === "push") {
        const values = codeOf(expression(node.callee.object, env, out));
        out.push(`${values}[#${values} + 1] = ${codeOf(expression(node.arguments[0], env, out))}`);
      } else out.push(codeOf(expression(node, env, out)));
      return;
    }
    const target = codeOf(expression(node.left ?? node.argument, env, out));
    const value = node.type === "UpdateExpression" ? "1" : codeOf(expression(node.right, env, out));
    out.push(
      node.operator === "="
        ? `${target} = ${value}`
        : `${target} = ${target} ${node.operator[0]} ${value}`,
    );
  }

  /**
   * The Lua of an expression in front of which nothing can be put. @param {Node} node @param {Env}
   * env
   */
  function fixed(node, env) {
    /** @type {Lines} */
    const out = [];
    const code = codeOf(expression(node, env, out));
    return out.length === 0 ? code : refuse(node, env, "a call that needs statements before it");
  }

  /**
   * The function that is called, if it is one that is written out. @param {Node} node @param {Env}
   * env @returns {Value | undefined}
   */
  function callee(node, env) {
    const target = bare(node.callee);
    if (target.type === "Identifier") return lookup(target.name, env);
    const isNative = STATIC.has(`${target.object.name}.${target.property.name}`) ||
      target.object.name === "Object" || METHODS.has(target.property.name);
    return isNative ? undefined : expression(target, env, []);
  }

  /** @param {string} name @param {Env} env @returns {Value} */
  function lookup(name, env) {
    for (let at = /** @type {Env | undefined} */ (env); at !== undefined; at = at.outer) {
      const value = at.names.get(name);
      if (value !== undefined) return value;
    }
    if (name === "undefined") return { code: "nil" };
    if (name === "Infinity") return { code: "math.huge" };
    return topLevel(env.module, name);
  }

  /** @param {Node} outer @param {Env} env @param {Lines} out @returns {Value} */
  function expression(outer, env, out) {
    const node = bare(outer);
    const code = (/** @type {Node} */ inner) => codeOf(expression(inner, env, out));
    switch (node.type) {
      case "Literal":
        return { code: typeof node.value === "string" ? quoted(node.value) : String(node.value) };
      case "Identifier":
        return lookup(node.name, env);
      case "TemplateLiteral":
        return template(
          node.quasis.map((/** @type {Node} */ { value }) => value.cooked),
          node.expressions.map((/** @type {Node} */ inner) => expression(inner, env, out)),
        );
      case "UnaryExpression":
        return {
          code: `${node.operator === "!" ? "not " : node.operator}(${code(node.argument)})`,
        };
      case "LogicalExpression":
        return binary(node, code(node.left), fixed(node.right, env), env);
      case "BinaryExpression":
        return binary(node, code(node.left), code(node.right), env);
      case "ConditionalExpression": {
        const { type, name, operator } = bare(node.consequent);
        // What is not there is not called.
        const known = codeOf(expression(node.test, env, []));
        if (known === "(nil == nil)") return expression(node.consequent, env, out);
        const isSafe = SAFE.has(type) && name !== "undefined" && !/^[!=<>]/.test(operator ?? "");
        if (!isSafe) refuse(node, env, "a choice in the middle of an expression");
        const [test, then, other] = [node.test, node.consequent, node.alternate]
          .map((part) => fixed(part, env));
        return { code: `(${test} and ${then} or ${other})` };
      }
      case "MemberExpression":
        return member(node, env, out);
      case "CallExpression":
        return call(node, env, out);
      case "ArrayExpression":
        return { code: `{ ${node.elements.map(code).join(", ")} }` };
      case "ObjectExpression":
        return object(node, env, out);
      case "ArrowFunctionExpression":
      case "FunctionExpression":
        return { node, env };
      default:
        return refuse(node, env, node.type);
    }
  }

  /**
   * Text around values: in one call if all of them are known to be numbers. @param {readonly
   * string[]} texts @param {readonly Value[]} values @returns {Value}
   */
  function template(texts, values) {
    if (values.every((value) => "isNumber" in value)) {
      const pattern = quoted(texts.map((text) => text.replaceAll("%", "%%")).join("%d"));
      return { code: `js_format(${[pattern, ...values.map(codeOf)].join(", ")})` };
    }
    const parts = texts.flatMap((text, index) => [
      ...text === "" ? [] : [quoted(text)],
      ...values.slice(index, index + 1).map((value) => `js_text(${codeOf(value)})`),
    ]);
    return { code: parts.join(" .. ") };
  }

  /**
   * An object: by its fields if there are functions in it, otherwise a table. @param {Node} node
   * @param {Env} env @param {Lines} out @returns {Value}
   */
  function object(node, env, out) {
    /** @type {Map<string, Value>} */
    const fields = new Map();
    for (const { key, value } of node.properties) {
      const known = expression(value, env, out);
      const isFunction = "node" in known && known.node.id?.name === undefined;
      fields.set(key.name, kept(isFunction ? { ...known, name: key.name } : known, key.name, out));
    }
    const isKnown = [...fields.values()].some((value) => !("code" in value));
    if (isKnown) return { fields };
    const parts = [...fields].map(([name, value]) => `${safe(name)} = ${codeOf(value)}`);
    return { code: `{ ${parts.join(", ")} }` };
  }

  /** @param {Node} node @param {string} left @param {string} right @param {Env} env @returns {Value} */
  function binary(node, left, right, env) {
    if (node.operator === "%") return { code: `js_fmod(${left}, ${right})` };
    const operator = BINARY.get(node.operator) ?? refuse(node, env, node.operator);
    const isSame = "*/".includes(operator) && right === "1" ||
      "+-".includes(operator) && right === "0";
    if (isSame) return { code: left, isNumber: true };
    const code = `(${left} ${operator} ${right})`;
    return "+-*/".includes(node.operator) ? { code, isNumber: true } : { code };
  }

  /** @param {Node} node @param {Env} env @param {Lines} out @returns {Value} */
  function member({ object, property, computed }, env, out) {
    const value = expression(object, env, out);
    if (computed) {
      const place = bare(property);
      const index = place.type === "Literal"
        ? place.value + 1
        : `${codeOf(expression(place, env, out))} + 1`;
      return { code: `${codeOf(value)}[${index}]` };
    }
    return property.name === "length" ? { code: `#${codeOf(value)}` } : field(value, property.name);
  }

  /** @param {Node} node @param {Env} env @param {Lines} out @returns {Value} */
  function call(node, env, out) {
    const called = callee(node, env);
    if (called !== undefined && "node" in called) return result(called, node, env, out);
    const target = bare(node.callee);
    if (called === undefined && target.object.name === "Object") {
      return expression(node.arguments[0], env, out);
    }
    const given = node.arguments.map((/** @type {Node} */ one) =>
      codeOf(expression(one, env, out))
    );
    if (called !== undefined) return { code: `${codeOf(called)}(${given.join(", ")})` };
    const native = STATIC.get(`${target.object.name}.${target.property.name}`);
    if (native !== undefined) return { code: `${native}(${given.join(", ")})`, isNumber: true };
    const self = codeOf(expression(target.object, env, out));
    return { code: `js_${target.property.name}(${[self, ...given].join(", ")})` };
  }

  /** @param {Node} node @param {Env} env @param {string} what @returns {never} */
  function refuse(node, env, what) {
    throw new Error(`${env.module.url.pathname}:${node.loc.start.line}: cannot compile ${what}`);
  }
}

/** What stands inside of an assertion of types. @param {Node} node @returns {Node} */
function bare(node) {
  return node.type.startsWith("TS") ? bare(node.expression) : node;
}

/** @param {Node} node @returns {readonly Node[]} */
function blockOf(node) {
  return node.type === "BlockStatement" ? node.body : [node];
}

/** Whether a branch ends in a return. @param {Node} node */
function returns(node) {
  return blockOf(node).at(-1)?.type === "ReturnStatement";
}

/** Whether a function has a loop of its own. @param {Node} node @returns {boolean} */
function hasLoops(node) {
  if (node === null || typeof node !== "object") return false;
  if (node.type === "ForStatement" || node.type === "WhileStatement") return true;
  const isInner = /Function/.test(node.type);
  return Object.entries(isInner ? { body: node.body } : node).some(([name, inner]) =>
    name !== "loc" &&
    [inner].flat().some((one) => !/^(Arrow)?Function/.test(one?.type) && hasLoops(one))
  );
}

/** @param {string} name */
function safe(name) {
  return RESERVED.has(name) ? `${name}_` : name;
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** @param {Lines} lines @returns {string} */
function block(lines) {
  return lines.map((line) => typeof line === "string" ? line : indent(line)).join("\n");
}

/** How many lines there are. @param {Lines} lines @returns {number} */
function sizeOf(lines) {
  return lines.reduce((sum, one) => sum + (typeof one === "string" ? 1 : sizeOf(one)), 0);
}

/** How long a line may become that takes up others. */
const LONGEST_LINE = 96;

/** Writes more shortly what a hand would. @param {string} text @returns {string} */
function tidied(text) {
  const tidy = unwrapped(text)
    // What is read out of one value, in one declaration.
    .replaceAll(
      /^( *local )([\w, ]+)( = )((\w+)[[.].*)\n\1(\w+) = (\5(?:\[\d+\]|\.\w+))$/gm,
      (lines, local, names, is, values, _whole, name, value) =>
        /^(\w+(\[\d+\]|\.\w+)(, |$))+$/.test(values)
          ? `${local}${names}, ${name}${is}${values}, ${value}`
          : lines,
    )
    // A statement of one line beside the head of its branch or function.
    .replaceAll(
      /^( *)(if .* then|.*\bfunction\(.*\))\n +(\S.*)\n(?:\1(else)\n +(\S.*)\n)?\1end(?=\)*,?$)/gm,
      (lines, at, head, ...inner) => {
        const words = [head, ...inner.slice(0, 3)].filter((word) => word !== undefined);
        const line = `${at}${words.join(" ")} end`;
        return line.length > LONGEST_LINE ? lines : line;
      },
    );
  return tidy === text ? text : tidied(tidy);
}

/** Leaves out parentheses around all of a value. @param {string} text @returns {string} */
function unwrapped(text) {
  return text.replaceAll(
    /(^ *(?:else)?if |= |\breturn )\((.*)\)(?=$| then$)/gm,
    (line, head, value) => {
      let depth = 0;
      const closes = [...value].some((letter) => {
        depth += Number(letter === "(") - Number(letter === ")");
        return depth < 0;
      });
      return closes ? line : `${head}${value}`;
    },
  );
}

/** Leaves out variables that nothing uses. @param {string} text @returns {string} */
function withoutUnused(text) {
  const used = text.replace(
    /^ *local (\w+) = (?!function|\{$).*\n/gm,
    (line, name) => text.match(new RegExp(`\\b${name}\\b`, "g"))?.length === 1 ? "" : line,
  );
  return used === text ? text : withoutUnused(used);
}

/** The lines between a head and its end, where a return is the last. @param {Lines} lines */
function indent(lines) {
  const last = String(lines.at(-1)).replace(/^do (return[^]*) end$/, "$1");
  return block([...lines.slice(0, -1), last]).replaceAll(/^/gm, " ");
}

/** What the script does around the steps: it reads the keys, and writes what the steps come to. */
const SHELL = `
local call = redis.call
local reply = call('TIME')
local count = #KEYS
if count == 0 then return reply end
local now = ARGV[1] + 0
if now < 0 then now = js_floor(reply[1] * 1000 + reply[2] / 1000) end
local texts = call('MGET', unpack(KEYS, 1, js_min(1000, count)))
for first = 1001, count, 1000 do
  local more = call('MGET', unpack(KEYS, first, js_min(first + 999, count)))
  for place = 1, #more do texts[first - 1 + place] = more[place] end
end
for place = 1, count do
  local text = texts[place]
  while text and js_byte(text, -1) == 33 do
    local from = js_find(text, ' %d+%.%w+!$')
    if not from then break end
    text = from > 1 and js_sub(text, 1, from - 1)
    texts[place] = text
  end
end
local function write(place, text, lifetime)
  if text == nil then
    call('DEL', KEYS[place + 1])
  elseif lifetime == '' then
    call('SET', KEYS[place + 1], text, 'KEEPTTL')
  else
    call('SET', KEYS[place + 1], text, 'PX', lifetime)
  end
end
reply[3] = texts
`.trim();

/** What most calls are: the words of one formula, and a cost that is taken of all keys. */
const COMMON = `
if #ARGV > 2 then
  local formula = { ARGV[4] }
  for place = 5, #ARGV do formula[place - 3] = ARGV[place] + 0 end
  takeTicks(formula, ARGV[2] + 0, ARGV[3], texts, now, write)
  return reply
end
`.trim();

/** The others: formulas and steps as JSON. */
const OTHERS = `
local steps = cjson.decode(ARGV[2])
takeSteps(table.remove(steps, 1), steps, count, texts, now, write)
return reply
`.trim();

const target = new URL("../stores/redis/script/state_transitions.ts", import.meta.url);

/** The generated file, as it should be. */
export function stateTransitions() {
  const source = new URL("../stores/redis/script/run_steps.ts", import.meta.url);
  const roots = ["takeTicks", "takeSteps"];
  const { repeats } = luaOf(source, roots, new Map());
  const { repeats: small } = luaOf(source, roots, repeats);
  const [ticks, others] = luaOf(source, roots, new Map([...repeats, ...small])).texts;
  // What few calls need is only defined after the others have returned.
  const text = tidied(withoutUnused(
    [PRELUDE, SHELL, ticks, COMMON, PRELUDE_OF_OTHERS, others, OTHERS].join("\n"),
  ));
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
