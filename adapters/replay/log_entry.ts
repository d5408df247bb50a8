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
 * Where entries come from: a list, or a function that opens the log anew, as several passes are
 * made over it.
 */
export type LogSource =
  | readonly LogEntry[]
  | (() => Iterable<LogEntry> | AsyncIterable<LogEntry>);

/** Opens a source for one pass. */
export function openSource(source: LogSource): Iterable<LogEntry> | AsyncIterable<LogEntry> {
  return typeof source === "function" ? source() : source;
}
