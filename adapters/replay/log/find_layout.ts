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
  networkOf,
  type Shape,
} from "./layout.ts";
import { pathsOf } from "./line_fields.ts";
import { blockParser, SHOWN_LINES } from "./parse_block.ts";

/** How many lines are tried, and how many paths of objects are known as columns. */
const TRIED_LINES = 1_000;
const MAX_PATHS = 500;

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
): Generator<{ readonly bytes: Uint8Array; readonly layout: Layout }> {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.length);
  let layout = before ?? findLayout(bytes, options);
  let start = 0;
  if (FORMS[layout.format].directives === true) {
    for (let at = 0; (at = bytes.indexOf("#Fields:", at)) !== -1; at++) {
      if (at > 0 && bytes[at - 1] !== 10) continue;
      const columns = directiveColumns(bytes.toString("utf8", at, lineEnd(bytes, at, 1)));
      if (columns.join() === layout.columns.join()) continue;
      if (at > start) yield { bytes: block.subarray(start, at), layout };
      layout = checkedLayout({ ...layout, columns }, options);
      start = at;
    }
  }
  yield { bytes: block.subarray(start), layout };
}

function findLayout(bytes: Buffer, options: LayoutOptions): Layout {
  const sample = bytes.subarray(0, lineEnd(bytes, 0, TRIED_LINES));
  const found = bestShape(sample, options) ?? bestShape(sample, { ...options, time: undefined });
  if (found === undefined) throw noLayout(sample, options);
  return checkedLayout(found, options);
}

/** The layout of a log, with all columns that the caller names. */
function checkedLayout(shape: Shape, options: LayoutOptions): Layout {
  const layout = layoutOf(shape, options)!;
  const { time = "time", key, cost, where } = options;
  const costs = layout?.cost.map(({ name }) => name.toLowerCase());
  const places = layout?.where.map(({ name }) => name);
  const named = [
    ["time", time, layout !== undefined],
    ["key", key, networkOf(key) !== undefined || layout?.key.length > 0],
    ...cost.map((name) => ["cost", name, costs?.includes(name.toLowerCase())] as const),
    ...where.map(({ name }) => ["where", name, places?.includes(name)] as const),
  ] as const;
  for (const [option, column, isKnown] of named) {
    if (column === undefined || isKnown) continue;
    throw new TypeError(
      `Cannot read ${options.name} as ${option} must be a column of it: there is no ` +
        `${formatValue(column)}; there are ${shape.columns.slice(0, 40).join(", ")}`,
    );
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
    const layout = layoutOf(shape, {
      ...options,
      key: undefined,
      cost: [],
      where: [],
      marks: false,
    });
    if (layout === undefined) continue;
    const { at, unread } = blockParser()(sample, layout);
    // Nothing but a header is a log without requests, not one of another form.
    const isWanted = unread === 0 || options.format !== undefined;
    if (at.length > most || (best === undefined && isWanted)) {
      best = shape;
      most = at.length;
    }
  }
  return best;
}

/** The columns that a log has in each form that it may have. */
function shapesOf(sample: Buffer, { format }: LayoutOptions): readonly Shape[] {
  const lines = sample.toString("utf8").split(/\r?\n/);
  const first = lines.findIndex((line) => line !== "");
  const ends = [first, first + 1].map((count) => lineEnd(sample, 0, count));
  const bytes = sample.toString("latin1", ...ends).replace(/\r?\n$/, "");
  return (format === undefined ? FORMAT_NAMES : [format]).map((format): Shape => {
    const { columns, directives, separator, quotes } = FORMS[format];
    if (columns !== undefined) return { format, columns, header: "" };
    if (separator === undefined) return { format, columns: pathsOfLines(lines), header: "" };
    if (directives === true) {
      const line = lines.find((line) => line.startsWith("#Fields:")) ?? "";
      return { format, columns: directiveColumns(line), header: "" };
    }
    const line = lines[first] ?? "";
    const names = quotes === undefined ? line.split(separator) : unquoted(line, separator);
    return { format, columns: names.map((name) => name.trim()), header: bytes };
  });
}

function pathsOfLines(lines: readonly string[]): readonly string[] {
  const paths = new Set<string>();
  for (const line of lines) {
    if (!line.startsWith("{") || paths.size > MAX_PATHS) continue;
    try {
      for (const path of pathsOf(JSON.parse(line), MAX_PATHS)) paths.add(path);
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

function noLayout(sample: Buffer, options: LayoutOptions): TypeError {
  const { name, format } = options;
  const lines = sample.toString("utf8").split(/\r?\n/).filter((line) => line !== "");
  const shown = lines.slice(0, SHOWN_LINES).map((line) => `\n  ${formatValue(line)}`).join("");
  const columns = shapesOf(sample, options)
    .filter(({ format }) => FORMS[format].columns === undefined)
    .map(({ columns }) => columns)
    .reduce((most, columns) => columns.length > most.length ? columns : most, []);
  const rule = columns.length > 1
    ? `one of its columns must be said to hold the time; there are ${columns.join(", ")}`
    : `its first lines must have ${
      format === undefined ? `one of the forms ${FORMAT_NAMES.join(", ")}` : `the form ${format}`
    }`;
  return new TypeError(`Cannot read ${name} as ${rule}:${shown}`);
}
