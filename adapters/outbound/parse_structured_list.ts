/*
 * Reading lists of structured fields (RFC 9651), to the extent that the RateLimit fields need:
 * items with parameters, no inner lists. Anything malformed fails the whole field, which the RFC
 * requires.
 */

/** A string or a number; `undefined` if an item is of another kind. */
export type BareItem = string | number | undefined;

/** A member of a list. */
export interface ListMember {
  readonly value: BareItem;
  readonly parameters: Map<string, BareItem>;
}

/** A longer field is not read. */
const LONGEST_FIELD = 8_192;

/** The kinds of items. No item is the beginning of another, so that reading them takes linear time. */
const ITEM = [
  /"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"/,
  /-?\d{1,15}(?![\d.])/,
  /-?\d{1,12}\.\d{1,3}(?![\d.])/,
  /[A-Za-z*][!#$%&'*+\-.^_`|~:/\w]*/,
  /:(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}(?:==)?|[A-Za-z\d+/]{3}=?)?:/,
  /@-?\d{1,15}(?![\d.])/,
  /%"(?:[\x20\x21\x23\x24\x26-\x7e]|%[\da-f]{2})*"/,
  /\?[01]/,
].map(({ source }) => source).join("|");
const KEY = /[a-z*][a-z0-9_\-.*]*/.source;
const MEMBER = `(?:${ITEM})(?:; *${KEY}(?:=(?:${ITEM}))?)*`;
const LIST_REGEXP = new RegExp(`^(?:${MEMBER}(?:[ \\t]*,[ \\t]*${MEMBER})*[ \\t]*)?$`);
const PARTS_REGEXP = new RegExp(`; *(${KEY})(?:=(${ITEM}))?|(${ITEM})`, "g");
/** A simpler pattern for both ends would take quadratic time. */
const OUTER_SPACES_REGEXP = /^ +|(?<! ) +$/g;

/**
 * Reads a list.
 *
 * @returns Its members; `undefined` if the field is malformed. Never throws.
 */
export function parseStructuredList(field: string): readonly ListMember[] | undefined {
  if (field.length > LONGEST_FIELD) return undefined;
  const text = field.replaceAll(OUTER_SPACES_REGEXP, "");
  if (!LIST_REGEXP.test(text)) return undefined;
  const members: ListMember[] = [];
  for (const [, key, parameter = "?1", item] of text.matchAll(PARTS_REGEXP)) {
    if (!isText(item ?? parameter)) return undefined;
    if (item !== undefined) members.push({ value: valueOf(item), parameters: new Map() });
    else members.at(-1)!.parameters.set(key!, valueOf(parameter));
  }
  return members;
}

/** Whether an item is anything but a display string that is not in UTF-8. */
function isText(item: string): boolean {
  try {
    return !item.startsWith("%") || decodeURIComponent(item.slice(1)) !== "";
  } catch {
    return false;
  }
}

function valueOf(item: string): BareItem {
  if (item.startsWith('"')) return item.slice(1, -1).replaceAll(/\\(.)/g, "$1");
  const number = Number(item);
  return Number.isNaN(number) ? undefined : number;
}
