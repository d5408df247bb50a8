/*
 * Reads a log in any form, as a stream of entries or as a trace for `replay` and `advise`.
 */

import {
  checkOptions,
  errorMessage,
  integerFrom,
  type OptionNames,
} from "../../../core/application_support.ts";
import { clientOfList } from "./client_of_list.ts";
import { readConditions } from "./conditions.ts";
import { findLayout, sectionsOf } from "./find_layout.ts";
import { recordJoiner } from "./join_records.ts";
import type { Clients } from "./key_table.ts";
import { FORMAT_NAMES, IPV6_PREFIX, type Layout, type LayoutOptions } from "./layout.ts";
import { nothingRead } from "./unreadable_log.ts";
import {
  type BlockParser,
  blockParser,
  type ReadLogOptions,
  SHOWN_COLUMNS,
  SHOWN_LINES,
} from "./parse_block.ts";
import { readBlocks, type TextSource } from "./read_blocks.ts";
import { readPattern } from "./read_pattern.ts";
import { bothSeen } from "./request_marks.ts";
import { spreadSeconds } from "./spread_seconds.ts";
import {
  builtTrace,
  idOf,
  type LogEntry,
  type LogFacts,
  type Trace,
  traceBuilder,
  type TraceRows,
} from "./trace.ts";
import { unwrapLines } from "./unwrap_lines.ts";

/** The options of `readTrace`. */
export interface ReadTraceOptions extends ReadLogOptions {
  /** The most clients to distinguish; default 100,000. */
  readonly maxClients?: number | undefined;
}

/** One of several logs. */
export interface NamedLog {
  /** The log's name in errors. */
  readonly name: string;
  /** The log. */
  readonly log: TextSource;
}

const LOG_OPTIONS: OptionNames<ReadLogOptions> = {
  format: true,
  pattern: true,
  columns: true,
  key: true,
  proxies: true,
  cost: true,
  where: true,
  marks: true,
  maxLine: integerFrom(1),
  onBadLine: true,
};
const MAX_LINE = 65_536;
const MAX_CLIENTS = 100_000;

/**
 * Reads a log as a stream of entries, however long it is. Their times are as the log has them: whole
 * seconds are only spread by `readTrace`, which sees the whole log.
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
  const clients = {
    numberOf: (key: string) => keys.push(key) - 1,
    forget() {
      keys = [];
    },
  };
  for await (const { at, client, cost } of readRows("a log", text, options, clients)) {
    for (let row = 0; row < at.length; row++) {
      yield { at: at[row]!, key: keys[client[row]!]!, cost: cost?.[row] ?? 1 };
    }
  }
}

/**
 * Reads a log into a trace, for `replay` and `advise`: once, from wherever it comes. It is read as
 * bytes: no line becomes a string unless `key` or `cost` is a function, or the form is JSON.
 *
 * Where the times of a log are whole seconds, the requests of a second are spread over it in the order
 * of their lines; taken as written, they would all come at once.
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
 *   { algorithm: gcra({ limit: 1_000, period: "1m", burst: 1_000 }) },
 * ]);
 * assert.equal(candidates[0]?.denied, 1);
 * ```
 */
export async function readTrace(
  text: TextSource | readonly NamedLog[],
  options: ReadTraceOptions = {},
): Promise<Trace> {
  const { maxClients = MAX_CLIENTS, ...rest } = options;
  checkOptions<ReadTraceOptions>("read a log", options, {
    ...LOG_OPTIONS,
    maxClients: integerFrom(1),
  });
  const trace = traceBuilder(maxClients);
  const clients = { numberOf: (key: string) => idOf(trace, key), forget() {} };
  for (const { name, log } of isList(text) ? text : [{ name: "a log", log: text }]) {
    const found: Found = { bytes: 0, isCoarse: true };
    const own: TraceRows[] = [];
    for await (const rows of readRows(name, log, rest, clients, found)) own.push(rows);
    if (found.facts !== undefined) {
      const resolution = found.isCoarse && spreadSeconds(own) ? 1_000 : 1;
      trace.log = withFacts(trace.log, { ...found.facts, bytes: found.bytes, resolution });
    }
    for (const rows of own) trace.rows.push(rows);
  }
  return builtTrace(trace);
}

function isList(text: TextSource | readonly NamedLog[]): text is readonly NamedLog[] {
  return Array.isArray(text) && text.length > 0 && text.every((item) => item?.log !== undefined);
}

/** The facts about a log, together with those about what came after it. */
function withFacts(one: LogFacts | undefined, other: LogFacts): LogFacts {
  if (one === undefined) return other;
  return {
    lines: one.lines + other.lines,
    bytes: one.bytes + other.bytes,
    unread: one.unread + other.unread,
    unnamed: one.unnamed + other.unnamed,
    others: one.others + other.others,
    firstUnread: [...one.firstUnread, ...other.firstUnread].slice(0, SHOWN_LINES),
    formats: [...new Set([...one.formats, ...other.formats])],
    keys: [...new Set([...one.keys, ...other.keys])],
    hasLists: one.hasLists || other.hasLists,
    columns: [...new Set([...one.columns, ...other.columns])].slice(0, SHOWN_COLUMNS),
    resolution: Math.max(one.resolution, other.resolution),
    where: [...new Set([...one.where, ...other.where])],
    leftOut: one.leftOut + other.leftOut,
    seen: bothSeen(one.seen, other.seen),
  };
}

/** Facts that are found while a log is read. */
interface Found {
  facts?: LogFacts;
  bytes: number;
  /** Whether its times are written in whole seconds. */
  isCoarse: boolean;
}

/** Reads a log block by block, in the order of its lines. */
async function* readRows(
  name: string,
  text: TextSource,
  options: ReadLogOptions,
  clients: Clients,
  found: Found = { bytes: 0, isCoarse: true },
): AsyncGenerator<TraceRows> {
  const wanted = layoutOptions(name, options);
  const joiner = recordJoiner(wanted.maxLine);
  let layout: Layout | undefined;
  let parser: BlockParser | undefined;
  let requests = 0;

  async function* blocks(): AsyncGenerator<Uint8Array> {
    for await (const block of unwrapLines(readBlocks(text, wanted, found), wanted.maxLine)) {
      layout ??= findLayout(block, wanted);
      yield layout.hasQuotes ? joiner.join(block) : block;
    }
    const rest = joiner.rest();
    if (rest.length > 0) yield rest;
  }

  /** Completes the facts by those of the parser, which has read all lines of its layout. */
  function addFacts(): void {
    if (parser !== undefined) found.facts = withFacts(found.facts, parser.facts());
  }

  for await (const block of blocks()) {
    for (const section of sectionsOf(block, layout!, wanted)) {
      if (parser === undefined || section.layout !== layout) {
        addFacts();
        layout = section.layout;
        clients.forget();
        parser = blockParser(layout, options, clients, found.facts?.lines);
      }
      const rows = parser.parse(section.bytes);
      requests += rows.at.length;
      yield rows;
    }
  }
  addFacts();
  const { facts } = found;
  if (layout === undefined || facts === undefined) return;
  found.isCoarse = layout.isCoarse;
  if (requests > 0 || facts.leftOut > 0) return;
  if (facts.unread + facts.unnamed + facts.others > 0) throw nothingRead(wanted, layout, facts);
}

function layoutOptions(name: string, options: ReadLogOptions): LayoutOptions {
  const { format, pattern, columns = {}, key, cost = [], proxies = [] } = options;
  const { marks = false, maxLine = MAX_LINE } = options;
  clientOfList(IPV6_PREFIX, proxies);
  if (format !== undefined && pattern !== undefined) {
    const rule = "format must not be given beside pattern";
    throw new TypeError(errorMessage("read a log", rule, format));
  }
  if (format !== undefined && !FORMAT_NAMES.includes(format)) {
    const rule = `format must be one of ${FORMAT_NAMES.join(", ")}`;
    throw new TypeError(errorMessage("read a log", rule, format));
  }
  return {
    name,
    format,
    pattern: pattern === undefined ? undefined : readPattern(pattern),
    time: columns.time,
    key: typeof key === "string" ? key : undefined,
    host: columns.host,
    proxies,
    cost: typeof cost === "function" ? [] : [cost].flat(),
    where: readConditions(options.where),
    marks,
    maxLine,
  };
}
