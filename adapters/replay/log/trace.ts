/*
 * The requests of a log as columns of numbers: 12 bytes each, 20 where costs differ. A log is read
 * once, from wherever it comes; every later question goes to its trace. Most questions are about
 * clients, so the requests of a client stand together, in order of time.
 */

import { checkInteger, errorMessage, LAST_INSTANT } from "../../../core/application_support.ts";

/** One request of a log. */
export interface LogEntry {
  /** When it came: whole milliseconds since the Unix epoch. */
  readonly at: number;
  /** The client that sent it. */
  readonly key: string;
  /** Units that it takes; a positive integer. */
  readonly cost: number;
}

/** Where requests come from: a trace, entries, or a function that opens them. It is read once. */
export type LogSource =
  | Trace
  | Iterable<LogEntry>
  | AsyncIterable<LogEntry>
  | (() => Iterable<LogEntry> | AsyncIterable<LogEntry>);

/** A line that could not be read. */
export interface UnreadLine {
  /** Its number, counted from 1. */
  readonly line: number;
  /** Its text, shortened to 200 characters. */
  readonly text: string;
  /** Why. */
  readonly reason: string;
}

/** Facts about a log beside its requests. */
export interface LogFacts {
  /** Its lines. */
  readonly lines: number;
  /** Its bytes, decompressed. */
  readonly bytes: number;
  /** Lines that could not be read: neither requests nor headers. */
  readonly unread: number;
  /** The first of them. */
  readonly firstUnread: readonly UnreadLine[];
  /** Requests that name no client, by an empty column or a hyphen: they are left out. */
  readonly unnamed: number;
  /** Lines that record something else than a request, such as its end: they are left out. */
  readonly others: number;
  /** The forms that were found. */
  readonly formats: readonly string[];
  /** The columns that distinguished clients; without any, all requests count as one client's. */
  readonly keys: readonly string[];
  /** Whether clients were found among forwarded addresses. */
  readonly hasLists: boolean;
  /** The columns that there are, or the paths of values in objects; the first 40. */
  readonly columns: readonly string[];
  /**
   * The milliseconds to which times are known: 1, or 1,000 where the log is written in whole seconds.
   * The requests of such a second are then spread over it, in the order of their lines.
   */
  readonly resolution: number;
  /** The conditions on its lines. */
  readonly where: readonly string[];
  /** Lines on which one of them did not hold. */
  readonly leftOut: number;
  /** The marks of requests; `undefined` without `marks`. */
  readonly seen?: RequestsSeen | undefined;
}

/** The marks of a log's requests. */
export interface RequestsSeen {
  /** Whether the log names methods and paths. */
  readonly hasPaths: boolean;
  /** Requests that a limit refused: those answered by 429. */
  readonly refused: number;
  /** The paths at which clients log in, with the requests to each; at most 50. */
  readonly logins: readonly (readonly [path: string, requests: number])[];
}

/** How much a log holds. */
export interface LogTotals {
  /** The requests. */
  readonly requests: number;
  /** Their units. */
  readonly units: number;
  /** Requests of clients beyond the bound on clients: nothing else counts them. */
  readonly untracked: number;
  /** The first instant: milliseconds since the Unix epoch. */
  readonly start: number;
  /** The last instant. */
  readonly end: number;
  /** Facts about the log itself; `undefined` for entries that `readTrace` did not read. */
  readonly log: LogFacts | undefined;
}

/** The requests of a log, read once and held as numbers. */
export interface Trace extends LogTotals {
  /** Requests that came with an earlier time than one before them; they are put in order. */
  readonly backSteps: number;
  /** The clients, in the order of their first requests. */
  readonly clients: readonly string[];
  /** How many requests each client has. */
  readonly counts: readonly number[];
  /** When requests came, client by client: milliseconds since the Unix epoch. */
  readonly at: Float64Array;
  /** Their costs; `undefined` where all are 1. */
  readonly cost: Float64Array | undefined;
  /** The result of `markOf` for each; absent where nobody asked for it. */
  readonly marks?: Uint8Array | undefined;
  /** The place of each request in the order in which they came. */
  readonly order: Uint32Array;
}

/** The totals of a trace, for a report about it. */
export function totalsOf({ requests, units, untracked, start, end, log }: Trace): LogTotals {
  return { requests, units, untracked, start, end, log };
}

/** Some requests, such as those of a block, in the order in which they came. */
export interface TraceRows {
  /** Milliseconds since the Unix epoch. */
  readonly at: Float64Array;
  /** Indexes of clients. */
  readonly client: Uint32Array;
  /** Costs; `undefined` where all are 1. */
  readonly cost: Float64Array | undefined;
  /** The result of `markOf` for each request; absent where nobody asked for it. */
  readonly marks?: Uint8Array | undefined;
}

/** A trace that grows. */
export interface TraceBuilder {
  readonly clients: string[];
  readonly rows: TraceRows[];
  log: LogFacts | undefined;
  readonly ids: Map<string, number>;
  readonly maxClients: number;
}

const UNTRACKED = 0xffff_ffff;

/** Makes a trace without requests. */
export function traceBuilder(maxClients: number): TraceBuilder {
  return { clients: [], rows: [], log: undefined, ids: new Map(), maxClients };
}

/** The trace of what was read, client by client. */
export function builtTrace({ clients, rows, log }: TraceBuilder): Trace {
  const counts: number[] = Array(clients.length).fill(0);
  const none = {
    requests: 0,
    units: 0,
    untracked: 0,
    backSteps: 0,
    start: Infinity,
    end: -Infinity,
  };
  const totals = rows.reduce((sums, part) => countRows(part, counts, sums), none);
  const next = new Uint32Array(counts.length);
  let length = 0;
  counts.forEach((count, client) => {
    next[client] = length;
    length += count;
  });
  const at = new Float64Array(length);
  const order = new Uint32Array(length);
  const cost = rows.some(({ cost }) => cost !== undefined)
    ? new Float64Array(length).fill(1)
    : undefined;
  const marks = rows.some(({ marks }) => marks !== undefined) ? new Uint8Array(length) : undefined;
  const grouped = { at, cost, marks, order };
  rows.reduce((arrived, part) => groupRows(part, grouped, next, arrived), 0);
  if (totals.backSteps > 0) {
    const columns = [at, order, ...[cost, marks].filter((column) => column !== undefined)];
    next.forEach((end, client) => putInOrder(columns, end - counts[client]!, end));
  }
  return { ...totals, log, clients, counts, ...grouped };
}

/** Counts rows, by client too, and adds them to the totals. */
function countRows(
  { at, client, cost }: TraceRows,
  counts: number[],
  { requests, units, untracked, backSteps, start, end }: Omit<LogTotals, "log"> & {
    readonly backSteps: number;
  },
) {
  for (let row = 0; row < at.length; row++) {
    const instant = at[row]!;
    if (instant < end) backSteps++;
    else end = instant;
    if (instant < start) start = instant;
    units += cost === undefined ? 1 : cost[row]!;
    const id = client[row]!;
    if (id === UNTRACKED) untracked++;
    else counts[id]!++;
  }
  return { requests: requests + at.length, units, untracked, backSteps, start, end };
}

/** Puts rows with those of their clients, whose next places are known; returns how many came so far. */
function groupRows(
  { client, ...rows }: TraceRows,
  { at, cost, marks, order }: Pick<Trace, "at" | "cost" | "marks" | "order">,
  next: Uint32Array,
  before: number,
): number {
  let arrived = before;
  for (let row = 0; row < client.length; row++) {
    if (client[row] === UNTRACKED) continue;
    const index = next[client[row]!]!++;
    at[index] = rows.at[row]!;
    order[index] = arrived++;
    if (rows.cost !== undefined) cost![index] = rows.cost[row]!;
    if (rows.marks !== undefined) marks![index] = rows.marks[row]!;
  }
  return arrived;
}

/** Puts one client's requests in order of time; requests of one instant keep their order. */
function putInOrder(
  columns: readonly (Float64Array | Uint32Array | Uint8Array)[],
  from: number,
  to: number,
): void {
  const at = columns[0]!.slice(from, to);
  let ordered = 1;
  while (ordered < at.length && at[ordered]! >= at[ordered - 1]!) ordered++;
  if (ordered >= at.length) return;
  const rows = Uint32Array.from(at.keys())
    .sort((one, other) => at[one]! - at[other]! || one - other);
  for (const column of columns) column.set(picked(column.slice(from, to), rows), from);
}

/**
 * The requests of a trace whose marks have a bit. Clients keep their indexes, and the span stays the
 * span of the whole trace.
 */
export function markedTrace(trace: Trace, bit: number): Trace {
  const { at, cost, marks, order } = trace;
  const rows = new Uint32Array(at.length);
  let requests = 0;
  let units = 0;
  let row = 0;
  const counts = trace.counts.map((count) => {
    const before = requests;
    for (const end = row + count; row < end; row++) {
      if (marks === undefined || (marks[row]! & bit) === 0) continue;
      rows[requests++] = row;
      units += cost === undefined ? 1 : cost[row]!;
    }
    return requests - before;
  });
  const own = rows.subarray(0, requests);
  return {
    ...{ ...trace, requests, units, counts, at: picked(at, own), order: picked(order, own) },
    ...{ cost: cost && picked(cost, own), marks: marks && picked(marks, own) },
  };
}

/** Some rows of a column; a loop is ten times as fast as `from` with a function. */
function picked<Values extends Float64Array | Uint32Array | Uint8Array>(
  column: Values,
  rows: Uint32Array,
): Values {
  const values = column.slice(0, rows.length) as Values;
  for (let row = 0; row < rows.length; row++) values[row] = column[rows[row]!]!;
  return values;
}

/** The index of the client with a key; one number for all clients beyond the bound. */
export function idOf({ ids, clients, maxClients }: TraceBuilder, key: string): number {
  let id = ids.get(key);
  if (id !== undefined) return id;
  if (clients.length === maxClients) return UNTRACKED;
  id = clients.length;
  ids.set(key, id);
  clients.push(key);
  return id;
}

/** The trace of entries, or of a trace itself. */
export async function traceOf(
  action: string,
  source: LogSource,
  maxClients: number,
): Promise<Trace> {
  const trace = isTrace(source) ? source : await traceOfEntries(action, source, maxClients);
  const { leftOut = 0, where = [] } = trace.log ?? {};
  if (trace.requests === 0 && leftOut > 0) {
    throw new RangeError(
      `Cannot ${action} as a line must have ${where.join(", ")}: none of ${leftOut} lines has`,
    );
  }
  if (trace.requests === 0) {
    throw new RangeError(errorMessage(action, "the log must contain at least one request", 0));
  }
  return trace;
}

async function traceOfEntries(
  action: string,
  source: Exclude<LogSource, Trace>,
  maxClients: number,
): Promise<Trace> {
  const trace = traceBuilder(maxClients);
  let entries: LogEntry[] = [];
  function add(): void {
    const at = Float64Array.from(entries, ({ at }) => Math.floor(at));
    const client = Uint32Array.from(entries, ({ key }) => idOf(trace, key));
    const cost = Float64Array.from(entries, ({ cost }) => cost);
    trace.rows.push({ at, client, cost });
    entries = [];
  }
  for await (const entry of openSource(action, source)) {
    checkInteger(action, "at", Math.floor(entry.at), 0, LAST_INSTANT);
    checkInteger(action, "cost", entry.cost, 1);
    if (entries.push(entry) === 1 << 14) add();
  }
  add();
  return builtTrace(trace);
}

function isTrace(source: LogSource): source is Trace {
  return typeof source === "object" && source !== null && "order" in source;
}

function openSource(
  action: string,
  source: Exclude<LogSource, Trace>,
): Iterable<LogEntry> | AsyncIterable<LogEntry> {
  const opened = typeof source === "function" ? source() : source;
  const shape = typeof opened === "object" ? opened as object | null : null;
  if (shape !== null && (Symbol.iterator in shape || Symbol.asyncIterator in shape)) return opened;
  const rule = "the log must be a trace, entries, or a function that opens them";
  throw new TypeError(errorMessage(action, rule, source));
}

/** One client's requests, in order of time. */
export interface ClientRequests {
  readonly at: Float64Array;
  /** Costs; `undefined` where all are 1. */
  readonly cost: Float64Array | undefined;
}

/**
 * Visits clients, one after the other, each with all of its requests.
 *
 * @param included Which clients are visited, if they have requests: 1, else 0; default all of them.
 */
export function eachClient(
  { counts, at, cost }: Trace,
  visit: (client: number, requests: ClientRequests) => void,
  included?: Uint8Array,
): void {
  let to = 0;
  for (let client = 0; client < counts.length; client++) {
    const from = to;
    to += counts[client]!;
    if (included !== undefined && (included[client] === 0 || from === to)) continue;
    visit(client, { at: at.subarray(from, to), cost: cost?.subarray(from, to) });
  }
}

/** The requests of the clients that are included: 1, else 0. */
export function requestsOf(
  trace: Trace,
  included: Uint8Array,
): ReadonlyMap<number, ClientRequests> {
  const found = new Map<number, ClientRequests>();
  if (included.includes(1)) {
    eachClient(trace, (client, requests) => found.set(client, requests), included);
  }
  return found;
}

/**
 * Visits all requests in order of time; requests of one instant in the order in which they came.
 */
export function eachRequest(
  { counts, at, cost, order }: Trace,
  visit: (client: number, at: number, cost: number) => void,
): void {
  const clients = new Uint32Array(at.length);
  let to = 0;
  counts.forEach((count, client) => clients.fill(client, to, to += count));
  const rows = Uint32Array.from(at.keys())
    .sort((one, other) => at[one]! - at[other]! || order[one]! - order[other]!);
  for (const row of rows) visit(clients[row]!, at[row]!, cost === undefined ? 1 : cost[row]!);
}
