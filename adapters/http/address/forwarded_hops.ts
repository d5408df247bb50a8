/*
 * The hops that X-Forwarded-For and Forwarded name, from the right.
 *
 * Each proxy appends the address that it was called from. So the nearest proxy wrote the right-most
 * entry, and a client may have made up entries further left. Reading from the right, the reader
 * needs only the entries of trusted proxies and one entry beyond. The part of a field that is read
 * has a bound. If the field is longer, the last hop is `""`, which is not an address. Sources: RFC
 * 7239; A. Pike, "The perils of the real client IP" (2022).
 */

/** Characters looked at, from the right: 60 hops of the longest addresses. */
const LONGEST_HEADER = 4_096;
/** Hops looked at: more than in any chain of proxies. */
const MAX_HOPS = 32;

/** The entries of an X-Forwarded-For field from the right, trimmed. */
export function* hopsOfList(field: string): Generator<string> {
  for (const element of elementsFromRight(field, false)) yield element.trim();
}

/** The `for` of each element of a Forwarded field (RFC 7239), from the right; `""` for none. */
export function* hopsOfForwarded(field: string): Generator<string> {
  for (const element of elementsFromRight(field, true)) yield forOf(element);
}

/**
 * The elements from the right. A comma within quotes, if there can be any, divides nothing.
 *
 * Quotes are read from the right, too, so that an unclosed quote from a client spoils only the
 * client's own part. In a well-formed element, a quote after an odd number of backslashes stands
 * for itself, and any other quote begins or ends a string.
 */
function* elementsFromRight(field: string, hasQuotes: boolean): Generator<string> {
  const text = field.slice(-LONGEST_HEADER);
  let quoted = false;
  let end = text.length;
  let hops = 0;
  for (let index = text.length - 1; index >= 0; index--) {
    const character = text[index];
    if (hasQuotes && character === '"' && !(quoted && isEscaped(text, index))) quoted = !quoted;
    if (character !== "," || quoted) continue;
    yield text.slice(index + 1, end);
    end = index;
    hops++;
    if (hops === MAX_HOPS) break;
  }
  yield hops === MAX_HOPS || text.length < field.length ? "" : text.slice(0, end);
}

function isEscaped(text: string, index: number): boolean {
  let start = index;
  while (text[start - 1] === "\\") start--;
  return (index - start) % 2 === 1;
}

/** One pair of a trimmed element, and the separator after it. */
const PAIR_REGEXP =
  /(?:([!#$%&'*+\-.^_`|~\w]+)=(?:"((?:[^"\\]|\\.)*)"|([^";,\\ \t]*)))?[ \t]*(?:;[ \t]*|$)/y;

/** The only `for` of a well-formed element; `""` for any other element. */
function forOf(element: string): string {
  const text = element.trim();
  let found: string | undefined;
  PAIR_REGEXP.lastIndex = 0;
  while (PAIR_REGEXP.lastIndex < text.length) {
    const pair = PAIR_REGEXP.exec(text);
    if (pair === null) return "";
    const [, name, quoted, plain] = pair;
    if (name?.toLowerCase() !== "for") continue;
    if (found !== undefined) return "";
    found = quoted?.replaceAll(/\\(.)/g, "$1") ?? plain!;
  }
  return found ?? "";
}
