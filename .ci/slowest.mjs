// `npm test -- --slow`: where the time of a runtime's part goes.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { attributesOf, TESTCASE_REGEXP } from "./junit.mjs";

/** How many files and tests are listed. */
const LISTED = 10;

/**
 * The slowest files and tests in a report, as text.
 * @param {string} runtime
 * @param {string} reports The folder of the reports.
 */
export function slowest(runtime, reports) {
  const path = join(reports, `${runtime}.xml`);
  const xml = existsSync(path) ? readFileSync(path, "utf8") : "";
  /** @type {Map<string, number>} */
  const files = new Map();
  /** @type {Map<string, number>} */
  const tests = new Map();
  for (const [, text = ""] of xml.matchAll(TESTCASE_REGEXP)) {
    const { name = "", classname = "", file = classname, time = "0" } = attributesOf(text);
    // Deno's report does not say which file the tests of a group stand in; the group has their time.
    if (file.startsWith("ext:")) continue;
    const place = file.replace(/^.*?(?=tests\/)/, "");
    files.set(place, (files.get(place) ?? 0) + Number(time));
    tests.set(`${place}: ${name}`, Number(time));
  }
  return [listOf(`Slowest files on ${runtime}`, files), listOf("Slowest tests", tests)].join("\n");
}

/** @param {string} title @param {Map<string, number>} times */
function listOf(title, times) {
  const longest = [...times].sort(([, a], [, b]) => b - a).slice(0, LISTED);
  const lines = longest.map(([name, seconds]) => `${seconds.toFixed(2).padStart(8)} s  ${name}`);
  return [`\n${title}`, ...lines].join("\n");
}
