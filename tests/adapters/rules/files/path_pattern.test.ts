import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { pathPattern } from "../../../../adapters/rules/files/path_pattern.ts";
import { fcOptions } from "../../../support/seed.ts";

type Groups = Readonly<Record<string, string | undefined>> | undefined;

const CASES: readonly (readonly [pattern: string, path: string, groups: Groups])[] = [
  ["/login", "/login", {}],
  ["/login", "/login/", undefined],
  ["/users/:id", "/users/42", { id: "42" }],
  ["/users/:id", "/users/", undefined],
  ["/users/:id", "/users/4/2", undefined],
  ["/users/:id/posts/:post", "/users/4/posts/2", { id: "4", post: "2" }],
  ["/users/:id?", "/users", { id: undefined }],
  ["/users/:id?", "/users/4", { id: "4" }],
  ["/files/:path+", "/files/a/b", { path: "a/b" }],
  ["/files/:path+", "/files", undefined],
  ["/files/:path*", "/files", { path: undefined }],
  ["/a:rest+*", "/abc", { rest: "bc", 0: "" }],
  ["/a:rest**", "/abc/d", { rest: "bc", 0: "/d" }],
  ["/static/*", "/static/a/b.css", { 0: "a/b.css" }],
  ["/static/*", "/static", undefined],
  ["/search*", "/searching", { 0: "ing" }],
  ["*", "/any/thing", { 0: "/any/thing" }],
  ["/v:major(\\d+)/*", "/v12/a", { major: "12", 0: "a" }],
  ["/v:major(\\d+)/*", "/va/a", undefined],
  ["/(a|b)/:id", "/b/7", { 0: "b", id: "7" }],
  ["/blog{/archive}?/:id", "/blog/7", { id: "7" }],
  ["/blog{/archive}?/:id", "/blog/archive/7", { id: "7" }],
  ["/a.b", "/axb", undefined],
  ["/a\\:b", "/a:b", {}],
  ["/gr\u00fc\u00dfe/:wort", "/gr\u00fc\u00dfe/\u00e4 b", { wort: "%C3%A4%20b" }],
  ["/a%20b", "/a b", {}],
  ["/:a", "/x?y#z", { a: "x%3Fy%23z" }],
];

describe("a pattern of paths", () => {
  for (const [pattern, path, groups] of CASES) {
    test(`${pattern} on ${path}`, () => assert.deepEqual(pathPattern(pattern)(path), groups));
  }

  test("is refused where it is malformed", () => {
    for (const pattern of ["/(", "/)", "/{", "/a}", "/:", "/a?", "/:a/:a", "/([)", "/a+", "/\\"]) {
      assert.throws(() => pathPattern(pattern), /^(TypeError|SyntaxError)/, pattern);
    }
  });

  // Node has had it since version 23.
  if (typeof URLPattern === "undefined") return;
  test(
    "matches the same paths as the runtime's own pattern",
    () => {
      const piece = fc.constantFrom(
        "/",
        "a",
        "b.c",
        "/:id",
        ":n",
        "*",
        "/:o?",
        "{/x}?",
        "/:p+",
        "~",
      );
      const text = fc.constantFrom("/", "a", "b.c", "x", "\u00e9", "~", "-");
      const join = (pieces: readonly string[]) => `/${pieces.join("")}`;
      fc.assert(
        fc.property(
          fc.array(piece, { maxLength: 4 }).map(join),
          fc.array(text, { maxLength: 6 }).map(join),
          (pattern, path) => {
            let own: InstanceType<typeof URLPattern>;
            try {
              own = new URLPattern({ pathname: pattern });
            } catch {
              return;
            }
            const found = own.exec({ pathname: path })?.pathname.groups;
            const groups = pathPattern(pattern)(path);
            assert.deepEqual(plain(groups), plain(found), `${pattern} on ${path}`);
          },
        ),
        fcOptions({ numRuns: 1_000 }),
      );
    },
  );
});

/** Bun leaves empty what the others leave out. */
function plain(groups: Groups): object | undefined {
  return groups &&
    Object.fromEntries(
      Object.entries(groups).filter(([, value]) => value !== undefined && value !== ""),
    );
}
