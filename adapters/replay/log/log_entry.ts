import { errorMessage } from "../../../core/toolkit.ts";

/** One request of a log. */
export interface LogEntry {
  /** When it came: whole milliseconds since the Unix epoch. */
  readonly at: number;
  /** Whose it was. */
  readonly key: string;
  /** Units that it takes; a positive integer. */
  readonly cost: number;
}

/**
 * Where entries come from: an array, or a function that opens the log anew for each pass, as it is
 * read several times. What can be read only once, such as a pipe, must be held in memory:
 * `sortedLog` does so.
 */
export type LogSource =
  | readonly LogEntry[]
  | (() => Iterable<LogEntry> | AsyncIterable<LogEntry>);

/** Opens a source for one pass. */
export function openSource(
  action: string,
  source: LogSource,
): Iterable<LogEntry> | AsyncIterable<LogEntry> {
  if (typeof source === "function") return source();
  if (Array.isArray(source)) return source;
  const rule = "the log must be an array of entries, or a function that opens it";
  throw new TypeError(errorMessage(action, rule, source));
}

/** Reads a log from its start, as often as it is called; `visit` is called with each entry. */
export type LogReader = (visit: (entry: LogEntry) => void) => Promise<void>;

/**
 * Makes the reader of a log that is read several times. Every pass reads as many entries as the
 * first one: what is added to the log meanwhile is left out, and a shorter pass is an error.
 */
export function logReader(action: string, source: LogSource): LogReader {
  let total: number | undefined;
  return async function read(visit) {
    let count = 0;
    for await (const entry of openSource(action, source)) {
      if (count === total) break;
      count++;
      visit(entry);
    }
    if (count === 0 && total === undefined) {
      throw new RangeError(errorMessage(action, "the log must hold at least one request", count));
    }
    if (count < (total ??= count)) {
      throw new TypeError(
        `Cannot ${action} as the log must be opened anew for each pass: ` +
          `the first pass read ${total} entries, a later one ${count}`,
      );
    }
  };
}
