import { checkInteger, errorMessage } from "../../../core/toolkit.ts";
import { type LogEntry, type LogSource, openSource } from "./log_entry.ts";

/**
 * The entries of a log in order of time, for logs that are not: put together from several files,
 * or written when requests ended. Entries of one instant stay as they were.
 *
 * It holds the whole log: some 100 bytes an entry.
 *
 * @param source The log.
 * @param options `maxEntries`, the most entries to hold; default 5,000,000.
 * @throws {RangeError} If there are more, or the option is out of range.
 *
 * @example
 * ```ts
 * import { sortedLog } from "tidegate/replay";
 * import assert from "node:assert/strict";
 *
 * const log = [5, 3, 4].map((at) => ({ at, key: "a", cost: 1 }));
 * assert.deepEqual((await sortedLog(log)).map(({ at }) => at), [3, 4, 5]);
 * ```
 */
export async function sortedLog(
  source: LogSource,
  options: { readonly maxEntries?: number | undefined } = {},
): Promise<readonly LogEntry[]> {
  const { maxEntries = 5_000_000 } = options;
  checkInteger("sort a log", "maxEntries", maxEntries, 1);
  const entries: LogEntry[] = [];
  for await (const entry of openSource("sort a log", source)) {
    if (entries.length === maxEntries) {
      const rule = "it must have at most maxEntries entries";
      throw new RangeError(errorMessage("sort a log", rule, maxEntries));
    }
    entries.push(entry);
  }
  return entries.sort((a, b) => a.at - b.at);
}
