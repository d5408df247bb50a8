/*
 * The pattern of a line, in the words of nginx's `log_format` or of Apache's `LogFormat`, as it
 * stands in their configuration. A pattern is fields with literal text between them. All forms of
 * text that have a name are patterns, too.
 *
 * Sources: nginx, ngx_http_log_module; Apache 2.4, mod_log_config.
 */

import { errorMessage } from "../../../core/application_support.ts";

/** The fields of a line, and the text around them. */
export interface Pattern {
  readonly columns: readonly string[];
  /** The text before each field, and after the last one. */
  readonly literals: readonly string[];
}

/** The pattern of a line under construction. */
interface Draft {
  readonly columns: string[];
  readonly literals: string[];
}

/**
 * Reads a pattern.
 *
 * @param text A format, or the whole directive that holds it.
 * @throws {TypeError} If it has no fields.
 */
export function readPattern(text: string): Pattern {
  const directive = /^\s*(log_format|LogFormat|CustomLog)\s/.exec(text)?.[1];
  const isNginx = directive === "log_format" ||
    (directive === undefined && /\$(?:\w|\{)/.test(text));
  if (directive === undefined && /^\s*\w+\s+'.*'\s*;\s*$/s.test(text)) {
    throw faultOf("must begin with log_format, or with its text", text);
  }
  // Apache joins a line that ends with a backslash to the next one.
  const pattern = isNginx
    ? nginxPattern(text)
    : apachePattern(text.replaceAll(/\\\r?\n/g, ""), directive);
  if (pattern.columns.length > 0) return pattern;
  throw faultOf(
    "must be in the words of nginx's log_format or of Apache's LogFormat, in single quotes in a shell",
    text,
  );
}

function faultOf(rule: string, text: string): TypeError {
  return new TypeError(errorMessage("read a log", `pattern ${rule}`, text));
}

const QUOTED_TEXT = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/gs;

function nginxPattern(text: string): Pattern {
  const [, rest = text] = /^\s*log_format\s+\S+\s+(?:escape=\w+\s+)?(.*?)\s*;?\s*$/s.exec(text) ??
    [];
  // Several strings make one format. A format alone may begin and end with quotes of its own.
  const isStrings = rest !== text || /^\s*'/.test(text);
  if (isStrings && /^\s*['"]/.test(rest) && /[^\s;]/.test(rest.replaceAll(QUOTED_TEXT, ""))) {
    throw faultOf("must close each quote, and have its text in quotes", text);
  }
  const strings = isStrings ? [...rest.matchAll(QUOTED_TEXT)] : [];
  const format = strings.length === 0
    ? rest
    : strings.map(([, single, double]) => unescaped(single ?? double ?? "")).join("");
  const draft: Draft = { columns: [], literals: [] };
  let from = 0;
  for (const match of format.matchAll(/\$(?:\{([^}]+)\}|(\w+))/g)) {
    add(draft, format.slice(from, match.index), match[1] ?? match[2]!);
    from = match.index + match[0].length;
  }
  draft.literals.push(format.slice(from).trimEnd());
  return draft;
}

/** The names of Apache's fields; a field with an argument is named after that. */
const APACHE_NAMES: Readonly<Record<string, string>> = {
  a: "remote_addr",
  A: "server_addr",
  b: "bytes",
  B: "bytes",
  D: "duration",
  f: "file",
  h: "remote_host",
  H: "protocol",
  I: "bytes_received",
  k: "keepalive",
  l: "ident",
  L: "log_id",
  m: "method",
  O: "bytes_sent",
  p: "port",
  P: "pid",
  q: "query",
  r: "request",
  R: "handler",
  s: "status",
  S: "bytes_transferred",
  T: "duration",
  u: "user",
  U: "path",
  v: "vhost",
  V: "vhost",
  X: "connection",
};

const APACHE_FIELD = /%(?:!?\d{3}(?:,\d{3})*)?([<>]?)(?:\{([^}]*)\})?([<>]?)(\^t[io]|[a-zA-Z%])/g;

function apachePattern(text: string, directive: string | undefined): Pattern {
  const [, quoted] = directive === undefined
    ? []
    : /^\s*\w+\s+(?:[^"\s]\S*\s+|"[^"]*"\s+(?="))?"((?:[^"\\]|\\.)*)"/s.exec(text) ?? [];
  if (directive !== undefined && quoted === undefined && text.includes('"')) {
    throw faultOf("must close each quote", text);
  }
  const format = unescaped(quoted ?? text);
  const draft: Draft = { columns: [], literals: [] };
  let from = 0;
  let literal = "";
  for (const match of format.matchAll(APACHE_FIELD)) {
    const [all, , argument, , letter = ""] = match;
    literal += format.slice(from, match.index);
    from = match.index + all.length;
    if (letter === "%") literal += "%";
    else if (letter === "t" && argument === undefined) {
      add(draft, `${literal}[`, "time");
      literal = "]";
    } else if (letter === "t" && draft.columns.at(-1)?.startsWith(TIME_PARTS)) {
      // Parts of one time, such as the seconds and their fraction.
      draft.columns[draft.columns.length - 1] += literal + argument;
      literal = "";
    } else {
      add(draft, literal, letter === "t" ? TIME_PARTS + argument : apacheName(letter, argument));
      literal = "";
    }
  }
  draft.literals.push(literal + format.slice(from).trimEnd());
  return draft;
}

/** The name of a time that has parts, before these; the parts say how much of the line it takes. */
const TIME_PARTS = "time:";

/** The name of a column without the parts of its time. */
export function columnName(column: string): string {
  return column.startsWith(TIME_PARTS) ? "time" : column;
}

function apacheName(letter: string, argument: string | undefined): string {
  if (argument === undefined || letter === "T" || letter === "p" || letter === "P") {
    return APACHE_NAMES[letter] ?? letter;
  }
  if (letter === "a") return "peer_addr";
  const name = argument.toLowerCase().replaceAll(/\W/g, "_");
  return name === "user_agent" ? "agent" : name;
}

function add(draft: Draft, literal: string, name: string): void {
  // Nothing divides fields without text between them, such as a path and its query.
  if (literal === "" && draft.columns.length > 0) return;
  draft.literals.push(draft.columns.length === 0 ? literal.trimStart() : literal);
  // A second field of the same name is not the one that is meant.
  draft.columns.push(draft.columns.includes(name) ? `${name}_2` : name);
}

function unescaped(text: string): string {
  return text.replace(
    /\\(.)/gs,
    (_, letter: string) => letter === "t" ? "\t" : letter === "n" ? "\n" : letter,
  );
}
