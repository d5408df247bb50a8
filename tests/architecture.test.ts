import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { breaches } from "./support/architecture.ts";
import { importsOf, resolvePath } from "./support/imports.ts";
import { filesOf, readText } from "./support/tree.ts";

const FOLDERS = ["mod.ts", "core", "stores", "adapters", "examples", "bench", "tests"];
const peers = Object.keys(JSON.parse(readText("package.json")).peerDependencies);
const entryPoints = Object.values<string>(JSON.parse(readText("deno.json")).exports)
  .map((path) => path.replace("./", ""));

test("the sources keep to the house rules", () => {
  const files = filesOf(FOLDERS, ".ts").filter(({ path }) =>
    !path.startsWith("bench/peers/node_modules/")
  );
  assert.ok(files.some(({ path }) => path.startsWith("core/")));
  assert.deepEqual(breaches(files, peers, entryPoints), []);
});

describe("the rules find", () => {
  const planted: [path: string, text: string, what: string][] = [
    ["core/a.ts", 'import { b } from "../stores/b.ts";', "imports stores/b.ts"],
    ["core/a.ts", 'import type { b } from "../adapters/b.ts";', "imports adapters/b.ts"],
    ["core/a.ts", 'export * from "../mod.ts";', "imports mod.ts"],
    ["core/a.ts", 'import {\n  b,\n} from "node:assert";', 'imports "node:assert"'],
    ["core/a.ts", 'import "node:fs";', 'imports "node:fs"'],
    ["core/a.ts", 'const b = await import("redis");', 'imports "redis"'],
    ["core/a.ts", "const b = await import(name);", 'imports ""'],
    ["core/a.ts", 'import type { C } from "redis";', 'imports "redis"'],
    ["core/a.ts", 'import { b } from "./b";', "imports core/b without its extension"],
    ["core/a.ts", "const now = Date.now();", "calls Date.now"],
    ["core/a.ts", "const die = Math.random();", "calls Math.random"],
    ["stores/redis.ts", 'import { C } from "redis";', 'imports "redis"'],
    ["stores/memory.ts", 'import type { C } from "redis";', 'imports "redis"'],
    ["stores/memory.ts", 'import { h } from "../adapters/http.ts";', "imports adapters/http.ts"],
    [
      "adapters/http.ts",
      'import { s } from "../tests/support/seed.ts";',
      "imports tests/support/seed.ts",
    ],
    ["adapters/http.ts", 'import { koa } from "koa";', 'imports "koa"'],
    ["mod.ts", 'export { h } from "./adapters/http.ts";', "imports adapters/http.ts"],
    [
      "adapters/service/serve.ts",
      'import { gcra } from "../../core/algorithms/gcra.ts";',
      "imports core/algorithms/gcra.ts, which is no entry point",
    ],
    [
      "adapters/command/a.ts",
      'import type { Rule } from "../rules/files/read_rules.ts";',
      "imports adapters/rules/files/read_rules.ts, which is no entry point",
    ],
    [
      "adapters/http/a.ts",
      'export { serve } from "../service/serve.ts";',
      "imports the application's adapters/service/serve.ts",
    ],
    ["tests/a.test.ts", 'import { b } from "../bench/b.ts";', "imports bench/b.ts"],
    ["bench/a.ts", 'import { b } from "../tests/support/b.ts";', "imports tests/support/b.ts"],
    ["tests/a.test.ts", 'import { gcra } from "tidegate";', 'imports "tidegate"'],
    ["core/a.ts", "export default 1;", "has a default export"],
    ["core/a.ts", "export { a as default };", "has a default export"],
    ["core/a.ts", "export enum Kind {}", "has an enum"],
    ["core/a.ts", "const enum Kind {}", "has an enum"],
    ["core/a.ts", "namespace Kind {}", "has a namespace"],
    ["stores/a.ts", "export class Store {}", "exports the class Store"],
    ["core/slidingLog.ts", "", "is not named in snake_case"],
  ];
  for (const [path, text, what] of planted) {
    test(`${path} that ${what}: ${JSON.stringify(text)}`, () => {
      assert.deepEqual(breaches([{ path, text }], peers, entryPoints), [`${path}: ${what}`]);
    });
  }
});

test("the rules find circles of imports, of types and through several files", () => {
  const file = (name: string, ...targets: string[]) => ({
    path: `core/${name}.ts`,
    text: targets.map((target) => `import type { T } from "./${target}.ts";`).join("\n"),
  });
  const circle = [file("a", "b"), file("b", "c", "leaf"), file("c", "a"), file("leaf")];
  assert.deepEqual(breaches([...circle, file("root", "a")], peers, entryPoints), [
    "core/a.ts: imports itself by way of core/b.ts",
    "core/b.ts: imports itself by way of core/c.ts",
    "core/c.ts: imports itself by way of core/a.ts",
  ]);
});

describe("the rules leave alone", () => {
  const fine: [path: string, text: string][] = [
    ["core/a.ts", '/**\n * import { gcra } from "tidegate";\n */\nimport { b } from "./b.ts";'],
    ["core/a.ts", "// Date.now() is not called here\nexport const a: number = 1;"],
    ["stores/redis/connection.ts", 'import type { C } from "redis";'],
    ["stores/memory.ts", 'import { b } from "../core/b.ts";'],
    ["stores/memory.ts", "const now = Date.now();"],
    ["adapters/testing.ts", 'import fc from "fast-check";'],
    ["adapters/node.ts", 'import type { IncomingMessage } from "node:http";'],
    ["adapters/effect.ts", 'import * as Effect from "effect/Effect";'],
    ["examples/a.ts", 'import { serve } from "tidegate/serve";'],
    ["core/errors.ts", "export class RateLimitedError extends Error {}"],
    [
      "adapters/replay/a.ts",
      'import { gcra } from "../../mod.ts";\nimport { checkInteger } from "../../core/application_support.ts";',
    ],
    ["adapters/command/a.ts", 'import { serve } from "../service/serve.ts";'],
    ["tests/a.test.ts", 'import { b } from "../core/b.ts";\nimport fc from "fast-check";'],
  ];
  for (const [path, text] of fine) {
    test(`${path}: ${JSON.stringify(text)}`, () => {
      assert.deepEqual(breaches([{ path, text }], peers, entryPoints), []);
    });
  }
});

test("`npm test` imports no package before it has installed them", () => {
  const reached = new Set([".ci/test.mjs"]);
  for (const path of reached) {
    // A call of `import` runs later, so it does not count.
    const statements = readText(path).replaceAll(/\bimport\(/g, "later(");
    for (const { specifier } of importsOf(statements)) {
      if (specifier.startsWith("./")) reached.add(resolvePath(path, specifier));
      else assert.match(specifier, /^node:/, path);
    }
  }
  assert.ok(reached.has(".ci/install.mjs"));
});
