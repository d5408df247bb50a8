import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { entryPoints, readManifests } from "../.ci/manifests.mjs";
import { snippetsOf } from "../.ci/snippets.mjs";
import { inFolder } from "./support/in_folder.ts";
import { readText } from "./support/tree.ts";

const PAGE = "docs/recipes.md";
const page = readText(PAGE);
const entries: Readonly<Record<string, string>> = entryPoints(readManifests().deno);
const recipes = snippetsOf(PAGE, page);

/** A recipe as a module outside the project, which finds the entry points all the same. */
function moduleOf(code: string): string {
  return code.replaceAll(/ from "tidegate(\/\w+)?"/g, (_, path = "") => {
    const entry = entries[`.${path}`];
    assert.ok(entry, `There is no entry point tidegate${path}`);
    return ` from "${new URL(join("..", entry), import.meta.url).href}"`;
  });
}

describe("the recipe", () => {
  for (const { code, line, runs } of recipes) {
    if (!runs) continue; // it would start a client of a server that is not there
    test(`in line ${line} of ${PAGE} runs`, () =>
      inFolder(async (folder) => {
        const file = join(folder, "recipe.ts");
        writeFileSync(file, moduleOf(code));
        await import(pathToFileURL(file).href);
      }));
  }
});

test("each recipe has a block, and is in the list at the top", () => {
  const titles = [...page.matchAll(/^## (.*)$/gm)].map(([, title = ""]) => title);
  const parts = page.split(/^## .*$/m).slice(1);
  assert.ok(titles.length >= 15);
  titles.forEach((title, index) => {
    assert.match(parts[index]!, /^```ts/m, title);
    const section = title.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-");
    assert.ok(page.includes(`](#${section})`), `${title} is missing from the list`);
  });
});
