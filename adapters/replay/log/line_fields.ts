/*
 * The fields of one line, found by its layout: between separators, or in an object.
 */

import type { Buffer } from "node:buffer";

import { type KeyTable, NOBODY } from "./key_table.ts";
import { type Field, FORMS, type Layout } from "./layout.ts";
import { instantOf, readTime } from "./read_time.ts";

/** The fields of the line that was opened last. */
export interface LineFields {
  /** Finds the fields of a line; false if it has not the form. */
  open(bytes: Buffer, from: number, to: number): boolean;
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

const SPACE = 0x20;
const QUOTE = 0x22;
const HYPHEN = 0x2d;
const COLON = 0x3a;
const OPEN = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE = 0x5d;

/** Makes the reader of a layout's lines; `readsAll` if more than time, client and cost is asked. */
export function lineFields(layout: Layout, readsAll: boolean): LineFields {
  return layout.format === "json" ? objectFields(layout) : separatedFields(layout, readsAll);
}

function separatedFields(layout: Layout, readsAll: boolean): LineFields {
  const { columns, time: [first, second = first], key: [key], where, request = {} } = layout;
  const { separator = " ", quotes, brackets } = FORMS[layout.format];
  const mark = separator.charCodeAt(0);
  const status = layout.columns.indexOf("status");
  const asked = [...layout.time, ...layout.key, ...layout.cost, ...Object.values(request)]
    .filter((field) => field !== undefined);
  const indices = [...asked, ...where.map(({ field }) => field)].map(({ index }) => index);
  const least = Math.max(status, ...indices) + 1;
  const most = readsAll ? columns.length : least;
  const starts = new Int32Array(most);
  const ends = new Int32Array(most);
  const isEscaped = quotes === "escaped";
  let line: Buffer;

  function open(bytes: Buffer, from: number, to: number): boolean {
    line = bytes;
    let at = from;
    // Some tools put quotes around the whole line.
    if (isEscaped && bytes[at] === QUOTE) at++;
    let count = 0;
    for (; count < most && at <= to; count++) {
      if (mark === SPACE) { while (at < to && bytes[at] === SPACE) at++; }
      if (at === to && mark === SPACE) break;
      const byte = bytes[at];
      let end: number;
      if (quotes !== undefined && byte === QUOTE && at < to) {
        end = closingQuote(bytes, ++at, to, mark, isEscaped, count + 1 === status);
        if (end === -1) return false;
        starts[count] = at;
        ends[count] = end++;
      } else if (brackets && count === first!.index) {
        end = byte === OPEN ? bytes.indexOf(CLOSE, ++at) : -1;
        if (end === -1 || end >= to) return false;
        starts[count] = at;
        ends[count] = end++;
      } else {
        end = at;
        while (end < to && bytes[end] !== mark) end++;
        starts[count] = at;
        ends[count] = end;
      }
      at = end + 1;
    }
    return count >= least && (status === -1 || isStatus(bytes, starts[status]!, to, mark));
  }

  function text({ index, part }: Field): string | undefined {
    const text = line.toString("utf8", starts[index], ends[index]);
    if (part === "method") return text.split(" ", 1)[0];
    if (part === "url") return text.split(" ", 2)[1];
    return isEscaped ? text : text.replaceAll('""', '"');
  }

  return {
    open,
    isRequest: () => true,
    time: () => readTime(line, starts[first!.index]!, ends[second!.index]!),
    client(table) {
      if (key === undefined) return table.idOfText("all");
      const from = starts[key.index]!;
      let to = ends[key.index]!;
      if (to === from || (to === from + 1 && line[from] === HYPHEN)) return NOBODY;
      const isText = key.part === "method" || key.part === "url" ||
        (quotes === "doubled" && line.subarray(from, to).includes(QUOTE));
      if (isText) return table.idOfText(nameOf(text(key)));
      if (key.part === "address") to = beforePort(line, from, to);
      return table.idOf(line, from, to);
    },
    text,
    all: () =>
      Object.fromEntries(
        columns.flatMap((name, index) => {
          const value = text({ name, index, part: "whole" })!;
          if (name !== "request") return [[name, value]];
          const [method = "", url = ""] = value.split(" ", 2);
          return [[name, value], ["method", method], ["url", url]];
        }),
      ),
  };
}

/** The end of a quoted field; -1 if it has none. */
function closingQuote(
  bytes: Buffer,
  from: number,
  to: number,
  mark: number,
  isEscaped: boolean,
  isRequest: boolean,
): number {
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (byte === BACKSLASH && isEscaped) at++;
    else if (byte === QUOTE) {
      if (!isEscaped && bytes[at + 1] === QUOTE) at++;
      // Old servers left quotes in URLs as they were: a request ends where a status follows.
      else if (at + 1 === to) return isRequest ? -1 : at;
      else if (bytes[at + 1] === mark && (!isRequest || isStatus(bytes, at + 2, to, mark))) {
        return at;
      }
    }
  }
  return -1;
}

/** Whether a field is a status: up to three digits, or a hyphen. */
function isStatus(bytes: Buffer, from: number, to: number, mark: number): boolean {
  let at = from;
  while (at < to && at < from + 3 && bytes[at]! >= 0x30 && bytes[at]! <= 0x39) at++;
  if (at === from && bytes[at] === HYPHEN) at++;
  return at > from && (at === to || bytes[at] === mark);
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

function objectFields({ time, key, requires }: Layout): LineFields {
  const scratch = new Uint8Array(256);
  const encoder = new TextEncoder();
  let object: unknown;

  /** The value of a field, if it has one. */
  function valueOf({ name }: Field): unknown {
    const value = valueAt(object, name);
    return value === null || value === "" || value === "-" ? undefined : value;
  }

  return {
    open(bytes, from, to) {
      object = undefined;
      try {
        object = JSON.parse(bytes.toString("utf8", from, to));
      } catch { /* It is no object. */ }
      return typeof object === "object" && object !== null && !Array.isArray(object);
    },
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
      const field = key.find((field) => valueOf(field) !== undefined);
      const name = textOf(field && valueOf(field)) ?? "";
      return table.idOfText(field?.part === "address" ? name.replace(PORT_REGEXP, "$1$2") : name);
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
