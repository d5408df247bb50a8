/*
 * Patterns of paths, `/v1/users/:id` or `/static/*`, in the syntax of URL patterns: It does not use
 * the runtime's URL patterns, because Node before 24 has none, and a rule must mean the same on
 * every runtime.
 *
 * Source: WHATWG URL Pattern, "Pattern strings", of which only the parts for paths are here.
 */

/** The parts of a path that a pattern names, or numbers from 0; `undefined` if it does not match. */
export type PathPattern = (
  path: string,
) => Readonly<Record<string, string | undefined>> | undefined;

/**
 * An escaped character; a group; a part with the slash before it (named, an expression, a star);
 * text.
 */
const PIECES_REGEXP =
  /\\(.)|\{((?:[^{}\\]|\\.)*)\}([?*+]?)|(\/?)(?::([A-Za-z_$][\w$]*)(\((?:[^()\\]|\\.)+\))?|(\((?:[^()\\]|\\.)+\))|(\*))([?*+]?)|([^\\{}()?*+:])|(.)/gsu;

/** Matches the text of `:name`: as in URL patterns, and for servers that allow it to be empty. */
const NAME = "[^/]+?";
const EMPTY_NAME = "[^/]*?";

/** How a pattern is to be read. */
export interface PathPatternOptions {
  /** Whether text in any case matches; default no. */
  readonly ignoreCase?: boolean | undefined;
  /** Whether `:name` also matches no text, as it does in Fastify; default no. */
  readonly emptyNames?: boolean | undefined;
}

/**
 * Compiles a pattern. In it `:name` stands for text without a slash, `:name(\d+)` or `(\d+)` for what
 * an expression matches, `*` for any text; `{...}` is a group, and `?`, `*` or `+` after a part or a
 * group says how often it comes.
 *
 * @throws {TypeError} If it is malformed.
 */
export function pathPattern(
  text: string,
  { ignoreCase = false, emptyNames = false }: PathPatternOptions = {},
): PathPattern {
  const names: string[] = [];
  const capitals = text.replaceAll(/%[\da-f]{2}/gi, (code) => code.toUpperCase());
  const source = sourceOf(capitals, names, emptyNames ? EMPTY_NAME : NAME);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TypeError(`the name ${twice} occurs twice`);
  const regexp = new RegExp(`^${source}$`, ignoreCase ? "sui" : "su");
  return (path) => {
    const match = regexp.exec(encodedPath(path));
    return match === null
      ? undefined
      : Object.fromEntries(names.map((name, index) => [name, match[index + 1]]));
  };
}

/** The expression of a pattern; the names of its parts are added in order. */
function sourceOf(text: string, names: string[], ofName: string): string {
  return text.replace(PIECES_REGEXP, (...match) => {
    const [all, escaped, group, often, slash, name, own, bare, star, times, plain] = match;
    if (escaped !== undefined) return literal(escaped);
    if (group !== undefined) return `(?:${sourceOf(group, names, ofName)})${often}`;
    if (plain !== undefined) return literal(plain);
    if (name === undefined && bare === undefined && star === undefined) {
      throw new TypeError(`the character ${all} must follow a \\ here`);
    }
    names.push(name ?? String(names.filter((each) => /^\d+$/.test(each)).length));
    const repeats = times === "+" || times === "*";
    const greedy = ofName.slice(0, -1);
    const segment = repeats && slash === "" ? greedy : ofName;
    const part = star === undefined ? (own ?? bare)?.slice(1, -1) ?? segment : ".*";
    // A repeated part of this kind takes all that it can at once; otherwise the engine would try
    // every way to divide the text.
    const isOnce = !repeats || star !== undefined || part === greedy;
    const whole = isOnce ? `(${part})` : `((?:${part})(?:${slash}(?:${part}))*)`;
    return times === "" || times === "+" ? `${slash}${whole}` : `(?:${slash}${whole})?`;
  });
}

function literal(sign: string): string {
  return encodedPath(sign).replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

const PLAIN_REGEXP = /^[\w/.~!$&'()*+,;=:@%-]*$/;

/** A path, or a part of one, with percent codes where the URL standard has them. */
function encodedPath(path: string): string {
  if (PLAIN_REGEXP.test(path)) return path;
  return path.split("/").map(encodedSegment).join("/");
}

function encodedSegment(segment: string): string {
  if (PLAIN_REGEXP.test(segment)) return segment;
  const url = new URL("http://path");
  // With text before it, a segment of dots is an ordinary segment, and is not resolved. A URL takes
  // a backslash for a slash, and leaves out tabs and line breaks.
  url.pathname = `/-${segment.replaceAll(/[\\\t\n\r]/g, encodeURIComponent)}`;
  return url.pathname.slice(2);
}
