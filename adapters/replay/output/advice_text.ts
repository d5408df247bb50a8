/*
 * Advice for the terminal, and for programs.
 */

import type { Advice } from "../advise/advice.ts";
import { adviceSections } from "./advice_sections.ts";
import { checkAdvice } from "./check_report.ts";
import { sectionText } from "./section_text.ts";

/**
 * Advice as text: the limits in a few sentences, whom they refuse, a picture, the lines to paste, and
 * what the log does not show.
 *
 * @param advice The result of `advise`.
 *
 * @example
 * ```ts
 * import { advise, adviceText } from "tidegate/replay";
 * import assert from "node:assert/strict";
 *
 * const log = Array.from({ length: 60 }, (_, call) => ({ at: call * 9_000, key: "a", cost: 1 }));
 * assert.match(adviceText(await advise(log)), /^Allow \d+ in 1 min, at most \d+ at once/m);
 * ```
 */
export function adviceText(advice: Advice): string {
  return sectionText(adviceSections(advice));
}

/**
 * Advice as JSON: the fields of `Advice`, and a `version` of this shape.
 *
 * @param advice The result of `advise`.
 */
export function adviceJson(advice: Advice): string {
  checkAdvice(advice);
  const orNull = (_name: string, value: unknown) => value === undefined ? null : value;
  return JSON.stringify({ version: 1, ...advice }, orNull, 2);
}
