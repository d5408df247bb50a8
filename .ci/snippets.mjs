// The documentation's examples, each as a module of its own below .snippets, on the lines where it
// stands in its page or comment: what fails is named by file and line. All of them run in one isolate.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { root } from "./install.mjs";

/** Beside node_modules, as the examples import packages, and known to git as nothing to keep. */
export const SNIPPETS = ".snippets";

/** Languages of fences whose examples run; `deno test --doc` runs the same. */
const LANGUAGES = ["ts", "js", "typescript", "javascript"];

/**
 * @typedef {object} Snippet
 * @property {string} file Where it stands.
 * @property {number} line Its first line there.
 * @property {string} code
 * @property {boolean} runs Whether it is run, rather than only checked (`ts check`).
 */

/**
 * @typedef {object} Written
 * @property {string} runner The file of the tests.
 * @property {readonly string[]} ofDeno The examples that name Deno, whose types only Deno knows.
 */

/** Whether a module uses what only Deno has. @param {string} code */
export function isOfDeno(code) {
  return /\bDeno\b/.test(code);
}

/**
 * Writes the examples of these files, and the tests that run them.
 * @param {readonly string[]} files
 * @returns {Written}
 */
export function writeSnippets(files) {
  rmSync(join(root, SNIPPETS), { recursive: true, force: true });
  /** @type {string[]} */
  const ofDeno = [];
  const tests = files.flatMap((file) => snippetsOf(file, readFileSync(join(root, file), "utf8")))
    .map(({ file, line, code, runs }) => {
      const path = `${SNIPPETS}/${file}/${line}.ts`;
      if (isOfDeno(code)) ofDeno.push(path);
      mkdirSync(dirname(join(root, path)), { recursive: true });
      // It is a module, and exports nothing, because what is exported would need its types written
      // out.
      const inner = code.replaceAll(/^export (?=\w)(?!default)/gm, "");
      writeFileSync(join(root, path), `${"\n".repeat(line - 1)}${inner}export {};\n`);
      return runs
        ? `Deno.test("${file}:${line}", async () => void await import("../${path}"));\n`
        : `void (() => import("../${path}"));\n`;
    });
  const runner = `${SNIPPETS}/all.test.ts`;
  writeFileSync(join(root, runner), tests.join(""));
  return { runner, ofDeno };
}

/**
 * The examples of a page, and of the comments of a module.
 * @param {string} file
 * @param {string} text
 * @returns {Snippet[]}
 */
export function snippetsOf(file, text) {
  const prose = file.endsWith(".md") ? text : commentsOf(text);
  return [...prose.matchAll(/^```(.*)\n([^]*?)^```$/gm)].flatMap(
    ({ 1: info = "", 2: code = "", index }) => {
      const [language = "", ...words] = info.trim().split(/[\s,]+/);
      if (!LANGUAGES.includes(language) || words.includes("ignore")) return [];
      const line = prose.slice(0, index).split("\n").length + 1;
      return [{ file, line, code, runs: !words.includes("check") }];
    },
  );
}

/** A module with what its comments say, on the same lines, and nothing else. @param {string} text */
function commentsOf(text) {
  let end = 0;
  let prose = "";
  for (const { 0: comment, index } of text.matchAll(/^ *\/\*\*[^]*?\*\//gm)) {
    prose += text.slice(end, index).replaceAll(/[^\n]/g, "");
    prose += comment.replaceAll(/^ *(\/\*\*|\*\/|\*) ?/gm, "").replace(/ *\*\/$/, "");
    end = index + comment.length;
  }
  return prose;
}
