/*
 * The reader of all forms: blocks of bytes in, columns of numbers out. A line becomes no string;
 * only a client that is new does.
 *
 * Lines are written by whoever sends requests: each is read once from left to right, and what does
 * not fit is counted, with a reason.
 */

import { Buffer } from "node:buffer";

import { clientOfList } from "./client_of_list.ts";
import { type Clients, keyTable, LONGEST_KEY, NOBODY } from "./key_table.ts";
import type { Field, Layout, LogFormat } from "./layout.ts";
import { lineTest } from "./conditions.ts";
import { lineFields } from "./line_fields.ts";
import { columnName } from "./read_pattern.ts";
import { bothSeen, requestMarks } from "./request_marks.ts";
import type { LogFacts, RequestsSeen, TraceRows, UnreadLine } from "./trace.ts";

/** The content of a log's line, for keys and costs that are functions. */
export interface LogRecord {
  /** When: whole milliseconds since the Unix epoch. */
  readonly at: number;
  /**
   * The client's host or address, found among forwarded addresses if there are any; empty if the
   * line names no client, `"all"` if the log has no column for it.
   */
  readonly host: string;
  /** The other fields, by their names: those of the form, or the columns of the header line. */
  readonly fields: Readonly<Record<string, string>>;
}

/** The names of columns, or the paths of values in objects: `request.client_ip`. */
export interface ColumnOptions {
  /** Holds the time; default one with a usual name, such as `time`, `timestamp` or `ts`. */
  readonly time?: string | undefined;
  /** Holds the client's address; default one with a usual name, such as `remote_addr` or `client`. */
  readonly host?: string | undefined;
}

/** The options of `readLog`. */
export interface ReadLogOptions {
  /** The form of the lines; by default the form that reads most of the first lines. */
  readonly format?: LogFormat | undefined;
  /** The pattern of the lines, as nginx's `log_format` or Apache's `LogFormat` defines it. */
  readonly pattern?: string | undefined;
  /** Which columns hold the time and the client, in any case of letters. */
  readonly columns?: ColumnOptions | undefined;
  /**
   * The client of a request: a column; `ip/56` for the address, IPv6 addresses cut to so many bits;
   * or a function. Default the client's address, IPv6 addresses cut to 64 bits like over HTTP, or
   * `"all"` where the log has no address. A request whose column is empty, or a hyphen, is left out
   * and counted.
   */
  readonly key?: string | ((record: LogRecord) => string) | undefined;
  /**
   * The proxies in front of the server, beside private addresses, as `trustedProxies` of the HTTP
   * adapters names them. Of a list of forwarded addresses the client is the right-most one that is
   * neither private nor a proxy's. Default none.
   */
  readonly proxies?: readonly string[] | undefined;
  /**
   * Units that a request took: columns, which are summed, or a function; default 1. A line on which
   * one of the columns is missing or empty, or whose sum is no positive integer, is no entry.
   */
  readonly cost?: string | readonly string[] | ((record: LogRecord) => number) | undefined;
  /**
   * Which lines are read: conditions such as `path=/api/*`, `status=401` or `user!=-`, on a column or
   * on `path`, `method` or `status`, whatever the log calls them; `*` stands for any text. Several on
   * one column are alternatives, those on several columns must all hold. Default all lines.
   */
  readonly where?: string | readonly string[] | undefined;
  /**
   * Whether to note of each request what `advise` asks: whether it writes or logs in, and, roughly,
   * its path; default false.
   */
  readonly marks?: boolean | undefined;
  /** The longest line in bytes; longer ones are no entries; default 65,536. */
  readonly maxLine?: number | undefined;
  /** Called with each line that is no entry, shortened to 200 characters, and why. */
  readonly onBadLine?: ((line: string, reason: string) => void) | undefined;
}

/** Reads blocks of whole lines, one after the other. */
export interface BlockParser {
  /** The requests of a block. */
  parse(block: Uint8Array): TraceRows;
  /** Facts about all blocks so far. */
  facts(): LogFacts;
}

/** The numbers of clients for whoever does not ask about them. */
export const NO_CLIENTS: Clients = { numberOf: () => 0, forget() {} };

/** How many unread lines, and how many columns, are kept to be shown. */
export const SHOWN_LINES = 3;
export const SHOWN_COLUMNS = 40;

/** Why a line is not read that the caller does not ask about. */
const LEFT_OUT = "";

const NEWLINE = 10;
const RETURN = 13;

/**
 * Makes the parser of a layout.
 *
 * @param before How many lines come before the first block.
 */
export function blockParser(
  layout: Layout,
  { key, cost, onBadLine }: ReadLogOptions = {},
  numbers: Clients = NO_CLIENTS,
  before = 0,
): BlockParser {
  const keyOf = typeof key === "function" ? key : undefined;
  const costOf = typeof cost === "function" ? cost : undefined;
  const { network, where, request } = layout;
  const hasCosts = costOf !== undefined || layout.cost.length > 0;
  const usesRecord = keyOf !== undefined || costOf !== undefined;
  const addresses = network === undefined ? undefined : clientOfList(network, layout.proxies);
  const isProxy = layout.forwarded.length === 0 ? undefined : addresses?.hasOnlyProxies;
  const named = keyOf !== undefined || addresses === undefined
    ? numbers
    : { ...numbers, numberOf: (text: string) => numbers.numberOf(addresses.keyOf(text)) };
  /** The keys of lines, and their hosts, which functions see. */
  const table = keyTable(named, isProxy);
  const fields = lineFields(layout, usesRecord);
  const isWanted = where.length === 0 ? undefined : lineTest(where, fields.text);
  const marking = request && requestMarks(request, fields.text);
  const hasComments = layout.directives;
  const header = Buffer.from(hasComments ? "#" : layout.header, "latin1");
  const headerStart = header[0] ?? -1;
  let ats = new Float64Array(1 << 10);
  let clients = new Uint32Array(1 << 10);
  let costs = new Float64Array(1 << 10);
  let marks = new Uint8Array(1 << 10);
  let headers = 0;
  let seen: RequestsSeen | undefined;
  const firstUnread: UnreadLine[] = [];
  const counts = { lines: 0, unread: 0, unnamed: 0, others: 0, leftOut: 0 };
  const names = namesOf(layout.key) || "its key";
  const noClient = `it names no client in ${names}`;
  const tooLong = `${
    keyOf ? "its key" : `the client in ${names}`
  } is longer than ${LONGEST_KEY} bytes`;
  const mayBeOther = layout.requires.length > 0;
  const noForm = `it is not in the format ${layout.format}`;
  const noRequest = `it does not record a request: it has no ${layout.requires.join(" or no ")}`;

  /** Reads a line into a row; returns why it cannot be read. */
  function read(bytes: Buffer, from: number, to: number, row: number): string | undefined {
    if (to - from > layout.maxLine) return `it is longer than ${layout.maxLine} bytes`;
    if (!fields.open(bytes, from, to)) return noForm;
    if (mayBeOther && !fields.isRequest()) return noRequest;
    const at = fields.time();
    if (at < 0) return `no valid time in column ${namesOf(layout.time)}`;
    if (isWanted !== undefined && !isWanted()) return LEFT_OUT;
    const record = usesRecord ? recordOf(at) : undefined;
    const units = costOf === undefined ? unitsOf() : costOf(record!);
    if (!Number.isSafeInteger(units) || units < 1) return "its cost is not a positive integer";
    const id = keyOf === undefined ? fields.client(table) : table.idOfText(keyOf(record!));
    if (id === NOBODY) return noClient;
    if (id < 0) return tooLong;
    ats[row] = at;
    clients[row] = table.clientOf(id);
    costs[row] = units;
    if (marking !== undefined) marks[row] = marking.next();
    return undefined;
  }

  function unitsOf(): number {
    if (!hasCosts) return 1;
    let units = 0;
    for (const field of layout.cost) units += Number(fields.text(field) || NaN);
    return units;
  }

  function recordOf(at: number): LogRecord {
    const id = fields.client(table);
    const host = id < 0 ? "" : table.textOf(id);
    return { at, host: addresses?.clientOf(host) ?? host, fields: fields.all() };
  }

  /**
   * Whether a line only names columns: logs that were put together have such lines in the middle.
   */
  function isHeader(bytes: Buffer, from: number, to: number): boolean {
    return bytes[from] === headerStart &&
      (hasComments || (to - from === header.length && header.equals(bytes.subarray(from, to))));
  }

  function grow(): void {
    const [before, clientsBefore, costsBefore, marksBefore] = [ats, clients, costs, marks];
    (ats = new Float64Array(2 * before.length)).set(before);
    (clients = new Uint32Array(2 * before.length)).set(clientsBefore);
    (costs = new Float64Array(2 * before.length)).set(costsBefore);
    (marks = new Uint8Array(2 * before.length)).set(marksBefore);
  }

  /** Counts a line that is no entry. */
  function leaveOut(reason: string, bytes: Buffer, from: number, to: number, line: number): void {
    if (reason === LEFT_OUT) {
      counts.leftOut++;
      return;
    }
    if (reason === noClient) counts.unnamed++;
    else if (reason === noRequest) counts.others++;
    else counts.unread++;
    const isShown = reason !== noRequest && reason !== noClient &&
      firstUnread.length < SHOWN_LINES;
    if (!isShown && onBadLine === undefined) return;
    const text = bytes.toString("utf8", from, Math.min(to, from + 800)).slice(0, 200);
    const why = reason === noForm ? fields.misfit(from, to) ?? reason : reason;
    if (isShown) firstUnread.push({ line, text, reason: why });
    onBadLine?.(text, why);
  }

  return {
    parse(block) {
      const bytes = Buffer.from(block.buffer, block.byteOffset, block.length);
      table.forgetIfLarge();
      let count = 0;
      let line = before + headers + counts.lines;
      for (let from = 0, next = 0; from < bytes.length; from = next) {
        const end = bytes.indexOf(NEWLINE, from);
        next = end === -1 ? bytes.length : end + 1;
        let to = end === -1 ? next : end;
        if (to > from && bytes[to - 1] === RETURN) to--;
        line++;
        if (to === from) continue;
        if (isHeader(bytes, from, to)) {
          if (!hasComments) headers++;
          continue;
        }
        if (count === ats.length) grow();
        const reason = read(bytes, from, to, count);
        if (reason === undefined) count++;
        else leaveOut(reason, bytes, from, to, line);
      }
      counts.lines = line - before - headers;
      seen = bothSeen(seen, marking?.take());
      const cost = hasCosts ? costs.slice(0, count) : undefined;
      return {
        at: ats.slice(0, count),
        client: clients.slice(0, count),
        cost: cost?.every((units) => units === 1) ? undefined : cost,
        marks: marking && marks.slice(0, count),
      };
    },
    facts: () => ({
      ...counts,
      // Whoever reads the log counts them, with those of lines that are too long.
      bytes: 0,
      firstUnread,
      formats: [layout.format],
      keys: [...layout.key, ...layout.forwarded].map(({ name }) => name),
      hasLists: layout.hasLists,
      columns: layout.columns.slice(0, SHOWN_COLUMNS).map(columnName),
      resolution: 1,
      where: where.map(({ text }) => text),
      seen,
    }),
  };
}

function namesOf(fields: readonly Field[]): string {
  return fields.map(({ name }) => name).join(" or ");
}
