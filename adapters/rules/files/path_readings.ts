/*
 * The ways in which servers read the target of a request. Some resolve dot segments, before they
 * decode percent codes or after; some drop parameters (`;a=b`), merge slashes, or read a backslash
 * as a slash; a proxy may do one thing and the server behind it another. If a limit knew only one
 * way, a target that its server reads in another way would evade it. So a route matches a request
 * if any reading of its target matches.
 *
 * Sources: RFC 3986, 5.2.4 and 6.2.2; WHATWG URL, "path state"; the routers that the tests run.
 */

/**
 * The most readings of one target, and the most characters of them together. A path that a person
 * wrote has one or two; a target made to have many would cost more to decide on than to send.
 */
const MAX_READINGS = 64;
const MAX_CHARACTERS = 65_536;

/** A path that every server reads in the same way. */
const PLAIN_REGEXP = /^(?:\/[\w~!$&'()*+,=:@-]+(?:\.+[\w~!$&'()*+,=:@-]+)*)+$/;
const ORIGIN_REGEXP = /^[a-z][a-z\d+.-]*:\/\/[^/?#\\]*/i;
const AUTHORITY_REGEXP = /^[/\\]{2,}[^/\\]*/;
const NOT_ASCII_REGEXP = /[\x80-\xff]/g;
const BEYOND_BYTES_REGEXP = /[^\0-\xff]/;
/** The percent codes of one character in UTF-8 (RFC 3629, 4), or of a byte that is not UTF-8. */
const CHARACTER_REGEXP =
  /(%[0-7][\da-f]|%(?:c[2-9a-f]|d[\da-f])%[89ab][\da-f]|%(?:e0%[ab]|ed%[89]|e[1-9a-cef]%[89ab])[\da-f]%[89ab][\da-f]|%(?:f0%[9ab]|f4%8|f[1-3]%[89ab])[\da-f](?:%[89ab][\da-f]){2})|%[\da-f]{2}/gi;

/**
 * Every path that a server may read from a target, as text: a slash or backslash that is part of a
 * segment stays a percent code, and so do bytes that are not UTF-8.
 *
 * @param target The target as it was sent, with or without its query.
 * @return At most 64; `undefined` if there are more, or they are too long together.
 */
export function pathReadings(target: string): readonly string[] | undefined {
  if (PLAIN_REGEXP.test(target)) return [target];
  const readings = new Set<string>();
  let characters = 0;
  for (const text of everyReading(target)) {
    readings.add(text.replaceAll("\\", "%5C"));
    characters += text.length;
    if (readings.size > MAX_READINGS || characters > MAX_CHARACTERS) return undefined;
  }
  return [...readings];
}

function* everyReading(target: string): Generator<string> {
  for (const raw of rawPaths(target)) {
    yield* decodedFirst(raw);
    yield* splitFirst(raw);
  }
}

/**
 * The paths of a target before anything is decoded, for each place where the path may begin and
 * end.
 */
function rawPaths(target: string): Iterable<string> {
  const [beforeQuery = ""] = target.replace(ORIGIN_REGEXP, "").split("?", 1);
  const whole = beforeQuery.startsWith("/") ? beforeQuery : `/${beforeQuery}`;
  let paths = new Set([whole]);
  // A target should contain no hash. Most servers end the path there, others keep the hash.
  paths = alternatives(paths, (path) => [path.split("#", 1)[0]!, path.replaceAll("#", "%23")]);
  // Resolved against a base, as `new URL(request.url, base)` does, two slashes begin an authority.
  paths = alternatives(paths, (path) => [path, path.replace(AUTHORITY_REGEXP, "/")]);
  // Header fields arrive as bytes, which servers read as UTF-8 or as Latin-1.
  if (!BEYOND_BYTES_REGEXP.test(target)) {
    paths = alternatives(paths, (path) => [path.replace(NOT_ASCII_REGEXP, percentCode), path]);
  }
  return alternatives(paths, (path) => [...withoutParameters(path), path]);
}

function alternatives(
  paths: Iterable<string>,
  of: (path: string) => readonly string[],
): Set<string> {
  const found = new Set<string>();
  for (const path of paths) for (const each of of(path)) found.add(each);
  return found;
}

/** A path without the parameters of its segments, and cut where the first of them begins. */
function withoutParameters(path: string): readonly string[] {
  const start = path.indexOf(";");
  return start === -1 ? [] : [path.replaceAll(/;[^/]*/g, ""), path.slice(0, start)];
}

/** The readings of servers that decode first: then `%2f` is a slash, and `%2e%2e` a dot segment. */
function* decodedFirst(raw: string): Generator<string> {
  // A proxy that rewrites with a decoded path begins a query by it, where `%3f` was.
  const whole = alternatives([decoded(raw)], (text) => [text, text.split(/[?#]/, 1)[0]!]);
  for (const text of alternatives(whole, (text) => [text.replaceAll("\\", "/"), text])) {
    const resolved = withoutDots(text);
    const cut = [text, resolved].flatMap(withoutParameters).map(withoutDots);
    for (const path of new Set([...cut, resolved])) {
      if (TRIMMED_REGEXP.test(path)) yield withoutDots(path.split("/").map(trimmed).join("/"));
      yield path;
    }
  }
}

/** Spaces, or a dot at the end of a segment. */
const TRIMMED_REGEXP = /\s|\.(?:\/|$)/;

/** A segment without spaces around it, and dots after it: file systems ignore them. */
function trimmed(segment: string): string {
  const text = segment.trim();
  return /^\.*$/.test(text) ? text : text.replace(/[\s.]+$/, "");
}

/** The readings of servers that split a path first, and then decode its segments. */
function* splitFirst(raw: string): Generator<string> {
  for (const path of new Set([withoutUrlDots(raw), raw])) {
    const text = path.split("/").map(decodedSegment).join("/");
    yield text.replaceAll(/\/+/g, "/");
    yield text;
  }
}

/** A path with dot segments resolved, and slashes in a row as one; a slash at its end stays. */
function withoutDots(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "." && segment !== "") segments.push(segment);
  }
  const end = segments.length > 0 && /\/\.{0,2}$/.test(path) ? "/" : "";
  return `/${segments.join("/")}${end}`;
}

/** A path as a URL has it: `%2e` is a dot, a backslash a slash, and empty segments stay. */
function withoutUrlDots(raw: string): string {
  const segments: string[] = [];
  const parts = raw.replaceAll("\\", "/").slice(1).split("/");
  for (const [index, part] of parts.entries()) {
    const segment = part.replaceAll(/%2e/gi, ".");
    const isDots = segment === "." || segment === "..";
    if (segment === "..") segments.pop();
    if (!isDots) segments.push(part);
    else if (index === parts.length - 1) segments.push("");
  }
  return `/${segments.join("/")}`;
}

function decodedSegment(segment: string): string {
  return segment.includes("%") ? decoded(segment).replaceAll("/", "%2F") : segment;
}

/** Text with its percent codes decoded once; codes of bytes that are not UTF-8 stay. */
function decoded(text: string): string {
  return text.replaceAll(
    CHARACTER_REGEXP,
    (codes, character?: string) =>
      character === undefined ? codes.toUpperCase() : decodeURIComponent(character),
  );
}

function percentCode(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase()}`;
}
