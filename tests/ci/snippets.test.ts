import assert from "node:assert/strict";
import { test } from "node:test";

import { snippetsOf } from "../../.ci/snippets.mjs";

test("snippetsOf finds a page's examples, on their lines, except the ignored ones", () => {
  const page =
    "# Title\n\n```ts\nf();\n```\n\n```ts ignore\ng();\n```\n\n```sh\nls\n```\n\n```js check\nh();\n```\n";
  assert.deepEqual(snippetsOf("a.md", page), [
    { file: "a.md", line: 4, code: "f();\n", runs: true },
    { file: "a.md", line: 16, code: "h();\n", runs: false },
  ]);
});

test("snippetsOf finds the examples in a module's comments, at any indentation, and no text around them", () => {
  const module = [
    "const text = `",
    "```ts",
    "no();",
    "```",
    "`;",
    "/** One line. */",
    "interface A {",
    "  /**",
    "   * ```ts",
    "   * f({",
    "   *   a: 1 * 2,",
    "   * });",
    "   * ```",
    "   */",
    "  a(): void;",
    "}",
  ].join("\n");
  assert.deepEqual(snippetsOf("a.ts", module), [
    { file: "a.ts", line: 10, code: "f({\n  a: 1 * 2,\n});\n", runs: true },
  ]);
});
