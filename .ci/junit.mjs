// Counts tests in the JUnit files that Bun, Deno and Node write. Their printed totals differ:
// Deno counts a `describe` as a test and what is in it as steps. Here only single tests count.
import { existsSync, readFileSync } from "node:fs";

/** An element `testcase`. Node leaves a bare `>` in attributes, so they are matched one by one. */
export const TESTCASE_REGEXP =
  /<testcase\b((?:\s+[\w:.-]+="[^"]*")*)\s*(?:\/>|>([\s\S]*?)<\/testcase>)/g;

/**
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 */

/**
 * @param {string} file
 * @returns {Counts}
 */
export function countFile(file) {
  return existsSync(file)
    ? countCases(readFileSync(file, "utf8"))
    : { passed: 0, failed: 0, skipped: 0 };
}

/**
 * @param {string} xml
 * @returns {Counts}
 */
export function countCases(xml) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { verdict } of singleCases(xml)) counts[verdict]++;
  return counts;
}

/**
 * The names of the tests that failed.
 * @param {string} xml
 */
export function failuresIn(xml) {
  return singleCases(xml).filter(({ verdict }) => verdict === "failed").map(({ name }) => name);
}

/**
 * The tests of a report without their groups.
 * @param {string} xml
 * @returns {{ name: string, verdict: keyof Counts }[]}
 */
function singleCases(xml) {
  const cases = [...xml.matchAll(TESTCASE_REGEXP)].map(
    ([, text = "", body = ""]) => {
      const { name = "", classname = "" } = attributesOf(text);
      return { name, steps: classname.startsWith("ext:"), verdict: verdictOf(body) };
    },
  );
  const groups = groupsOf(cases.filter(({ steps }) => steps).map(({ name }) => name));
  return cases.filter(({ name }) => !groups.has(name));
}

/**
 * @param {string} body
 * @returns {keyof Counts}
 */
function verdictOf(body) {
  if (/<(failure|error)\b/.test(body)) return "failed";
  return /<skipped\b/.test(body) ? "skipped" : "passed";
}

/**
 * The attributes of an element, by name.
 * @param {string} text
 * @returns {Record<string, string | undefined>}
 */
export function attributesOf(text) {
  const pairs = [...text.matchAll(/([\w:.-]+)="([^"]*)"/g)];
  return Object.fromEntries(
    pairs.map(([, name = "", value = ""]) => [name, value.replaceAll("&gt;", ">")]),
  );
}

/**
 * The names of the groups that Deno's steps are in: every `a > b` of a step `a > b > c`.
 * @param {string[]} steps
 * @returns {Set<string>}
 */
function groupsOf(steps) {
  const groups = new Set();
  for (const step of steps) {
    const names = step.split(" > ");
    for (let length = 1; length < names.length; length++) {
      groups.add(names.slice(0, length).join(" > "));
    }
  }
  return groups;
}
