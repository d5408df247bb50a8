import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { filledPage } from "../.ci/frameworks_page.mjs";
import { entryPoints, readManifests } from "../.ci/manifests.mjs";
import { exists, filesOf, readText } from "./support/tree.ts";

const entries: string[] = Object.values(entryPoints(readManifests().deno));
const pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];

/** Pages for those who work on tidegate, which the package does without. */
const INTERNALS = "docs/internals/";

describe("the module comment of", () => {
  for (const entry of entries) {
    test(`${entry} comes first, says what it is and shows an example that runs`, () => {
      const comment = /^\/\*\*[\s\S]*?\*\//.exec(readText(entry))?.[0] ?? "";
      assert.match(comment, /@module/);
      assert.match(comment, /^ \* ```ts$/m);
    });
  }
});

test("the file of the command has a module comment, which JSR counts for every entry point", () => {
  assert.match(readText("adapters/command/bin.ts"), /^#!.*\n\/\*\*[^]*@module\n \*\//);
});

test("no page and no comment shows a limit by a header as the client sent it", () => {
  const raw =
    /\bkey: (?:async )?\([^)]*\) =>\s*(?:\w+\.)*headers?(?:\.get\("[^"]*"\)|\["[^"]*"\]|\("[^"]*"\))/;
  const files = [
    ...filesOf([...pages, "docs", "examples"], ".md"),
    ...filesOf(["adapters", "core", "stores", "examples", "mod.ts"], ".ts"),
  ];
  assert.ok(files.length > 100);
  assert.deepEqual(files.filter(({ text }) => raw.test(text)).map(({ path }) => path), []);
});

describe("the page", () => {
  const files = filesOf([...pages, "docs"], ".md");

  test("README.md shows an example that runs", () => {
    assert.match(readText("README.md"), /^```ts$/m);
  });

  test("README.md names the versions of the runtimes that the suite runs on", () => {
    const { packages } = JSON.parse(readText("package-lock.json"));
    const [bun, deno, node] = ["bun", "deno", "node"].map((name) =>
      packages[`node_modules/${name}`].version.split(".")
    );
    const words = `Bun ${bun[0]}.${bun[1]}, Deno ${deno[0]}.${deno[1]} and Node ${node[0]}`;
    assert.ok(readText("README.md").replaceAll("\n", " ").includes(words), words);
  });

  test("README.md and llms.txt link to every page of docs, and CONTRIBUTING.md to those for builders", () => {
    const targets = (page: string) => linksOf(page, readText(page)).map(({ target }) => target);
    const inner = (path: string) => path.startsWith(INTERNALS);
    const pagesOfDocs = files.map(({ path }) => path).filter((path) => path.startsWith("docs/"));
    const outer = pagesOfDocs.filter((path) => !inner(path));
    assert.ok(outer.length <= 24, "people must find their page");
    for (const list of ["README.md", "llms.txt"]) {
      const linked = targets(list);
      assert.deepEqual(outer.filter((path) => !linked.includes(path)), [], list);
    }
    const linked = targets("CONTRIBUTING.md");
    assert.deepEqual(pagesOfDocs.filter((path) => inner(path) && !linked.includes(path)), []);
  });

  test("pages of the package lead to no page that is not in it", () => {
    const links = files.filter(({ path }) =>
      path.startsWith("docs/") && !path.startsWith(INTERNALS)
    )
      .flatMap(({ path, text }) => linksOf(path, text).map(({ target }) => ({ path, target })));
    assert.deepEqual(links.filter(({ target }) => target.startsWith(INTERNALS)), []);
  });

  test("warnings name sections of docs/errors.md that are there", () => {
    const sources = filesOf(["adapters", "core", "stores"], ".ts");
    const named = sources.flatMap(({ text }) =>
      [...text.matchAll(/docs\/errors\.md#([\w-]+)/g)].map(([, section = ""]) => section)
    );
    assert.ok(named.length >= 6);
    const titles = [...readText("docs/errors.md").matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
      title.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-")
    );
    assert.deepEqual(named.filter((section) => !titles.includes(section)), []);
  });

  test("docs/frameworks.md shows the files of examples/frameworks (npm run recipes)", () => {
    const page = readText("docs/frameworks.md");
    assert.equal(page, filledPage(page));
  });

  for (const { path, text } of [...files, { path: "llms.txt", text: readText("llms.txt") }]) {
    test(`${path} links to files and sections that are there`, () => {
      for (const { target, section } of linksOf(path, text)) {
        assert.ok(exists(target), `${path} links to ${target}`);
        if (section === "") continue;
        const sections = [...readText(target).matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
          title.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-")
        );
        assert.ok(sections.includes(section), `${path} links to ${target}#${section}`);
      }
    });
  }

  for (const path of ["ARCHITECTURE.md", "CONTRIBUTING.md"]) {
    test(`${path} names files that are there`, () => {
      const named = [...readText(path).matchAll(/`([\w.-]+\/[\w./-]+\.\w+)`/g)];
      assert.ok(named.length > 0);
      assert.deepEqual(named.map(([, name = ""]) => name).filter((name) => !exists(name)), []);
    });
  }

  /** The links of a page to files of this tree, from its top, and to their sections. */
  function linksOf(page: string, text: string) {
    return [...text.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)/g)].map(([, link = ""]) => {
      const { pathname, hash } = new URL(link, `file:///${page}`);
      return { target: decodeURI(pathname.slice(1)), section: hash.slice(1) };
    });
  }
});
