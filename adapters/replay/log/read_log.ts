import { checkInteger, checkOptions, errorMessage } from "../../../core/toolkit.ts";
import type { LogEntry } from "./log_entry.ts";
import {
  type ColumnOptions,
  type LineReader,
  lineReader,
  type LogFormat,
  type LogRecord,
} from "./log_format.ts";

/** The options of `readLog`. */
export interface ReadLogOptions {
  /** The form of the lines; default `"common"`. */
  readonly format?: LogFormat | undefined;
  /** Which columns hold the time and the client, of forms with a header line. */
  readonly columns?: ColumnOptions | undefined;
  /** Whose a request was; default its host, or `"all"` where the log has none. */
  readonly key?: ((record: LogRecord) => string) | undefined;
  /** Units that a request took; default 1. What is no positive integer is not taken for one. */
  readonly cost?: ((record: LogRecord) => number) | undefined;
  /** The longest line in characters; longer ones are no entries; default 65,536. */
  readonly maxLine?: number | undefined;
  /** Called with each line that is no entry, header lines apart; shortened to 200 characters. */
  readonly onBadLine?: ((line: string) => void) | undefined;
}

/** Text in pieces of any length, such as a file's stream. */
export type TextSource =
  | string
  | Iterable<string | Uint8Array>
  | AsyncIterable<string | Uint8Array>;

const MAX_LINE = 65_536;
const FORMATS: readonly LogFormat[] = ["common", "json", "tsv", "csv"];

/**
 * Reads a log as a stream of entries: one line at a time, however long the log is.
 *
 * @param text The log: a string, or pieces of text or UTF-8, such as a file's stream.
 * @throws {TypeError} If an option is of the wrong type.
 *
 * @example
 * ```ts
 * import { readLog } from "tidegate/replay";
 * import assert from "node:assert/strict";
 *
 * const line = '192.0.2.7 - - [22/Dec/2016:22:32:31 +0300] "GET / HTTP/1.1" 200 3279 "-" "curl"';
 * const entries = await Array.fromAsync(readLog(`${line}\n`));
 * assert.deepEqual(entries, [{ at: 1_482_435_151_000, key: "192.0.2.7", cost: 1 }]);
 * ```
 */
export async function* readLog(
  text: TextSource,
  options: ReadLogOptions = {},
): AsyncGenerator<LogEntry> {
  checkOptions<ReadLogOptions>("read a log", options, {
    format: true,
    columns: true,
    key: true,
    cost: true,
    maxLine: true,
    onBadLine: true,
  });
  const { format = "common", columns, key = usualKey, cost = one, onBadLine } = options;
  const { maxLine = MAX_LINE } = options;
  requireText(text);
  checkInteger("read a log", "maxLine", maxLine, 1);
  if (!FORMATS.includes(format)) {
    const rule = `format must be one of ${FORMATS.join(", ")}`;
    throw new TypeError(errorMessage("read a log", rule, format));
  }
  const read = lineReader(format, columns);
  let isHeader = format === "tsv" || format === "csv";
  for await (const lines of linesOf(text, maxLine)) {
    for (const line of lines) {
      const entry = line === undefined ? undefined : entryOf(read, line, key, cost);
      if (entry !== undefined) yield entry;
      else if (!isHeader && line !== "") onBadLine?.((line ?? "a line too long").slice(0, 200));
      isHeader = false;
    }
  }
}

function requireText(text: unknown): void {
  if (typeof text === "string") return;
  const source = (text ?? {}) as { [Symbol.iterator]?: unknown; [Symbol.asyncIterator]?: unknown };
  if (source[Symbol.iterator] !== undefined || source[Symbol.asyncIterator] !== undefined) return;
  const rule = "it must be text, or pieces of it such as a file's stream";
  throw new TypeError(errorMessage("read a log", rule, text));
}

function entryOf(
  read: LineReader,
  line: string,
  keyOf: (record: LogRecord) => string,
  costOf: (record: LogRecord) => number,
): LogEntry | undefined {
  const record = read(line);
  if (record === undefined) return undefined;
  const key = keyOf(record);
  const cost = costOf(record);
  return key !== "" && Number.isSafeInteger(cost) && cost > 0
    ? { at: record.at, key, cost }
    : undefined;
}

/** A line without its end; `undefined` in place of one that is too long. */
type Line = string | undefined;

/** The lines of a text, as many at a time as a piece of it ends. */
async function* linesOf(text: TextSource, maxLine: number): AsyncGenerator<readonly Line[]> {
  const decoder = new TextDecoder();
  let rest = "";
  let tooLong = false;

  function lineOf(line: string): Line {
    const isTooLong = tooLong || line.length > maxLine;
    tooLong = false;
    return isTooLong ? undefined : line.replace(/\r$/, "");
  }

  for await (const piece of typeof text === "string" ? [text] : text) {
    const more = typeof piece === "string" ? piece : decoder.decode(piece, { stream: true });
    const lines = (rest + more).split("\n");
    rest = lines.pop()!;
    yield lines.map(lineOf);
    if (rest.length > maxLine) {
      tooLong = true;
      rest = "";
    }
  }
  if (rest !== "" || tooLong) yield [lineOf(rest)];
}

function usualKey({ host }: LogRecord): string {
  return host === "" ? "all" : host;
}

function one(): number {
  return 1;
}
