import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { readManifests } from "../.ci/manifests.mjs";
import { exists, filesOf, readText } from "./support/tree.ts";

const entries = Object.values(readManifests().deno.exports as Record<string, string>);
const pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

describe("the module comment of", () => {
  for (const entry of entries) {
    test(`${entry} comes first, says what it is and shows an example that runs`, () => {
      const comment = /^\/\*\*[\s\S]*?\*\//.exec(readText(entry))?.[0] ?? "";
      assert.match(comment, /@module/);
      assert.match(comment, /^ \* ```ts$/m);
    });
  }
});

describe("the page", () => {
  const files = filesOf([...pages, "docs"], ".md");

  test("README.md shows an example that runs", () => {
    assert.match(readText("README.md"), /^```ts$/m);
  });

  for (const { path, text } of files) {
    test(`${path} links to files that are there`, () => {
      const links = [...text.matchAll(/\]\((?!https?:|mailto:|#)([^)\s#]+)/g)];
      for (const [, link = ""] of links) {
        const target = new URL(link, `file:///${path}`).pathname.slice(1);
        assert.ok(exists(decodeURI(target)), `${path} links to ${link}`);
      }
    });
  }
});
