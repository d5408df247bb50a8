import { checkText, rangeError } from "./checks.ts";

/** The longest reason, in characters. */
const LONGEST_REASON = 200;

/** The reason of a block, if there is one: text of 1 to 200 characters. */
export function readReason(reason: string | undefined): string | undefined {
  if (reason === undefined) return undefined;
  checkText("block a key", "reason", reason);
  if (reason.length > LONGEST_REASON) {
    const rule = `reason must be at most ${LONGEST_REASON} characters`;
    throw rangeError("block a key", rule, reason.length);
  }
  return reason;
}
