/*
 * Finds the form of a log by trying: of all forms that fit its first lines, it takes the form that
 * reads most of them.
 */

import { Buffer } from "node:buffer";

import { clientOfList, isAddressList } from "./client_of_list.ts";
import { EITHER_NAME, hostIsClient, isForwardedName, requestObjects } from "./column_names.ts";
import {
  type Field,
  fieldOf,
  FORMAT_NAMES,
  FORMS,
  IPV6_PREFIX,
  type Layout,
  layoutOf,
  type LayoutOptions,
  networkOf,
  NOTHING_NAMED,
  type Shape,
} from "./layout.ts";
import { pathsOf } from "./line_fields.ts";
import { blockParser, type LogRecord } from "./parse_block.ts";
import { readPattern } from "./read_pattern.ts";
import { noColumn, noLayout } from "./unreadable_log.ts";

/** How many lines are tried, and how many paths of objects are known as columns. */
const TRIED_LINES = 1_000;
const MAX_PATHS = 500;

/**
 * Splits a block into sections by layout. The first section has the layout of the block before. Servers that write the W3C's form name their
 * fields again at each start.
 *
 * @throws {TypeError} If the log lacks a column that the caller names.
 */
export function* sectionsOf(
  block: Uint8Array,
  before: Layout,
  options: LayoutOptions,
): Generator<{ readonly bytes: Uint8Array; readonly layout: Layout }> {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.length);
  let layout = before;
  let start = 0;
  if (layout.directives) {
    for (let at = 0; (at = bytes.indexOf("#Fields:", at)) !== -1; at++) {
      if (at > 0 && bytes[at - 1] !== 10) continue;
      const columns = directiveColumns(bytes.toString("utf8", at, lineEnd(bytes, at, 1)));
      if (columns.join() === layout.columns.join()) continue;
      if (at > start) yield { bytes: block.subarray(start, at), layout };
      const literals = literalsOf(columns, layout.literals[1] ?? " ");
      const { isCoarse } = layout;
      layout = { ...checkedLayout({ ...layout, columns, literals }, options), isCoarse };
      start = at;
    }
  }
  yield { bytes: block.subarray(start), layout };
}

/**
 * Finds the layout of a log in its first lines.
 *
 * @throws {TypeError} If no form fits, or the log lacks a column that the caller names.
 */
export function findLayout(block: Uint8Array, options: LayoutOptions): Layout {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.length);
  const sample = bytes.subarray(0, lineEnd(bytes, 0, TRIED_LINES));
  const found = bestShape(sample, options) ?? bestShape(sample, { ...options, time: undefined });
  if (found === undefined) {
    const other = bestShape(sample, { ...options, pattern: undefined });
    throw noLayout(sample, shapesOf(sample, options), options, other?.format);
  }
  const layout = checkedLayout(found, options);
  const records: LogRecord["fields"][] = [];
  const keep = ({ fields }: LogRecord) => String(records.push(fields));
  blockParser({ ...layout, cost: [], where: [], request: undefined }, { key: keep }).parse(sample);
  return refined(records, layout, options);
}

/** An address without a port: names and ports are servers'. */
const ALONE_REGEXP = /^(?:[\d.]+|[\da-f.]*:[\da-f.]*:[\da-f:.]*)$/i;

/**
 * Completes a layout by what the first readable lines show: whether times are whole seconds as they
 * are written, whether `host` is the client, and which columns hold forwarded addresses.
 */
function refined(
  records: readonly LogRecord["fields"][],
  found: Layout,
  { key, host, proxies }: LayoutOptions,
): Layout {
  const isCoarse = records.length > 0 && records.every((fields) => isWholeSecond(fields, found));
  const valuesOf = (column: string) =>
    records.map((record) => record[column] ?? "").filter((value) => value !== "" && value !== "-");
  const [first] = found.key;
  const own = first === undefined ? [] : valuesOf(first.name);
  const isEither = (host ?? key) === undefined && first?.name.toLowerCase() === EITHER_NAME;
  if (isEither && !hostIsClient(found.columns) && !own.every((name) => ALONE_REGEXP.test(name))) {
    return { ...found, key: [], isCoarse };
  }
  const layout = { ...found, isCoarse };
  const isNamed = host !== undefined || (key !== undefined && networkOf(key) === undefined);
  const isAddress = isNamed
    ? own.length > 0 && own.every(isAddressList)
    : first?.part === "address";
  if (!isAddress) return layout;
  const forwarded = layout.columns.filter((column) =>
    !isNamed && column !== first!.name && holdsForwarded(column, valuesOf(column), proxies)
  );
  const asAddress = (field: Field): Field => ({ ...field, part: "address" });
  return {
    ...layout,
    key: layout.key.filter(({ name }) => !forwarded.includes(name)).map(asAddress),
    network: layout.network ?? IPV6_PREFIX,
    hasLists: forwarded.length > 0 ||
      own.some((value) => value.includes(",") && isAddressList(value)),
    forwarded: forwarded.map((name) => asAddress(fieldOf(layout.columns, name)!)),
  };
}

/** Whether a time is written without a part of a second. */
function isWholeSecond(fields: LogRecord["fields"], { time, format }: Layout): boolean {
  // A date and a time of day are two fields; for objects, the first field that is present counts.
  const texts = time.map(({ name }) => fields[name]).filter((text) => text);
  const written = (format === "json" ? texts[0] : texts.at(-1)) ?? "";
  // A number of 12 or more digits counts milliseconds, or a smaller unit.
  return /^\d+$/.test(written) ? written.length <= 11 : !/[.,]/.test(written);
}

/** Whether a column holds forwarded addresses: by its name, or because it holds lists of addresses. */
function holdsForwarded(
  column: string,
  values: readonly string[],
  proxies: readonly string[],
): boolean {
  if (values.length === 0 || !values.every(isAddressList)) return false;
  const { hasOnlyProxies } = clientOfList(IPV6_PREFIX, proxies);
  return isForwardedName(column) || values.some((value) => value.includes(",")) ||
    // Before the address of a proxy stands either the server's or the client's.
    (column === "vhost" && !values.every(hasOnlyProxies));
}

/** The layout of a log, with all columns that the caller names. */
function checkedLayout(shape: Shape, options: LayoutOptions): Layout {
  const layout = layoutOf(shape, options)!;
  const { time = "time", key, host, cost, where } = options;
  const costs = layout?.cost.map(({ name }) => name.toLowerCase());
  const places = layout?.where.map(({ name }) => name);
  const named = [
    ["time", time, layout !== undefined],
    ["key", key ?? host, networkOf(key) !== undefined || layout?.key.length > 0],
    ...cost.map((name) => ["cost", name, costs?.includes(name.toLowerCase())] as const),
    ...where.map(({ name }) => ["where", name, places?.includes(name)] as const),
  ] as const;
  for (const [option, column, isKnown] of named) {
    if (column === undefined || isKnown) continue;
    throw noColumn(options.name, option, column, shape.columns);
  }
  return layout;
}

function directiveColumns(line: string): readonly string[] {
  return line.replace(/^#Fields:/, "").trim().split(/\s+/);
}

function bestShape(sample: Buffer, options: LayoutOptions): Shape | undefined {
  let best: Shape | undefined;
  let most = 0;
  for (const shape of shapesOf(sample, options)) {
    // The caller's other names are checked once the form is known.
    const layout = layoutOf(shape, { ...options, ...NOTHING_NAMED });
    if (layout === undefined) continue;
    const parser = blockParser(layout);
    const { length } = parser.parse(sample).at;
    const { lines, unread } = parser.facts();
    // Nothing but a header is a log without requests, not one of another form.
    const isWanted = unread === 0 || options.format !== undefined;
    if (length > most || (best === undefined && isWanted)) {
      best = shape;
      most = length;
    }
    if (length > 0 && length === lines) break;
  }
  return best;
}

/** The columns that a log has in each form that it may have. */
function shapesOf(sample: Buffer, { format, pattern }: LayoutOptions): readonly Shape[] {
  const lines = sample.toString("utf8").split(/\r?\n/);
  const first = lines.findIndex((line) => line !== "");
  const ends = [first, first + 1].map((count) => lineEnd(sample, 0, count));
  const header = sample.toString("latin1", ...ends).replace(/\r?\n$/, "");
  const plain = { header: "", requires: [], literals: [], hasQuotes: false, directives: false };
  if (pattern !== undefined) return [{ ...plain, format: "pattern", ...pattern }];
  return (format === undefined ? FORMAT_NAMES : [format]).flatMap((format): readonly Shape[] => {
    const { patterns, directives = false, separator, hasQuotes = false } = FORMS[format];
    if (patterns !== undefined) {
      return patterns.map((text) => ({ ...plain, format, ...readPattern(text) }));
    }
    if (separator === undefined) return [{ ...plain, format, ...objectShape(lines) }];
    const line = directives
      ? lines.find((line) => line.startsWith("#Fields:")) ?? ""
      : lines[first] ?? "";
    const columns = directives
      ? directiveColumns(line)
      : (hasQuotes ? unquoted(line, separator) : line.split(separator)).map((name) => name.trim());
    const literals = literalsOf(columns, separator);
    return [{
      ...{ ...plain, format, columns, literals, hasQuotes, directives },
      header: directives ? "" : header,
    }];
  });
}

/** The text around columns that stand between separators. */
function literalsOf(columns: readonly string[], separator: string): readonly string[] {
  return ["", ...columns.slice(1).map(() => separator), ""];
}

/** The paths of lines that are objects, and the objects that their requests have. */
function objectShape(lines: readonly string[]): Pick<Shape, "columns" | "requires"> {
  const paths = new Set<string>();
  const objects: object[] = [];
  for (const line of lines) {
    if (!line.startsWith("{")) continue;
    try {
      objects.push(JSON.parse(line));
    } catch { /* It is no object; the parser counts it. */ }
  }
  for (const object of objects) {
    if (paths.size > MAX_PATHS) break;
    for (const path of pathsOf(object, MAX_PATHS)) paths.add(path);
  }
  return { columns: [...paths], requires: requestObjects(objects) };
}

/** The columns of a header line with quotes. */
function unquoted(line: string, separator: string): readonly string[] {
  return (line.match(
    new RegExp(`(?:"(?:[^"]|"")*"|[^${separator}"])+|(?<=${separator}|^)(?=${separator}|$)`, "g"),
  ) ?? [])
    .map((name) => name.replace(/^"(.*)"$/s, "$1").replaceAll('""', '"'));
}

/** Where so many lines end, counted from a place: behind their last newline. */
function lineEnd(bytes: Buffer, from: number, lines: number): number {
  let end = from;
  for (let line = 0; line < lines && end < bytes.length; line++) {
    const newline = bytes.indexOf(10, end);
    end = newline === -1 ? bytes.length : newline + 1;
  }
  return end;
}
