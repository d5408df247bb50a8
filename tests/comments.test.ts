import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { filesOf, type SourceFile } from "./support/tree.ts";

/** A comment that begins with a clause in place of the thing that it describes. */
const CLAUSE_REGEXP = /^\s*(?:\/\/|\/?\*\*?)\s*(?:Of|What|Those|Who|Whose|Whom) /;

/** The lines that may still begin so: a tree's count only falls, so lower its number with it. */
const MOST: Readonly<Record<string, number>> = { core: 0, stores: 0, adapters: 0, bench: 0 };

describe("comments begin with the thing that they describe", () => {
  for (const [tree, most] of Object.entries(MOST)) {
    test(tree, () => {
      const files = filesOf([tree], ".ts").filter(({ path }) => !path.includes("/node_modules/"));
      assert.ok(files.length > 0);
      const found = files.flatMap(clauses);
      assert.ok(found.length <= most, `${found.length} of at most ${most}:\n${found.join("\n")}`);
    });
  }
});

/** The lines of a file that begin so, each after its path. */
function clauses({ path, text }: SourceFile): readonly string[] {
  return text.split("\n").filter((line) => CLAUSE_REGEXP.test(line))
    .map((line) => `${path}: ${line.trim()}`);
}
