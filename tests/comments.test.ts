import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { filesOf, type SourceFile } from "./support/tree.ts";

/** Words that begin a clause in place of the noun that a comment describes. */
const WORDS = ["Of", "What", "Those", "Who", "Whose", "Whom"];

/** The start of a comment, or of the description of one of its tags, before such a word. */
const STARTS: readonly string[] = [
  String.raw`(?:^|\s)(?:\/\/|\/?\*\*?|--|<!--)`,
  String.raw`\* @\w+(?: \{.*\})?(?: [\w.[\]]+)?`,
];
const CLAUSE_REGEXP = clauseAfter(STARTS);
const HASH_CLAUSE_REGEXP = clauseAfter([...STARTS, String.raw`(?:^|\s)#`]);

const CODE = [".ts", ".tsx", ".js", ".mjs", ".html", ".css", ".pml", ".cpp", ".proto", ".md"];
const CONFIGURATION = [".yaml", ".yml", ".conf", ".service", "Dockerfile", "Caddyfile", ".open"];

/** Folders whose files have comments. */
const FOLDERS = ["core", "stores", "adapters", "bench", "tests", "examples", ".ci", "docs"];

describe("comments begin with the thing that they describe", () => {
  for (const folder of FOLDERS) {
    test(folder, () => {
      const code = CODE.flatMap((ending) => filesOf([folder], ending));
      const configuration = CONFIGURATION.flatMap((ending) => filesOf([folder], ending));
      assert.ok(code.length > 0);
      const found = [
        ...code.flatMap((file) => linesWith(CLAUSE_REGEXP, file)),
        ...configuration.flatMap((file) => linesWith(HASH_CLAUSE_REGEXP, file)),
      ];
      assert.deepEqual(found, []);
    });
  }

  test("mod.ts", () => {
    const [main] = filesOf(["mod.ts"], ".ts");
    assert.deepEqual(linesWith(CLAUSE_REGEXP, main!), []);
  });

  for (const word of WORDS) {
    test(`the word ${word} is found in every kind of comment`, () => {
      const starts = [
        "//",
        "a(); //",
        "/**",
        "   *",
        " * @param key",
        " * @returns {string}",
        "--",
      ];
      for (const start of [...starts, " * @property {string} [key]", "<!--", "/*"]) {
        assert.match(`${start} ${word} it is.`, CLAUSE_REGEXP);
        assert.doesNotMatch(`${start} A value. ${word} it is.`, CLAUSE_REGEXP);
      }
      assert.match(`key: 1 # ${word} it is.`, HASH_CLAUSE_REGEXP);
    });
  }
});

function clauseAfter(starts: readonly string[]): RegExp {
  return new RegExp(`(?:${starts.join("|")})\\s+(?:${WORDS.join("|")})\\b`);
}

/** The lines of a file that match, each after its path. */
function linesWith(pattern: RegExp, { path, text }: SourceFile): readonly string[] {
  return text.split("\n").filter((line) => pattern.test(line))
    .map((line) => `${path}: ${line.trim()}`);
}
