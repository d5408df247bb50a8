/*
 * The message about a log that cannot be read: what it seems to be instead, which columns it has,
 * and how to name them. It may be any file at all, so little of it is shown.
 */

import type { Buffer } from "node:buffer";

import { formatValue } from "../../../core/application_support.ts";
import { safeText } from "../output/format_numbers.ts";
import {
  FORMAT_NAMES,
  FORMS,
  type Layout,
  layoutOf,
  type LayoutOptions,
  NOTHING_NAMED,
  type Shape,
} from "./layout.ts";
import { blockParser, SHOWN_COLUMNS, SHOWN_LINES } from "./parse_block.ts";
import type { LogFacts, UnreadLine } from "./trace.ts";

/** How options are given on the command line and in code. */
const FLAGS = {
  time: "--time NAME (in code columns.time)",
  key: "--key NAME (in code key)",
} as const;

/**
 * The error of a log that has no form that is known.
 *
 * @param other The form that it has without the caller's pattern.
 */
export function noLayout(
  sample: Buffer,
  shapes: readonly Shape[],
  options: LayoutOptions,
  other: Shape["format"] | undefined,
): TypeError {
  const { name, format, pattern, time } = options;
  const kind = strangeKind(sample);
  if (kind !== undefined) return new TypeError(`Cannot read ${name} as ${kind}`);
  const [shape] = shapes.filter((shape) => pattern !== undefined || isNamedByLog(shape))
    .sort((one, another) => another.columns.length - one.columns.length);
  const columns = shape?.columns ?? [];
  const isTable = columns.length > 1 && columns.every(isColumnName);
  if (shape !== undefined && (pattern !== undefined || isTable)) {
    const layout = layoutOf(shape, { ...options, ...NOTHING_NAMED });
    if (layout === undefined) {
      return time === undefined ? noTime(name, columns) : noColumn(name, "time", time, columns);
    }
    const parser = blockParser(layout);
    parser.parse(sample);
    const facts = parser.facts();
    if (pattern === undefined) return nothingRead(options, layout, facts);
    const hint = other === undefined ? "" : `\nwithout a pattern, it reads as ${other}`;
    return new TypeError(
      `Cannot read ${name} as its lines must have the given pattern:` +
        `${reasonsText(facts.firstUnread)}${hint}`,
    );
  }
  const forms = format === undefined
    ? `one of the formats ${FORMAT_NAMES.join(", ")}`
    : `the format ${format}`;
  const lines = sample.toString("utf8").split(/\r?\n/).filter((line) => line !== "");
  return new TypeError(`Cannot read ${name} as its lines must have ${forms}:${shown(lines)}`);
}

/** Whether the log itself names its columns. */
export function isNamedByLog({ format }: Pick<Shape, "format">): boolean {
  return format !== "pattern" && FORMS[format]?.patterns === undefined;
}

/** The error of an option that names a column that is not there. */
export function noColumn(
  name: string,
  option: string,
  column: string,
  columns: readonly string[],
): TypeError {
  return new TypeError(
    `Cannot read ${name} as ${option} must name one of its columns: current value is ` +
      `${formatValue(column)}; its columns are ${columnsText(columns)}`,
  );
}

function noTime(name: string, columns: readonly string[]): TypeError {
  return new TypeError(
    `Cannot read ${name} because no column has a usual name for the time, such as time or timestamp: ` +
      `its columns are ${
        columnsText(columns)
      }. Name the one that holds the time with ${FLAGS.time}`,
  );
}

/** The error of a log that has a form, and no request that could be read. */
export function nothingRead(
  { name }: LayoutOptions,
  { format, key, requires, columns }: Layout,
  { unread, unnamed, others, firstUnread }: LogFacts,
): TypeError {
  const own = `its columns are ${columnsText(columns)}`;
  if (unread === 0 && unnamed > 0) {
    const keys = key.map(({ name }) => safeText(name)).join(" or ");
    return new TypeError(
      `Cannot read ${name} because no line names a client in ${keys}: ${own}. ` +
        `Name another one with ${FLAGS.key}`,
    );
  }
  if (unread === 0) {
    return new TypeError(
      `Cannot read ${name} as a line of a request must have ${requires.join(" and ")}: ` +
        `none of ${others} has; ${own}`,
    );
  }
  const hint = isNamedByLog({ format })
    ? `${own}; name those of the time and the client with ${FLAGS.time} and ${FLAGS.key}`
    : `the formats are ${FORMAT_NAMES.join(", ")}`;
  return new TypeError(
    `Cannot read ${name} as its lines must have the format ${format}: ` +
      `none of ${unread} could be read${reasonsText(firstUnread)}\n${hint}`,
  );
}

function reasonsText(lines: readonly UnreadLine[]): string {
  return lines.map(({ line, text, reason }) =>
    `\n  line ${line}: ${formatValue(safeText(text))}: ${reason}`
  ).join("");
}

/** The names of columns, as many as people read. */
export function columnsText(columns: readonly string[]): string {
  const more = columns.length - SHOWN_COLUMNS;
  const names = columns.slice(0, SHOWN_COLUMNS).map((name) => safeText(name)).join(", ");
  return more > 0 ? `${names} and ${more} more` : names;
}

function shown(lines: readonly string[]): string {
  return lines.slice(0, SHOWN_LINES).map((line) => `\n  ${formatValue(safeText(line))}`).join("");
}

/** Whether a text can be the name of a column: binary data and whole lines of JSON cannot. */
function isColumnName(text: string): boolean {
  return text.length <= 100 && text === safeText(text, 100);
}

/** Files that are taken for logs, by the bytes that they begin with, and what turns them into text. */
const KINDS: readonly (readonly [start: string, kind: string])[] = [
  ["\xfd7zXZ", "it is compressed by xz: decompress it with xz -dc FILE | tidegate replay -"],
  ["BZh", "it is compressed by bzip2: decompress it with bzip2 -dc FILE | tidegate replay -"],
  ["PK\x03\x04", "it is a zip archive: unpack it with unzip -p FILE | tidegate replay -"],
  ["\xff\xfe", "it is UTF-16: convert it with iconv -f UTF-16 -t UTF-8 FILE"],
  ["\xfe\xff", "it is UTF-16: convert it with iconv -f UTF-16 -t UTF-8 FILE"],
];

/** The kind of file that it is instead of a log, if that can be seen. */
function strangeKind(sample: Buffer): string | undefined {
  const start = sample.toString("latin1", 0, 4_096);
  const known = KINDS.find(([bytes]) => start.startsWith(bytes));
  if (known !== undefined) return `it must be text: ${known[1]}`;
  if (/^\s*\[\s*[{\]]/.test(start)) {
    return "it must have one object on each line: it is a JSON array, whose items jq -c '.[]' FILE " +
      "writes as lines";
  }
  if (/^\s*\{\s*\n/.test(start)) {
    return "it must have one object on each line: its objects span several lines, which jq -c . FILE " +
      "puts into one";
  }
  // deno-lint-ignore no-control-regex
  const strange = start.match(/[\x00-\x08\x0e-\x1a\x1c-\x1f]/g)?.length ?? 0;
  if (strange === 0 || (strange * 20 < start.length && !start.includes("\0"))) return undefined;
  const bytes = sample.subarray(0, 8).toString("hex").replace(/..(?=.)/g, "$& ");
  return `it must be text: it is binary, and begins with the bytes ${bytes}`;
}
