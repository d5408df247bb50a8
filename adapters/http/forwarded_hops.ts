/*
 * The hops that X-Forwarded-For and Forwarded name, from the right.
 *
 * Each proxy appends the address that it was called from. So the right-most entry was written by
 * the nearest proxy, and what is further left may be anything that a client made up. Reading from
 * the right, one never looks at more than the proxies that are trusted and one entry beyond.
 * Sources: RFC 7239; A. Pike, "The perils of the real client IP" (2022).
 */

/** Characters looked at, from the right: 60 hops of the longest addresses. */
const LONGEST_HEADER = 4_096;
/** Hops looked at: more than any chain of proxies has. */
const MOST_HOPS = 32;

/** The entries of an X-Forwarded-For field from the right, trimmed. */
export function* hopsOfList(field: string): Generator<string> {
  const text = field.slice(-LONGEST_HEADER);
  let end = text.length;
  for (let hop = 0; hop < MOST_HOPS && end >= 0; hop++) {
    const comma = end === 0 ? -1 : text.lastIndexOf(",", end - 1);
    if (comma === -1 && text.length < field.length) return;
    yield text.slice(comma + 1, end).trim();
    end = comma;
  }
}

const FOR_REGEXP = /(?:^|;)[ \t]*for=(?:"([^"\\]*)"|([^";, \t]*))[ \t]*(?=;|$)/gi;

/** What the elements of a Forwarded field (RFC 7239) give as `for`, from the right; `""` for none. */
export function* hopsOfForwarded(field: string): Generator<string> {
  for (const element of elementsFromRight(field)) {
    const found = [...element.matchAll(FOR_REGEXP)];
    yield found.length === 1 ? found[0]![1] ?? found[0]![2]! : "";
  }
}

/** The elements from the right. A comma within quotes divides nothing. */
function* elementsFromRight(field: string): Generator<string> {
  const text = field.slice(-LONGEST_HEADER);
  let quoted = false;
  let end = text.length;
  let hops = 0;
  for (let place = text.length - 1; place >= 0 && hops < MOST_HOPS; place--) {
    const character = text[place];
    if (character === '"') quoted = !quoted;
    if (character !== "," || quoted) continue;
    yield text.slice(place + 1, end).trim();
    end = place;
    hops++;
  }
  if (hops < MOST_HOPS && text.length === field.length) yield text.slice(0, end).trim();
}
