/*
 * The forms that logs come in. Lines are written by whoever sends requests, so every pattern here
 * reads a line once from left to right, and what does not fit is no entry rather than an error.
 */

import { LAST_INSTANT } from "../../../core/toolkit.ts";

/** What a line of a log says. */
export interface LogRecord {
  /** When: whole milliseconds since the Unix epoch. */
  readonly at: number;
  /** The client's host or address; empty if the log has none. */
  readonly host: string;
  /** The other fields, by their names: those of the form, or the columns of the header line. */
  readonly fields: Readonly<Record<string, string>>;
}

/** Reads lines, one after another; `undefined` of a line that is no record, such as a header. */
export type LineReader = (line: string) => LogRecord | undefined;

/**
 * The forms of log.
 *
 * | form | lines |
 * |---|---|
 * | `"common"` | the Common Log Format of web servers, and the combined one, which adds to it |
 * | `"json"` | an object a line, as nginx and others can write it |
 * | `"tsv"`, `"csv"` | columns named by the first line; quotes as in RFC 4180 |
 */
export type LogFormat = "common" | "json" | "tsv" | "csv";

/** The columns of a log with a header line, or the fields of its objects. */
export interface ColumnOptions {
  /** Holds the time; default: `time`, `timestamp`, `time_iso8601`, `date` or `ts`. */
  readonly time?: string | undefined;
  /** Holds the client; default: `host`, `client`, `remote_addr`, `ip` or `key`. */
  readonly host?: string | undefined;
}

const TIME_NAMES: readonly string[] = ["time", "timestamp", "time_iso8601", "date", "ts"];
const HOST_NAMES: readonly string[] = ["host", "client", "remote_addr", "ip", "key"];

/**
 * Makes the reader of a form.
 *
 * @param format The form.
 * @param columns Which columns hold what, of forms with a header line; in any case of letters.
 */
export function lineReader(format: LogFormat, columns: ColumnOptions = {}): LineReader {
  if (format === "common") return readCommon;
  if (format === "json") return (line) => readObject(line, columns);
  return columnReader(format === "tsv" ? splitTabs : splitCommas, columns);
}

/** host ident user [time] "request" status bytes, and in the combined form "referer" "agent". */
const COMMON_REGEXP =
  /^"?([^\s"]+) (\S+) (\S+) \[([^\]]{10,40})\] "((?:[^"\\]|\\.)*)" (\d{3}|-) (\d+|-)(?: "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)")?/;
const COMMON_TIME_REGEXP =
  /^(\d\d)\/(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d\d)(\d\d)$/;
const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";

function readCommon(line: string): LogRecord | undefined {
  const match = COMMON_REGEXP.exec(line);
  if (match === null) return undefined;
  const [, host = "", , user = "", time = "", request = "", status = "", bytes = ""] = match;
  const at = commonTime(time);
  if (at === undefined) return undefined;
  const [method = "", url = ""] = request.split(" ", 2);
  const [referer = "", agent = ""] = match.slice(8);
  return { at, host, fields: { user, method, url, status, bytes, referer, agent } };
}

function commonTime(text: string): number | undefined {
  const match = COMMON_TIME_REGEXP.exec(text);
  if (match === null) return undefined;
  const [, day, month = "", year, time, hours, minutes] = match;
  const number = String(MONTHS.indexOf(month) / 3 + 1).padStart(2, "0");
  return instant(Date.parse(`${year}-${number}-${day}T${time}${hours}:${minutes}`));
}

function columnReader(
  split: (line: string) => readonly string[],
  columns: ColumnOptions,
): LineReader {
  let names: readonly string[] | undefined;
  let time: string | undefined;
  let host: string | undefined;
  return function read(line) {
    const values = split(line);
    if (names === undefined) {
      names = values.map((name) => name.trim());
      time = columnOf(names, columns.time, TIME_NAMES);
      host = columnOf(names, columns.host, HOST_NAMES);
      return undefined;
    }
    const fields = Object.fromEntries(names.map((name, place) => [name, values[place] ?? ""]));
    return recordOf(fields, time, host);
  };
}

function readObject(line: string, columns: ColumnOptions): LogRecord | undefined {
  const value = parsedOr(line);
  if (typeof value !== "object" || value === null) return undefined;
  const fields = Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      typeof field === "object" ? JSON.stringify(field) : String(field),
    ]),
  );
  const names = Object.keys(fields);
  return recordOf(
    fields,
    columnOf(names, columns.time, TIME_NAMES),
    columnOf(names, columns.host, HOST_NAMES),
  );
}

function parsedOr(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function recordOf(
  fields: Readonly<Record<string, string>>,
  time: string | undefined,
  host: string | undefined,
): LogRecord | undefined {
  const at = time === undefined ? undefined : timeOf(fields[time] ?? "");
  if (at === undefined) return undefined;
  return { at, host: host === undefined ? "" : fields[host] ?? "", fields };
}

function columnOf(
  names: readonly string[],
  given: string | undefined,
  usual: readonly string[],
): string | undefined {
  const wanted = given === undefined ? usual : [given.toLowerCase()];
  return names.find((name) => wanted.includes(name.toLowerCase()));
}

/** Seconds or milliseconds since the Unix epoch, or a date; one without a zone is UTC. */
function timeOf(text: string): number | undefined {
  const trimmed = text.trim();
  if (/^\d{1,13}(\.\d{1,9})?$/.test(trimmed)) {
    const number = Number(trimmed);
    // 10^11 s lie in the year 5138, 10^11 ms in 1973: no log is as new or as old.
    return instant(number < 1e11 ? number * 1_000 : number);
  }
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d{1,9})?)(Z|[+-]\d\d:?\d\d)?$/
    .exec(trimmed);
  if (match === null) return undefined;
  const [, day, clock = "", zone = "Z"] = match;
  // Digits beyond the milliseconds are cut off, as not every engine reads them.
  return instant(Date.parse(`${day}T${clock.replace(/(\.\d{3})\d+$/, "$1")}${zone}`));
}

function instant(milliseconds: number): number | undefined {
  const whole = Math.floor(milliseconds);
  return whole >= 0 && whole <= LAST_INSTANT ? whole : undefined;
}

function splitTabs(line: string): readonly string[] {
  return line.split("\t");
}

function splitCommas(line: string): readonly string[] {
  if (!line.includes('"')) return line.split(",");
  const values: string[] = [];
  let value = "";
  let quoted = false;
  for (let place = 0; place < line.length; place++) {
    const letter = line[place]!;
    if (quoted && letter === '"' && line[place + 1] === '"') {
      value += '"';
      place++;
    } else if (letter === '"') quoted = !quoted;
    else if (letter === "," && !quoted) {
      values.push(value);
      value = "";
    } else value += letter;
  }
  values.push(value);
  return values;
}
