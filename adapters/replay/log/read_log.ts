import {
  checkInteger,
  checkOptions,
  errorMessage,
  formatValue,
  type OptionNames,
} from "../../../core/toolkit.ts";
import { sectionsOf } from "./find_layout.ts";
import { FORMAT_NAMES, type Layout, type LayoutOptions, type LogFormat } from "./layout.ts";
import {
  type BlockParser,
  blockParser,
  type Columns,
  type LogRecord,
  type RecordFunctions,
  SHOWN_LINES,
  type UnreadLine,
} from "./parse_block.ts";
import { type ParserThreads, parserThreads } from "./parser_threads.ts";
import { readBlocks, type TextSource } from "./read_blocks.ts";
import { addColumns, type LogEntry, type Trace, type TraceBuilder, traceBuilder } from "./trace.ts";

/** The names of columns, or the paths of values in objects: `request.client_ip`. */
export interface ColumnOptions {
  /** Holds the time; default one with a usual name, such as `time`, `timestamp` or `ts`. */
  readonly time?: string | undefined;
  /** Holds the client; default one with a usual name, such as `remote_addr`, `client` or `host`. */
  readonly host?: string | undefined;
}

/** The options of `readLog`. */
export interface ReadLogOptions {
  /** The form of the lines; default the one that reads most of the first lines. */
  readonly format?: LogFormat | undefined;
  /** Which columns hold the time and the client, in any case of letters. */
  readonly columns?: ColumnOptions | undefined;
  /**
   * Whose a request was: a column; `ip/64` for the address, of IPv6 ones so many bits; or a
   * function. Default the client's host, or `"all"` where the log has none.
   */
  readonly key?: string | ((record: LogRecord) => string) | undefined;
  /**
   * Units that a request took: columns, which are summed, or a function; default 1. What is no
   * positive integer is not taken for one.
   */
  readonly cost?: string | readonly string[] | ((record: LogRecord) => number) | undefined;
  /** The longest line in bytes; longer ones are no entries; default 65,536. */
  readonly maxLine?: number | undefined;
  /** Called with each line that is no entry, shortened to 200 characters, and why. */
  readonly onBadLine?: ((line: string, reason: string) => void) | undefined;
}

const LOG_OPTIONS: OptionNames<ReadLogOptions> = {
  format: true,
  columns: true,
  key: true,
  cost: true,
  maxLine: true,
  onBadLine: true,
};

/** The options of `readTrace`. */
export interface ReadTraceOptions extends ReadLogOptions {
  /** The most clients to distinguish; default 100,000. */
  readonly maxClients?: number | undefined;
  /** Worker threads that read lines; default 0, this thread; not with functions. */
  readonly threads?: number | undefined;
  /** Called now and then with how much has been read. */
  readonly onProgress?: ((read: ReadSoFar) => void) | undefined;
}

/** One of several logs. */
export interface NamedLog {
  /** What errors call it. */
  readonly name: string;
  /** The log. */
  readonly log: TextSource;
}

/** How much of a log has been read. */
export interface ReadSoFar {
  /** Bytes, decompressed. */
  readonly bytes: number;
  /** Lines. */
  readonly lines: number;
}

const MAX_LINE = 65_536;
const MAX_CLIENTS = 100_000;

/**
 * Reads a log as a stream of entries, however long it is.
 *
 * @param text The log: a string, or pieces of text or UTF-8, such as a file's stream; gzip and zstd
 * are decompressed.
 * @throws {TypeError} If an option is of the wrong type, no form fits, or no line can be read.
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
  checkOptions("read a log", options, LOG_OPTIONS);
  let keys: string[] = [];
  for await (const { columns } of readColumns(text, "a log", options, undefined)) {
    if (columns.restarts) keys = [];
    keys.push(...columns.keys);
    const { at, client, cost } = columns;
    for (let row = 0; row < at.length; row++) {
      yield { at: at[row]!, key: keys[client[row]!]!, cost: cost?.[row] ?? 1 };
    }
  }
}

/**
 * Reads a log into a trace, for `replay` and `sweep`: once, from wherever it comes. It is read as
 * bytes, of which no line becomes a string unless `key` or `cost` is a function, or the form JSON.
 *
 * @param text As of `readLog`; several logs are read one after the other, each in its own form.
 * @throws {TypeError} If an option is of the wrong type, no form fits, or no line can be read.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { readTrace, replay } from "tidegate/replay";
 * import assert from "node:assert/strict";
 *
 * const csv = "time,user,tokens\n1700000000,ada,900\n1700000001,ada,400\n";
 * const trace = await readTrace(csv, { key: "user", cost: "tokens" });
 * const { candidates } = await replay(trace, [
 *   { algorithm: gcra({ limit: 1_000, period: "1m" }) },
 * ]);
 * assert.equal(candidates[0]?.denied, 1);
 * ```
 */
export async function readTrace(
  text: TextSource | readonly NamedLog[],
  options: ReadTraceOptions = {},
): Promise<Trace> {
  const { maxClients = MAX_CLIENTS, threads = 0, onProgress, ...rest } = options;
  checkOptions<ReadTraceOptions>("read a log", options, {
    ...LOG_OPTIONS,
    maxClients: true,
    threads: true,
    onProgress: true,
  });
  checkInteger("read a log", "maxClients", maxClients, 1);
  checkInteger("read a log", "threads", threads, 0, 64);
  const trace = traceBuilder(maxClients);
  const usesFunctions = [rest.key, rest.cost, rest.onBadLine].some((option) =>
    typeof option === "function"
  );
  const pool = threads > 0 && !usesFunctions ? parserThreads(threads) : undefined;
  /** What the ids of each parser are in the trace. */
  const ids: number[][] = Array.from({ length: threads + 1 }, () => []);
  try {
    for (const { name, log } of isList(text) ? text : [{ name: "a log", log: text }]) {
      for await (const read of readColumns(log, name, rest, pool)) {
        addColumns(trace, ids[read.parser]!, read.columns);
        addFacts(trace, read);
        onProgress?.(trace.log!);
      }
    }
  } finally {
    await pool?.close();
  }
  return trace;
}

function isList(text: TextSource | readonly NamedLog[]): text is readonly NamedLog[] {
  return Array.isArray(text) && text.length > 0 && text.every((item) => item?.log !== undefined);
}

function addFacts(trace: TraceBuilder, { columns, bytes, layout }: ReadColumns): void {
  const before = trace.log ??
    { lines: 0, bytes: 0, unread: 0, firstUnread: [], formats: [], keys: [] };
  const shown = columns.firstUnread.slice(0, SHOWN_LINES - before.firstUnread.length);
  trace.log = {
    lines: before.lines + columns.lines,
    bytes: before.bytes + bytes,
    unread: before.unread + columns.unread,
    firstUnread: [...before.firstUnread, ...shown],
    formats: [...new Set([...before.formats, layout.format])],
    keys: [...new Set([...before.keys, ...layout.key.map(({ name }) => name)])],
  };
}

/** Columns, and what they were read from. */
interface ReadColumns {
  readonly columns: Columns;
  readonly bytes: number;
  readonly parser: number;
  readonly layout: Layout;
}

/** Reads a log as columns, in the order of its lines. */
async function* readColumns(
  text: TextSource,
  name: string,
  options: ReadLogOptions,
  pool: ParserThreads | undefined,
): AsyncGenerator<ReadColumns> {
  const { wanted, functions } = readOptions(name, options);
  /** What is being read; as many blocks as keep the threads busy. */
  const pending: (() => Promise<ReadColumns> | ReadColumns)[] = [];
  const sums = { lines: 0, requests: 0, unread: 0 };
  let firstUnread: readonly UnreadLine[] = [];
  let layout: Layout | undefined;
  let parse: BlockParser | undefined;

  async function next(): Promise<ReadColumns> {
    const read = await pending.shift()!();
    const { columns } = read;
    const numbered = columns.firstUnread.map((line) => ({ ...line, line: line.line + sums.lines }));
    sums.lines += columns.lines;
    sums.requests += columns.at.length;
    sums.unread += columns.unread;
    firstUnread = [...firstUnread, ...numbered].slice(0, SHOWN_LINES);
    return { ...read, columns: { ...columns, firstUnread: numbered } };
  }

  for await (const block of readBlocks(text, wanted)) {
    for (const section of sectionsOf(block, layout, wanted)) {
      const { bytes } = section;
      if (section.layout !== layout) parse = undefined;
      layout = section.layout;
      if (sums.lines === 0) sums.lines = section.headerLines;
      const of = { bytes: bytes.length, layout };
      if (pool === undefined) {
        const columns = (parse ??= blockParser(layout, functions))(bytes);
        pending.push(() => ({ ...of, columns, parser: 0 }));
      } else {
        const parsing = pool.parse(bytes, layout);
        // It is awaited later, or never, if one before it fails.
        parsing.catch(() => {});
        pending.push(async () => ({ ...of, ...await parsing }));
      }
      if (pending.length > (pool?.size ?? 0) * 2) yield await next();
    }
  }
  while (pending.length > 0) yield await next();
  if (sums.requests === 0 && sums.unread > 0) {
    throw nothingRead(wanted, layout!, sums.unread, firstUnread);
  }
}

function readOptions(
  name: string,
  options: ReadLogOptions,
): { readonly wanted: LayoutOptions; readonly functions: RecordFunctions } {
  const { format, columns = {}, key, cost, maxLine = MAX_LINE, onBadLine } = options;
  checkInteger("read a log", "maxLine", maxLine, 1);
  if (format !== undefined && !FORMAT_NAMES.includes(format)) {
    const rule = `format must be one of ${FORMAT_NAMES.join(", ")}`;
    throw new TypeError(errorMessage("read a log", rule, format));
  }
  const keyFunction = typeof key === "function" ? key : undefined;
  const costFunction = typeof cost === "function" ? cost : undefined;
  return {
    wanted: {
      name,
      format,
      time: columns.time,
      key: typeof key === "string" ? key : columns.host,
      cost: typeof cost === "string" ? [cost] : Array.isArray(cost) ? cost : [],
      maxLine,
    },
    functions: {
      key: keyFunction,
      cost: costFunction,
      onUnread: onBadLine && (({ text, reason }) => onBadLine(text, reason)),
    },
  };
}

function nothingRead(
  { name }: LayoutOptions,
  { format }: Layout,
  unread: number,
  lines: readonly UnreadLine[],
): TypeError {
  const shown = lines.map(({ line, text, reason }) =>
    `\n  ${line}: ${formatValue(text)}: ${reason}`
  );
  return new TypeError(
    `Cannot read ${name} as its lines must have the form ${format}: ` +
      `none of ${unread} could be read${shown.join("")}\n` +
      `The forms are ${FORMAT_NAMES.join(", ")}`,
  );
}
