/*
 * Finds the form of a log by trying: of all forms that fit its first lines, the one that reads most
 * of them.
 */

import { Buffer } from "node:buffer";

import { formatValue } from "../../../core/toolkit.ts";
import {
  FORMAT_NAMES,
  FORMS,
  type Layout,
  layoutOf,
  type LayoutOptions,
  type LogFormat,
  networkOf,
} from "./layout.ts";
import { pathsOf } from "./line_fields.ts";
import { blockParser, SHOWN_LINES } from "./parse_block.ts";

/** How many lines are tried, and how many paths of objects are known as columns. */
const TRIED_LINES = 1_000;
const MOST_PATHS = 500;

/** Lines of one layout. */
export interface Section {
  readonly bytes: Uint8Array;
  readonly layout: Layout;
  /** Header lines before them. */
  readonly headerLines: number;
}

/**
 * The sections of a block, by layout: that of the block before, or the one that the first lines of
 * the log have. Servers that write the W3C's form name their fields again when they are started.
 *
 * @throws {TypeError} If no form fits, or a column that the caller names is none of the log's.
 */
export function* sectionsOf(
  block: Uint8Array,
  before: Layout | undefined,
  options: LayoutOptions,
): Generator<Section> {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.length);
  const found = before === undefined ? findLayout(bytes, options) : undefined;
  let layout = found?.layout ?? before!;
  let start = found?.header ?? 0;
  const headerLines = found?.headerLines ?? 0;
  if (FORMS[layout.format].directives === true) {
    for (let at = start; (at = bytes.indexOf("#Fields:", at)) !== -1; at++) {
      if (at > 0 && bytes[at - 1] !== 10) continue;
      const columns = directiveColumns(bytes.toString("utf8", at, lineEnd(bytes, at, 1)));
      if (columns.join() === layout.columns.join()) continue;
      if (at > start) yield { bytes: block.subarray(start, at), layout, headerLines };
      layout = checkedLayout(layout.format, columns, options);
      start = at;
    }
  }
  yield { bytes: block.subarray(start), layout, headerLines };
}

/** A layout, and where the log's lines begin. */
interface FoundLayout {
  readonly layout: Layout;
  readonly header: number;
  readonly headerLines: number;
}

function findLayout(bytes: Buffer, options: LayoutOptions): FoundLayout {
  const sample = bytes.subarray(0, lineEnd(bytes, 0, TRIED_LINES));
  const found = bestLayout(sample, options) ?? bestLayout(sample, { ...options, time: undefined });
  if (found === undefined) throw noLayout(sample, options);
  const { format, columns } = found.layout;
  return { ...found, layout: checkedLayout(format, columns, options) };
}

/** The layout of a form, with all columns that the caller names. */
function checkedLayout(
  format: LogFormat,
  columns: readonly string[],
  options: LayoutOptions,
): Layout {
  const layout = layoutOf(format, columns, options)!;
  const { name, time = "time", key, cost } = options;
  requireColumn(name, "time", time, layout !== undefined, columns);
  const isKnown = networkOf(key) !== undefined || layout.key.length > 0;
  requireColumn(name, "key", key, isKnown, columns);
  const costs = layout.cost.map(({ name }) => name.toLowerCase());
  for (const column of cost) {
    requireColumn(name, "cost", column, costs.includes(column.toLowerCase()), columns);
  }
  return layout;
}

function directiveColumns(line: string): readonly string[] {
  return line.replace(/^#Fields:/, "").trim().split(/\s+/);
}

function bestLayout(sample: Buffer, options: LayoutOptions): FoundLayout | undefined {
  let best: FoundLayout | undefined;
  let most = 0;
  for (const name of options.format === undefined ? FORMAT_NAMES : [options.format]) {
    const { columns, headerLines } = columnsOf(name, sample);
    const header = lineEnd(sample, 0, headerLines);
    // The caller's other names are checked once the form is known.
    const layout = layoutOf(name, columns, { ...options, key: undefined, cost: [] });
    if (layout === undefined) continue;
    const { at, unread } = blockParser()(sample.subarray(header), layout);
    // Nothing but a header is a log without requests, not one of another form.
    const isWanted = unread === 0 || options.format !== undefined;
    if (at.length > most || (best === undefined && isWanted)) {
      best = { layout, header, headerLines };
      most = at.length;
    }
  }
  return best;
}

function columnsOf(
  name: LogFormat,
  sample: Buffer,
): { readonly columns: readonly string[]; readonly headerLines: number } {
  const { columns, directives, separator, quotes } = FORMS[name];
  if (columns !== undefined) return { columns, headerLines: 0 };
  const lines = sample.toString("utf8").split(/\r?\n/);
  if (directives === true) {
    const line = lines.find((line) => line.startsWith("#Fields:")) ?? "";
    return { columns: directiveColumns(line), headerLines: 0 };
  }
  if (separator === undefined) return { columns: pathsOfLines(lines), headerLines: 0 };
  const line = lines.find((line) => line !== "") ?? "";
  const names = quotes === undefined ? line.split(separator) : unquoted(line, separator);
  return {
    columns: names.map((name) => name.trim()),
    headerLines: lines.indexOf(line) + 1,
  };
}

function pathsOfLines(lines: readonly string[]): readonly string[] {
  const paths = new Set<string>();
  for (const line of lines) {
    if (!line.startsWith("{") || paths.size > MOST_PATHS) continue;
    try {
      for (const path of pathsOf(JSON.parse(line), MOST_PATHS)) paths.add(path);
    } catch { /* It is no object; the parser counts it. */ }
  }
  return [...paths];
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

function requireColumn(
  log: string,
  option: string,
  name: string | undefined,
  isColumn: boolean,
  columns: readonly string[],
): void {
  if (name === undefined || isColumn) return;
  const known = columns.slice(0, 40).join(", ");
  throw new TypeError(
    `Cannot read ${log} as ${option} must be a column of it: there is no ${formatValue(name)}; ` +
      `there are ${known}`,
  );
}

function noLayout(sample: Buffer, { name, format }: LayoutOptions): TypeError {
  const lines = sample.toString("utf8").split(/\r?\n/).filter((line) => line !== "");
  const shown = lines.slice(0, SHOWN_LINES).map((line) => `\n  ${formatValue(line)}`).join("");
  const columns = (format === undefined ? FORMAT_NAMES : [format])
    .filter((name) => FORMS[name].columns === undefined)
    .map((name) => columnsOf(name, sample).columns)
    .reduce((most, columns) => columns.length > most.length ? columns : most, []);
  const rule = columns.length > 1
    ? `one of its columns must be said to hold the time; there are ${columns.join(", ")}`
    : `its first lines must have ${
      format === undefined ? `one of the forms ${FORMAT_NAMES.join(", ")}` : `the form ${format}`
    }`;
  return new TypeError(`Cannot read ${name} as ${rule}:${shown}`);
}
