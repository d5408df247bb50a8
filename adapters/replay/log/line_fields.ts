/*
 * The fields of one line, found by its layout: between separators, or in an object.
 */

import type { Buffer } from "node:buffer";

import { type KeyTable, NOBODY } from "./key_table.ts";
import { isAddressName } from "./column_names.ts";
import type { Field, Layout } from "./layout.ts";
import { safeText } from "../output/format_numbers.ts";
import { columnName } from "./read_pattern.ts";
import { instantOf, readTime } from "./read_time.ts";

/** The fields of the line that was opened last. */
export interface LineFields {
  /** Finds the fields of a line; false if it has not the form. */
  open(bytes: Buffer, from: number, to: number): boolean;
  /** How far a line fits the caller's pattern, after `open` failed on it. */
  misfit(from: number, to: number): string | undefined;
  /** Milliseconds since the Unix epoch; -1 if the time cannot be read. */
  time(): number;
  /** Whether the line records a request. */
  isRequest(): boolean;
  /** The client's id; `NOBODY` if the line names no client, or has a hyphen. */
  client(table: KeyTable): number;
  /** A field as text; `undefined` or empty if it is absent. */
  text(field: Field): string | undefined;
  /** All fields by name. */
  all(): Readonly<Record<string, string>>;
}

/** No byte in particular. */
const NONE = -1;
/** A byte that never comes. */
const OTHER = -2;
const SPACE = 0x20;
const QUOTE = 0x22;
const HYPHEN = 0x2d;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const CLOSE = 0x5d;

/** Makes the reader of a layout's lines; `readsAll` if more than time, client and cost is asked. */
export function lineFields(layout: Layout, readsAll: boolean): LineFields {
  return layout.format === "json" ? objectFields(layout) : separatedFields(layout, readsAll);
}

/** How a column is read: what stands before it and after it. */
interface Place {
  /** The text before it, without the quote that ends the column before. */
  readonly before: Uint8Array;
  /** Whether quotes stand around it. A hyphen may stand in place of an empty column. */
  readonly isQuoted: boolean;
  /** Whether it may be in quotes. */
  readonly opens: boolean;
  /** The byte after it; -1 at the end of the line. */
  readonly after: number;
  /** The byte after that one; `NONE` if any may follow, `OTHER` if more has to be looked at. */
  readonly second: number;
  /** How often that byte stands within it. */
  readonly skips: number;
  /** Whether it may be a list of addresses, in quotes or not, with spaces after its commas. */
  readonly isList: boolean;
  /** Whether it ends at that byte in any case. */
  readonly isTight: boolean;
}

/** The columns of the named forms that may hold spaces. */
const LOOSE: readonly string[] = ["user", "queues"];

function placesOf({ format, columns, literals, hasQuotes }: Layout): readonly Place[] {
  const isQuoted = columns.map((_, index) =>
    literals[index]!.replace(index > 0 ? /^"/ : "", "").endsWith('"') &&
    literals[index + 1]!.startsWith('"')
  );
  const encoder = new TextEncoder();
  const texts = literals.map((text, index) => {
    const whole = isQuoted[index - 1] ? text.slice(1) : text;
    // A space stands for any number of them.
    return encoder.encode((isQuoted[index] ? whole.slice(0, -1) : whole).replace(/ +/g, " "));
  });
  return columns.map((column, index): Place => {
    const name = columnName(column);
    const next = texts[index + 1]!;
    const after = next[0] ?? (isQuoted[index + 1] ? QUOTE : -1);
    const isSpaced = after === SPACE && !isQuoted[index];
    const skips = isSpaced ? spacesIn(column, name) : 0;
    const isList = isSpaced && (isAddressName(name) || name === "vhost");
    const isAlone = next.length <= 1 && !isQuoted[index + 1];
    return {
      before: texts[index]!,
      isQuoted: isQuoted[index]!,
      opens: isQuoted[index]! || isList || hasQuotes,
      after,
      second: skips > 0 || next.length > 2 ? OTHER : isAlone ? NONE : next[1] ?? QUOTE,
      skips,
      isList,
      isTight: isList || (format !== "pattern" && !LOOSE.includes(name)),
    };
  });
}

/** How many spaces a column has that is not in quotes. */
function spacesIn(column: string, name: string): number {
  if (name === "time_local") return 1;
  if (name === "request") return 2;
  return column === name ? 0 : column.split(" ").length - 1;
}

function separatedFields(layout: Layout, readsAll: boolean): LineFields {
  const { columns, time: [first, second = first], key: [key], where, request } = layout;
  const { hasQuotes, forwarded } = layout;
  // A log that names its own columns may write anything in the one called status.
  const status = layout.header === "" ? columns.indexOf("status") : -1;
  const asked = [
    ...layout.time,
    ...layout.key,
    ...layout.cost,
    ...(request === undefined ? [] : Object.values(request)),
  ]
    .filter((field) => field !== undefined);
  const indices = [...asked, ...where.map(({ field }) => field)].map(({ index }) => index);
  const least = Math.max(status, ...indices) + 1;
  const most = readsAll
    ? columns.length
    : Math.max(least, ...forwarded.map(({ index }) => index + 1));
  const places = placesOf(layout);
  const beforeStatus = layout.literals[status] === '" ' ? status - 1 : -1;
  const escape = hasQuotes ? QUOTE : BACKSLASH;
  const mayBeQuoted = !hasQuotes && !layout.directives && !layout.literals[0]!.startsWith('"');
  const starts = new Int32Array(most);
  const ends = new Int32Array(most);
  let found = 0;
  let line: Buffer;

  function open(bytes: Buffer, from: number, to: number): boolean {
    line = bytes;
    // Some tools put quotes around the whole line, and not only around a list of addresses.
    const isWhole = mayBeQuoted && bytes[from] === QUOTE &&
      bytes[bytes.indexOf(QUOTE, from + 1) + 1] !== places[0]!.after;
    let at = isWhole ? from + 1 : from;
    // A name of its own: what a closure may change is stored and loaded anew at each use.
    let column = 0;
    let end = at;
    for (; column < most; column++) {
      const place = places[column]!;
      const { after, second } = place;
      at = begin(place, bytes, at, to);
      if (at === -1) break;
      starts[column] = at;
      end = at;
      if (place.opens && bytes[at] === QUOTE && at < to) {
        starts[column] = ++at;
        end = closingQuote(bytes, at, to, after, escape, column === beforeStatus);
        if (end === -1) break;
        ends[column] = end;
        at = end + 1;
      } else {
        while (end < to && bytes[end] !== after) end++;
        const isSure = end === to ||
          ((second === NONE || bytes[end + 1] === second) && bytes[end - 1] !== COMMA);
        if (!isSure) end = endOf(column, bytes, at, to);
        if (end === -1) break;
        ends[column] = end;
        at = end;
      }
      if (at >= to) {
        column++;
        break;
      }
    }
    found = column;
    if (end === -1 || column < least) return false;
    if (status === -1 || isStatus(bytes, starts[status]!, ends[status]!)) return true;
    found = status;
    return false;
  }

  function misfit(from: number, to: number): string | undefined {
    if (layout.format !== "pattern") return undefined;
    const [before, after] = layout.literals.slice(found);
    const rest = line.toString("utf8", found > 0 ? ends[found - 1] : from, to);
    return `\`${before}$${columnName(columns[found]!)}${after}\` must stand where it ` +
      (rest === "" ? "ends" : `has \`${safeText(rest, 40)}\``);
  }

  /** Where a column without quotes ends, of which some bytes look like its end; -1 for nowhere. */
  function endOf(index: number, bytes: Buffer, from: number, to: number): number {
    const { after, isList, isTight } = places[index]!;
    let { skips } = places[index]!;
    for (let end = from;; end++) {
      while (end < to && bytes[end] !== after) end++;
      if (end >= to) return to;
      if (isList && bytes[end - 1] === COMMA && end > from) continue;
      if (skips-- > 0) continue;
      const next = places[index + 1];
      if (next === undefined || begin(next, bytes, end, to) !== -1) return end;
      // Before a user's name, the hyphen of another column shows that a virtual host begins the line.
      const isShifted = layout.format === "common" && bytes[from] === HYPHEN && end === from + 1;
      if (isTight || isShifted) return -1;
    }
  }

  function text({ index, part }: Field): string | undefined {
    if (index >= found) return undefined;
    const text = line.toString("utf8", starts[index], ends[index]);
    if (part === "method") return text.split(" ", 1)[0];
    if (part === "url") return text.split(" ", 2)[1];
    return hasQuotes ? text.replaceAll('""', '"') : text;
  }

  /** The id of the client that a column names. */
  function clientIn(field: Field, table: KeyTable): number {
    if (field.index >= found) return NOBODY;
    const from = starts[field.index]!;
    let to = ends[field.index]!;
    if (to === from || (to === from + 1 && line[from] === HYPHEN)) return NOBODY;
    const isText = field.part === "method" || field.part === "url" ||
      (hasQuotes && line.subarray(from, to).includes(QUOTE));
    if (isText) return table.idOfText(nameOf(text(field)));
    if (field.part === "address") to = beforePort(line, from, to);
    return table.idOf(line, from, to);
  }

  const clients = key === undefined ? [] : [key, ...forwarded];
  const wholes = columns.map((column, index): Field => (
    { name: columnName(column), index, part: "whole" }
  ));
  return {
    open,
    misfit,
    isRequest: () => true,
    time: () => readTime(line, starts[first!.index]!, ends[second!.index]!),
    client: key === undefined
      ? (table) => table.idOfText("all")
      : forwarded.length === 0
      ? (table) => clientIn(key, table)
      : (table) => clientBehind(clients, table, clientIn),
    text,
    all() {
      const values: Record<string, string> = {};
      for (const field of wholes.slice(0, found)) {
        const value = values[field.name] = text(field)!;
        if (field.name !== "request") continue;
        [values["method"] = "", values["url"] = ""] = value.split(" ", 2);
      }
      return values;
    },
  };
}

/** The client: the first column that names one which is no proxy, or else the last one. */
function clientBehind(
  fields: readonly Field[],
  table: KeyTable,
  clientIn: (field: Field, table: KeyTable) => number,
): number {
  let client = NOBODY;
  for (const field of fields) {
    const id = clientIn(field, table);
    if (id === NOBODY) continue;
    client = id;
    if (id < 0 || !table.isProxy(id)) break;
  }
  return client;
}

/** Where a column begins behind the text before it; -1 if another text stands there. */
function begin({ before, isQuoted }: Place, bytes: Buffer, from: number, to: number): number {
  let at = from;
  for (let index = 0; index < before.length; index++) {
    const byte = before[index]!;
    if (bytes[at] !== byte || at >= to) return -1;
    at++;
    if (byte !== SPACE) continue;
    while (at < to && bytes[at] === SPACE) at++;
    if (at === to) return -1;
  }
  return !isQuoted || bytes[at] === QUOTE || bytes[at] === HYPHEN ? at : -1;
}

/**
 * The end of a quoted column; -1 if it has none. The byte `escape` stands before a quote inside: a
 * backslash, or another quote.
 */
function closingQuote(
  bytes: Buffer,
  from: number,
  to: number,
  after: number,
  escape: number,
  isRequest: boolean,
): number {
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (byte === escape && (byte !== QUOTE || bytes[at + 1] === QUOTE)) at++;
    else if (byte === QUOTE) {
      // Old servers left quotes in URLs as they were: a request ends where a status follows.
      if (at + 1 === to) return isRequest ? -1 : at;
      if (bytes[at + 1] !== after && after !== -1) continue;
      if (!isRequest || isStatus(bytes, at + 2, to, after)) return at;
    }
  }
  return -1;
}

/** Whether a column is a status: up to three digits, or a hyphen; HAProxy writes -1 for none. */
function isStatus(bytes: Buffer, from: number, to: number, after: number = OTHER): boolean {
  let at = bytes[from] === HYPHEN ? from + 1 : from;
  while (at < to && at < from + 3 && bytes[at]! >= 0x30 && bytes[at]! <= 0x39) at++;
  return at > from && (at === to || bytes[at] === after);
}

/** Where an address ends: 192.0.2.7:80, [2001:db8::1]:80. */
function beforePort(bytes: Buffer, from: number, to: number): number {
  let colon = to - 1;
  while (colon > from && bytes[colon]! >= 0x30 && bytes[colon]! <= 0x39) colon--;
  if (bytes[colon] !== COLON) return to;
  const isAlone = bytes[colon - 1] === CLOSE || bytes.indexOf(COLON, from) === colon;
  return isAlone ? colon : to;
}

/** A client's name; empty for a hyphen, because logs write one in place of a missing name. */
function nameOf(text: string | undefined): string {
  return text === undefined || text === "-" ? "" : text;
}

function objectFields({ time, key, forwarded, requires }: Layout): LineFields {
  const scratch = new Uint8Array(256);
  const encoder = new TextEncoder();
  let object: unknown;

  /** The value of a field, if it has one. */
  function valueOf({ name }: Field): unknown {
    const value = valueAt(object, name);
    return value === null || value === "" || value === "-" ? undefined : value;
  }

  /** The id of the client that a value names. */
  function clientIn(field: Field, table: KeyTable): number {
    const name = textOf(valueOf(field)) ?? "";
    return table.idOfText(field.part === "address" ? name.replace(PORT_REGEXP, "$1$2") : name);
  }

  return {
    open(bytes, from, to) {
      object = undefined;
      const text = bytes.toString("utf8", from, to);
      // Most lines of other forms are no objects, and an error takes long.
      if (!/^\s*\{/.test(text)) return false;
      try {
        object = JSON.parse(text);
      } catch { /* It is no object. */ }
      return object !== undefined;
    },
    misfit: () => undefined,
    isRequest() {
      const values = object as Readonly<Record<string, unknown>>;
      return requires.every((name) => typeof values[name] === "object" && values[name] !== null);
    },
    time() {
      const value = time.map(valueOf).find((value) => value !== undefined);
      if (typeof value === "number") return instantOf(value);
      if (typeof value !== "string") return -1;
      const { written } = encoder.encodeInto(value.trim(), scratch);
      return readTime(scratch, 0, written);
    },
    client(table) {
      if (key.length === 0) return table.idOfText("all");
      const named = key.find((field) => valueOf(field) !== undefined);
      return clientBehind(named === undefined ? forwarded : [named, ...forwarded], table, clientIn);
    },
    text: (field) => textOf(valueOf(field)),
    all: () =>
      Object.fromEntries(
        [...Object.keys(object as object), ...pathsOf(object, 500)]
          .map((name) => [name, textOf(valueAt(object, name))!]),
      ),
  };
}

function textOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** An address and its port: `192.0.2.7:80`, `[2001:db8::1]:80`. */
const PORT_REGEXP = /^(?:(\[[^\]]*\])|([^:]*)):\d{1,5}$/;

/** The value under a path: `request.headers.X-User.0`, or a name that holds dots. */
export function valueAt(object: unknown, path: string): unknown {
  if (typeof object !== "object" || object === null) return undefined;
  if (Object.hasOwn(object, path)) return (object as Record<string, unknown>)[path];
  for (let dot = path.indexOf("."); dot !== -1; dot = path.indexOf(".", dot + 1)) {
    const start = path.slice(0, dot);
    if (!Object.hasOwn(object, start)) continue;
    return valueAt((object as Record<string, unknown>)[start], path.slice(dot + 1));
  }
  return undefined;
}

/** The paths of all plain values in an object, at most `most` of them. */
export function pathsOf(object: unknown, most: number, before = "", depth = 0): readonly string[] {
  if (typeof object !== "object" || object === null) return before === "" ? [] : [before.slice(1)];
  if (depth > 5) return [];
  const paths: string[] = [];
  for (const [name, value] of Object.entries(object)) {
    if (paths.length >= most) break;
    paths.push(...pathsOf(value, most - paths.length, `${before}.${name}`, depth + 1));
  }
  return paths;
}
