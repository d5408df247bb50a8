/** An event for the log: its name and its facts. */
export interface LogEvent {
  /** The event's name: `rules-loaded`, `listening`, ... */
  readonly event: string;
  /** A fact about it. */
  readonly [fact: string]: unknown;
}

/** Receives events. */
export type Log = (event: LogEvent) => void;

/**
 * Writes each event as one line of JSON, with the time.
 *
 * @example
 * ```ts
 * import { lineLog } from "tidegate/serve";
 * import assert from "node:assert/strict";
 *
 * const lines: string[] = [];
 * lineLog((line) => lines.push(line))({ event: "listening", port: 8080 });
 * assert.match(lines[0]!, /^\{"time":"[^"]+","event":"listening","port":8080\}\n$/);
 * ```
 */
export function lineLog(write: (line: string) => void): Log {
  return (event) => write(`${JSON.stringify({ time: new Date().toISOString(), ...event })}\n`);
}

/** An error as a log shows it: with its cause, without its stack. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `: ${errorText(error.cause)}`;
  return `${error.message}${cause}`;
}

/** A function that logs errors as events of this name. */
export function errorLog(log: Log, event = "error"): (error: unknown, key?: string) => void {
  return (error, key) => log({ event, level: "error", error: errorText(error), key });
}
